"""np.interp: straight lines between the points of a table.

    np.interp(x, xp, fp)  ->  for each x: j = the last place with xp[j] <= x, found by halving
                              slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j])
                              result = slope * (x - xp[j]) + fp[j]

Before the table it is `left`, after it `right`, at its points their value, and where the line gives NaN it is drawn
from the other end, all as in NumPy. A single x is found by NumPy's steps. Those of an array are found independently of
one another, which gives what NumPy gives where `xp` rises: a guard says so, except for a table so long beside the
array that to look at all of it would take longer (NumPy calls what it gives for a table that does not rise nonsense).
"""

from __future__ import annotations

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, const_index, index, op
from weft.ir.nodes import Branch, Yield
from weft.numpy_rules.arguments import Given, PythonRaises, is_none
from weft.numpy_rules.arrays import as_array, as_data, empty_array, scalar_of, write_fresh
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, scalar_expr
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.searching import Table, guard_sorted, is_short, search, search_sorted
from weft.numpy_rules.values import Array, Operand, Scalar
from weft.numpy_rules.walking import ONE, ZERO, Point, for_each
from weft.support.abi import MAX_EXTENT
from weft.support.records import record

_DOUBLE = ScalarType(DType.FLOAT64)
_LINEAR, _NEAR = 4, 9  # NumPy looks at the first places one by one, then at those up to the ninth


@record
class _Lines:
    """The points, how many there are, the outer ones, and what stands before and after them."""

    places: Array
    values: Array
    size: Index
    first: Expr
    last: Expr
    final: Expr  # the value at the last one
    left: Expr
    right: Expr


@numpy_rule(
    "numpy.interp",
    samples=(
        "interp(f8[5], [0.0, 1.0, 4.0], [1.0, 0.0, 2.0])",
        "interp(v(0.5), [0.0, 1.0], [1.0, 0.0])",
        "interp(f8[2, 3], [0.0, 1.0], [1.0, 0.0], left=v(-1.0))",
        "interp(i4[5], [-2, 1, 2, 3, 5, 8], f4[6], right=7)",
        "interp(v(3.25), [0, 1, 2, 3, 4, 5], f8[6])",
    ),
)
def lower_interp(
    build: Builder, x: Operand, xp: Operand, fp: Operand, left: Given = None, right: Given = None
) -> Operand:
    """All in doubles; warnings there are none."""
    at, places, values = as_data(build, x), as_array(build, xp), as_array(build, fp)
    kinds = [data.type.dtype.kind if isinstance(data, Scalar) else data.dtype.kind for data in (at, places, values)]
    if any(kind not in "iuf" for kind in kinds):
        raise build.error("E278", "np.interp is compiled for integers and floats only", "convert the arrays")
    if places.rank != 1 or values.rank != 1:
        raise PythonRaises("object of too small depth for desired array")
    size = places.shape[0]
    build.guard_equal(size, values.shape[0], "fp and xp are not of the same length")
    build.guard_nonnegative(size - 1, "array of sample points is empty")
    ends = [_end(build, values, given, place) for given, place in ((left, ZERO), (right, size - 1))]
    outer = [_read(build, array, place) for array, place in ((places, ZERO), (places, size - 1), (values, size - 1))]
    lines = _Lines(places, values, size, *outer, *ends)
    if isinstance(at, Scalar) or at.rank == 0:
        number = build.let(cast(scalar_expr(build, at), DType.FLOAT64), "x")
        return Scalar(_value(build, lines, number, _steps_to(build, lines, number)))
    return _values(build, lines, at)


def _end(build: Builder, values: Array, given: Given, place: Index) -> Expr:
    if given is None or is_none(given):
        return _read(build, values, place)
    end = scalar_of(build, given)
    if end.type.dtype.kind not in "iuf":
        raise build.error("E278", "np.interp is compiled for integers and floats only", "convert the ends")
    return build.let(cast(end.expr, DType.FLOAT64), "end")


def _read(build: Builder, array: Array, place: Index) -> Expr:
    return build.let(cast(build.read(array.view, (place,), array.dtype), DType.FLOAT64), "y")


