"""What comes into a program from outside: parameters, globals, closure cells, attributes.

in:   the example objects of one call
out:  slots with their specs, and the operand each slot is to the program

Sizes stay symbolic: of an array only element type, rank, layout and which extents are exactly 1 are taken.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from weft.frontend.classes import named_fields
from weft.frontend.lending import list_of_numbers
from weft.ir.dtypes import PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, ScalarType, dtype_of
from weft.ir.exprs import Index, Value, const, index, python_const
from weft.ir.nodes import Container, Layout, Storage, full_view
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.values import (
    Array,
    Dict,
    Foreign,
    Instance,
    Lent,
    Operand,
    Range,
    Scalar,
    Slice,
    Static,
    Text,
    Tuple,
    Unbound,
)
from weft.support.abi import MAX_EXTENT, MAX_ITEMS, MAX_NESTING, MAX_RANK, ArgKind, ArgSpec, Slot, SlotKind, pack_order
from weft.support.number_lists import conversion_of, is_long, numbers_in
from weft.support.records import record
from weft.support.texts import TEXT, code_points

_PYTHON_SCALARS: dict[type, tuple[ArgKind, ScalarType]] = {
    bool: (ArgKind.PY_BOOL, PY_BOOL),
    int: (ArgKind.PY_INT, PY_INT),
    float: (ArgKind.PY_FLOAT, PY_FLOAT),
    complex: (ArgKind.PY_COMPLEX, PY_COMPLEX),
}
_DISPATCHER: Any = type(cast("object", np.sum))
_STATIC_TYPES: tuple[type, ...] = (
    str, bytes, type(None), type, FunctionType, BuiltinFunctionType, ModuleType, np.dtype, np.ufunc, Enum,
    type(Ellipsis), _DISPATCHER,  # what most functions of NumPy are, by whatever name they are imported
)  # fmt: skip
_ARRAY_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__", "__array_ufunc__")
TRUSTED_MODULES = ("numpy", "math", "cmath", "builtins", "operator", "scipy")
IMPORTED_MODULES = (*TRUSTED_MODULES, "copy", "functools", "heapq", "itertools", "time")


def static_operand(value: Any) -> Operand:
    """A Python object that does not change: a constant where it is a number."""
    if type(value) in _PYTHON_SCALARS and not (type(value) is int and abs(value) >= 1 << 63):
        return Scalar(python_const(value))
    if isinstance(value, np.generic):
        scalar = cast("np.generic[Any]", value)
        dtype = dtype_of(scalar.dtype)
        if dtype is not None:
            return Scalar(const(scalar.item(), ScalarType(dtype)))
    if isinstance(value, slice):
        parts: tuple[Any, Any, Any] = (value.start, value.stop, value.step)  # type: ignore[reportUnknownMemberType]
        return Slice(*(static_operand(part) for part in parts))
    return Static(value)


class UnsupportedArgument(Exception):  # noqa: N818  (the driver turns it into a CompileError or a fallback)
    """An argument of a type that is not compiled; `reason` says which."""

    def __init__(self, slot: int, reason: str, hint: str = "use arrays and numbers") -> None:
        super().__init__(reason)
        self.slot, self.reason, self.hint = slot, reason, hint
        self.place: tuple[int, int] | None = None  # of the program's own statement that reads it


class UnusualValue(Exception):  # noqa: N818  (no error: this one call runs in Python)
    """An argument of a type that is compiled, with a value that compiled code does not take."""


class Assigned(NamedTuple):
    """An attribute the program assigns, and how its object is reached: numbers of slots may change, this does not."""

    trail: tuple[Slot, ...]  # from a parameter or global to the object
    name: str


class NeedWriteback(Exception):  # noqa: N818  (a request to start again, not an error)
    """An attribute is assigned that was not known to be."""

    def __init__(self, assigned: Assigned) -> None:
        super().__init__(assigned)
        self.assigned = assigned


@record
class Namespace:
    """Where the names of a function that are not local to it are looked up."""

    function: FunctionType
    slot: int  # the slot that holds the function; -1 for the program itself
    outer: dict[str, Operand]  # names of an enclosing function that is inlined, for nested functions

    @property
    def globals(self) -> dict[str, Any]:
        """The global names of the function."""
        return cast("FunctionType", self.function).__globals__  # pyright takes a function in a class for a method


class Inputs:
    """The slots of a program, grown as names are met."""

    def __init__(
        self,
        build: Builder,
        function: FunctionType,
        static: frozenset[Slot],
        assigned: tuple[Assigned, ...] = (),
        *,
        any_strides: bool = False,
        texts: frozenset[Slot] = frozenset(),
        watched: frozenset[Slot] = frozenset(),
    ) -> None:
        self.any_strides = any_strides
        self.watched = watched  # lists whose length is compared with the turns of the loops that look into them
        self.texts = texts  # slots of strings and lists whose characters and numbers are data
        self.build = build
        self.function = function
        self.static = static  # slots whose value is needed at compile time
        self.slots: list[Slot] = []
        self.objects: list[Any] = []
        self.args: list[ArgSpec] = []
        self.operands: list[Operand] = []
        self.scalars: list[tuple[int, Value]] = []
        self.writes = assigned
        self.assigned: tuple[str, ...] = ()  # keys "@slot.name" of attributes the program assigns

    def add(self, slot: Slot, example: Any, name: str) -> Operand:
        """The operand for a slot, which is new or known."""
        if slot in self.slots:
            return self.operands[self.slots.index(slot)]
        number = len(self.slots)
        self.slots.append(slot)
        self.objects.append(example)
        self.args.append(ArgSpec(ArgKind.IGNORED))
        self.operands.append(Unbound())
        operand = self.operands[number] = self._operand(number, example, name)
        if isinstance(operand, Array):
            self.build.ledger.objects.append(operand)
        return operand

    def _operand(self, number: int, example: Any, name: str) -> Operand:
        kind = cast("type[Any]", type(example))
        if self.slots[number] in self.static:
            return self._static(number, example)
        if kind is np.ndarray:
            return self._array(number, example, name)
        if kind in _PYTHON_SCALARS:
            if kind is int and not -(1 << 63) <= example < (1 << 63):
                raise UnusualValue(f"{name} is an int beyond int64")
            arg_kind, type_ = _PYTHON_SCALARS[kind]
            return self._scalar(number, ArgSpec(arg_kind), type_, name)
        if isinstance(example, np.generic):
            dtype = dtype_of(cast("np.generic[Any]", example).dtype)
            if dtype is None or kind is not dtype.numpy.type:
                raise UnsupportedArgument(number, f"{name} is a {kind.__name__}, which is not compiled")
            return self._scalar(number, ArgSpec(ArgKind.NP_SCALAR, dtype=dtype.value), ScalarType(dtype), name)
        if kind is str and self.slots[number] in self.texts:
            return _text_operand(self, number, example, name)
        if isinstance(example, _STATIC_TYPES) or getattr(example, "__weft_program__", False):
            return self._static(number, example)
        if isinstance(example, tuple | list | dict | slice | range):
            return _container_operand(self, number, cast("Any", example), name)
        return self._object(number, example, name)

    def _object(self, number: int, example: Any, name: str) -> Operand:
        kind = cast("type[Any]", type(example))
        if isinstance(example, np.ndarray | set | frozenset):
            hint = (
                f"pass np.asarray({name}), if a plain array will do"
                if isinstance(example, np.ndarray)
                else "use a tuple"
            )
            raise UnsupportedArgument(number, f"{name} is a {kind.__name__}, which is not compiled", hint)
        self.args[number] = ArgSpec(ArgKind.OBJECT, value=kind)
        if any(hasattr(kind, protocol) for protocol in _ARRAY_PROTOCOLS):
            return Foreign(number, kind)
        return Instance(number, kind)

    def converted(self, owner: Foreign, function: str) -> Operand:
        """`np.asarray` or `np.from_dlpack` of a foreign object, as an array of the call's own."""
        slot = Slot(SlotKind.CONVERTED, owner.slot, function)
        if slot in self.slots:
            return self.operands[self.slots.index(slot)]
        convert = getattr(np, function)
        with suppress(Exception):  # whatever it raises, it will raise again in Python
            array, again = convert(self.objects[owner.slot]), convert(self.objects[owner.slot])
            if type(array) is np.ndarray and array.ctypes.data == again.ctypes.data:
                return self.add(slot, array, function)
        raise self.build.error("E107", f"np.{function} of a {owner.cls.__name__} gives other memory every time")

    def _static(self, number: int, example: Any) -> Operand:
        self.args[number] = ArgSpec(ArgKind.STATIC, value=example)
        if type(example) in _PYTHON_SCALARS:
            return Scalar(python_const(example))
        return Static(example, number)

    def _scalar(self, number: int, spec: ArgSpec, type_: ScalarType, name: str) -> Operand:
        self.args[number] = spec
        value = self.build.value(name, type_)
        self.scalars.append((number, value))
        self.build.ledger.slot_of_value[value] = number
        self.build.ledger.entry.add(value)
        if type_ == PY_INT and self.objects[number] == 1:
            self.build.ledger.ones.add(value)
        return Scalar(index(value) if type_ == PY_INT else value)

    def _array(self, number: int, example: np.ndarray[Any, Any], name: str) -> Operand:
        dtype = dtype_of(example.dtype)
        if dtype is None or example.dtype.num != dtype.numpy.num or not example.flags.aligned:
            known = dtype is not None and example.dtype.num == dtype.numpy.num
            what = "is not aligned" if known else f"has dtype {example.dtype} ({example.dtype.char!r})"
            hint = "copy it: np.array(x)" if known else f"convert it first if it holds numbers: {name}.astype(float)"
            raise UnsupportedArgument(number, f"{name} {what}, which is not compiled", hint)
        if example.ndim > MAX_RANK:
            raise UnsupportedArgument(number, f"{name} has more than {MAX_RANK} axes")
        if any(extent > MAX_EXTENT for extent in example.shape):
            raise UnusualValue(f"{name} has an axis of more than 2**40 elements")
        layout = "C" if example.flags.c_contiguous else "F" if example.flags.f_contiguous else "S"
        layout = "S" if self.any_strides and example.ndim else layout
        if layout == "S" and example.ndim == MAX_RANK:
            raise UnsupportedArgument(number, f"{name} has {MAX_RANK} axes that are not dense")
        ones = sum(1 << axis for axis, extent in enumerate(example.shape) if extent == 1)
        twin = self._twin(number, example)
        code, order, repeated = pack_order(example.shape, example.strides) if layout == "S" else (0, (), 0)
        self.args[number] = ArgSpec(
            ArgKind.ARRAY, dtype=dtype.value, ndim=example.ndim, layout=layout, ones=ones, same_as=twin, order=code,
            repeated=repeated,
        )  # fmt: skip
        if twin >= 0:
            return replace(cast("Array", self.operands[twin]))  # the same elements, but it may be another object
        shape = tuple(self.build.extent(f"{name}_{axis}", one=extent == 1) for axis, extent in enumerate(example.shape))
        self.build.ledger.entry.update(*(extent.values for extent in shape))
        unique = name if name not in self.build.ledger.containers else f"{name}.{self.build.new_id()}"
        if order:
            self.build.ledger.orders[unique] = order
            self.build.ledger.repeated[unique] = repeated
        container = Container(unique, dtype, shape, Storage.ARGUMENT, Layout(layout), slot=number)
        self.build.ledger.containers[unique] = container
        return Array(full_view(container), dtype)

    def _twin(self, number: int, example: np.ndarray[Any, Any]) -> int:
        """An earlier slot that holds the very same array."""
        for earlier in range(number):
            other = self.objects[earlier]
            if (
                type(other) is np.ndarray
                and self.args[earlier].kind is ArgKind.ARRAY
                and (other.dtype, other.shape, other.strides) == (example.dtype, example.shape, example.strides)
                and other.ctypes.data == example.ctypes.data
                and self.args[earlier].same_as < 0
            ):
                return earlier
        return -1

    # -- names --------------------------------------------------------------------------------------------------------

    def lookup(self, names: Namespace, name: str) -> Operand | None:
        """The operand of a name that is not local; None if there is no such name."""
        if name in names.outer:
            return names.outer[name]
        function = names.function
        if name in function.__code__.co_freevars:
            return self._cell(names, name)
        if name in names.globals:
            return self._global(names, name)
        if not hasattr(builtins, name):
            return None
        value = getattr(builtins, name)
        if names.globals is self.function.__globals__ and isinstance(value, type | BuiltinFunctionType):
            operand = self.add(Slot(SlotKind.GLOBAL, name=name), value, name)  # checked: a global may hide it later
            return operand if isinstance(operand, Static) else Static(value)
        return Static(value)

    def _cell(self, names: Namespace, name: str) -> Operand | None:
        position = names.function.__code__.co_freevars.index(name)
        cell = (names.function.__closure__ or ())[position]
        try:
            value = cell.cell_contents
        except ValueError:
            return None
        if names.slot < 0:
            return self.add(Slot(SlotKind.CELL, position), value, name)
        closure = names.function.__closure__ or ()
        cells = self.raw(Slot(SlotKind.ATTRIBUTE, names.slot, "__closure__"), closure)
        self.args[cells] = ArgSpec(ArgKind.TUPLE, length=len(closure))
        cell_slot = self.raw(Slot(SlotKind.ITEM, position, parent=cells), cell)
        return self.add(Slot(SlotKind.ATTRIBUTE, cell_slot, "cell_contents"), value, name)

    def _global(self, names: Namespace, name: str) -> Operand:
        value = names.globals[name]
        if names.globals is self.function.__globals__:
            return self.add(Slot(SlotKind.GLOBAL, name=name), value, name)
        table = self.raw(Slot(SlotKind.ATTRIBUTE, names.slot, "__globals__"), names.globals)
        return self.add(Slot(SlotKind.MAPPING, name=name, parent=table), value, name)

    def fixed(self, slot: Slot, example: Any) -> int:
        """A slot that must hold this very object (or an equal constant) on every call."""
        number = self.raw(slot, example)
        self.args[number] = ArgSpec(ArgKind.STATIC, value=example)
        return number

    def raw(self, slot: Slot, example: Any) -> int:
        """A slot that only leads to others."""
        if slot not in self.slots:
            self.slots.append(slot)
            self.objects.append(example)
            self.args.append(ArgSpec(ArgKind.IGNORED))
            self.operands.append(Unbound())
        return self.slots.index(slot)

    def attribute(self, owner: Static, name: str) -> Operand | None:
        """An attribute of a known object; None if it has none. Modules and classes of the program's own may change."""
        if not hasattr(owner.value, name):
            return None
        value = getattr(owner.value, name)
        if isinstance(owner.value, ModuleType | type) and owner.slot >= 0:
            home = owner.value.__name__ if isinstance(owner.value, ModuleType) else owner.value.__module__
            if home.partition(".")[0] not in (*TRUSTED_MODULES, "weft") or _leads_to_state(value):
                return self.add(Slot(SlotKind.ATTRIBUTE, owner.slot, name), value, name)
        return static_operand(value)

    def instance_attribute(self, owner: Instance, name: str) -> Operand:
        """A plain attribute of an object."""
        value = getattr(self.objects[owner.slot], name)
        return self.add(Slot(SlotKind.ATTRIBUTE, owner.slot, name), value, name)

    def nesting(self, number: int) -> int:
        """How many tuples, lists and dicts the object in a slot stands in."""
        depth, slot = 0, self.slots[number]
        while slot.parent >= 0:
            depth, slot = depth + 1, self.slots[slot.parent]
        return depth

    def slot_of(self, operand: Operand) -> int:
        """The slot whose very object an operand is; -1 if it is none (a view of it is not)."""
        if isinstance(operand, Static | Tuple | Dict | Instance | Foreign | Text | Lent) and operand.slot >= 0:
            return operand.slot
        return next((number for number, known in enumerate(self.operands) if known is operand), -1)

    def need_writeback(self, owner: Instance, name: str) -> str:
        """The key of an attribute that is written back on every way out; lowering starts again if that is new."""
        key = f"@{owner.slot}.{name}"
        if key not in self.assigned:
            raise NeedWriteback(Assigned(_trail(self, owner.slot), name))
        return key

    def finished_args(self) -> tuple[ArgSpec, ...]:
        """The specs, with the arrays that are written marked."""
        args = list(self.args)
        written = {c.slot for c in self.build.ledger.containers.values() if c.storage is Storage.ARGUMENT and c.written}
        for number, spec in enumerate(args):
            if spec.kind is ArgKind.ARRAY and (number in written or spec.same_as in written):
                args[number] = spec._replace(written=True)
        return tuple(args)


