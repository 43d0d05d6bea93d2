"""Kernels between disk and memory: what is stored with one, and whether a stored one fits a call.

in:   the arguments of a call; an entry of the cache
out:  a `Kernel` ready for the dispatcher, or None

Nothing here loads the compiler. An entry fits when every slot holds what it held when the kernel was made (types,
static values), and the functions that were inlined have the same code.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any, cast

import numpy as np

from weft.driver.fingerprints import function_fingerprint, same_array
from weft.runtime.cache import Cache, Entry
from weft.runtime.constants import NotDecodable, NotEncodable, decode_constant, encode_constant
from weft.runtime.native import load_kernel
from weft.support.abi import SMALL_DENSE, ArgKind, ArgSpec, KernelInfo, Slot, SlotKind, pack_order
from weft.support.records import record
from weft.support.texts import convert

_MAX_ENTRIES = 4  # programs that differ only in what they find in globals, attributes or static arguments
_PYTHON = {
    ArgKind.PY_BOOL: bool, ArgKind.PY_INT: int, ArgKind.PY_FLOAT: float, ArgKind.PY_COMPLEX: complex,
}  # fmt: skip


class GoesToPython(Exception):  # noqa: N818  (no error)
    """This one call runs in Python: a value in it is beyond what compiled code takes (a big integer)."""


class TooLittle(GoesToPython):
    """A piece of a program that Python runs in the time of a call."""


@record
class Kernel:
    """A loaded kernel with what its tables refer to."""

    info: KernelInfo
    address: int
    constants: tuple[Any, ...]
    values: tuple[Any, ...]  # of STATIC and OBJECT slots
    source: str


def slot_objects(function: FunctionType, slots: Sequence[Slot], params: Sequence[Any]) -> list[Any] | None:
    """The objects a call has in the slots; None where there is none."""
    found: list[Any] = []
    for slot in slots:
        try:
            found.append(slot_object(function, slot, params, found))
        except (LookupError, AttributeError, ValueError, TypeError):
            return None
    return found


def slot_object(function: FunctionType, slot: Slot, params: Sequence[Any], found: Sequence[Any]) -> Any:
    """The object a call has in one slot; `found` are those of the slots before it."""
    match slot.kind:
        case SlotKind.PARAM:
            return params[slot.index]
        case SlotKind.GLOBAL:
            table = function.__globals__
            return table[slot.name] if slot.name in table else getattr(builtins, slot.name)
        case SlotKind.CELL:
            return (function.__closure__ or ())[slot.index].cell_contents
        case SlotKind.ATTRIBUTE:
            return getattr(found[slot.index], slot.name)
        case SlotKind.ITEM:
            return found[slot.parent][slot.index]
        case SlotKind.MAPPING:
            return found[slot.parent][slot.name]
        case SlotKind.CONVERTED:
            return convert(slot.name, found[slot.index])


def fits(spec: ArgSpec, value: Any, obj: Any) -> bool:
    """Whether an object is what a slot must hold; `value` is the decoded static value or class."""
    match spec.kind:
        case ArgKind.ARRAY:
            return type(obj) is np.ndarray and _array_fits(spec, obj)
        case ArgKind.PY_BOOL | ArgKind.PY_INT | ArgKind.PY_FLOAT | ArgKind.PY_COMPLEX:
            return type(obj) is _PYTHON[spec.kind]
        case ArgKind.NP_SCALAR:
            return type(obj) is np.dtype(spec.dtype).type
        case ArgKind.STATIC:
            return obj is value or (type(obj) is type(value) and bool(obj == value))
        case ArgKind.OBJECT:
            return type(obj) is value
        case ArgKind.TUPLE:
            return type(obj) is (value or tuple) and len(obj) == spec.length
        case ArgKind.LIST:
            return type(obj) is list and len(cast("list[Any]", obj)) == spec.length
        case ArgKind.DICT:
            return type(obj) is dict and tuple(cast("dict[str, Any]", obj)) == tuple(value)
        case ArgKind.IGNORED:
            return True


def _array_fits(spec: ArgSpec, array: Any) -> bool:
    flags = array.flags
    ones = sum(1 << axis for axis, extent in enumerate(array.shape) if extent == 1)
    layout = spec.layout == "S" or (flags.c_contiguous if spec.layout == "C" else flags.f_contiguous)
    return (
        array.dtype == np.dtype(spec.dtype)
        and array.ndim == spec.ndim
        and ones == spec.ones
        and layout
        and (not spec.order or _order_fits(spec, array))
        and flags.aligned
        and (flags.writeable or not spec.written)
    )


def _order_fits(spec: ArgSpec, array: Any) -> bool:
    order = pack_order(array.shape, array.strides)
    return (order.code, order.repeated) == (spec.order, spec.repeated)


# ---- to disk --------------------------------------------------------------------------------------------------------


def encoded_info(info: KernelInfo) -> KernelInfo:
    """The tables with constants and static values encoded; raises NotEncodable."""
    constants = tuple(encode_constant(constant) for constant in info.constants)
    args = tuple(arg._replace(value=_encode_static(arg)) for arg in info.args)
    return info._replace(constants=constants, args=args)


def _encode_static(arg: ArgSpec) -> Any:
    if arg.kind is ArgKind.OBJECT or (arg.kind is ArgKind.TUPLE and arg.value is not None):
        return ["class", arg.value.__module__, arg.value.__qualname__]
    if arg.kind not in (ArgKind.STATIC, ArgKind.DICT):
        return None
    if _function_of(arg.value) is not None or isinstance(arg.value, CodeType):
        return ["function"]  # the one found in the slot, if the manifest says it has the same code
    return ["constant", encode_constant(arg.value)]


def manifest_of(info: KernelInfo, objects: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """What else the compiler looked at: functions that were inlined, by the slot that leads to them."""
    found: list[tuple[str, str]] = []
    for number, obj in enumerate(objects[: len(info.slots)]):
        function = _function_of(obj)
        if function is not None:
            found.append((str(number), function_fingerprint(function)))
    return tuple(found)


def _function_of(obj: Any) -> FunctionType | None:
    inner = undecorated(obj)
    return inner if isinstance(inner, FunctionType) else None


def undecorated(obj: Any) -> Any:
    """The Python function of a program; any other object as it is."""
    cls = cast("type[Any]", type(obj))
    return obj.py_func if getattr(cls, "__weft_program__", False) else obj


# ---- from disk ------------------------------------------------------------------------------------------------------


def load(
    cache: Cache, key: str, function: FunctionType, params: Sequence[Any], *, takes_dense: bool = True
) -> Kernel | None:
    """A stored kernel that fits the call. `takes_dense`: be it one for strides that is given dense arrays."""
    for number in range(_MAX_ENTRIES):
        entry = cache.load(f"{key}-{number}")
        if entry is None:
            return None
        kernel = _fitting(entry, function, params, takes_dense)
        if kernel is not None:
            return kernel
    return None


def free_key(cache: Cache, key: str) -> str:
    """The key of the first entry that is not taken; the last one is replaced when all are."""
    for number in range(_MAX_ENTRIES - 1):
        if cache.load(f"{key}-{number}") is None:
            return f"{key}-{number}"
    return f"{key}-{_MAX_ENTRIES - 1}"


def _fitting(entry: Entry, function: FunctionType, params: Sequence[Any], takes_dense: bool) -> Kernel | None:
    info = entry.info
    objects = slot_objects(function, info.slots, params)
    if objects is None or manifest_of(info, objects) != entry.manifest:
        return None
    try:
        values = tuple(_decode_static(arg, obj) for arg, obj in zip(info.args, objects, strict=True))
        constants = tuple(decode_constant(constant) for constant in info.constants)
    except NotDecodable:
        return None
    if not all(fits(arg, value, obj) for arg, value, obj in zip(info.args, values, objects, strict=True)):
        return None
    if not _same_twins(info.args, objects) or not (takes_dense or _is_for_layouts(info.args, objects)):
        return None
    return Kernel(info, load_kernel(entry.library, info.symbol), constants, values, entry.source)


def _is_for_layouts(args: Sequence[ArgSpec], objects: Sequence[Any]) -> bool:
    """Whether no dense array of some size is given to a kernel for strides."""
    return not any(
        arg.kind is ArgKind.ARRAY and arg.layout == "S" and obj.size >= SMALL_DENSE and obj.flags.forc
        for arg, obj in zip(args, objects, strict=True)
    )


def _same_twins(args: Sequence[ArgSpec], objects: Sequence[Any]) -> bool:
    for arg, obj in zip(args, objects, strict=True):
        if arg.kind is ArgKind.ARRAY and arg.same_as >= 0 and not same_array(objects[arg.same_as], obj):
            return False
    return True


def _decode_static(arg: ArgSpec, obj: Any) -> Any:
    if not arg.value:
        return None
    kind, *rest = arg.value
    if kind == "class":
        cls = cast("type[Any]", type(obj))
        return cls if [cls.__module__, cls.__qualname__] == rest else None
    if kind == "function":
        return obj
    return decode_constant(rest[0])


__all__ = ["Kernel", "NotEncodable", "encoded_info", "free_key", "load", "manifest_of", "slot_objects", "undecorated"]