def _values(build: Builder, lines: _Lines, at: Array) -> Array:
    result = empty_array(build, at.shape, DType.FLOAT64, name="interp")
    table = Table(lines.places, DType.FLOAT64, "right")
    if lines.size.constant is None:
        with build.region() as then:
            guard_sorted(build, table, "less_equal")
            build.emit(Yield())
        with build.region() as orelse:
            build.emit(Yield())
        arms, short = (build.close(then), build.close(orelse)), is_short(build, lines.size, at)
        build.emit(Branch(condition=short, then=arms[0], orelse=arms[1], id=build.new_id(), span=build.span))
    else:
        guard_sorted(build, table, "less_equal")
    places = empty_array(build, at.shape, DType.INT64, name="places")

    def number(point: Point) -> Expr:
        return build.let(cast(build.read(at.view, point, at.dtype), DType.FLOAT64), "x")

    def visit(point: Point) -> None:
        found = build.let_index(build.read(places.view, point, DType.INT64), "place", low=0, high=MAX_EXTENT)
        write_fresh(build, [(result.view.at(point), _value(build, lines, number(point), found - 1))])

    search_sorted(build, lines.size, places, lambda point, place: _reaches(build, lines, number(point), place))
    for_each(build, at.shape, visit)
    return result


def _reaches(build: Builder, lines: _Lines, x: Expr, place: Index) -> Expr:
    return op("greater_equal", (x, _read(build, lines.places, place)), NP_BOOL)


def _steps_to(build: Builder, lines: _Lines, x: Expr) -> Index:
    """The place of a number by NumPy's steps: the first few one by one, then up to the ninth, or all, by halves."""
    size, first = lines.size, index(ONE)
    going = None
    for number in range(1, _LINEAR):
        inside = op("greater", (size, const_index(number)), NP_BOOL)
        clamped = build.let_index(op("minimum", (const_index(number), size - 1), PY_INT), "near", low=0)
        reached = op("logical_and", (inside, _reaches(build, lines, x, clamped)), NP_BOOL)
        going = build.let(reached if going is None else op("logical_and", (going, reached), NP_BOOL), "going")
        first = first + build.let_index(cast(going, DType.INT64), "more", low=0, high=1)
    assert going is not None
    ninth = build.let_index(op("minimum", (const_index(_NEAR), size - 1), PY_INT), "ninth", low=0)
    before = op("less", (x, _read(build, lines.places, ninth)), NP_BOOL)
    is_near = op("logical_and", (op("greater", (size, const_index(_NEAR + 1)), NP_BOOL), before), NP_BOOL)
    limit = build.let_index(op("select", (is_near, const_index(_NEAR), size), PY_INT), "limit", low=0)
    left = build.let_index(op("select", (going, limit - (_LINEAR - 1), ZERO), PY_INT), "left", low=0)
    start = build.let_index(op("select", (going, const_index(_LINEAR - 1), first), PY_INT), "start", low=0)
    return search(build, start, left, lambda place: _reaches(build, lines, x, place)) - 1


def _value(build: Builder, lines: _Lines, x: Expr, place: Index) -> Expr:
    """What stands at a number that is not before `place`, nor at the next one or after."""
    last = lines.size - 1
    low = build.let_index(op("maximum", (op("minimum", (place, last - 1), PY_INT), ZERO), PY_INT), "low", low=0)
    high = build.let_index(op("minimum", (low + 1, last), PY_INT), "high", low=0)
    ends = [[_read(build, array, at) for array in (lines.places, lines.values)] for at in (low, high)]
    between = build.let(_line(build, x, *ends[0], *ends[1]), "y")
    exact = op("equal", (x, ends[0][0]), NP_BOOL)
    value = op("select", (exact, ends[0][1], between), _DOUBLE)
    value = op("select", (op("equal", (place, last), NP_BOOL), lines.final, value), _DOUBLE)
    alone = op("equal", (last, ZERO), NP_BOOL)
    value = op("select", (op("isnan", (x,), NP_BOOL), op("select", (alone, lines.final, x), _DOUBLE), value), _DOUBLE)
    beyond = op("greater", (x, lines.last), NP_BOOL)
    value = op("select", (op("less", (x, lines.first), NP_BOOL), lines.left, value), _DOUBLE)
    return build.let(op("select", (beyond, lines.right, value), _DOUBLE), "y")


def _line(build: Builder, x: Expr, x0: Expr, y0: Expr, x1: Expr, y1: Expr) -> Expr:
    """From the lower end; where that is NaN, from the upper one, and where that is NaN too, a level line."""
    slope = build.let(op("divide", (_minus(y1, y0), _minus(x1, x0)), _DOUBLE), "slope")
    up, down = (
        build.let(op("add", (op("multiply", (slope, _minus(x, at)), _DOUBLE), value), _DOUBLE), "y")
        for at, value in ((x0, y0), (x1, y1))
    )
    is_level = op("logical_and", (op("isnan", (down,), NP_BOOL), op("equal", (y0, y1), NP_BOOL)), NP_BOOL)
    other = op("select", (is_level, y0, down), _DOUBLE)
    return op("select", (op("isnan", (up,), NP_BOOL), other, up), _DOUBLE)


def _minus(left: Expr, right: Expr) -> Expr:
    return op("subtract", (left, right), _DOUBLE)