def _leads_to_state(value: Any) -> bool:
    """Whether an attribute of NumPy is a module or method of random numbers: their state is no constant."""
    module: Any = sys.modules.get("numpy.random")
    if module is None:
        return False
    return value is module or value is module.seed or isinstance(getattr(value, "__self__", None), module.RandomState)


# ---- objects with parts ---------------------------------------------------------------------------------------------


def _text_operand(inputs: Inputs, number: int, example: str, name: str) -> Operand:
    inputs.args[number] = ArgSpec(ArgKind.OBJECT, value=str)
    codes = inputs.add(Slot(SlotKind.CONVERTED, number, TEXT), code_points(example), name)
    assert isinstance(codes, Array)
    return Text(number, codes)


def _container_operand(inputs: Inputs, number: int, example: Any, name: str) -> Operand:
    """Tuples, lists, dicts, slices and ranges: their parts are slots of their own."""
    kind = cast("type[Any]", type(example))
    if kind is slice or kind is range:
        return _bounds_operand(inputs, number, example, name)
    is_data = kind is list and (is_long(example) or inputs.slots[number] in inputs.texts)
    conversion = conversion_of(example) if is_data else None
    if conversion is not None:
        return _lent_operand(inputs, number, example, conversion, name)
    if inputs.nesting(number) > MAX_NESTING:
        raise UnsupportedArgument(number, f"{name} stands in too many tuples, lists or dicts, or holds itself")
    if len(example) > MAX_ITEMS:
        raise UnsupportedArgument(number, f"{name} is a {kind.__name__} of more than {MAX_ITEMS} items")
    if kind in (tuple, list) or named_fields(kind) is not None:
        return _sequence_operand(inputs, number, example, name)
    if kind is dict and all(type(key) is str for key in cast("dict[Any, Any]", example)):
        return _mapping_operand(inputs, number, example, name)
    what = "dict with other keys than strings" if kind is dict else kind.__name__
    raise UnsupportedArgument(number, f"{name} is a {what}, which is not compiled")


