"""A second look at a result of a reduction: whether one is needed, and the function that takes it.

    weft_fp_clear();
    ... the loops ...
    raised |= weft_fp_flags();
    if (raised || !finite(total)) { again(&env); fp |= env.fp; }

It is taken before the result is written: the elements may be what it overwrites.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from weft.codegen.checks import check
from weft.codegen.fp_flags import clear_flags
from weft.codegen.kernel import Watch
from weft.codegen.outlining import COLD, emit_environment, outline
from weft.codegen.reduction_state import Reduction
from weft.codegen.scalars import Operand


def declare_raised(reduction: Reduction) -> None:
    """The variable for the processor's flags."""
    if reduction.warnings.raised:
        reduction.kernel.line(f"int32_t {reduction.kernel.declare(reduction.warnings.raised, 'int32_t')} = 0;")


@contextmanager
def measured(reduction: Reduction) -> Generator[None]:
    """Note the processor's flags that what is inside raises, if these are asked."""
    raised, kernel = reduction.warnings.raised, reduction.kernel
    if raised:
        flags = kernel.flags
        if flags is not None and flags.mode is Watch.FILTER:  # the nest around us reads them at its end
            kernel.line(f"{flags.suspect} |= {kernel.support.machine('fp_flags')}();")
        clear_flags(kernel, reduction.warnings.pinned)
    yield
    if raised:
        kernel.line(f"{raised} |= {kernel.support.machine('fp_flags')}();")


@contextmanager
def all_measured(group: Sequence[Reduction]) -> Generator[None]:
    """Note the flags for several reductions in the same loops: each that asks looks again, whoever has raised them."""
    with ExitStack() as stack:
        for reduction in group:
            stack.enter_context(measured(reduction))
        yield


def pin(reduction: Reduction, name: str) -> None:
    """The value is there before flags are read."""
    if reduction.warnings.raised:
        reduction.kernel.line(f'__asm__ volatile("" : : "g"({name}));')


def inspect(reduction: Reduction, total: str) -> None:
    """Look into a result that is suspect."""
    conditions = [f"!{reduction.finite(total)}"] if reduction.warnings.replayed else []
    conditions += [reduction.warnings.raised] if reduction.warnings.raised else []
    if conditions:
        with reduction.kernel.block(f"if (__builtin_expect({' || '.join(conditions)}, 0))"):
            _replay(reduction, total)


def _replay(reduction: Reduction, result: str) -> None:
    """Compute the elements of one result once more, in order, in a cold function that checks every operation."""
    kernel, site = reduction.kernel, reduction.warnings.combination
    names = list(dict.fromkeys(reduction.warnings.names.values()))
    odd = kernel.names.claim("odd")
    outer = kernel.rewritten, kernel.unit_axes
    kernel.rewritten, kernel.unit_axes = frozenset(), frozenset()

    def emit() -> None:
        if site < 0:
            audit(reduction)
        else:
            _combine_again(reduction, reduction.warnings.names[site], odd)

    body = outline(kernel, [*names, odd], emit, COLD)
    kernel.rewritten, kernel.unit_axes = outer
    emit_environment(kernel, body, "again")
    kernel.line(f"{body.name}(&again, 0, 0);")
    for name in names:
        kernel.line(f"{name} |= {body.flag(name, 'again')};")
    if site >= 0:
        # The order of the fast loops has overflowed, whatever this one did.
        kernel.line(f"if (!{body.flag(odd, 'again')} & !{reduction.finite(result)})")
        kernel.line(f"    {reduction.warnings.names[site]} |= WEFT_FP_OVERFLOW;")


def audit(reduction: Reduction) -> None:
    """Compute the elements of one result, with a check of every operation."""
    *axes, last = reduction.reduced or [-1]
    with reduction.loops(axes):
        if last >= 0:
            reduction.kernel.line(reduction.simd())
        with reduction.loops([last]) if last >= 0 else reduction.kernel.block():
            reduction.element(checked=True)


def _combine_again(reduction: Reduction, flags: str, odd: str) -> None:
    kernel, total = reduction.kernel, reduction.kernel.names.claim("total")
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    with reduction.loops(reduction.reduced):
        x = reduction.element(checked=True)
        following = kernel.bind(reduction.combine(total, x), reduction.type, "next")
        operands = tuple(Operand(name, reduction.dtype) for name in (total, x))
        found = check(kernel.support, reduction.node.op, Operand(following, reduction.dtype), operands, cold=True)
        kernel.line(f"{flags} |= {found};")
        kernel.line(f"{odd} |= !{reduction.finite(x)};")
        kernel.line(f"{total} = {following};")
