"""Copies of a call that can be made again: arguments, and what the function finds around it.

in:   a function and the arguments of a call
out:  a `Call`, whose copies behave like it and share nothing with it that the function could change

Arrays keep type, shape, strides, alignment and how they overlap: the arrays of a call are sorted into blocks of memory,
and a block is copied as one.

before:  x = np.arange(6.0); f(x[:4], x[2:])
after:   both copies are views of one new block of 48 bytes, 16 bytes apart

Copied are arrays, lists, tuples, dicts, sets and objects with attributes, among the arguments, their defaults, closure
variables and globals the function names (there of classes of the user's only); functions it calls by name get the same
treatment, and programs among them are their plain Python functions. What cannot be copied (a file) is shared,
and so are modules with all that is in them.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final, cast

import numpy as np

from weft.driver.kernels import undecorated
from weft.runtime.dispatcher import signature_of
from weft.support.records import record

_ATOMS: Final = (int, float, complex, str, bytes, type(None), type, np.generic, np.dtype, np.ufunc, slice)
_CHANGEABLE: Final = (np.ndarray, list, dict, set, tuple, bytearray, np.random.Generator, np.random.RandomState)
_FOREIGN: Final = ("numpy", "scipy", "weft")
_ALIGNMENT: Final = 64
_MAX_DEPTH: Final = 16


@record
class Call:
    """A call that has not been made yet."""

    function: Any  # a Python function; pyright takes a function in a class for a method
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def copied(self) -> Call:
        """Another one like it, with nothing in common that could change."""
        copier = Copier(self._everything())
        twins = _twins(_functions(self.function), copier)
        kwargs = {name: copier.copy(value) for name, value in self.kwargs.items()}
        return Call(twins[id(self.function)], tuple(copier.copy(value) for value in self.args), kwargs)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by parameter, defaults included; by number where they do not fit the parameters."""
        try:
            bound = inspect.signature(self.function).bind(*self.args, **self.kwargs)
        except TypeError:
            return {**{str(number): value for number, value in enumerate(self.args)}, **self.kwargs}
        bound.apply_defaults()
        return {name: bound.arguments[name] for name in signature_of(self.function).names}

    @property
    def outside(self) -> dict[str, Any]:
        """What the function, and those it calls by name, can change besides their arguments, by name."""
        found: dict[str, Any] = {}
        for function in _functions(self.function):
            own = function is self.function
            for name, value in _surroundings(function).items():
                shared = name in function.__globals__ and function.__globals__ is self.function.__globals__
                found.setdefault(name if own or shared else f"{function.__qualname__}.{name}", value)
        return found

    def arrays(self) -> list[Any]:
        """All arrays of the call, and of what the function finds around it."""
        return list(arrays_in(self._everything()))

    def _everything(self) -> tuple[Any, ...]:
        functions = list(_functions(self.function))
        outside = [value for function in functions for value in _surroundings(function).values()]
        defaults = [(function.__defaults__, function.__kwdefaults__) for function in functions]
        return self.args, dict(self.kwargs), outside, defaults


# ---- functions ------------------------------------------------------------------------------------------------------


def _functions(function: FunctionType) -> Iterator[FunctionType]:
    """The function, and those it calls by name."""
    found: dict[int, FunctionType] = {}
    pending = [function]
    while pending:
        current = pending.pop()
        if id(current) in found:
            continue
        found[id(current)] = current
        yield current
        for value in _named(current).values():
            inner = undecorated(value)
            if isinstance(inner, FunctionType) and not is_foreign(inner):
                pending.append(inner)


def is_foreign(function: FunctionType | type) -> bool:
    """Whether a function or class belongs to Python or a library rather than to the user's program."""
    package = (function.__module__ or "").partition(".")[0]
    return package in _FOREIGN or package in sys.stdlib_module_names


def _named(function: FunctionType) -> dict[str, Any]:
    """The globals and closure variables a function names, with their values."""
    found = {
        name: function.__globals__[name] for name in names_in_code(function.__code__) if name in function.__globals__
    }
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return found