def _sequence_operand(inputs: Inputs, number: int, example: Sequence[Any], name: str) -> Operand:
    kind = type(example)
    named = None if kind in (tuple, list) else kind
    arg_kind = ArgKind.LIST if kind is list else ArgKind.TUPLE
    inputs.args[number] = ArgSpec(arg_kind, length=len(example), value=named)
    items = [
        inputs.add(Slot(SlotKind.ITEM, item, parent=number), value, f"{name}{item}")
        for item, value in enumerate(example)
    ]
    return Tuple(tuple(items), kind is list, named, number)


def _lent_operand(inputs: Inputs, number: int, example: list[Any], conversion: str, name: str) -> Operand:
    """A long list of numbers, or of tuples or lists of them: data, of any length."""
    try:
        array = numbers_in(conversion, example)
    except ValueError:
        raise UnusualValue(f"{name} holds ints that are too large") from None
    inputs.args[number] = ArgSpec(ArgKind.OBJECT, value=list)
    numbers = inputs.add(Slot(SlotKind.CONVERTED, number, conversion), array, name)
    assert isinstance(numbers, Array)
    return Lent(number, list_of_numbers(inputs.build, numbers, conversion))


def _mapping_operand(inputs: Inputs, number: int, example: dict[str, Any], name: str) -> Operand:
    inputs.args[number] = ArgSpec(ArgKind.DICT, value=tuple(example))
    values = [
        inputs.add(Slot(SlotKind.MAPPING, name=key, parent=number), value, f"{name}_{key}")
        for key, value in example.items()
    ]
    return Dict(tuple(example), tuple(values), number)


