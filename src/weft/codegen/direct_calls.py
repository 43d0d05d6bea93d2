"""Calls of NumPy's linear algebra without Python: the inner loop of its ufunc.

in:   call numpy.linalg.inv(S[:, :]) -> (X) site 3, its operands and room for its results in out[]
out:  if (!weft_core_call(ctx, ctx->library + 4, out, 1, (const weft_operand[]){{8, 0, 2, {0, 0}}, ...}, 1, 2, 2.0))
          switch (ctx->call_python(ctx, 0, out)) ...

The loop is what `np.linalg.inv` calls itself, so the bits are the same, and a small matrix takes a tenth of the time.
The matrices of a stack are shared out to threads. Where the loop notes anything (a singular matrix, an overflow), where
operands do not fit, where this NumPy has no such loop: Python is called after all, and raises or warns as ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.nodes import NumpyCall
from weft.library.linear_algebra import Core, arrays_of, core_of, loop_of
from weft.support.abi import BLAS_THREADS


def direct_call(kernel: Kernel, node: NumpyCall, first: int) -> str | None:
    """The attempt to do without Python, as a condition; None where there is no such loop. Results are out[first]..."""
    core = core_of(node, kernel.program.constants)
    if core is None or any(result.order for result in node.results):
        return None
    targets = [result.target for result in node.results]
    results = [kernel.container(x).dtype if isinstance(x, str) else x.type.dtype for x in targets]
    views = arrays_of(node)
    given = [kernel.container(view.container).dtype for view in views]
    place = core_library(kernel, core, given, results)
    if place is None:
        return None
    kinds = core_kinds(core, [view.rank for view in views], given, results)
    function = kernel.support.machine("core_call")
    return f"{function}(ctx, {place}, out, {first}, {kinds}, {len(views)}, {len(views) + len(results)}, {core.cost}.0)"


def tried_call(kernel: Kernel, node: NumpyCall) -> str:
    """The attempt for all parts of the views in out[]; "0" where there is no such loop."""
    core, views = core_of(node, kernel.program.constants), arrays_of(node)
    given = [kernel.container(view.container).dtype for view in views]
    results = [kernel.container(view.container).dtype for view in node.changes]
    place = None if core is None else core_library(kernel, core, given, results)
    if core is None or place is None:
        return "0"
    kinds = core_kinds(core, [view.rank for view in views], given, results)
    return (
        f"{kernel.support.machine('core_try')}(ctx, {place}, out, {kinds}, {len(views) + len(results)}, {core.cost}.0)"
    )


def core_library(kernel: Kernel, core: Core, given: Sequence[DType], results: Sequence[DType]) -> str | None:
    """Where a kernel finds the loop for such types, and the threads of BLAS."""
    loop = loop_of(core, given, results)
    if loop is None:
        return None
    place = len(kernel.libraries)
    kernel.libraries += [f"call:{loop}", f"data:{loop}", *BLAS_THREADS]
    return f"ctx->library + {place}"


def core_kinds(core: Core, ranks: Sequence[int], given: Sequence[DType], results: Sequence[DType]) -> str:
    """The table of operands and results in C."""
    stacks = [rank - len(axes) for rank, axes in zip(ranks, core.operands, strict=True)]
    stacks += [max(stacks)] * len(results)
    rows = [
        f"{{{dtype.itemsize}, {stack}, {len(axes)}, {{{', '.join(str('mnp'.index(axis)) for axis in axes) or '0'}}}}}"
        for dtype, stack, axes in zip((*given, *results), stacks, (*core.operands, *core.results), strict=True)
    ]
    return f"(const weft_operand[]){{{', '.join(rows)}}}"