def names_in_code(code: CodeType) -> Iterator[str]:
    """The globals and attributes that code names, nested functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in_code(constant)


def _surroundings(function: FunctionType) -> dict[str, Any]:
    return {name: value for name, value in _named(function).items() if _is_changeable(value)}


def _is_changeable(value: Any) -> bool:
    """Whether a value belongs to a function's surroundings: data, or an object of a class of the user's."""
    if isinstance(value, _CHANGEABLE):
        return True
    return not is_atom(value) and not is_foreign(cast("type[Any]", type(value))) and bool(attributes(value))


def _twins(functions: Iterable[FunctionType], copier: Copier) -> dict[int, FunctionType]:
    """Functions of the same code that find copies around them, by the identity of the original."""
    originals = list(functions)
    tables: dict[int, dict[str, Any]] = {}
    twins: dict[int, FunctionType] = {}
    for function in originals:
        table = tables.setdefault(id(function.__globals__), dict(function.__globals__))
        closure = tuple(CellType() for _ in function.__closure__ or ())
        twin = FunctionType(function.__code__, table, function.__name__, None, closure)
        twin.__defaults__, twin.__kwdefaults__ = (
            copier.copy(function.__defaults__),
            copier.copy(function.__kwdefaults__),
        )
        twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
        twins[id(function)] = twin
    for function in originals:
        _furnish(function, twins, copier)
    return twins


def _furnish(function: FunctionType, twins: Mapping[int, FunctionType], copier: Copier) -> None:
    twin = twins[id(function)]

    def stand_in(value: Any) -> Any:
        found = twins.get(id(undecorated(value)))
        if found is not None:
            return found
        return copier.copy(value) if _is_changeable(value) else value

    for name in names_in_code(function.__code__):
        if name in function.__globals__:
            twin.__globals__[name] = stand_in(function.__globals__[name])
    for cell, original in zip(twin.__closure__ or (), function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = stand_in(original.cell_contents)
        except ValueError:
            continue


# ---- values ---------------------------------------------------------------------------------------------------------


def arrays_in(value: Any) -> Iterator[Any]:
    """All plain arrays in a value: in containers and in the attributes of objects, each once."""
    seen: set[int] = set()
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        current, depth = pending.pop()
        if is_atom(current) or id(current) in seen or depth > _MAX_DEPTH:
            continue
        seen.add(id(current))
        if type(current) is np.ndarray:
            yield current
        else:
            pending += [(inner, depth + 1) for inner in reversed(list(parts(current)))]


def is_atom(value: object) -> bool:
    """Whether a value cannot change."""
    return isinstance(value, _ATOMS)


def parts(value: Any) -> Iterable[Any]:
    """What a container or an object holds."""
    if isinstance(value, list | tuple | set | frozenset):
        return cast("Iterable[Any]", value)
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value).values()
    return attributes(value).values()


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object of a class of the user's; nothing of a function, a module or a class."""
    if callable(value) or isinstance(value, ModuleType | np.ndarray):
        return {}
    cls = cast("type[Any]", type(value))
    names = [name for base in cls.__mro__ for name in _slot_names(base)]
    found = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return {**found, **cast("dict[str, Any]", getattr(value, "__dict__", {}))}


def _slot_names(cls: type) -> Iterable[str]:
    names: Any = vars(cls).get("__slots__", ())
    every = (names,) if isinstance(names, str) else tuple(names)
    return [name for name in every if name not in ("__dict__", "__weakref__")]


class Copier:
    """Copies values that may hold parts in common: what was one object stays one, what overlapped overlaps."""

    def __init__(self, everything: Any) -> None:
        self._memo: dict[int, Any] = {}
        self._originals: list[Any] = [everything]  # ids are good as long as the objects live
        arrays = [array for array in arrays_in(everything) if not array.dtype.hasobject]
        for block in blocks(arrays):
            for array, twin in zip(block, _copy_block(block), strict=True):
                self._memo[id(array)] = twin

    def copy(self, value: Any) -> Any:
        """The copy of a value."""
        if is_atom(value):
            return value
        if id(value) in self._memo:
            return self._memo[id(value)]
        self._originals.append(value)
        try:
            return copy.deepcopy(value, self._memo)
        except Exception:  # noqa: BLE001  (what a class does when it is copied is its own affair)
            return self._piecewise(value, cast("type[Any]", type(value)))

    def _piecewise(self, value: Any, cls: type[Any]) -> Any:
        """Of something that cannot be copied as a whole, all that can."""
        made: Any
        if cls is list:
            made = self._memo[id(value)] = []
            made += [self.copy(item) for item in value]
        elif cls is tuple:
            made = self._memo[id(value)] = tuple(self.copy(item) for item in value)
        elif cls is dict:
            made = self._memo[id(value)] = {}
            made.update({key: self.copy(item) for key, item in value.items()})
        else:
            made = self._object(value)
        return made

    def _object(self, value: Any) -> Any:
        held = attributes(value)
        if not held:
            return value
        try:
            made = copy.copy(value)
            self._memo[id(value)] = made
            for name, item in held.items():
                object.__setattr__(made, name, self.copy(item))
        except Exception:  # noqa: BLE001  (as above)
            self._memo[id(value)] = value
            return value
        return made


def blocks(arrays: Iterable[Any]) -> list[list[Any]]:
    """The arrays that may share memory, together."""
    spans = sorted(((*memory_bounds(array), number, array) for number, array in enumerate(arrays)), key=lambda s: s[:3])
    found: list[list[Any]] = []
    end = -1
    for low, high, _, array in spans:
        if not found or low >= end:
            found.append([])
            end = high
        found[-1].append(array)
        end = max(end, high)
    return found


def memory_bounds(array: Any) -> tuple[int, int]:
    """The addresses of its first byte and after its last one."""
    low = high = int(array.__array_interface__["data"][0])
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        low += min(0, (extent - 1) * stride)
        high += max(0, (extent - 1) * stride)
    return low, high + int(array.itemsize)


def unrepeated(*arrays: Any) -> tuple[slice, ...]:
    """An index that leaves out what arrays of one shape only repeat: a broadcast view may have 2**59 elements."""
    axes = zip(*(array.strides for array in arrays), strict=True)
    repeated = [not any(strides) for strides in axes]
    return tuple(
        slice(0, 1) if again else slice(0, extent) for again, extent in zip(repeated, arrays[0].shape, strict=True)
    )


def _copy_block(block: list[Any]) -> list[Any]:
    spans = [memory_bounds(array) for array in block]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    memory: Any = np.zeros(high - low + 2 * _ALIGNMENT, np.uint8)
    start = (low - int(memory.__array_interface__["data"][0])) % _ALIGNMENT  # the same alignment as the original
    twins: list[Any] = []
    for array in block:
        offset = start + int(array.__array_interface__["data"][0]) - low
        twin: Any = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
        once = unrepeated(array)
        twin[once] = array[once]
        twins.append(twin)
    for array, twin in zip(block, twins, strict=True):
        twin.flags.writeable = array.flags.writeable
    return twins
