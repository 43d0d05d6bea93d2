"""Records: dataclasses with slots, frozen unless asked otherwise, and quick to define.

    @record                       @dataclass(frozen=True, slots=True)
    @record(frozen=False)         @dataclass(slots=True)

Loading the compiler defines some 290 of them before the first program is compiled. The standard decorator compiles six
methods of a frozen class from text, each on its own; here `__init__` alone is compiled, when the class is first used,
and the other methods are shared. `dataclasses.field`, `replace` and `fields` work as with any dataclass, except that a
field does not know its type.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T", bound=type[Any])
_GIVEN_BY_FACTORY = object()


@overload
def record(cls: T, /) -> T: ...
@overload
def record(
    *, frozen: bool = True, eq: bool = True, kw_only: bool = False, weakref_slot: bool = False
) -> Callable[[T], T]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(
    cls: Any = None, /, *, frozen: bool = True, eq: bool = True, kw_only: bool = False, weakref_slot: bool = False
) -> Any:
    """A class whose annotated names are its fields."""

    def define(plain: type[Any]) -> type[Any]:
        own = frozenset(vars(plain))
        standard: Any = dataclasses.dataclass(
            init=False, repr=False, eq=False, slots=True, kw_only=kw_only, weakref_slot=weakref_slot
        )
        annotations: dict[str, Any] = vars(plain).get("__annotations__", {})
        plain.__annotations__ = {name: _without_text(annotation) for name, annotation in annotations.items()}
        plain.__doc__ = plain.__doc__ or plain.__name__  # else the signature would be asked for, and written down
        made: type[Any] = standard(plain)
        made.__annotations__ = annotations
        for name, method in _methods(made, frozen=frozen, eq=eq).items():
            if name not in own:
                setattr(made, name, method)
        return made

    return define if cls is None else define(cls)


def _without_text(annotation: object) -> object:
    """Anything but a text, in which the standard decorator would search for `ClassVar` and `InitVar`."""
    return annotation if isinstance(annotation, str) and annotation.startswith("ClassVar") else object


def _methods(cls: type[Any], *, frozen: bool, eq: bool) -> dict[str, object]:
    methods: dict[str, object] = {"__init__": _first_init(cls, frozen=frozen), "__repr__": _repr}
    if eq:
        methods |= _comparing(cls)
        if not frozen:
            methods["__hash__"] = None
    if frozen:
        methods |= {
            "__setattr__": _refuse,
            "__delattr__": _refuse,
            "__getstate__": _get_state,
            "__setstate__": _set_state,
        }
    return methods


def _first_init(cls: type[Any], *, frozen: bool) -> object:
    """An `__init__` that puts the real one in its place: most programs use half of the classes."""

    def __init__(self: object, *args: object, **named: object) -> None:  # noqa: N807
        if cls.__init__ is __init__:
            cls.__init__ = _init(cls, frozen=frozen)
        cls.__init__(self, *args, **named)

    return __init__


def _init(cls: type[Any], *, frozen: bool) -> Any:
    names: dict[str, object] = {"put": object.__setattr__, "given": _GIVEN_BY_FACTORY}
    plain: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for number, field in enumerate(dataclasses.fields(cls)):
        if not field.init:  # __post_init__ gives it its value
            continue
        value = parameter = field.name
        if field.default is not dataclasses.MISSING:
            names[f"default_{number}"] = field.default
            parameter = f"{value}=default_{number}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"default_{number}"] = field.default_factory
            parameter = f"{value}=given"
            value = f"default_{number}() if {value} is given else {value}"
        (named if field.kw_only else plain).append(parameter)
        lines.append(f"put(self, {field.name!r}, {value})" if frozen else f"self.{field.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    exec("\n    ".join([f"def __init__({head}):", *lines, "return"]), names)
    init: Any = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _comparing(cls: type[Any]) -> dict[str, object]:
    compared = [field.name for field in dataclasses.fields(cls) if field.compare]
    if len(compared) > 1:
        values: Callable[[Any], Any] = attrgetter(*compared)
    else:
        values = lambda self: tuple(getattr(self, name) for name in compared)  # noqa: E731 - one or the other

    def __eq__(self: object, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


# ---- what all records share -----------------------------------------------------------------------------------------


def _repr(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: Any, name: str, *_: object) -> None:
    raise dataclasses.FrozenInstanceError(f"{type(self).__qualname__}.{name} cannot be changed: records are frozen")


def _get_state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
