"""Calls of NumPy's linear algebra without Python: the inner loop of its ufunc.

in:   call numpy.linalg.inv(S[:, :]) -> (X) site 3, its operands and room for its results in out[]
out:  if (!weft_core_call(ctx, ctx->library + 4, out, 1, (const weft_operand[]){{8, 0, 2, {0, 0}}, ...}, 1, 2, 2.0))
          switch (ctx->call_python(ctx, 0, out)) ...

The loop is what `np.linalg.inv` calls itself, so the bits are the same, and a small matrix takes a tenth of the time.
The matrices of a stack are shared out to threads. Where the loop notes anything (a singular matrix, an overflow), where
operands do not fit, where this NumPy has no such loop: Python is called after all, and raises or warns as ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.nodes import Constant, NumpyCall, View
from weft.support.abi import BLAS_THREADS
from weft.support.records import record


@record
class Core:
    """A ufunc, and the axes of a matrix that each operand and result has: m rows, n columns, p of them where both fit.

    Results in `real` hold real numbers, also of complex matrices; operands `alone` are never stacks. `options` are the
    values of all further arguments. `cost`: what it does to a matrix, in determinants.
    """

    name: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    real: tuple[int, ...] = ()
    alone: tuple[int, ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    cost: int = 1


def _svd(full: object, vectors: object) -> tuple[tuple[str, object], ...]:
    return (("full_matrices", full), ("compute_uv", vectors), ("hermitian", False))


_LOWER: Final = (("UPLO", "L"),)
_CORES: Final[Mapping[str, tuple[Core, ...]]] = {
    "numpy.linalg.inv": (Core("inv", ("mm",), ("mm",), cost=2),),
    "numpy.linalg.det": (Core("det", ("mm",), ("",)),),
    "numpy.linalg.slogdet": (Core("slogdet", ("mm",), ("", ""), real=(1,)),),
    "numpy.linalg.cholesky": (Core("cholesky_lo", ("mm",), ("mm",)),),
    "numpy.linalg.solve": (
        Core("solve1", ("mm", "m"), ("m",), alone=(1,)),
        Core("solve", ("mm", "mn"), ("mn",)),
    ),
    "numpy.linalg.eigh": (Core("eigh_lo", ("mm",), ("m", "mm"), real=(0,), options=_LOWER, cost=16),),
    "numpy.linalg.eigvalsh": (Core("eigvalsh_lo", ("mm",), ("m",), real=(0,), options=_LOWER, cost=16),),
    "numpy.linalg.svd": (
        Core("svd_f", ("mn",), ("mm", "p", "nn"), real=(1,), options=_svd(full=True, vectors=True), cost=16),
        Core("svd_s", ("mn",), ("mp", "p", "pn"), real=(1,), options=_svd(full=False, vectors=True), cost=16),
        Core("svd", ("mn",), ("p",), real=(0,), options=_svd(full=True, vectors=False), cost=16),
    ),
}
_LETTERS: Final = {DType.FLOAT64: "d", DType.COMPLEX128: "D"}  # single precision is computed in double by NumPy
_MODULE: Final = "numpy.linalg._umath_linalg"


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


def arrays_of(node: NumpyCall) -> list[View]:
    """The arrays among the arguments of a call."""
    return [argument for argument in node.given if isinstance(argument, View)]


def core_of(node: NumpyCall, constants: Sequence[object]) -> Core | None:
    """The ufunc behind a call."""
    views = arrays_of(node)
    rest = [*node.args[len(views) :], *(bundle for _, bundle in node.keywords)]
    if tuple(views) != node.args[: len(views)] or not all(isinstance(bundle, Constant) for bundle in rest):
        return None
    for core in _CORES.get(node.function, ()):
        if _fits(core, [view.rank for view in views]) and _has_options(core, node, len(views), constants):
            return core
    return None


def _fits(core: Core, ranks: Sequence[int]) -> bool:
    if len(ranks) != len(core.operands):
        return False
    stacks = [rank - len(axes) for rank, axes in zip(ranks, core.operands, strict=True)]
    return min(stacks) >= 0 and not any(stacks[k] for k in core.alone)


def _has_options(core: Core, node: NumpyCall, arrays: int, constants: Sequence[object]) -> bool:
    """Whether the other arguments ask for this ufunc of a function; those that are not given ask for the first."""
    first = dict(_CORES[node.function][0].options)
    given = (*zip(first, node.args[arrays:], strict=False), *node.keywords)
    if arrays + len(first) < len(node.args) or any(name not in first for name, _ in given):
        return False
    asked = {name: constants[bundle.index] for name, bundle in given if isinstance(bundle, Constant)}
    wanted = dict(core.options)
    if not asked.get("compute_uv", True):
        asked["full_matrices"] = True  # makes no difference
    return {**first, **asked} == wanted


def core_library(kernel: Kernel, core: Core, given: Sequence[DType], results: Sequence[DType]) -> str | None:
    """Where a kernel finds the loop for such types, and the threads of BLAS."""
    letter = _LETTERS.get(given[0]) if len(set(given)) == 1 else None
    if letter is None or len(results) != len(core.results):
        return None
    letters = ["d" if k in core.real else letter for k in range(len(results))]
    if [_LETTERS.get(dtype) for dtype in results] != letters:
        return None
    loop = f"{_MODULE}.{core.name}:{letter * len(given)}->{''.join(letters)}"
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
