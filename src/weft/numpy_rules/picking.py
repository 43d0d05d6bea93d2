"""Elements by position: take, nonzero, compress, choose, select.

in:   arrays; positions and masks known at run time
out:  new arrays, some of a length that only their contents tell

    np.compress(m, a, axis=0)  ->  the positions where m is true, then a map that reads a at them
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, const, const_index, op
from weft.numpy_rules.arguments import Given, PythonRaises, is_none, shape_of, static_axis, static_value
from weft.numpy_rules.arrays import (
    as_array,
    as_data,
    bool_expr,
    common_dtype,
    empty_array,
    generate,
    map_array,
    read_scalar,
    write_fresh,
)
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.choosing import mask_behind
from weft.numpy_rules.elementwise import broadcast_shapes, broadcast_to, cast, guard_fits, permute
from weft.numpy_rules.gathering import gather
from weft.numpy_rules.indexing import drop_axis, insert_axis, narrow_axis
from weft.numpy_rules.masks import count_true, elements_at, elements_where, mask_of, positions_of
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array, product, reshape_view
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.selections import Pick, Selection, guard_positions, known_places, positions_from
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Array, Operand, Scalar, Tuple
from weft.numpy_rules.walking import Point, for_each_where

ZERO, ONE = const_index(0), const_index(1)


# ---- where something is true ----------------------------------------------------------------------------------------


@numpy_rule("numpy.nonzero", "ndarray.nonzero", samples=("nonzero(f8[3, 4])", "nonzero(b1[5])", "nonzero(b1[0])"))
def lower_nonzero(build: Builder, a: Operand, /) -> Operand:
    """The coordinates of what is true, an array per axis."""
    array = as_array(build, a)
    if array.rank == 0:
        raise PythonRaises("calling nonzero on 0d arrays is not allowed")
    return Tuple(positions_of(build, mask_of(build, array)))


@numpy_rule("numpy.flatnonzero", samples=("flatnonzero(f8[3, 4])", "flatnonzero(b1[5])"))
def lower_flatnonzero(build: Builder, a: Operand) -> Operand:
    """The positions of what is true, counted in C order."""
    return flat_positions(build, mask_of(build, as_array(build, a)))


def flat_positions(build: Builder, mask: Array) -> Array:
    """Where a mask is true, counted in C order."""
    flags = reshape_view(build, mask.view, (product(mask.shape),))
    if flags is not None:
        return positions_of(build, mask.viewed(flags))[0]
    found = Array(build.alloc((count_true(build, mask),), DType.INT64, "at"), DType.INT64)

    def note(point: Point, at: Index) -> None:
        place = ZERO
        for coordinate, extent in zip(point, mask.shape, strict=True):
            place = place * extent + coordinate
        write_fresh(build, [(found.view.at((at,)), cast(place, DType.INT64))])

    for_each_where(build, mask.shape, lambda point: build.read(mask.view, point, DType.BOOL, "m"), note)
    return found


@numpy_rule("numpy.argwhere", samples=("argwhere(f8[3, 4])", "argwhere(b1[5])"))
def lower_argwhere(build: Builder, a: Operand) -> Operand:
    """The coordinates of what is true, a row for each."""
    array = as_array(build, a)
    if array.rank == 0:
        raise build.error("E225", "np.argwhere of a number is not compiled", "ask for its truth")
    mask = mask_of(build, array)
    base = build.alloc((const_index(array.rank), count_true(build, mask)), DType.INT64, "at")

    def note(point: Point, at: Index) -> None:
        pairs = [(base.at((const_index(axis), at)), cast(place, DType.INT64)) for axis, place in enumerate(point)]
        write_fresh(build, pairs)

    for_each_where(build, mask.shape, lambda point: build.read(mask.view, point, DType.BOOL, "m"), note)
    return Array(permute(base, (1, 0)), DType.INT64)


@numpy_rule(
    "numpy.compress",
    samples=("compress(b1[3], f8[5])", "compress(b1[4], f8[3, 4], axis=1)", "compress([True, False], f8[3, 4], 0)"),
)
def lower_compress(build: Builder, condition: Operand, a: Operand, axis: Given = None) -> Operand:
    """The slices along an axis where the condition is true; it may be shorter than the axis."""
    return _compress(build, as_array(build, a), condition, axis)


@numpy_rule("ndarray.compress")
def lower_compress_method(build: Builder, a: Operand, condition: Operand, axis: Given = None) -> Operand:
    """`a.compress(condition)`."""
    return _compress(build, as_array(build, a), condition, axis)


def _compress(build: Builder, array: Array, condition: Operand, axis: Given) -> Array:
    mask = mask_of(build, as_array(build, condition))
    if mask.rank != 1:
        raise PythonRaises("condition must be a 1-d array")
    if axis is None or is_none(axis):
        return _chosen(build, array, mask)
    return _taken(build, array, flat_positions(build, mask), axis, "raise")


def _chosen(build: Builder, array: Array, mask: Array) -> Array:
    """The elements where a mask is true, both in C order; the mask may be shorter."""
    size, length = product(array.shape), product(mask.shape)
    flat, flags = reshape_view(build, array.view, (size,)), reshape_view(build, mask.view, (length,))
    if flat is None or flags is None:
        return _taken(build, array, flat_positions(build, mask), None, "raise")
    build.guard_nonnegative(size - length, "the condition is longer than what it chooses from")
    source = array.viewed(narrow_axis(flat, 0, ZERO, length, ONE))
    return elements_where(build, source, mask.viewed(flags))


@numpy_rule("numpy.extract", samples=("extract(b1[3, 4], f8[3, 4])", "extract(f8[3], i4[5])"))
def lower_extract(build: Builder, condition: Operand, arr: Operand) -> Operand:
    """The elements where the condition is true, both in C order."""
    return _chosen(build, as_array(build, arr), mask_of(build, as_array(build, condition)))


@numpy_rule(
    "numpy.delete",
    samples=("delete(f8[5], 0)", "delete(f8[4, 3], [0], axis=0)", "delete(f8[5], b1[5])", "delete(f8[5], b1[5], 0)"),
)
def lower_delete(build: Builder, arr: Operand, obj: Operand, axis: Given = None) -> Operand:
    """By a mask, or positions that come from one, `arr[~mask]`; else NumPy's own."""
    mask = _deleted(build, obj) if isinstance(arr, Array) and arr.rank == 1 and is_none(axis) else None
    if mask is None or not isinstance(arr, Array):
        keywords = {} if axis is None else {"axis": axis}
        return call_numpy(build, "numpy.delete", (arr, obj), keywords, free_sizes=True)
    build.guard_equal(arr.shape[0], mask.shape[0], "a mask of another length")
    return elements_where(build, arr, map_array(build, mask, DType.BOOL, lambda x: op("invert", (x,), NP_BOOL)))


