"""Why a call does not fit a kernel that was made for other arguments, in words.

in:   a kernel, the function and the arguments of a call that the dispatcher did not give to the kernel
out:  a sentence that names the argument, what it is, and what the kernel was compiled for
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np

from weft.driver.fingerprints import same_array
from weft.driver.kernels import Kernel, fits, slot_object
from weft.support.abi import MAX_EXTENT, ArgKind, ArgSpec, Slot, SlotKind
from weft.support.generators import BIT_GENERATOR, KEPT_NORMAL
from weft.support.number_lists import LIST
from weft.support.texts import TEXT

_LONGEST = 60
_LAYOUTS = {"C": "C order", "F": "Fortran order", "S": "strides in another order"}
_SCALARS = {
    ArgKind.PY_BOOL: "a bool", ArgKind.PY_INT: "an int of 64 bits", ArgKind.PY_FLOAT: "a float",
    ArgKind.PY_COMPLEX: "a complex",
}  # fmt: skip


def misfit(function: FunctionType, kernel: Kernel, params: Sequence[Any]) -> str:
    """The first slot of the kernel that holds something else than what it was compiled for."""
    found: list[Any] = []
    slots = kernel.info.slots
    for number, (slot, spec, value) in enumerate(zip(slots, kernel.info.args, kernel.values, strict=True)):
        name = slot_name(function, slots, number)
        try:
            found.append(slot_object(function, slot, params, found))
        except (LookupError, AttributeError, ValueError, TypeError):
            return f"{name} does not exist; the graph was compiled for {_wanted(spec, value)}"
        problem = _problem(spec, value, found[-1])
        if problem:
            return f"{name} {problem[0]}; the graph was compiled for {problem[1]}"
    return _twins(function, kernel, found) or "the arguments are not those the graph was compiled for"


def overlap(function: FunctionType, kernel: Kernel, params: Sequence[Any]) -> str:
    """Which arrays of a call share memory that the kernel writes."""
    found: list[Any] = []
    for slot in kernel.info.slots:
        found.append(slot_object(function, slot, params, found))
    args = kernel.info.args
    arrays = [number for number, arg in enumerate(args) if arg.kind is ArgKind.ARRAY]
    for later in arrays:
        for earlier in arrays[: arrays.index(later)]:
            known = args[later].same_as >= 0 or not (args[later].written or args[earlier].written)
            if not known and np.may_share_memory(found[earlier], found[later]):
                first, second = (slot_name(function, kernel.info.slots, number) for number in (earlier, later))
                return f"{second} shares memory with {first}; the graph was compiled for arrays that lie apart"
    return "an array that is written shares memory; the graph was compiled for arrays that lie apart"


def slot_name(function: FunctionType, slots: Sequence[Slot], number: int) -> str:
    """What the user calls the object in a slot."""
    slot = slots[number]
    match slot.kind:
        case SlotKind.PARAM:
            return f"argument '{function.__code__.co_varnames[slot.index]}'"
        case SlotKind.GLOBAL:
            return f"global '{slot.name}'"
        case SlotKind.CELL:
            return f"variable '{function.__code__.co_freevars[slot.index]}'"
        case SlotKind.ATTRIBUTE:
            return f"attribute '{slot.name}' of {slot_name(function, slots, slot.index)}"
        case SlotKind.ITEM:
            return f"item {slot.index} of {slot_name(function, slots, slot.parent)}"
        case SlotKind.MAPPING:
            if slots[slot.parent].kind is SlotKind.ATTRIBUTE and slots[slot.parent].name == "__globals__":
                return f"global '{slot.name}' of another module"
            return f"item '{slot.name}' of {slot_name(function, slots, slot.parent)}"
        case SlotKind.CONVERTED:
            words = {TEXT: "the text", BIT_GENERATOR: "the state", KEPT_NORMAL: "the state"}
            what = "the numbers" if slot.name.startswith(LIST) else words.get(slot.name, f"np.{slot.name}")
            return f"{what} of {slot_name(function, slots, slot.index)}"


def _problem(spec: ArgSpec, value: Any, obj: Any) -> tuple[str, str] | None:
    """What an object is and what it should have been; None where it fits."""
    if spec.kind is ArgKind.ARRAY and type(obj) is np.ndarray:
        return _array_problem(spec, obj)
    if spec.kind is ArgKind.PY_INT and type(obj) is int and not -(2**63) <= obj < 2**63:
        return "is an int beyond 64 bits", _wanted(spec, value)
    if fits(spec, value, obj):
        return None
    return f"is {_given(spec, obj)}", _wanted(spec, value)


def _array_problem(spec: ArgSpec, array: Any) -> tuple[str, str] | None:
    if array.dtype != np.dtype(spec.dtype):
        return f"is an array of {array.dtype}", f"an array of {spec.dtype}"
    if array.ndim != spec.ndim:
        return f"has {_axes(array.ndim)}", _axes(spec.ndim)
    for axis, extent in enumerate(array.shape):
        if (extent == 1) != bool(spec.ones >> axis & 1):
            wanted = "length 1" if spec.ones >> axis & 1 else "other lengths than 1"
            return f"has length {extent} along axis {axis}", f"{wanted} there"
        if extent > MAX_EXTENT:
            return f"has length {extent} along axis {axis}", "lengths up to 2**40"
    if fits(spec, None, array):
        return None
    if spec.written and not array.flags.writeable:
        return "is read-only", "an array it can write"
    if not array.flags.aligned:
        return "is not aligned", "an aligned array"
    layout = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "S"
    given = "has strides that are not dense" if layout == "S" and spec.layout != "S" else f"has {_LAYOUTS[layout]}"
    return given, _LAYOUTS[spec.layout] if spec.layout != "S" else "axes in another order of strides"


def _axes(rank: int) -> str:
    return "1 axis" if rank == 1 else f"{rank} axes"


def _twins(function: FunctionType, kernel: Kernel, found: Sequence[Any]) -> str:
    """Two slots that hold the same array and should not, or should and do not."""
    name: Callable[[int], str] = lambda number: slot_name(function, kernel.info.slots, number)  # noqa: E731
    args = kernel.info.args
    for later, spec in enumerate(args):
        if spec.kind is not ArgKind.ARRAY:
            continue
        if spec.same_as >= 0 and not same_array(found[spec.same_as], found[later]):
            twins = f"{name(later)} is not the same array as {name(spec.same_as)}"
            return f"{twins}; the graph was compiled for one array in both places"
        for earlier in range(later):
            if args[earlier].kind is ArgKind.ARRAY and spec.same_as < 0 and same_array(found[earlier], found[later]):
                return f"{name(later)} is the same array as {name(earlier)}; the graph was compiled for two arrays"
    return ""


def _given(spec: ArgSpec, obj: Any) -> str:
    if spec.kind is ArgKind.STATIC:
        return _clipped(repr(obj))
    cls = cast("type[Any]", type(obj))
    if spec.kind in (ArgKind.TUPLE, ArgKind.LIST) and cls in (tuple, list):
        return f"a {cls.__name__} of {len(obj)}"
    if spec.kind is ArgKind.DICT and cls is dict:
        return f"a dict with the keys {_clipped(', '.join(map(repr, obj)))}"
    if cls is np.ndarray:
        return f"an array of {obj.dtype}"
    return _instance(cls)


def _wanted(spec: ArgSpec, value: Any) -> str:
    match spec.kind:
        case ArgKind.ARRAY:
            return f"an array of {spec.dtype}"
        case ArgKind.NP_SCALAR:
            return _instance(np.dtype(spec.dtype).type)
        case ArgKind.STATIC:
            return _clipped(repr(value))
        case ArgKind.OBJECT:
            return _instance(value)
        case ArgKind.TUPLE:
            return f"a tuple of {spec.length}" if value is None else _instance(value)
        case ArgKind.LIST:
            return f"a list of {spec.length}"
        case ArgKind.DICT:
            return f"a dict with the keys {_clipped(', '.join(map(repr, value)))}"
        case ArgKind.IGNORED:
            return "anything"
        case _:
            return _SCALARS[spec.kind]


def _instance(cls: type[Any]) -> str:
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
