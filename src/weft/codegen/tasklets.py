"""Tasklets: reads, lets and writes as C statements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from weft.analysis.imaginary import tasklet_meanings
from weft.codegen.access import element
from weft.codegen.c_types import c_type
from weft.codegen.expressions import Noting, emit_exprs
from weft.codegen.fp_flags import report
from weft.codegen.kernel import Kernel, Waiting, Watch, bare
from weft.codegen.late_checks import LateChecks
from weft.codegen.nest_operations import is_lone, operations_in
from weft.codegen.scalars import Operand
from weft.ir.dtypes import DType
from weft.ir.exprs import Expr
from weft.ir.nodes import Let, Memlet, Tasklet
from weft.ir.ops import may_warn


def emit_tasklet(kernel: Kernel, node: Tasklet) -> None:
    """All reads, then the lets in order, then the writes in order."""
    kernel.writer.comment(node.span)
    kernel.meanings.update(tasklet_meanings(node, kernel.imaginary))
    for value, memlet in node.reads:
        text = element(kernel, memlet) if kernel.vectors is None else kernel.vectors.read(kernel, memlet)
        kernel.line(f"const {kernel.type_of(c_type(value.type))} {kernel.new_value(value)} = {text};")
    flags = kernel.flags
    late = LateChecks(flags.suspect if flags is not None and flags.mode is Watch.FILTER else "")
    noted: dict[int, str] = {}
    for let in node.lets:
        _emit_let(kernel, let, late, noted)
    texts = _emit_noted(kernel, [expr for _, expr in node.writes], kernel.default_site, late, noted)
    late.emit(kernel)
    for site, variable in noted.items():
        report(kernel, variable, site)
    with kernel.block(f"if ({kernel.team}.rank == 0)") if kernel.team and node.writes else nullcontext():
        for (memlet, _), text in zip(node.writes, texts, strict=True):
            _emit_write(kernel, memlet, text)


def _emit_let(kernel: Kernel, let: Let, late: LateChecks, noted: dict[int, str]) -> None:
    site = let.warn if let.warn >= 0 else kernel.default_site
    (text,) = _emit_noted(kernel, [let.expr], site, late, noted)
    late.lets[let.value] = let.expr
    text = bare(text)
    if let.value in kernel.extents:
        text = f"{kernel.support.need('keep', DType.INT64)}({text})"
    kernel.line(f"const {kernel.type_of(c_type(let.value.type))} {kernel.new_value(let.value)} = {text};")


def _emit_noted(kernel: Kernel, exprs: Sequence[Expr], site: int, late: LateChecks, noted: dict[int, str]) -> list[str]:
    """Expressions whose operations warn at a site: as the nest around them has it, or in a variable of the tasklet."""
    flags, lone = kernel.flags, is_lone(kernel.program, site)
    if site < 0 or not any(_may_warn(expr, lone=lone) for expr in exprs):
        return emit_exprs(kernel, exprs)
    if flags is not None and flags.mode is Watch.FILTER:
        return emit_exprs(kernel, exprs, Noting(flags.suspect, flags.unseen, late, lone))
    variable = flags.sites.get(site) if flags is not None else None
    if flags is not None and variable is not None:
        scalar = flags.mode is Watch.COLLECT or kernel.rewritten is not None
        return emit_exprs(kernel, exprs, Noting(variable, None, late if scalar else None, lone))
    if site not in noted:
        noted[site] = kernel.declare(kernel.names.claim("fp"), "int32_t")
        kernel.line(f"int32_t {noted[site]} = 0;")
    return emit_exprs(kernel, exprs, Noting(noted[site], None, late, lone))


def _may_warn(expr: Expr, *, lone: bool) -> bool:
    return any(may_warn(x.name, x.args[0].type.dtype, x.type.dtype, lone=lone) for x in operations_in(expr))


def _emit_write(kernel: Kernel, memlet: Memlet, text: str) -> None:
    if kernel.rewritten is not None and memlet.container not in kernel.rewritten:
        return
    if kernel.vectors is not None:
        kernel.vectors.write(kernel, memlet, bare(text))
        return
    target = element(kernel, memlet)
    if memlet.conflict:
        dtype = kernel.container(memlet.container).dtype
        operands = (Operand(target, dtype), Operand(text, dtype))
        text = kernel.scalars().apply(memlet.conflict, operands, dtype)
    if kernel.waiting is not None:
        late = Waiting(c_type(kernel.container(memlet.container).dtype), kernel.names.claim("late"), target)
        kernel.waiting.append(late)
        target = late.name
    kernel.line(f"{target} = {bare(text)};")