def _deleted(build: Builder, obj: Operand) -> Array | None:
    """The mask of what goes, if there is one."""
    if not isinstance(obj, Array) or obj.rank != 1:
        return None
    return obj if obj.dtype is DType.BOOL else mask_behind(build, obj)


@numpy_rule("numpy.ix_", samples=("ix_(i8[3], i8[2])", "ix_([0, 1], b1[4])"))
def lower_ix(build: Builder, *args: Operand) -> Operand:
    """Positions along each axis, shaped so that together they are a grid."""
    parts: list[Operand] = []
    for number, arg in enumerate(args):
        array = positions_from(build, arg) if isinstance(arg, Tuple) else as_array(build, arg)
        if array.rank != 1:
            raise PythonRaises("cross index must be 1 dimensional")
        if array.dtype is DType.BOOL:
            (array,) = positions_of(build, array)
        view = array.view
        for axis in range(len(args)):
            if axis != number:
                view = insert_axis(view, axis)
        parts.append(array.viewed(view))
    return Tuple(tuple(parts))


# ---- take -----------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.take",
    "ndarray.take",
    samples=(
        "take(f8[5], [0, -1, 2])",
        "take(f8[3, 4], i8[2, 3]%12)",
        "take(f8[3, 4], i4[6], axis=1, mode='wrap')",
        "take(f8[3, 4], i4[6], 0, mode='clip')",
        "take(f8[5], 2)",
        "take(f8[3, 4], [1, -2, 1], axis=-1)",
        "take(i4[2, 3, 4], (0, -1), 2)",
        "take(f8[3, 4], -1, axis=0)",
        "take([1, 2, 3], [[0, 1], [2, 0]])",
    ),
)
def lower_take(
    build: Builder, a: Operand, indices: Operand, axis: Given = None, out: Given = None, mode: Operand | str = "raise"
) -> Operand:
    """The elements at positions along an axis, or of all in C order."""
    if not is_none(out):
        raise build.error("E225", "'out' of np.take is not compiled", "assign the result")
    kind = static_value(build, mode, "mode")
    if kind not in ("raise", "wrap", "clip"):
        raise build.error("E225", f"mode={kind!r} of np.take is not compiled", "write 'raise', 'wrap' or 'clip'")
    positions = positions_from(build, indices) if isinstance(indices, Tuple) else as_array(build, indices)
    if positions.dtype.kind not in "biu":
        raise PythonRaises("positions must be integers")
    places = known_places(indices) if kind == "raise" else ()
    result = _taken(build, as_array(build, a), positions, axis, kind, places)
    return read_scalar(build, result) if result.rank == 0 else result


