"""np.interp: straight lines between the points of a table.

    np.interp(x, xp, fp)  ->  for each x: j = the last place with xp[j] <= x, found by halving
                              slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j])
                              result = slope * (x - xp[j]) + fp[j]

Before the table it is `left`, after it `right`, at its points their value, and where the line gives NaN it is drawn
from the other end, all as in NumPy. A single x is found by NumPy's steps. Those of an array are found independently of
one another, which gives what NumPy gives where `xp` rises: a guard says so, except for a table so long beside the
array that to look at all of it would take longer: then they are found one after the other, by NumPy's steps.
"""

from __future__ import annotations

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, const_index, index, op
from weft.ir.nodes import Branch, Carry, Continue, Loop, Yield
from weft.numpy_rules.arguments import Given, PythonRaises, is_none
from weft.numpy_rules.arrays import as_array, as_data, empty_array, scalar_of, write_fresh
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, scalar_expr
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array
from weft.numpy_rules.searching import Table, guard_sorted, is_short, search, search_sorted
from weft.numpy_rules.values import Array, Operand, Scalar
from weft.numpy_rules.walking import ONE, ZERO, Point, for_each
from weft.support.abi import MAX_EXTENT
from weft.support.records import record

_DOUBLE = ScalarType(DType.FLOAT64)
_LINEAR, _NEAR = 4, 8  # NumPy looks at few places one by one; at many, first as near as this


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
        return Scalar(_value(build, lines, number, _steps_to(build, lines, number, ONE)))
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
    if lines.size.constant is not None:
        _independently(build, lines, at, result)
        return result
    with build.region() as then:
        _independently(build, lines, at, result)
        build.emit(Yield())
    with build.region() as orelse:
        _one_after_the_other(build, lines, at, result)
        build.emit(Yield())
    arms, short = (build.close(then), build.close(orelse)), is_short(build, lines.size, at)
    build.emit(Branch(condition=short, then=arms[0], orelse=arms[1], id=build.new_id(), span=build.span))
    return result


def _independently(build: Builder, lines: _Lines, at: Array, result: Array) -> None:
    guard_sorted(build, Table(lines.places, DType.FLOAT64, "right"), "less_equal")
    places = empty_array(build, at.shape, DType.INT64, name="places")

    def number(point: Point) -> Expr:
        return build.let(cast(build.read(at.view, point, at.dtype), DType.FLOAT64), "x")

    def visit(point: Point) -> None:
        found = build.let_index(build.read(places.view, point, DType.INT64), "place", low=0, high=MAX_EXTENT)
        write_fresh(build, [(result.view.at(point), _value(build, lines, number(point), found - 1))])

    search_sorted(build, lines.size, places, lambda point, place: _reaches(build, lines, number(point), place))
    for_each(build, at.shape, visit)


def _one_after_the_other(build: Builder, lines: _Lines, at: Array, result: Array) -> None:
    """NumPy begins at the place of the number before: in this order also where the table does not rise."""
    line, target = flat_array(build, at), flat_array(build, result)
    var = build.loop_variable("k", ZERO, line.shape[0])
    guess = build.value("guess", PY_INT, low=1, high=MAX_EXTENT)
    with build.region() as scope:
        number = cast(build.read(line.view, (index(var),), line.dtype), DType.FLOAT64)
        x = build.let(number, "x")
        place = _steps_to(build, lines, x, index(guess))
        write_fresh(build, [(target.view.at((index(var),)), _value(build, lines, x, place))])
        build.emit(Continue((_next_guess(build, lines, x, place, index(guess)),)))
    carries, body = (Carry(guess, ONE),), build.close(scope)
    stop, number_ = line.shape[0], build.new_id()
    build.emit(Loop(var=var, start=ZERO, stop=stop, step=ONE, carries=carries, body=body, id=number_, span=build.span))


def _next_guess(build: Builder, lines: _Lines, x: Expr, place: Index, guess: Index) -> Index:
    """The place that was found, with two more behind it and one before; after a NaN the last one."""
    beyond, before = op("greater", (x, lines.last), NP_BOOL), op("less", (x, lines.first), NP_BOOL)
    found = op("select", (before, ONE, op("maximum", (place, ONE), PY_INT)), PY_INT)
    found = op("minimum", (op("select", (beyond, lines.size, found), PY_INT), lines.size - 3), PY_INT)
    return build.let_index(op("select", (op("isnan", (x,), NP_BOOL), guess, found), PY_INT), "guess", low=1)


def _reaches(build: Builder, lines: _Lines, x: Expr, place: Index) -> Expr:
    return op("greater_equal", (x, _read(build, lines.places, place)), NP_BOOL)


def _steps_to(build: Builder, lines: _Lines, x: Expr, guess: Index) -> Index:
    """The place of a number by NumPy's steps: near a place if it is there, else by halves; one by one in a short table.

    A NaN in the table is neither reached by a number nor is the number before it, so both have to be asked as they are.
    """
    size, count = lines.size, index(ONE)
    going: Expr | None = None
    for place in range(1, _LINEAR):
        reached = (
            op("greater", (size, const_index(place)), NP_BOOL),
            _reaches(build, lines, x, _inside(build, size, place)),
        )
        both = op("logical_and", reached, NP_BOOL)
        going = build.let(both if going is None else op("logical_and", (going, both), NP_BOOL), "going")
        count = count + build.let_index(cast(going, DType.INT64), "more", low=0, high=1)
    is_long = build.let(op("greater", (size, const_index(_LINEAR)), NP_BOOL), "long")
    first, end = _window(build, lines, x, guess)
    start = build.let_index(op("select", (is_long, first, count), PY_INT), "start", low=0)
    left = build.let_index(op("select", (is_long, end - first, ZERO), PY_INT), "left", low=0)
    return search(build, start, left, lambda place: _reaches(build, lines, x, place)) - 1


def _window(build: Builder, lines: _Lines, x: Expr, guess: Index) -> tuple[Index, Index]:
    """The places among which NumPy halves, for a guess with one place before it and two behind; the first at least."""
    size = lines.size

    def is_before(place: Index) -> Expr:
        return build.let(op("less", (x, _read(build, lines.places, _inside(build, size, place))), NP_BOOL), "before")

    def chosen(condition: Expr, yes: Expr, no: Expr) -> Expr:
        return op("select", (condition, yes, no), PY_INT)

    lowest, low, high, highest = (is_before(guess + step) for step in (-1, 0, 1, 2))
    reached = _reaches(build, lines, x, _inside(build, size, guess - _NEAR))
    down = op("logical_and", (op("greater", (guess, const_index(_NEAR)), NP_BOOL), reached), NP_BOOL)
    up = op("less", (guess, size - (_NEAR + 1)), NP_BOOL)
    up = op("logical_and", (up, is_before(guess + _NEAR)), NP_BOOL)
    first = chosen(low, chosen(lowest, chosen(down, guess - _NEAR, ZERO), guess), chosen(high, guess + 1, guess + 2))
    further = chosen(highest, guess + 2, chosen(up, guess + _NEAR, size))
    end = chosen(low, chosen(lowest, guess - 1, guess), chosen(high, guess + 1, further))
    return build.let_index(first, "first", low=0), build.let_index(end, "end", low=0)


def _inside(build: Builder, size: Index, place: Index | int) -> Index:
    """A place, or the end that is nearest to it."""
    low = op("maximum", (index(place) if isinstance(place, Index) else const_index(place), ZERO), PY_INT)
    return build.let_index(op("minimum", (low, size - 1), PY_INT), "near", low=0)


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
