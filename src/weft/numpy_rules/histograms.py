"""np.histogram with equal bins over the range of the data, with or without weights; other forms are NumPy's own call.

    np.histogram(a, n)  ->  first, last = min(a), max(a); edges = linspace(first, last, n + 1)
                            for x in a: i = int((x - first) / (last - first) * n), moved to where the edges say;
                                        counts[i] += 1

Weights are added up as in NumPy: in double, block by block of 65536 elements, each block's sums then converted and
added. Where the bins are few a block is added up in parts (`private-bins`).
"""

from __future__ import annotations

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, const, const_index, op
from weft.ir.nodes import Axis, View
from weft.numpy_rules.arguments import Given, PythonRaises, extent_of, is_none
from weft.numpy_rules.arrays import as_array, empty_array, write_fresh
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, map_elements
from weft.numpy_rules.reductions import guard_all, guard_not_empty, reduce_array, scalar_or_array
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array
from weft.numpy_rules.sequences import lower_linspace
from weft.numpy_rules.values import Array, Operand, Scalar, Tuple
from weft.numpy_rules.walking import Point, for_each
from weft.support.records import record

_BLOCK = 65536
_ONE = const_index(1)
_DOUBLE = ScalarType(DType.FLOAT64)


@numpy_rule(
    "numpy.histogram",
    samples=(
        "histogram(f8[7], 3)",
        "histogram(f4[5, 2], v(4))",
        "histogram(f8[6], bins=v(2), weights=f8[6])",
        "histogram(f4[6], 5, weights=i4[6])",
        "histogram(f8[6], 5, weights=f4[6])",
    ),
)
def lower_histogram(build: Builder, a: Operand, bins: Given = None, *, weights: Given = None) -> Operand:
    """The counts (or sums of weights) and the edges."""
    data = flat_array(build, as_array(build, a))
    held = None if weights is None or is_none(weights) else as_array(build, weights)
    if data.dtype.kind != "f" or (bins is not None and not isinstance(bins, Scalar)):
        raise build.error("E276", "np.histogram is compiled for floats and a number of bins only", "count in a loop")
    if held is not None and held.dtype.kind not in "iuf":
        raise build.error("E276", "np.histogram is not compiled for weights of this type", "count in a loop")
    count = const_index(10) if bins is None else extent_of(build, bins, "bins")
    build.guard_nonnegative(count - 1, "bins must be positive")
    if held is not None:
        held = _fitting(build, as_array(build, a), held)
    grid = _grid(build, data, count)
    if held is None:
        return Tuple((_counted(build, data, grid), grid.edges))
    return Tuple((_weighed(build, data, held, grid), grid.edges))


@record
class _Grid:
    """Equal bins from the first to the last edge."""

    count: Index
    first: Expr
    width: Expr
    edges: Array


def _fitting(build: Builder, data: Array, weights: Array) -> Array:
    if data.rank != weights.rank:
        raise PythonRaises("weights should have the same shape as a")
    for left, right in zip(data.shape, weights.shape, strict=True):
        build.guard_equal(left, right, "weights should have the same shape as a")
    return flat_array(build, weights)


def _grid(build: Builder, data: Array, count: Index) -> _Grid:
    guard_not_empty(build, data.view, (0,), "a histogram of nothing")
    ends = [
        scalar_or_array(build, reduce_array(build, name, data, (0,), data.dtype)) for name in ("minimum", "maximum")
    ]
    first, last = ends
    assert isinstance(first, Scalar)
    assert isinstance(last, Scalar)
    type_ = ScalarType(data.dtype)
    first, last = _apart(build, first.expr, last.expr, type_)
    width = build.let(op("subtract", (last.expr, first.expr), type_), "width")
    zero = const(0.0, type_)
    usable = op("logical_and", (op("greater", (width, zero), NP_BOOL), op("isfinite", (width,), NP_BOOL)), NP_BOOL)
    build.guard(build.let(usable, "usable"), "the range of the data is empty or infinite")
    edges = lower_linspace(build, first, last, Scalar(count + 1))
    if not isinstance(edges, Array) or edges.dtype is not data.dtype:
        raise build.error("E276", "np.histogram is compiled for floats and a number of bins only", "count in a loop")
    _guard_rising(build, edges, count)
    return _Grid(count, first.expr, width, edges)


