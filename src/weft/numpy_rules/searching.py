"""Places in sorted arrays: searchsorted, digitize.

    np.searchsorted(a, v)  ->  for each key of v: low, length = 0, len(a)
                               while length > 0: half = length // 2
                                   if a[low + half] < key: low, length = low + half + 1, length - half - 1
                                   else: length = half
                               result = low

NaNs come last, as in NumPy. Keys of an array are searched independently of one another, which gives what NumPy gives
where `a` is sorted: a guard says so. Where to look at all of `a` would take longer than to search it, the keys are
searched one after the other as in NumPy, which begins near the place of the key before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.ir.dtypes import NP_BOOL, PY_INT, DType
from weft.ir.exprs import Expr, Index, const_index, index, op
from weft.ir.nodes import Branch, Break, Carry, Continue, Loop, While, Yield
from weft.numpy_rules.arguments import Flag, PythonRaises, static_bool, static_value
from weft.numpy_rules.arrays import as_array, as_data, empty_array, strong_dtype, write_fresh
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, map_elements, scalar_expr
from weft.numpy_rules.guards import Scope
from weft.numpy_rules.indexing import narrow_axis
from weft.numpy_rules.reductions import guard_all
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array, product
from weft.numpy_rules.values import Array, Operand, Scalar
from weft.numpy_rules.walking import ONE, ZERO, Point, for_each
from weft.support.abi import MAX_EXTENT
from weft.support.records import record

_SHORT = 4096  # elements that are looked at sooner than they are counted
_PER_KEY = 8


@record
class Table:
    """A sorted array, the type in which it is compared, and the side on which equal keys go."""

    array: Array
    dtype: DType
    side: str

    @property
    def size(self) -> Index:
        """How many elements it has."""
        return self.array.shape[0]


@numpy_rule(
    "numpy.searchsorted",
    "ndarray.searchsorted",
    samples=(
        "searchsorted(f8[1], f8[5])",
        "searchsorted(f8[1], v(2.5))",
        "searchsorted(i8[1], f4[2, 3], side='right')",
        "searchsorted(u1[1], i8[4], 'left')",
    ),
)
def lower_searchsorted(build: Builder, a: Operand, v: Operand, side: Operand | str = "left") -> Operand:
    """The first place (or the last, from the right) where a key may stand among the others."""
    where = static_value(build, side, "side")
    if where not in ("left", "right"):
        raise build.error("E277", "np.searchsorted is compiled for the sides 'left' and 'right'", "write one of them")
    table, keys = _operands(build, a, v, where)
    if isinstance(keys, Scalar) or keys.rank == 0:
        return _one(build, table, keys)
    places = empty_array(build, keys.shape, DType.INT64, name="places")
    if table.size.constant is not None and table.size.constant <= _SHORT:
        _independently(build, table, keys, places)
        return places
    with build.region() as then:
        _independently(build, table, keys, places)
        build.emit(Yield())
    with build.region() as orelse:
        _one_after_the_other(build, table, keys, places)
        build.emit(Yield())
    _emit_branch(build, is_short(build, table.size, keys), then, orelse)
    return places


@numpy_rule(
    "numpy.digitize",
    samples=("digitize(f8[5], [1.0, 2.5, 4.0])", "digitize(f8[4, 3], [1, 3], right=True)", "digitize(v(2.0), [1, 3])"),
)
def lower_digitize(build: Builder, x: Operand, bins: Operand, right: Flag = False) -> Operand:
    """The bins of numbers, for edges that rise; Python turns those that fall."""
    side = "left" if static_bool(build, right, "right") else "right"
    table, keys = _operands(build, bins, x, side)
    guard_sorted(build, Table(table.array, table.array.dtype, side), "less_equal")
    if isinstance(keys, Scalar) or keys.rank == 0:
        return _one(build, table, keys)
    places = empty_array(build, keys.shape, DType.INT64, name="places")
    _search_each(build, table, keys, places)
    return places


def _operands(build: Builder, a: Operand, v: Operand, side: str) -> tuple[Table, Array | Scalar]:
    array, keys = as_array(build, a), as_data(build, v)
    if array.rank != 1:
        raise PythonRaises("what is searched must have one axis")
    dtype = strong_dtype(build, (array, keys))
    if dtype.kind not in "iuf":
        raise build.error("E277", "places are searched among integers and floats only", "convert the array")
    return Table(array, dtype, side), keys


def is_short(build: Builder, size: Index, keys: Array) -> Expr:
    """Whether a look at the whole array costs little beside the search."""
    return build.let(op("less_equal", (size, product(keys.shape) * _PER_KEY + _SHORT), NP_BOOL), "short")


def _emit_branch(build: Builder, condition: Expr, then: Scope, orelse: Scope) -> None:
    arms = build.close(then), build.close(orelse)
    build.emit(Branch(condition=condition, then=arms[0], orelse=arms[1], id=build.new_id(), span=build.span))


# -- the ways through the keys ----------------------------------------------------------------------------------------


def _one(build: Builder, table: Table, key: Array | Scalar) -> Scalar:
    wanted = build.let(cast(scalar_expr(build, key), table.dtype), "key")
    return Scalar(build.let(cast(_place(build, table, wanted, ZERO, table.size), DType.INT64), "place"))


def _independently(build: Builder, table: Table, keys: Array, places: Array) -> None:
    guard_sorted(build, table, "not_less")
    _search_each(build, table, keys, places)


def _search_each(build: Builder, table: Table, keys: Array, places: Array) -> None:
    """Where the array is sorted and not empty."""

    def goes_on(point: Point, at: Index) -> Expr:
        key = build.let(cast(build.read(keys.view, point, keys.dtype), table.dtype), "key")
        return _goes_on(build, table, key, at)

    search_sorted(build, table.size, places, goes_on)


def _one_after_the_other(build: Builder, table: Table, keys: Array, places: Array) -> None:
    """From the place of the last key on if this one is greater, else up to it: in this order also without order."""
    line, target = flat_array(build, keys), flat_array(build, places)
    var = build.loop_variable("k", ZERO, line.shape[0])
    at, place = index(var), build.value("place", PY_INT, low=0, high=MAX_EXTENT)
    with build.region() as scope:
        before = build.let_index(op("maximum", (at - 1, ZERO), PY_INT), "before", low=0)
        last, key = (
            build.let(cast(build.read(line.view, (where,), line.dtype), table.dtype), "key") for where in (before, at)
        )
        further = build.let(_comes_before(table, last, key), "further")
        low = build.let_index(op("select", (further, place, ZERO), PY_INT), "low", low=0)
        next_ = op("minimum", (index(place) + 1, table.size), PY_INT)
        high = build.let_index(op("select", (further, table.size, next_), PY_INT), "high", low=0)
        found = _place(build, table, key, low, high - low)
        write_fresh(build, [(target.view.at((at,)), cast(found, DType.INT64))])
        build.emit(Continue((found,)))
    build.emit(
        Loop(
            var=var,
            start=ZERO,
            stop=line.shape[0],
            step=ONE,
            carries=(Carry(place, table.size if table.side == "left" else ZERO),),
            body=build.close(scope),
            id=build.new_id(),
            span=build.span,
        )
    )


# -- one search -------------------------------------------------------------------------------------------------------


def _less(left: Expr, right: Expr) -> Expr:
    """NumPy's order, in which NaNs come last."""
    smaller = op("less", (left, right), NP_BOOL)
    if left.type.dtype.kind != "f":
        return smaller
    before = op("logical_and", (op("isnan", (right,), NP_BOOL), op("equal", (left, left), NP_BOOL)), NP_BOOL)
    return op("logical_or", (smaller, before), NP_BOOL)


