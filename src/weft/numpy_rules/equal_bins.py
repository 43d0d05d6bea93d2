"""The equal bins of np.histogram: their edges, and the bin of a number.

in:   the data, how many bins, and a range or None
out:  a `Grid`; `bin_of` gives the place of a number in it, and whether it has one

    np.histogram(a, n, (low, high))  ->  edges = linspace(low, high, n + 1)
                                         i = int((x - low) / (high - low) * n), moved to where the edges say

The types are NumPy's: integers are binned as doubles, the distance of two integer ends is an unsigned integer, and a
range of doubles for float32 data is a quotient of doubles.
"""

from __future__ import annotations

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType, dtype_of
from weft.ir.exprs import Expr, Index, const, const_index, op
from weft.numpy_rules.arguments import Given, PythonRaises, is_none
from weft.numpy_rules.arrays import common_dtype, scalar_of
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, map_elements, resolve, type_key
from weft.numpy_rules.indexing import narrow_axis
from weft.numpy_rules.reductions import guard_all, guard_not_empty, reduce_array, scalar_or_array
from weft.numpy_rules.sequences import lower_linspace
from weft.numpy_rules.values import Array, Operand, Scalar, Static, Tuple
from weft.support.records import record

_ONE = const_index(1)
_UNSIGNED = {
    DType.INT8: DType.UINT8,
    DType.INT16: DType.UINT16,
    DType.INT32: DType.UINT32,
    DType.INT64: DType.UINT64,
}


@record
class Grid:
    """Equal bins from the first to the last edge; `ends` where numbers may lie outside of them."""

    count: Index
    first: Expr
    width: Expr
    edges: Array
    ends: tuple[Expr, Expr] | None = None


def make_grid(build: Builder, data: Array, count: Index, range_: Given) -> Grid:
    """The bins over a range, or over that of the data."""
    if range_ is None or is_none(range_):
        return _found(build, data, count)
    low, high = (scalar_of(build, item) for item in _pair(build, range_))
    if any(end.type.dtype.kind not in "iuf" or end.type.dtype is DType.UINT64 for end in (low, high)):
        raise build.error("E276", "np.histogram is not compiled for such a range", "pass two floats")
    low, high = (Scalar(build.let(end.expr, "end")) if not _is_steady(end) else end for end in (low, high))
    kind = common_dtype(build, (low, high, data))
    kind = DType.FLOAT64 if kind.kind in "iu" else kind
    for end in (low, high):
        if end.type.dtype.kind == "f":
            build.guard(build.let(op("isfinite", (cast(end.expr, kind),), NP_BOOL), "finite"), "an infinite range")
    return _grid(build, count, (low, high), kind, _ends(build, data, low, high))


def _is_steady(end: Scalar) -> bool:
    return isinstance(end.expr, Index)


def _pair(build: Builder, range_: Operand) -> tuple[Operand, Operand]:
    if isinstance(range_, Static) and isinstance(range_.value, tuple | list):
        range_ = Tuple(tuple(Static(item) for item in range_.value))  # type: ignore[misc]
    if not isinstance(range_, Tuple):
        raise build.error("E276", "np.histogram is compiled for a range of two numbers only", "write a tuple")
    if len(range_.items) != 2:
        raise PythonRaises("a range has two ends")
    low, high = range_.items
    return low, high


def _ends(build: Builder, data: Array, low: Scalar, high: Scalar) -> tuple[Expr, Expr]:
    """The ends in the types in which NumPy compares the data with them; integers are compared exactly."""
    found: list[Expr] = []
    for end in (low, high):
        kind = DType.INT64
        if data.dtype.kind == "f" or end.type.dtype.kind == "f":
            types = resolve("greater_equal", (data.dtype.numpy, type_key(end)), None)
            kind = (dtype_of(types[0]) if types else None) or DType.FLOAT64
        found.append(build.let(cast(end.expr, kind), "end"))
    return found[0], found[1]


def _found(build: Builder, data: Array, count: Index) -> Grid:
    """The bins over the data: half to either side of numbers that are all the same."""
    guard_not_empty(build, data.view, (0,), "a histogram of nothing")
    low, high = (
        scalar_or_array(build, reduce_array(build, name, data, (0,), data.dtype)) for name in ("minimum", "maximum")
    )
    assert isinstance(low, Scalar)
    assert isinstance(high, Scalar)
    kind = data.dtype if data.dtype.kind == "f" else DType.FLOAT64
    type_, same = ScalarType(kind), build.let(op("equal", (low.expr, high.expr), NP_BOOL), "same")
    first, last, half = cast(low.expr, kind), cast(high.expr, kind), const(0.5, type_)
    outer = (
        Scalar(build.let(op("select", (same, op("subtract", (first, half), type_), first), type_), "first")),
        Scalar(build.let(op("select", (same, op("add", (last, half), type_), last), type_), "last")),
    )
    if kind is data.dtype:
        return _grid(build, count, outer, kind, None)
    exact = cast(_distance(build, low, high), kind)
    width = op("select", (same, op("subtract", (outer[1].expr, outer[0].expr), type_), exact), type_)
    return _grid(build, count, outer, kind, None, build.let(width, "width"))


