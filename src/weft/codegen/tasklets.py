"""Tasklets: reads, lets and writes as C statements."""

from __future__ import annotations

from weft.codegen.access import element
from weft.codegen.c_types import c_type
from weft.codegen.expressions import emit_expr, emit_exprs
from weft.codegen.fp_flags import report, tasklet_flags
from weft.codegen.kernel import Kernel, bare
from weft.codegen.scalars import Operand
from weft.ir.nodes import Let, Memlet, Tasklet


def emit_tasklet(kernel: Kernel, node: Tasklet) -> None:
    """All reads, then the lets in order, then the writes in order."""
    kernel.writer.comment(node.span)
    for value, memlet in node.reads:
        text = element(kernel, memlet)
        kernel.line(f"const {c_type(value.type)} {kernel.new_value(value)} = {text};")
    for let in node.lets:
        _emit_let(kernel, let)
    texts = emit_exprs(kernel, [expr for _, expr in node.writes], tasklet_flags(kernel, -1))
    for (memlet, _), text in zip(node.writes, texts, strict=True):
        _emit_write(kernel, memlet, text)


def _emit_let(kernel: Kernel, let: Let) -> None:
    flags = tasklet_flags(kernel, let.warn)
    lone = let.warn >= 0 and flags is None
    if lone:
        flags = kernel.declare(kernel.names.claim("fp"), "int32_t")
        kernel.line(f"int32_t {flags} = 0;")
    # A ufunc called on scalars is silent about integers that overflow, an operator is not.
    operator = let.warn >= 0 and kernel.program.warn_sites[let.warn].operation.startswith("scalar ")
    text = emit_expr(kernel, let.expr, flags, lone=operator)
    kernel.line(f"const {c_type(let.value.type)} {kernel.new_value(let.value)} = {bare(text)};")
    if lone and flags is not None:
        report(kernel, flags, let.warn)


def _emit_write(kernel: Kernel, memlet: Memlet, text: str) -> None:
    target = element(kernel, memlet)
    if memlet.conflict:
        dtype = kernel.container(memlet.container).dtype
        operands = (Operand(target, dtype), Operand(text, dtype))
        text = kernel.scalars().apply(memlet.conflict, operands, dtype)
    kernel.line(f"{target} = {bare(text)};")