def guard_sorted(build: Builder, table: Table, order: str) -> None:
    """Assume that no element is less than the one before it; by `order` "less_equal" also that there is no NaN."""
    build.guard_nonnegative(table.size - 1, "a search in nothing")
    view, count = table.array.view, table.size - 1
    low, high = (Array(narrow_axis(view, 0, start, count, ONE), table.array.dtype) for start in (ZERO, ONE))

    def body(pair: Sequence[Expr]) -> Expr:
        left, right = (cast(x, table.dtype) for x in pair)
        if order == "less_equal":
            return op("less_equal", (left, right), NP_BOOL)
        return op("logical_not", (_less(right, left),), NP_BOOL)

    guard_all(build, map_elements(build, (low, high), (count,), DType.BOOL, body, name="up"), "it is not sorted")


def _goes_on(build: Builder, table: Table, key: Expr, at: Index) -> Expr:
    """Whether the place of a key is after that of an element."""
    return _comes_before(table, cast(build.read(table.array.view, (at,), table.array.dtype), table.dtype), key)


def _comes_before(table: Table, element: Expr, key: Expr) -> Expr:
    if table.side == "left":
        return _less(element, key)
    return op("logical_not", (_less(key, element),), NP_BOOL)


def _place(build: Builder, table: Table, key: Expr, low: Index, length: Index) -> Index:
    """The place of a key among the `length` elements from `low` on."""
    return search(build, low, length, lambda at: _goes_on(build, table, key, at))


