"""Indexing with arrays: what `a[key]` selects when an index is an array, a list or a mask.

in:   an array and the operands between the brackets
out:  a `Selection`: the array with its basic indices applied, and an array of positions for each axis that is left to
      the others, all of one shape

Masks are positions too, those that `np.nonzero` gives. Positions are checked here, all of them, under guards; so what
reads or writes through a selection (`gathering.py`) need not check any more.

    a[idx, :, mask]  ->  view a, axis 0 at idx[k], axis 2 at nonzero(mask)[k]; k runs over the first axis of the result
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, Value, const, const_index, index, op
from weft.ir.nodes import Elements, Let, Reduce, Tasklet, View
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.arrays import from_nested, number
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.choosing import first_alike
from weft.numpy_rules.elementwise import broadcast_shapes, broadcast_to, cast, coordinates
from weft.numpy_rules.indexing import (
    drop_axis,
    index_view,
    insert_axis,
    is_ellipsis,
    is_newaxis,
    narrow_axis,
    slice_range,
    wrap_index,
)
from weft.numpy_rules.masks import places_of
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.values import Array, Masked, Operand, Scalar, Slice, Static, Tuple
from weft.support.abi import MAX_EXTENT
from weft.support.records import record

ZERO, ONE = const_index(0), const_index(1)
_FEW = 8


@record
class Pick:
    """The positions along one axis of a view; `wrap` where they may count from the end; `places`: a few known ones."""

    axis: int
    positions: Array
    wrap: bool = True
    places: tuple[int, ...] = ()


@record
class Selection:
    """Elements of `array`: its axes in `picks` at positions of the common `shape`, the others whole.

    The axes of `shape` stand together in the result, the first of them at `place`.
    """

    array: Array
    picks: tuple[Pick, ...]
    shape: tuple[Index, ...]
    place: int

    @property
    def rest(self) -> tuple[int, ...]:
        """The axes of the array that are whole."""
        picked = {pick.axis for pick in self.picks}
        return tuple(axis for axis in range(self.array.rank) if axis not in picked)

    @property
    def result_shape(self) -> tuple[Index, ...]:
        """The shape of what is selected."""
        whole = tuple(self.array.shape[axis] for axis in self.rest)
        return (*whole[: self.place], *self.shape, *whole[self.place :])

    def parts(self, point: Sequence[Index]) -> tuple[tuple[Index, ...], tuple[Index, ...]]:
        """A point of the result: its coordinates in `shape`, and those along the whole axes."""
        stop = self.place + len(self.shape)
        return tuple(point[self.place : stop]), (*point[: self.place], *point[stop:])

    def inner(self, positions: Sequence[Index]) -> View:
        """The whole axes at one place of the others."""
        view = self.array.view
        for pick, position in sorted(zip(self.picks, positions, strict=True), key=lambda item: -item[0].axis):
            view = drop_axis(view, pick.axis, position)
        return view


@record
class Basic:
    """A view, by numbers, slices and new axes. `scalar`: one element; `copies`: an index is an array of no axes."""

    array: Array
    scalar: bool
    copies: bool = False


Selected = Basic | Masked | Selection


def select(build: Builder, array: Array, key: Operand) -> Selected:
    """What `array[key]` stands for, with all positions checked."""
    given = key.items if isinstance(key, Tuple) and not key.is_list else (key,)
    items = [_index(build, item) for item in given]
    known = {
        made.view.container: known_places(i) for i, made in zip(given, items, strict=True) if isinstance(made, Array)
    }
    copies = any(isinstance(item, Array) and item.rank == 0 for item in items)
    items = [_element(build, item) for item in items]
    items = [first_alike(build, x) if isinstance(x, Array) and x.dtype is DType.BOOL else x for x in items]
    if not any(_is_advanced(item) for item in items):
        view, scalar = index_view(build, array, Tuple(tuple(items)))
        return Basic(array.viewed(view), scalar, copies)
    first = items[0]
    if len(items) == 1 and isinstance(first, Array) and first.dtype is DType.BOOL and first.rank == array.rank:
        _guard_mask(build, first, array.shape)
        return Masked(array, first)
    return _Reading(build, array, items, known).selection()


def _index(build: Builder, item: Operand) -> Operand:
    """An item between the brackets: sequences become arrays, numbers are numbers."""
    item = number(build, item)
    cut: Any = item.value if isinstance(item, Static) else None
    if type(cut) is slice:
        return Slice(*(number(build, Static(part)) for part in (cut.start, cut.stop, cut.step)))
    return positions_from(build, item) if isinstance(item, Tuple) else item


def positions_from(build: Builder, sequence: Tuple) -> Array:
    """A list of positions or flags as an array; one without elements holds integers."""
    array = from_nested(build, sequence)
    if array.dtype is DType.FLOAT64 and any(extent.constant == 0 for extent in array.shape):
        return Array(build.alloc(array.shape, DType.INT64, "idx"), DType.INT64)
    return array


def _element(build: Builder, item: Operand) -> Operand:
    """An array without axes counts as the number in it."""
    if isinstance(item, Array) and item.rank == 0:
        return Scalar(build.read(item.view, (), item.dtype))
    return item


def _is_advanced(item: Operand) -> bool:
    return isinstance(item, Array) or _is_flag(item)


def _is_flag(item: Operand) -> bool:
    return isinstance(item, Scalar) and item.type.dtype is DType.BOOL


def _guard_mask(build: Builder, mask: Array, shape: Sequence[Index]) -> None:
    for extent, wanted in zip(mask.shape, shape, strict=True):
        build.guard_equal(extent, wanted, "boolean index did not match indexed array")


def _takes(item: Operand) -> int:
    """How many axes of the array an item uses up."""
    if is_ellipsis(item) or is_newaxis(item) or _is_flag(item):
        return 0
    return item.rank if isinstance(item, Array) and item.dtype is DType.BOOL else 1


def as_selection(build: Builder, masked: Masked) -> Selection:
    """The same elements by their positions."""
    found = places_of(build, masked.mask)
    picks = tuple(Pick(axis, positions, wrap=False) for axis, positions in enumerate(found))
    return Selection(masked.array, picks, found[0].shape, 0)


class _Reading:
    """The items of a key from left to right."""

    def __init__(
        self, build: Builder, array: Array, items: Sequence[Operand], known: Mapping[str, tuple[int, ...]]
    ) -> None:
        self.build = build
        self.items = items
        self.known = known  # places in lists, by the container they were put in
        self.array = array
        self.view = array.view
        self.axis = 0  # of the view, where the next item applies
        self.whole = 0  # axes of the result so far, other than those of the positions
        self.picks: list[Pick] = []
        self.lengths: list[Index] = []  # of flags: 0 or 1
        self.place = -1
        self.consecutive = True
        self.running = False  # the item before this one was advanced

    def selection(self) -> Selection:
        """All of them."""
        used = sum(_takes(item) for item in self.items)
        if used > self.array.rank or sum(is_ellipsis(item) for item in self.items) > 1:
            raise PythonRaises("too many indices for array")
        for item in self.items:
            if _is_advanced(item) or (isinstance(item, Scalar) and item.type.dtype.kind in "iu"):
                self.advanced(item)
            else:
                self.running = False
                self.basic(item, self.array.rank - used)
        shape = broadcast_shapes(self.build, [*(pick.positions.shape for pick in self.picks), *self.flags()])
        picks = tuple(
            replace(pick, positions=pick.positions.viewed(broadcast_to(self.build, pick.positions.view, shape)))
            for pick in self.picks
        )
        return Selection(self.array.viewed(self.view), picks, shape, self.place if self.consecutive else 0)

    def flags(self) -> list[tuple[Index, ...]]:
        """The shapes of True and False as indices."""
        if self.lengths and (len(self.lengths) > 1 or self.picks):
            raise self.build.error("E221", "a bool beside other indices is not compiled", "use an if statement")
        return [(length,) for length in self.lengths]

    def advanced(self, item: Operand) -> None:
        """An array, a mask, True or False; and a number, which counts as one beside them."""
        if self.place < 0:
            self.place = self.whole
        elif not self.running:
            self.consecutive = False
        self.running = True
        match item:
            case Array() if item.dtype is DType.BOOL:
                _guard_mask(self.build, item, self.view.shape[self.axis : self.axis + item.rank])
                for positions in places_of(self.build, item):
                    self.pick(positions, wrap=False)
            case Array() if item.dtype.kind in "iu":
                places = self.known.get(item.view.container, ())
                guard_positions(self.build, item, self.view.shape[self.axis], places)
                self.pick(item, wrap=True, places=places)
            case Array():
                raise PythonRaises("arrays used as indices must be of integer (or boolean) type")
            case Scalar() if _is_flag(item):
                expr = item.expr if item.type == NP_BOOL else op("cast", (item.expr,), NP_BOOL)
                self.lengths.append(self.build.let_index(expr, "flag", low=0, high=1))
            case _:
                position = as_index(self.build, item)
                assert position is not None
                extent = self.view.shape[self.axis]
                self.view = drop_axis(
                    self.view, self.axis, wrap_index(self.build, self.build.bounded(position), extent)
                )

    def pick(self, positions: Array, *, wrap: bool, places: tuple[int, ...] = ()) -> None:
        self.picks.append(Pick(self.axis, positions, wrap, places))
        self.axis += 1

    def basic(self, item: Operand, spare: int) -> None:
        """A slice, a new axis, or an ellipsis that stands for `spare` axes."""
        if is_ellipsis(item):
            self.axis += spare
            self.whole += spare
            return
        if is_newaxis(item):
            self.view = insert_axis(self.view, self.axis)
        elif isinstance(item, Slice):
            self.view = narrow_axis(self.view, self.axis, *slice_range(self.build, item, self.view.shape[self.axis]))
        elif isinstance(item, Scalar):
            raise PythonRaises("only integers, slices, ellipsis, newaxis and arrays are valid indices")
        else:
            raise self.build.error("E220", "this kind of index is not compiled", "use numbers, slices or arrays")
        self.axis += 1
        self.whole += 1


# ---- positions ------------------------------------------------------------------------------------------------------


def known_places(indices: Operand) -> tuple[int, ...]:
    """The integers of a short list, if they are known now."""
    if not isinstance(indices, Tuple) or len(indices.items) > _FEW:
        return ()
    exprs = [item.expr for item in indices.items if isinstance(item, Scalar)]
    places = tuple(expr.constant for expr in exprs if isinstance(expr, Index) and expr.constant is not None)
    return places if len(places) == len(indices.items) else ()


def guard_positions(build: Builder, positions: Array, extent: Index, places: tuple[int, ...] = ()) -> None:
    """All positions are inside an axis, counted from either end: otherwise Python raises. `places`: known ones."""
    if places:
        build.guard_nonnegative(extent - 1 - max(places), "index out of bounds")
        build.guard_nonnegative(extent + min(places), "index out of bounds")
        return
    params = coordinates(build, positions.shape)
    element = build.value("i", ScalarType(positions.dtype))
    fits = build.value("fits", NP_BOOL)
    signed = as_python_int(element)
    inside = op("less", (signed, extent), NP_BOOL)
    if positions.dtype.kind == "i" or positions.dtype is DType.UINT64:
        inside = op("logical_and", (op("greater_equal", (signed, -extent), NP_BOOL), inside), NP_BOOL)
    point = tuple(index(param) for param in params)
    body = Tasklet(
        reads=((element, positions.view.at(point)),), lets=(Let(fits, inside),), id=build.new_id(), span=build.span
    )
    output = build.alloc((), DType.BOOL, "inside")
    build.emit(
        Reduce(
            op="logical_and",
            output=output,
            input=Elements(params, positions.shape, (body,), fits),
            axes=tuple(range(positions.rank)),
            initial=const(True, NP_BOOL),
            id=build.new_id(),
            span=build.span,
        )
    )
    build.guard(build.read(output, (), DType.BOOL), "index out of bounds")


def as_python_int(expr: Expr) -> Expr:
    """An element of an index array as NumPy takes it: int64, also where it was unsigned."""
    return op("cast", (cast(expr, DType.INT64),), PY_INT)


def positions_at(build: Builder, selection: Selection, point: tuple[Index, ...]) -> list[Index]:
    """Read the positions at a point of their common shape; the nodes go to the region that is open."""
    elements = [build.value("i", ScalarType(pick.positions.dtype)) for pick in selection.picks]
    lets: list[Let] = []
    found: list[Value] = []
    for pick, element in zip(selection.picks, elements, strict=True):
        raw = build.value("i", PY_INT)
        found.append(Value(build.new_id(), "at", PY_INT, 0, MAX_EXTENT))
        wrapped: Expr = raw
        if pick.wrap:
            negative = op("less", (raw, ZERO), NP_BOOL)
            extent = selection.array.shape[pick.axis]
            wrapped = op("select", (negative, index(raw) + extent, index(raw)), PY_INT)
        lets += [Let(raw, as_python_int(element)), Let(found[-1], wrapped)]
    reads = tuple(
        (element, pick.positions.view.at(point)) for pick, element in zip(selection.picks, elements, strict=True)
    )
    if reads:
        build.emit(Tasklet(reads=reads, lets=tuple(lets), id=build.new_id(), span=build.span))
    return [index(value) for value in found]