def _taken(
    build: Builder, array: Array, positions: Array, axis: Given, mode: str, places: tuple[int, ...] = ()
) -> Array:
    """`np.take`, also for positions without axes; in C order."""
    if is_none(axis):
        array, number = flat_array(build, array), 0
    else:
        number = static_axis(build, axis, array.rank)
    found = elements_at(build, array, positions) if mode == "raise" else None
    if found is not None:
        return found
    single = positions.rank == 0
    if single:
        positions = positions.viewed(insert_axis(positions.view, 0))
    positions = fitted_positions(build, positions, array.shape[number], mode, places)
    pick = Pick(number, positions, mode == "raise", places)
    result = gather(build, Selection(array, (pick,), positions.shape, number), c_order=True)
    return result.viewed(drop_axis(result.view, number, ZERO)) if single else result


def fitted_positions(build: Builder, positions: Array, extent: Index, mode: str, places: tuple[int, ...] = ()) -> Array:
    """Positions inside an axis: checked, wrapped around, or moved to its ends."""
    if positions.dtype is DType.BOOL:
        positions = map_array(build, positions, DType.INT64, lambda x: cast(x, DType.INT64))
    if mode == "raise":
        guard_positions(build, positions, extent, places)
        return positions
    build.guard_nonnegative(extent - 1, "positions on an axis without elements")

    def body(element: Expr) -> Expr:
        place = op("cast", (cast(element, DType.INT64),), PY_INT)
        if mode == "wrap":
            fitting = op("remainder", (place, extent), PY_INT)
        else:
            fitting = op("minimum", (op("maximum", (place, ZERO), PY_INT), extent - 1), PY_INT)
        return cast(fitting, DType.INT64)

    return map_array(build, positions, DType.INT64, body, "at")


@numpy_rule(
    "numpy.take_along_axis",
    samples=(
        "take_along_axis(f8[3, 4], i8[3, 2]%4, axis=1)",
        "take_along_axis(f8[3, 4], i8[1, 4]%3, axis=0)",
        "take_along_axis(f8[3, 4], i8[5]%12, axis=None)",
    ),
)
def lower_take_along_axis(build: Builder, arr: Operand, indices: Operand, axis: Operand | int | None = -1) -> Operand:
    """Along one axis at the positions given, along the others in step."""
    return gather(build, along_axis(build, as_array(build, arr), as_array(build, indices), axis))


def along_axis(build: Builder, array: Array, indices: Array, axis: Operand | int | None) -> Selection:
    """What `np.take_along_axis` and `np.put_along_axis` select."""
    if axis is None or (not isinstance(axis, int) and is_none(axis)):
        array, number = flat_array(build, array), 0
    else:
        number = static_axis(build, axis, array.rank)
    if indices.dtype.kind not in "iu" or indices.rank != array.rank:
        raise PythonRaises("indices must be integers, of as many axes as the array")
    guard_positions(build, indices, array.shape[number])
    picks: list[Pick] = []
    for dimension, extent in enumerate(array.shape):
        if dimension == number:
            picks.append(Pick(dimension, indices))
            continue
        line = empty_array(build, (extent,), DType.INT64, name="at")
        generate(build, line.view, lambda point, _: cast(point[0], DType.INT64))
        view = line.view
        for other in range(array.rank):
            if other != dimension:
                view = insert_axis(view, other)
        picks.append(Pick(dimension, Array(view, DType.INT64), wrap=False))
    shape = broadcast_shapes(build, [pick.positions.shape for pick in picks])
    return Selection(array, tuple(stretched(build, pick, shape) for pick in picks), shape, 0)


def stretched(build: Builder, pick: Pick, shape: tuple[Index, ...]) -> Pick:
    """The positions broadcast to a shape."""
    view = broadcast_to(build, pick.positions.view, shape)
    return Pick(pick.axis, pick.positions.viewed(view), pick.wrap)


