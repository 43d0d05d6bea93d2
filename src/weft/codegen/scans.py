"""Scans as loops: running sums and products, in order."""

from __future__ import annotations

from contextlib import ExitStack

from weft.codegen.access import element
from weft.codegen.c_types import c_type, literal
from weft.codegen.expressions import index_text
from weft.codegen.fp_flags import hardware_flags
from weft.codegen.kernel import Kernel, bare
from weft.codegen.reduction_state import identity
from weft.codegen.scalars import Operand
from weft.ir.nodes import Scan


def emit_scan(kernel: Kernel, node: Scan) -> None:
    """Running sums or products, in order."""
    kernel.writer.comment(node.span)
    dtype = kernel.container(node.output.container).dtype
    fresh = [kernel.fresh("i") for _ in range(node.input.rank)]
    point = tuple(coordinate for coordinate, _ in fresh)
    others = [axis for axis in range(node.input.rank) if axis != node.axis]
    with kernel.block(), hardware_flags(kernel, node.warn, "oi" if dtype.kind in "fc" else ""), ExitStack() as stack:
        total = kernel.declare(kernel.names.claim("total"), c_type(dtype))
        for axis in (*others, node.axis):
            if axis == node.axis:
                # A running sum starts with the first element itself, which -0.0 does not change.
                zero = literal(complex(-0.0, -0.0) if dtype.kind == "c" else -0.0, dtype) if dtype.kind in "fc" else "0"
                start = zero if node.op == "add" else identity(node.op, dtype)
                kernel.line(f"{c_type(dtype)} {total} = {start};")
            name, extent = fresh[axis][1], index_text(kernel, node.input.shape[axis])
            stack.enter_context(kernel.block(f"for (int64_t {name} = 0; {name} < {extent}; ++{name})"))
        operand = Operand(element(kernel, node.input.at(point)), kernel.container(node.input.container).dtype)
        value = Operand(kernel.scalars().cast(operand, dtype), dtype)
        kernel.line(f"{total} = {bare(kernel.scalars().apply(node.op, (Operand(total, dtype), value), dtype))};")
        kernel.line(f"{element(kernel, node.output.at(point))} = {total};")
