"""np.histogram with equal bins, over the range of the data or a given one, or between edges; the rest is NumPy's call.

    np.histogram(a, n)  ->  first, last = min(a), max(a); edges = linspace(first, last, n + 1)
                            for x in a: i = the bin of x (`equal_bins`); counts[i] += 1

Weights are added up as in NumPy: in double, block by block of 65536 elements, each block's sums then converted and
added. Where the bins are few a block is added up in parts (`private-bins`). What lies outside of a given range adds
nothing to the first bin.
"""

from __future__ import annotations

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, const, const_index, op
from weft.numpy_rules.arguments import Flag, Given, PythonRaises, extent_of, is_none, static_bool
from weft.numpy_rules.arrays import as_array, convert_array, empty_array, strong_dtype, ufunc, write_fresh
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, initialise
from weft.numpy_rules.equal_bins import Grid, bin_of, edge_pair, make_grid, within
from weft.numpy_rules.reductions import lower_sum
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array
from weft.numpy_rules.searching import Table, guard_sorted, search_sorted
from weft.numpy_rules.values import Array, Operand, Scalar, Tuple
from weft.numpy_rules.walking import Point, for_each

_BLOCK = 65536
_DOUBLE = ScalarType(DType.FLOAT64)


@numpy_rule(
    "numpy.histogram",
    samples=(
        "histogram(f8[7], 3)",
        "histogram(f4[5, 2], v(4))",
        "histogram(f8[6], bins=v(2), weights=f8[6])",
        "histogram(f4[6], 5, weights=i4[6])",
        "histogram(f8[6], 5, weights=f4[6])",
        "histogram(u1[3, 4], 16, [0, 256])",
        "histogram(i8[7], 3)",
        "histogram(f4[7], v(4), (v(-1.0), v(2.5)))",
        "histogram(f8[7], 3, range=(0, 3), weights=f8[7])",
        "histogram(f8[7], 4, range=(-1.0, v(2)), density=True)",
        "histogram(f4[7], [-1.0, 0.5, 2.0, 2.0, 3.5])",
        "histogram(i8[7], [0, 2, 4], density=True)",
    ),
)
def lower_histogram(
    build: Builder,
    a: Operand,
    bins: Given = None,
    range: Given = None,
    density: Flag | None = None,
    weights: Given = None,
) -> Operand:
    """The counts (or sums of weights) and the edges."""
    data = flat_array(build, as_array(build, a))
    is_density = density is not None and static_bool(build, density, "density")
    held = None if weights is None or is_none(weights) else as_array(build, weights)
    if isinstance(bins, Array | Tuple) and held is None and data.dtype.kind in "iuf":
        edges = as_array(build, bins)
        counts = _between(build, data, edges)
        return Tuple((_per_width(build, counts, edges) if is_density else counts, edges))
    if data.dtype.kind not in "iuf" or data.dtype is DType.UINT64 or not (bins is None or isinstance(bins, Scalar)):
        raise build.error("E276", "np.histogram is compiled for numbers and a number of bins only", "count in a loop")
    if held is not None and held.dtype.kind not in "iuf":
        raise build.error("E276", "np.histogram is not compiled for weights of this type", "count in a loop")
    count = const_index(10) if bins is None else extent_of(build, bins, "bins")
    build.guard_nonnegative(count - 1, "bins must be positive")
    if held is not None:
        held = _fitting(build, as_array(build, a), held)
    grid = make_grid(build, data, count, range)
    counts = _counted(build, data, grid) if held is None else _weighed(build, data, held, grid)
    return Tuple((_per_width(build, counts, grid.edges) if is_density else counts, grid.edges))


def _per_width(build: Builder, counts: Array, edges: Array) -> Array | Scalar:
    """The share of each bin in the sum, per width."""
    low, high = edge_pair(edges, counts.shape[0])
    widths = ufunc(build, "subtract", high, low)
    assert isinstance(widths, Array)
    shares = ufunc(build, "divide", counts, convert_array(build, widths, DType.FLOAT64))
    return ufunc(build, "divide", shares, lower_sum(build, counts))


def _fitting(build: Builder, data: Array, weights: Array) -> Array:
    if data.rank != weights.rank:
        raise PythonRaises("weights should have the same shape as a")
    for left, right in zip(data.shape, weights.shape, strict=True):
        build.guard_equal(left, right, "weights should have the same shape as a")
    return flat_array(build, weights)


