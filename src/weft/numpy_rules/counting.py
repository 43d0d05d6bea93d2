"""np.bincount: how often each small integer stands in an array, or the sum of its weights.

    np.bincount(x, w, n)  ->  counts = zeros(max(max(x) + 1, n)); for i: counts[x[i]] += w[i]

A guard says that none is negative. Weights are added up in double; where there are many of them for few bins, in parts
(`private-bins`). Of nothing, NumPy gives integers whatever the weights are: that is left to Python.
"""

from __future__ import annotations

from weft.ir.dtypes import PY_INT, DType
from weft.ir.exprs import Expr, Index, const_index, op
from weft.numpy_rules.arguments import Given, PythonRaises, extent_of, is_none
from weft.numpy_rules.arrays import as_array
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast
from weft.numpy_rules.histograms import add_to_bin, empty_bins
from weft.numpy_rules.reductions import guard_not_empty, reduce_array, scalar_or_array
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.scalars import int_expr
from weft.numpy_rules.values import Array, Operand, Scalar
from weft.numpy_rules.walking import Point, for_each
from weft.support.abi import MAX_EXTENT


@numpy_rule(
    "numpy.bincount",
    samples=(
        "bincount(u1[5])",
        "bincount(u1[5], f8[5])",
        "bincount(u1[5], minlength=v(12))",
        "bincount(i8[7] % 4, weights=i4[7], minlength=2)",
    ),
)
def lower_bincount(build: Builder, x: Operand, weights: Given = None, minlength: Operand | int = 0) -> Operand:
    """Counts are int64, sums of weights float64."""
    numbers = as_array(build, x)
    held = None if weights is None or is_none(weights) else as_array(build, weights)
    if numbers.dtype.kind not in "iu" or numbers.dtype is DType.UINT64:
        raise build.error("E290", "np.bincount is compiled for integers only", "convert the array")
    if held is not None and held.dtype.kind not in "biuf":
        raise build.error("E290", "np.bincount is not compiled for weights of this type", "convert the weights")
    if numbers.rank != 1 or (held is not None and held.rank != 1):
        raise PythonRaises("what is counted must have one axis")
    if held is not None:
        build.guard_equal(numbers.shape[0], held.shape[0], "the weights and list don't have the same length")
    least = extent_of(build, minlength, "minlength")
    size = build.let_index(op("maximum", (_end(build, numbers), least), PY_INT), "size", low=0, high=MAX_EXTENT)
    bins = empty_bins(build, size, DType.INT64 if held is None else DType.FLOAT64)

    def visit(point: Point) -> None:
        number = build.read(numbers.view, point, numbers.dtype)
        at = build.let_index(int_expr(build, number), "at", low=0, high=MAX_EXTENT)
        add_to_bin(build, bins, at, _term(build, held, point))

    for_each(build, numbers.shape, visit)
    return bins


def _term(build: Builder, weights: Array | None, point: Point) -> Expr:
    if weights is None:
        return cast(const_index(1), DType.INT64)
    return cast(build.read(weights.view, point, weights.dtype), DType.FLOAT64)


def _end(build: Builder, numbers: Array) -> Index:
    """One more than the greatest of them, none of which is negative."""
    guard_not_empty(build, numbers.view, (0,), "counts of nothing")
    names = ("maximum", "minimum") if numbers.dtype.kind == "i" else ("maximum",)
    outer = [scalar_or_array(build, reduce_array(build, name, numbers, (0,), numbers.dtype)) for name in names]
    ends: list[Index] = []
    for end in outer:
        assert isinstance(end, Scalar)
        ends.append(build.bounded(build.let_index(int_expr(build, end.expr), "end")))
    build.guard_nonnegative(ends[-1], "'list' argument must have no negative elements")
    return ends[0] + 1