def _bounds_operand(inputs: Inputs, number: int, example: slice[Any, Any, Any] | range, name: str) -> Operand:
    """A slice or a range: start and stop may be any integers, the step is known."""
    inputs.args[number] = ArgSpec(ArgKind.OBJECT, value=type(example))
    inputs.static |= {Slot(SlotKind.ATTRIBUTE, number, "step")}
    start, stop, step = (
        inputs.add(Slot(SlotKind.ATTRIBUTE, number, which), getattr(example, which), f"{name}_{which}")
        for which in ("start", "stop", "step")
    )
    if isinstance(example, slice):
        return Slice(start, stop, step)
    first, last, every = (cast("Index", cast("Scalar", part).expr) for part in (start, stop, step))
    return Range(first, last, every)


def enter_assigned(inputs: Inputs) -> None:
    """Find the objects whose attributes are assigned, before anything else is read."""
    owners = [_followed(inputs, write.trail) for write in inputs.writes]
    inputs.assigned = tuple(f"@{owner}.{write.name}" for owner, write in zip(owners, inputs.writes, strict=True))


def _trail(inputs: Inputs, number: int) -> tuple[Slot, ...]:
    trail: list[Slot] = []
    while number >= 0:
        slot = inputs.slots[number]
        if not trail or inputs.args[number].kind is not ArgKind.IGNORED:
            trail.insert(0, slot)
            number = slot.index if slot.kind is SlotKind.ATTRIBUTE else slot.parent
            continue
        raise inputs.build.error("E143", "attributes of this object are not assigned in compiled code", "pass it in")
    return tuple(trail)


def _followed(inputs: Inputs, trail: tuple[Slot, ...]) -> int:
    number = -1
    for old in trail:
        match old.kind:
            case SlotKind.PARAM:
                slot, value = old, inputs.objects[inputs.slots.index(old)]
            case SlotKind.ATTRIBUTE:
                slot, value = old._replace(index=number), getattr(inputs.objects[number], old.name)
            case SlotKind.GLOBAL:
                slot, value = old, inputs.function.__globals__[old.name]
            case SlotKind.CELL:
                slot, value = old, (inputs.function.__closure__ or ())[old.index].cell_contents
            case _:
                slot = old._replace(parent=number)
                value = inputs.objects[number][old.index if old.kind is SlotKind.ITEM else old.name]
        inputs.add(slot, value, old.name)
        number = inputs.slots.index(slot)
    return number