def search(build: Builder, low: Index, length: Index, goes_on: Callable[[Index], Expr]) -> Index:
    """The first of `length` places from `low` on where `goes_on(place)` is false, by NumPy's steps."""

    def step(first: Index, left: Index) -> tuple[Index, Index]:
        half = _half(build, left)
        right = build.let(goes_on(first + half), "right")
        begin = op("select", (right, first + half + 1, first), PY_INT)
        rest = op("select", (right, left - half - 1, half), PY_INT)
        return build.let_index(begin, "low", low=0), build.let_index(rest, "left", low=0)

    return _while_longer(build, 0, low, length, step)


def _halvings(build: Builder, size: Index) -> Index:
    """How many steps `search_sorted` takes."""
    return _while_longer(build, 1, ZERO, size, lambda count, left: (count + 1, left - _half(build, left)))


def _while_longer(
    build: Builder, than: int, low: Index, length: Index, step: Callable[[Index, Index], tuple[Index, Index]]
) -> Index:
    """`while length > than: low, length = step(low, length)`; gives `low`."""
    first, left = (build.value(name, PY_INT, low=0, high=MAX_EXTENT) for name in ("low", "left"))
    with build.region() as scope:
        with build.region() as end:
            build.emit(Break((index(first), index(left))))
        with build.region() as more:
            build.emit(Yield())
        _emit_branch(build, op("less_equal", (index(left), const_index(than)), NP_BOOL), end, more)
        build.emit(Continue(step(index(first), index(left))))
    carries = (Carry(first, low), Carry(left, length))
    build.emit(While(carries=carries, body=build.close(scope), id=build.new_id(), span=build.span))
    return index(first)


def search_sorted(build: Builder, size: Index, places: Array, goes_on: Callable[[Point, Index], Expr]) -> None:
    """At each point the first place where `goes_on(point, place)` is false, for one that is never true again.

    All points take a step before any takes the next one, without a branch: passes make strips and vectors of that.
    """

    def at_each(place: Callable[[Point], Expr]) -> None:
        def visit(point: Point) -> None:
            write_fresh(build, [(places.view.at(point), cast(place(point), DType.INT64))])

        for_each(build, places.shape, visit)

    def further(point: Point, half: Index, ahead: Index) -> Expr:
        first = build.let_index(build.read(places.view, point, DType.INT64), "low", low=0, high=MAX_EXTENT)
        right = build.let_index(cast(goes_on(point, first + ahead), DType.INT64), "right")
        return first + half * right

    at_each(lambda _: ZERO)
    turns = _halvings(build, size)
    _for_turns(build, turns, size, lambda half: at_each(lambda point: further(point, half, half - 1)))
    at_each(lambda point: further(point, ONE, ZERO))


def _for_turns(build: Builder, turns: Index, size: Index, step: Callable[[Index], None]) -> None:
    """`step(half)` with the half of what is left, turn by turn."""
    var = build.loop_variable("turn", ZERO, turns)
    left = build.value("left", PY_INT, low=0, high=MAX_EXTENT)
    with build.region() as scope:
        half = _half(build, index(left))
        step(half)
        build.emit(Continue((index(left) - half,)))
    carries, body = (Carry(left, size),), build.close(scope)
    build.emit(
        Loop(var=var, start=ZERO, stop=turns, step=ONE, carries=carries, body=body, id=build.new_id(), span=build.span)
    )


def _half(build: Builder, length: Index) -> Index:
    return build.let_index(op("right_shift", (length, ONE), PY_INT), "half", low=0)