# ---- one of several -------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.choose",
    samples=("choose(i8[4]%3, [f8[4], 1.5, f8[3, 4]])", "choose(i4[2, 3]%2, (i4[3], 7))", "choose(1, [2, 3])"),
)
def lower_choose(build: Builder, a: Operand, choices: Operand) -> Operand:
    """At every point the element of the choice that is numbered there."""
    if not isinstance(choices, Tuple) or not choices.items:
        raise build.error("E225", "np.choose is compiled for a list of choices", "write the arrays in a list")
    which = as_array(build, a)
    if which.dtype.kind not in "iu":
        raise PythonRaises("the number of a choice is an integer")
    parts = [as_data(build, item) for item in choices.items]
    dtype = _fitting_dtype(build, parts)
    arrays = [as_array(build, part) for part in (which, *parts)]
    shape = broadcast_shapes(build, [array.shape for array in arrays])
    _guard_choices(build, which, len(parts))

    def body(_: Sequence[Index], args: Sequence[Expr]) -> Expr:
        number = cast(args[0], DType.INT64)
        result = cast(args[-1], dtype)
        for place in range(len(parts) - 2, -1, -1):
            here = op("equal", (number, const(place, number.type)), NP_BOOL)
            result = op("select", (here, cast(args[place + 1], dtype), result), ScalarType(dtype))
        return result

    target = empty_array(build, shape, dtype, name="choice")
    generate(build, target.view, body, [(broadcast_to(build, x.view, shape), x.dtype) for x in arrays])
    return read_scalar(build, target) if target.rank == 0 else target


def _guard_choices(build: Builder, which: Array, count: int) -> None:
    """All numbers are those of choices, from 0 on: np.choose counts none from the end."""
    type_ = ScalarType(DType.INT64)

    def body(element: Expr) -> Expr:
        number = cast(element, DType.INT64)
        negative = op("less", (number, const(0, type_)), NP_BOOL)
        return op("select", (negative, const(count, type_), number), type_)

    guard_positions(build, map_array(build, which, DType.INT64, body), const_index(count))


def _fitting_dtype(build: Builder, parts: Sequence[Array | Scalar]) -> DType:
    """The common type, Python numbers weak; they must fit."""
    dtype = common_dtype(build, parts)
    for part in parts:
        if not guard_fits(build, part, dtype):
            raise PythonRaises("Python integer out of bounds")
    return dtype


@numpy_rule(
    "numpy.select",
    samples=(
        "select([b1[4], b1[4]], [f8[4], 2.0])",
        "select([b1[3, 4], b1[4]], [i4[4], f4[3, 4]], default=-1)",
        "select((b1[3],), (1,), 2.5)",
    ),
)
def lower_select(build: Builder, condlist: Operand, choicelist: Operand, default: Operand | int = 0) -> Operand:
    """At every point the first choice whose condition is true there, else the default."""
    if not isinstance(condlist, Tuple) or not isinstance(choicelist, Tuple):
        raise build.error("E225", "np.select is compiled for lists", "write the conditions and choices in lists")
    if len(condlist.items) != len(choicelist.items) or not condlist.items:
        raise PythonRaises("list of cases must be same length as list of conditions")
    tests = [as_array(build, item) for item in condlist.items]
    if any(test.dtype is not DType.BOOL for test in tests):
        raise PythonRaises("a condition is not an array of bools")
    other = Scalar(const_index(default)) if isinstance(default, int) else as_data(build, default)
    choices = [*(as_data(build, item) for item in choicelist.items), other]
    dtype = _fitting_dtype(build, choices)
    arrays = [*tests, *(as_array(build, choice) for choice in choices)]
    shape = broadcast_shapes(build, [array.shape for array in arrays])

    def body(_: Sequence[Index], args: Sequence[Expr]) -> Expr:
        result = cast(args[-1], dtype)
        for place in range(len(tests) - 1, -1, -1):
            chosen = cast(args[len(tests) + place], dtype)
            result = op("select", (bool_expr(build, args[place]), chosen, result), ScalarType(dtype))
        return result

    target = empty_array(build, shape, dtype, name="choice")
    generate(build, target.view, body, [(broadcast_to(build, x.view, shape), x.dtype) for x in arrays])
    return target


# ---- positions ------------------------------------------------------------------------------------------------------


@numpy_rule("numpy.unravel_index", samples=("unravel_index(v(7), (4, 5))", "unravel_index(0, 3)"))
def lower_unravel_index(build: Builder, indices: Operand, shape: Operand) -> Operand:
    """The coordinates of one position counted in C order; of several NumPy makes views of one array."""
    position = as_index(build, indices) if isinstance(indices, Scalar) else None
    if position is None:
        raise build.error("E226", "unravel_index is compiled for one position only", "use // and %")
    extents = shape_of(build, shape)
    rest = build.bounded(position)
    build.guard_nonnegative(rest, "index is out of bounds")
    build.guard_nonnegative(build.bounded(product(extents)) - 1 - rest, "index is out of bounds")
    found: list[Operand] = []
    for extent in reversed(extents):
        within = build.let_index(op("remainder", (rest, extent), PY_INT), "k", low=0)
        rest = build.let_index(op("floor_divide", (rest, extent), PY_INT), "k", low=0)
        found.append(Scalar(cast(within, DType.INT64)))
    return Tuple(tuple(reversed(found)))
