"""Masks: how many elements are true, and where.

in:   an array of bools
out:  a count known at run time only, and positions: arrays of that length

    positions_of(m)       ->  n = sum(m); P = alloc [n]; for i in range(len(m)): if m[i]: P[at] = i; at += 1
    elements_where(a, m)  ->  n = sum(m); X = alloc [n]; for i in range(len(m)): x = a[i]; if m[i]: X[at] = x; at += 1

Such loops have a form of their own in C (`weft.codegen.compactions`).
"""

from __future__ import annotations

from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Expr, Index, const, const_index
from weft.ir.nodes import Reduce, Tasklet
from weft.numpy_rules.arrays import bool_expr, empty_array, map_array, write_fresh
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.choosing import mask_behind, note_chosen, note_positions, remembered
from weft.numpy_rules.elementwise import cast
from weft.numpy_rules.indexing import narrow_axis
from weft.numpy_rules.reshaping import product, reshape_view
from weft.numpy_rules.values import Array
from weft.numpy_rules.walking import Point, for_each_where
from weft.support.abi import MAX_EXTENT

ZERO, ONE = const_index(0), const_index(1)


def mask_of(build: Builder, array: Array) -> Array:
    """The truth of every element."""
    if array.dtype is DType.BOOL:
        return array
    return map_array(build, array, DType.BOOL, lambda x: bool_expr(build, x), "mask")


def count_true(build: Builder, mask: Array) -> Index:
    """How many elements of a mask are true."""
    return remembered(build, build.ledger.counts, mask, lambda: _count(build, mask))


def _count(build: Builder, mask: Array) -> Index:
    output = build.alloc((), DType.INT64, "count")
    build.emit(
        Reduce(
            op="add",
            output=output,
            input=mask.view,
            axes=tuple(range(mask.rank)),
            initial=const(0, ScalarType(DType.INT64)),
            id=build.new_id(),
            span=build.span,
        )
    )
    return build.let_index(build.read(output, (), DType.INT64, "n"), "n", low=0, high=MAX_EXTENT)


def positions_of(build: Builder, mask: Array) -> tuple[Array, ...]:
    """`np.nonzero(mask)`: per axis the coordinates of the elements that are true, in C order."""
    count = count_true(build, mask)
    found = tuple(Array(build.alloc((count,), DType.INT64, "at"), DType.INT64) for _ in mask.shape)

    def note(point: Point, at: Index) -> None:
        pairs = zip(found, point, strict=True)
        write_fresh(build, [(target.view.at((at,)), cast(place, DType.INT64)) for target, place in pairs])

    for_each_where(build, mask.shape, lambda point: build.read(mask.view, point, DType.BOOL, "m"), note)
    if mask.rank == 1:
        note_positions(build, found[0], mask)
    return found


def places_of(build: Builder, mask: Array) -> tuple[Array, ...]:
    """The same to read or write through: no user sees them, so they are found once."""
    return remembered(build, build.ledger.places, mask, lambda: positions_of(build, mask))


def elements_where(build: Builder, array: Array, mask: Array) -> Array:
    """`array[mask]` for a mask of the same shape: the elements where it is true, in C order."""
    count = count_true(build, mask)
    target = empty_array(build, (count,), array.dtype, name="x")
    size = (product(mask.shape),)
    flat = [reshape_view(build, view, size) for view in (mask.view, array.view)]
    flags, source = (view for view in flat if view is not None) if None not in flat else (mask.view, array.view)
    element: list[Expr] = []

    def test(point: Point) -> Expr:
        flag = build.read(flags, point, DType.BOOL, "m")
        element[:] = [build.read(source, point, array.dtype)]
        return flag

    def note(_: Point, at: Index) -> None:
        write_fresh(build, [(target.view.at((at,)), element[0])])

    for_each_where(build, flags.shape, test, note)
    note_chosen(build, target, mask, lambda: array, (array.view.container,))
    return target


def elements_at(build: Builder, array: Array, positions: Array) -> Array | None:
    """`array[positions]`, where these are all places of one axis at which a mask is true; None for others."""
    mask = mask_behind(build, positions) if array.rank == 1 else None
    if mask is None:
        return None
    (length,) = mask.shape
    build.guard_nonnegative(array.shape[0] - length, "an array is shorter than the mask it is read by")
    return elements_where(build, array.viewed(narrow_axis(array.view, 0, ZERO, length, ONE)), mask)


def put_where(build: Builder, array: Array, mask: Array, values: Array) -> None:
    """`array[mask] = values`, one for each element that is true; they share no memory with the array."""
    build.mark_written(array.view.container)

    def put(point: Point, at: Index) -> None:
        element = build.read(values.view, (at,), values.dtype)
        build.emit(Tasklet(writes=((array.view.at(point), element),), id=build.new_id(), span=build.span))

    for_each_where(build, mask.shape, lambda point: build.read(mask.view, point, DType.BOOL, "m"), put)