def _apart(build: Builder, first: Expr, last: Expr, type_: ScalarType) -> tuple[Scalar, Scalar]:
    """The outer edges: half to either side of numbers that are all the same."""
    same, half = build.let(op("equal", (first, last), NP_BOOL), "same"), const(0.5, type_)
    low = op("select", (same, op("subtract", (first, half), type_), first), type_)
    high = op("select", (same, op("add", (last, half), type_), last), type_)
    return Scalar(build.let(low, "first")), Scalar(build.let(high, "last"))


def _guard_rising(build: Builder, edges: Array, count: Index) -> None:
    """NumPy refuses bins too narrow for the numbers between their edges."""
    low, high = (
        Array(View(edges.view.container, (count,), (Axis(start, ((0, _ONE),)),)), edges.dtype)
        for start in (const_index(0), _ONE)
    )
    rising = map_elements(build, (low, high), (count,), DType.BOOL, lambda x: op("less", tuple(x), NP_BOOL), name="up")
    guard_all(build, rising, "too many bins for the range of the data")


def _bin(build: Builder, x: Expr, grid: _Grid) -> Index:
    """The bin of a number: by a quotient, then by the edges beside it."""
    type_, last = x.type, grid.count - 1
    share = op("divide", (op("subtract", (x, grid.first), type_), grid.width), type_)
    scaled = build.let(op("multiply", (share, cast(grid.count, type_.dtype)), type_), "f")
    at = build.let_index(op("minimum", (op("cast", (scaled,), PY_INT), last), PY_INT), "at", low=0)
    below = op("less", (x, build.read(grid.edges.view, (at,), type_.dtype)), NP_BOOL)
    at = build.let_index(op("select", (below, at - 1, at), PY_INT), "at", low=0)
    above = op("greater_equal", (x, build.read(grid.edges.view, (at + 1,), type_.dtype)), NP_BOOL)
    further = op("logical_and", (above, op("not_equal", (at, last), NP_BOOL)), NP_BOOL)
    return build.let_index(op("select", (further, at + 1, at), PY_INT), "at", low=0)


def _add(build: Builder, target: Array, at: Index, term: Expr) -> None:
    old = build.read(target.view, (at,), target.dtype)
    write_fresh(build, [(target.view.at((at,)), op("add", (old, term), ScalarType(target.dtype)))])


def _zeros(build: Builder, count: Index, dtype: DType) -> Array:
    target = empty_array(build, (count,), dtype, name="bins")
    zero = const(0.0 if dtype.kind == "f" else 0, ScalarType(dtype))
    for_each(build, (count,), lambda at: write_fresh(build, [(target.view.at(at), zero)]))
    return target


def _counted(build: Builder, data: Array, grid: _Grid) -> Array:
    counts = _zeros(build, grid.count, DType.INT64)
    one = const(1, ScalarType(DType.INT64))

    def visit(point: Point) -> None:
        x = build.read(data.view, point, data.dtype)
        _add(build, counts, _bin(build, x, grid), one)

    for_each(build, data.shape, visit)
    return counts


def _weighed(build: Builder, data: Array, weights: Array, grid: _Grid) -> Array:
    sums = _zeros(build, grid.count, weights.dtype)
    block = empty_array(build, (grid.count,), DType.FLOAT64, name="block")
    size = data.shape[0]

    def visit_block(turn: Point) -> None:
        for_each(build, (grid.count,), lambda at: write_fresh(build, [(block.view.at(at), const(0.0, _DOUBLE))]))
        start = turn[0] * _BLOCK
        length = build.let_index(op("minimum", (size - start, const_index(_BLOCK)), PY_INT), "length", low=0)
        for_each(build, (length,), lambda point: visit((point[0] + start,)))
        for_each(build, (grid.count,), finish)

    def visit(point: Point) -> None:
        x = build.read(data.view, point, data.dtype)
        weight = build.read(weights.view, point, weights.dtype)
        _add(build, block, _bin(build, x, grid), cast(weight, DType.FLOAT64))

    def finish(at: Point) -> None:
        _add(build, sums, at[0], cast(build.read(block.view, at, DType.FLOAT64), weights.dtype))

    blocks = build.let_index(op("floor_divide", (size + (_BLOCK - 1), const_index(_BLOCK)), PY_INT), "blocks", low=0)
    for_each(build, (blocks,), visit_block)
    return sums
