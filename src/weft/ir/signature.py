"""Check the head of a program: slots, argument specs, scalars and containers.

in:   a `Program`
out:  None, or what is wrong with it
"""

from __future__ import annotations

import math
from collections.abc import Callable

from weft.ir.dtypes import PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, DType, ScalarType
from weft.ir.nodes import Container, Layout, Program, Storage
from weft.support.abi import ArgKind, ArgSpec

# The most that one array may take on the stack.
STACK_BYTES = 16384

_PYTHON_SCALARS = {
    ArgKind.PY_BOOL: PY_BOOL,
    ArgKind.PY_INT: PY_INT,
    ArgKind.PY_FLOAT: PY_FLOAT,
    ArgKind.PY_COMPLEX: PY_COMPLEX,
}


def signature_fault(program: Program) -> str | None:
    """The first thing that does not fit."""
    if len(program.slots) != len(program.args):
        return f"{len(program.slots)} slots, but {len(program.args)} argument specs"
    for slot, value in program.scalars:
        if not 0 <= slot < len(program.slots):
            return f"{value.text} comes from slot {slot}, which does not exist"
        if value.type != _scalar_type(program.args[slot]):
            return f"{value.text} is {value.type.text}, but slot {slot} holds {program.args[slot].kind.name}"
    for entry in program.writebacks:
        if not 0 <= entry.slot < len(program.slots):
            return f"`{entry.name}` is written back to slot {entry.slot}, which does not exist"
    for name, container in program.containers.items():
        if name != container.name:
            return f"the container {container.name} is listed as {name}"
        fault = _CHECKS[container.storage](container, program)
        if fault is not None:
            return f"{name}: {fault}"
    return None


def _scalar_type(arg: ArgSpec) -> ScalarType | None:
    if arg.kind is ArgKind.NP_SCALAR:
        return ScalarType(DType(arg.dtype))
    return _PYTHON_SCALARS.get(arg.kind)


def _argument_fault(container: Container, program: Program) -> str | None:
    if not 0 <= container.slot < len(program.slots):
        return f"comes from slot {container.slot}, which does not exist"
    arg = program.args[container.slot]
    if arg.kind is not ArgKind.ARRAY:
        return f"slot {container.slot} holds {arg.kind.name}, not an array"
    if (arg.dtype, arg.ndim, arg.layout) != (container.dtype.value, container.rank, container.layout.value):
        given = f"{arg.dtype} of rank {arg.ndim}, layout {arg.layout}"
        return f"slot {container.slot} holds {given}; the container says otherwise"
    if arg.written != container.written:
        return "`written` differs between the container and its argument spec"
    return None


def _transient_fault(container: Container, program: Program) -> str | None:
    return "a transient is dense" if container.layout is Layout.STRIDED else None


def _stack_fault(container: Container, program: Program) -> str | None:
    if container.layout is Layout.STRIDED:
        return "an array on the stack is dense"
    extents = [extent.constant for extent in container.shape]
    if any(extent is None or extent < 0 for extent in extents):
        return "the extents of an array on the stack are constants"
    size_bytes = container.dtype.itemsize * math.prod(extent or 0 for extent in extents)
    return f"{size_bytes} bytes are too many for the stack" if size_bytes > STACK_BYTES else None


def _ref_fault(container: Container, program: Program) -> str | None:
    unknown = [name for name in container.may_alias if name not in program.containers]
    if unknown:
        return f"may alias {', '.join(unknown)}, which do not exist"
    local = [name for name in container.may_alias if program.containers[name].storage is Storage.STACK]
    return f"may alias {', '.join(local)}, which no view leaves" if local else None


def _alias_fault(container: Container, program: Program) -> str | None:
    base = program.containers.get(container.base)
    if base is None:
        return f"is another shape of {container.base}, which does not exist"
    if base.layout is not Layout.C or container.layout is not Layout.C:
        return f"is another shape of {container.base}: both must be dense in C order"
    if base.storage is Storage.ALIAS:
        return f"is another shape of {container.base}, which is one itself"
    if base.dtype is not container.dtype:
        return f"its elements are {container.dtype.text}, those of {container.base} {base.dtype.text}"
    return None


_CHECKS: dict[Storage, Callable[[Container, Program], str | None]] = {
    Storage.ARGUMENT: _argument_fault,
    Storage.TRANSIENT: _transient_fault,
    Storage.STACK: _stack_fault,
    Storage.REF: _ref_fault,
    Storage.ALIAS: _alias_fault,
}