def _distance(build: Builder, low: Scalar, high: Scalar) -> Expr:
    """NumPy's `_unsigned_subtract`: what lies between two integers of a type fits the unsigned one."""
    kind = common_dtype(build, (low, high))
    kind = _UNSIGNED.get(kind, kind)
    return op("subtract", (cast(high.expr, kind), cast(low.expr, kind)), ScalarType(kind))


def _grid(
    build: Builder,
    count: Index,
    outer: tuple[Scalar, Scalar],
    kind: DType,
    ends: tuple[Expr, Expr] | None,
    width: Expr | None = None,
) -> Grid:
    low, high = outer
    build.guard(build.let(op("less", _alike(build, low, high), NP_BOOL), "apart"), "the range is empty")
    if width is None:
        width = build.let(_distance(build, low, high), "width")
    if width.type.dtype.kind == "f":
        build.guard(build.let(op("isfinite", (width,), NP_BOOL), "usable"), "the range is infinite")
    edges = lower_linspace(build, low, high, Scalar(count + 1), dtype=Static(kind.numpy))
    if not isinstance(edges, Array) or edges.dtype is not kind:
        raise build.error("E276", "np.histogram is compiled for floats and a number of bins only", "count in a loop")
    _guard_rising(build, edges, count)
    return Grid(count, build.let(cast(low.expr, kind), "first"), width, edges, ends)


def _alike(build: Builder, low: Scalar, high: Scalar) -> tuple[Expr, Expr]:
    kind = common_dtype(build, (low, high))
    return cast(low.expr, kind), cast(high.expr, kind)


def _guard_rising(build: Builder, edges: Array, count: Index) -> None:
    """NumPy refuses bins too narrow for the numbers between their edges."""
    low, high = edge_pair(edges, count)
    rising = map_elements(build, (low, high), (count,), DType.BOOL, lambda x: op("less", tuple(x), NP_BOOL), name="up")
    guard_all(build, rising, "too many bins for the range of the data")


def edge_pair(edges: Array, count: Index) -> tuple[Array, Array]:
    """The lower and the upper edges of the bins."""
    low, high = (Array(narrow_axis(edges.view, 0, start, count, _ONE), edges.dtype) for start in (const_index(0), _ONE))
    return low, high


def bin_of(build: Builder, x: Expr, grid: Grid) -> tuple[Index, Expr | None]:
    """The bin of a number, by a quotient and then by the edges beside it; and whether it has one, where it may not.

    What has none is given the first bin.
    """
    kept, number = None, cast(x, grid.edges.dtype)
    type_, last = number.type, grid.count - 1
    if grid.ends is not None:
        kept = build.let(op("logical_and", within(x, *grid.ends), NP_BOOL), "kept")
        number = build.let(op("select", (kept, number, grid.first), type_), "x")
    at = _quotient(build, number, grid)
    below = op("less", (number, build.read(grid.edges.view, (at,), type_.dtype)), NP_BOOL)
    at = build.let_index(op("select", (below, at - 1, at), PY_INT), "at", low=0)
    above = op("greater_equal", (number, build.read(grid.edges.view, (at + 1,), type_.dtype)), NP_BOOL)
    further = op("logical_and", (above, op("not_equal", (at, last), NP_BOOL)), NP_BOOL)
    return build.let_index(op("select", (further, at + 1, at), PY_INT), "at", low=0), kept


def within(x: Expr, low: Expr, high: Expr) -> tuple[Expr, Expr]:
    """The two tests of whether a number lies between two others, in their types."""
    return (
        op("greater_equal", (cast(x, low.type.dtype), low), NP_BOOL),
        op("less_equal", (cast(x, high.type.dtype), high), NP_BOOL),
    )


def _quotient(build: Builder, number: Expr, grid: Grid) -> Index:
    """Where a number would be if arithmetic were exact."""
    types = resolve("divide", (number.type.dtype.numpy, grid.width.type.dtype.numpy), None)
    kind = (dtype_of(types[0]) if types else None) or DType.FLOAT64
    type_ = ScalarType(kind)
    distance = cast(op("subtract", (number, grid.first), number.type), kind)
    share = op("divide", (distance, cast(grid.width, kind)), type_)
    scaled = build.let(op("multiply", (share, cast(grid.count, kind)), type_), "f")
    return build.let_index(op("minimum", (op("cast", (scaled,), PY_INT), grid.count - 1), PY_INT), "at", low=0)