def add_to_bin(build: Builder, target: Array, at: Index, term: Expr) -> None:
    """`target[at] += term`."""
    old = build.read(target.view, (at,), target.dtype)
    write_fresh(build, [(target.view.at((at,)), op("add", (old, term), ScalarType(target.dtype)))])


def empty_bins(build: Builder, count: Index, dtype: DType) -> Array:
    """New bins with nothing in them."""
    target = empty_array(build, (count,), dtype, name="bins")
    zero = const(0.0 if dtype.kind == "f" else 0, ScalarType(dtype))
    for_each(build, (count,), lambda at: write_fresh(build, [(target.view.at(at), zero)]))
    return target


def _counted(build: Builder, data: Array, grid: Grid) -> Array:
    counts = empty_bins(build, grid.count, DType.INT64)

    def visit(point: Point) -> None:
        at, kept = bin_of(build, build.read(data.view, point, data.dtype), grid)
        one = const(1, ScalarType(DType.INT64)) if kept is None else cast(kept, DType.INT64)
        add_to_bin(build, counts, at, one)

    for_each(build, data.shape, visit)
    return counts


def _between(build: Builder, data: Array, edges: Array) -> Array:
    """The counts between edges that rise, found by halving; the last bin holds its upper edge."""
    if edges.rank != 1 or edges.dtype.kind not in "iuf":
        raise build.error("E276", "np.histogram is not compiled for these edges", "pass an array of numbers")
    kind = strong_dtype(build, (data, edges))
    build.guard_nonnegative(edges.shape[0] - 2, "a bin has two edges")
    guard_sorted(build, Table(edges, edges.dtype, "right"), "less_equal")
    last = edges.shape[0] - 1
    ends = [build.let(cast(build.read(edges.view, (at,), edges.dtype), kind), "end") for at in (const_index(0), last)]
    places = empty_array(build, data.shape, DType.INT64, name="places")
    counts = empty_bins(build, last, DType.INT64)

    def number(point: Point) -> Expr:
        return build.let(cast(build.read(data.view, point, data.dtype), kind), "x")

    def reaches(point: Point, at: Index) -> Expr:
        edge = cast(build.read(edges.view, (at,), edges.dtype), kind)
        return op("greater_equal", (number(point), edge), NP_BOOL)

    def visit(point: Point) -> None:
        place = build.let_index(build.read(places.view, point, DType.INT64), "place", low=0)
        inner = op("maximum", (op("minimum", (place - 1, last - 1), PY_INT), const_index(0)), PY_INT)
        kept = build.let(op("logical_and", within(number(point), *ends), NP_BOOL), "kept")
        add_to_bin(build, counts, build.let_index(inner, "at", low=0), cast(kept, DType.INT64))

    search_sorted(build, edges.shape[0], places, reaches)
    for_each(build, data.shape, visit)
    return counts


def _weighed(build: Builder, data: Array, weights: Array, grid: Grid) -> Array:
    sums = empty_bins(build, grid.count, weights.dtype)
    block = empty_array(build, (grid.count,), DType.FLOAT64, name="block")
    rounded = (
        block if weights.dtype is DType.FLOAT64 else empty_array(build, (grid.count,), weights.dtype, name="block")
    )
    size = data.shape[0]

    def visit_block(turn: Point) -> None:
        for_each(build, (grid.count,), lambda at: write_fresh(build, [(block.view.at(at), const(0.0, _DOUBLE))]))
        start = turn[0] * _BLOCK
        length = build.let_index(op("minimum", (size - start, const_index(_BLOCK)), PY_INT), "length", low=0)
        for_each(build, (length,), lambda point: visit((point[0] + start,)))
        if rounded is not block:
            initialise(build, rounded, block)
        for_each(build, (grid.count,), finish)

    def visit(point: Point) -> None:
        at, kept = bin_of(build, build.read(data.view, point, data.dtype), grid)
        weight = cast(build.read(weights.view, point, weights.dtype), DType.FLOAT64)
        add_to_bin(
            build, block, at, weight if kept is None else op("select", (kept, weight, const(0.0, _DOUBLE)), _DOUBLE)
        )

    def finish(at: Point) -> None:
        add_to_bin(build, sums, at[0], build.read(rounded.view, at, rounded.dtype))

    blocks = build.let_index(op("floor_divide", (size + (_BLOCK - 1), const_index(_BLOCK)), PY_INT), "blocks", low=0)
    for_each(build, (blocks,), visit_block)
    return sums
