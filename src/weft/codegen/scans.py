"""Scans as loops: running sums, products and extremes, in order."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack

from weft.codegen.access import element
from weft.codegen.c_types import c_type, literal
from weft.codegen.expressions import index_text
from weft.codegen.fp_flags import hardware_flags
from weft.codegen.kernel import Kernel, bare
from weft.codegen.reduction_state import identity
from weft.codegen.scalars import Operand
from weft.ir.dtypes import DType
from weft.ir.exprs import Index, const_index
from weft.ir.nodes import Layout, Scan


def emit_scan(kernel: Kernel, node: Scan) -> None:
    """Running sums, products or extremes, in order."""
    kernel.writer.comment(node.span)
    dtype = kernel.container(node.output.container).dtype
    with kernel.block(), hardware_flags(kernel, node.warn, "oi" if dtype.kind in "fc" else ""):
        fastest = [number for number, _ in node.output.axes[-1].terms]
        if node.axis in fastest or kernel.container(node.output.container).layout is not Layout.C:
            _by_lines(kernel, node)
        else:
            _by_rows(kernel, node)


def _by_lines(kernel: Kernel, node: Scan) -> None:
    """One line after the other, the number so far in a register."""
    dtype = kernel.container(node.output.container).dtype
    fresh = [kernel.fresh("i") for _ in range(node.input.rank)]
    point = tuple(coordinate for coordinate, _ in fresh)
    others = [axis for axis in range(node.input.rank) if axis != node.axis]
    with ExitStack() as stack:
        total = kernel.declare(kernel.names.claim("total"), c_type(dtype))
        for axis in (*others, node.axis):
            if axis == node.axis:
                kernel.line(f"{c_type(dtype)} {total} = {_start(node.op, dtype)};")
            stack.enter_context(_loop(kernel, fresh[axis][1], node.input.shape[axis]))
        kernel.line(f"{total} = {_applied(kernel, node, total, point)};")
        kernel.line(f"{element(kernel, node.output.at(point))} = {total};")


def _by_rows(kernel: Kernel, node: Scan) -> None:
    """All lines side by side, as they lie in memory: each row from the one before it."""
    dtype = kernel.container(node.output.container).dtype
    fresh = [kernel.fresh("i") for _ in range(node.input.rank)]
    point = tuple(coordinate for coordinate, _ in fresh)
    before = (*point[: node.axis], point[node.axis] - 1, *point[node.axis + 1 :])
    first = (*point[: node.axis], const_index(0), *point[node.axis + 1 :])
    name, extent = fresh[node.axis][1], index_text(kernel, node.input.shape[node.axis])

    def row(head: str, here: tuple[Index, ...], total: str) -> None:
        with kernel.block(head), ExitStack() as stack:
            for axis in range(node.axis + 1, node.input.rank):
                stack.enter_context(_loop(kernel, fresh[axis][1], node.input.shape[axis]))
            kernel.line(f"{element(kernel, node.output.at(here))} = {_applied(kernel, node, total, here)};")

    with ExitStack() as stack:
        for axis in range(node.axis):
            stack.enter_context(_loop(kernel, fresh[axis][1], node.input.shape[axis]))
        row(f"if ({extent} > 0)", first, _start(node.op, dtype))
        rest = f"for (int64_t {name} = 1; {name} < {extent}; ++{name})"
        row(rest, point, element(kernel, node.output.at(before)))


def _loop(kernel: Kernel, name: str, extent: Index) -> AbstractContextManager[None]:
    return kernel.block(f"for (int64_t {name} = 0; {name} < {index_text(kernel, extent)}; ++{name})")


def _start(op: str, dtype: DType) -> str:
    """What does not change the first element, -0.0 included."""
    if op == "add":
        return literal(complex(-0.0, -0.0) if dtype.kind == "c" else -0.0, dtype) if dtype.kind in "fc" else "0"
    return identity(op, dtype)


def _applied(kernel: Kernel, node: Scan, total: str, point: tuple[Index, ...]) -> str:
    dtype = kernel.container(node.output.container).dtype
    operand = Operand(element(kernel, node.input.at(point)), kernel.container(node.input.container).dtype)
    value = Operand(kernel.scalars().cast(operand, dtype), dtype)
    return bare(kernel.scalars().apply(node.op, (Operand(total, dtype), value), dtype))
