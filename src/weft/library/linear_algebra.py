"""Functions of linear algebra: the ufuncs that NumPy computes them with, one matrix after the other.

in:   call numpy.linalg.solve(A[:, :], b[:])
out:  `Core("solve1", ("mm", "m"), ("m",))`: what its operands and results are

Code generation calls their inner loops, and passes call them for the matrices of several turns at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weft.ir.dtypes import DType
from weft.ir.nodes import Constant, NumpyCall, View
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


def loop_of(core: Core, given: Sequence[DType], results: Sequence[DType]) -> str | None:
    """The name of its loop for such types, "numpy.linalg._umath_linalg.solve:dd->d"; None where it has none."""
    letter = _LETTERS.get(given[0]) if len(set(given)) == 1 else None
    if letter is None or len(results) != len(core.results):
        return None
    letters = ["d" if k in core.real else letter for k in range(len(results))]
    if [_LETTERS.get(dtype) for dtype in results] != letters:
        return None
    return f"{_MODULE}.{core.name}:{letter * len(given)}->{''.join(letters)}"


def arrays_of(node: NumpyCall) -> list[View]:
    """The arrays among the arguments of a call."""
    return [argument for argument in node.given if isinstance(argument, View)]


def core_of(node: NumpyCall, constants: Sequence[object]) -> Core | None:
    """The ufunc behind a call; one that is tried has an axis more."""
    views = arrays_of(node)
    rest = [*node.args[len(views) :], *(bundle for _, bundle in node.keywords)]
    if tuple(views) != node.args[: len(views)] or not all(isinstance(bundle, Constant) for bundle in rest):
        return None
    for core in _CORES.get(node.function, ()):
        if _fits(core, [view.rank - node.tried for view in views]) and _has_options(core, node, len(views), constants):
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
