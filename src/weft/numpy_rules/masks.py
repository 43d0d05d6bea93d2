"""Masks: how many elements are true, and where.

in:   an array of bools
out:  a count known at run time only, and positions: arrays of that length

    positions_of(m)  ->  n = sum(m); P = alloc [n]; for i in range(len(m)): if m[i]: P[at] = i; at += 1
    places_of(m)     ->  n = sum(m); P = alloc [n + 1]; for i in range(len(m)): P[at] = i; at += m[i]
                         P[:n], which no user sees: found once, for all that is read through m
"""

from __future__ import annotations

from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Index, const, const_index
from weft.ir.nodes import Reduce, Tasklet, View
from weft.numpy_rules.arrays import bool_expr, map_array, write_fresh
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.choosing import remembered
from weft.numpy_rules.elementwise import cast
from weft.numpy_rules.indexing import narrow_axis
from weft.numpy_rules.reshaping import product, reshape_view
from weft.numpy_rules.values import Array
from weft.numpy_rules.walking import Point, for_each_where, number_each
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
    return found


def places_of(build: Builder, mask: Array) -> Array | None:
    """Where a mask is true, counted in C order, to read or write through; None if that needs a copy of it."""
    flat = reshape_view(build, mask.view, (product(mask.shape),))
    if flat is None:
        return None
    return remembered(build, build.ledger.places, mask, lambda: _places(build, flat, count_true(build, mask)))


def _places(build: Builder, mask: View, count: Index) -> Array:
    base = build.alloc((count + 1,), DType.INT64, "at")

    def note(point: Point, at: Index) -> None:
        write_fresh(build, [(base.at((at,)), cast(point[0], DType.INT64))])

    number_each(build, mask.shape, lambda point: build.read(mask, point, DType.BOOL, "m"), note)
    return Array(narrow_axis(base, 0, ZERO, count, ONE), DType.INT64)


def put_where(build: Builder, array: Array, mask: Array, values: Array) -> None:
    """`array[mask] = values`, one for each element that is true; they share no memory with the array."""
    build.mark_written(array.view.container)

    def put(point: Point, at: Index) -> None:
        element = build.read(values.view, (at,), values.dtype)
        build.emit(Tasklet(writes=((array.view.at(point), element),), id=build.new_id(), span=build.span))

    for_each_where(build, mask.shape, lambda point: build.read(mask.view, point, DType.BOOL, "m"), put)
