"""The same elements in another arrangement: reshape, transpose, flip, squeeze, broadcast_to.

in:   an array; axes known at compile time, extents at run time
out:  a view of the same memory wherever NumPy gives one

Whether a reshape copies depends on strides in NumPy. What is known now is done as NumPy does it. The rest is copied as
long as nobody can tell: neither the copy nor the array is written any more, and they are not seen side by side. Where
they are, the program is lowered again, with guards under which NumPy copies, or refused.
"""

from __future__ import annotations

from weft.ir.dtypes import NP_BOOL
from weft.ir.exprs import Index, const_index, op
from weft.ir.nodes import Storage, View
from weft.numpy_rules.arguments import (
    Given,
    PythonRaises,
    extent_of,
    integer_of,
    shape_of,
    static_axes,
    static_axis,
    static_int,
    static_order,
)
from weft.numpy_rules.arrays import as_array, copy_array
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import broadcast_to, permute
from weft.numpy_rules.indexing import drop_axis, insert_axis, narrow_axis
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import (
    element_step,
    flat_array,
    guard_apart,
    guard_blocks,
    guard_copied,
    guard_same_size,
    is_contiguous,
    is_dense,
    product,
    reshape_view,
    reshaped,
    resolve_unknown,
)
from weft.numpy_rules.values import Array, Operand, Static, Tuple

ZERO, ONE = const_index(0), const_index(1)


# -- reshape ----------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.reshape",
    samples=(
        "reshape(f8[3, 4], (2, 6))",
        "reshape(f8[6], (2, -1))",
        "reshape(f8[2, 3, 4], -1)",
        "reshape([1, 2], (2, 1))",
    ),
)
def lower_reshape(build: Builder, a: Operand, /, shape: Operand, order: Operand | str = "C") -> Operand:
    """`np.reshape(a, shape)`."""
    return _reshape(build, a, shape, order)


@numpy_rule(
    "ndarray.reshape", samples=("reshape(f8[3, 4], 2, 6)", "reshape(f8[3, 4], (4, -1))", "reshape(f8[3, 1, 4], 3, 4)")
)
def lower_reshape_method(build: Builder, a: Operand, /, *shape: Operand, order: Operand | str = "C") -> Operand:
    """`a.reshape(shape)` or `a.reshape(n, m)`."""
    return _reshape(build, a, shape[0] if len(shape) == 1 else Tuple(shape), order)


def _reshape(build: Builder, a: Operand, shape: Operand, order: Operand | str) -> Array:
    static_order(build, order, "C")
    array = as_array(build, a)
    items: tuple[Operand, ...] = shape.items if isinstance(shape, Tuple) else (shape,)
    if isinstance(shape, Static) and isinstance(shape.value, tuple | list):
        items = tuple(Static(item) for item in shape.value)  # type: ignore[misc]
    wanted = [_extent_or_unknown(build, item) for item in items]
    extents = resolve_unknown(build, array.shape, wanted)
    guard_same_size(build, array.shape, extents)
    view = reshape_view(build, array.view, extents)
    if view is not None:
        return array.viewed(view)
    view = guard_blocks(build, array.view, extents)
    if view is not None:
        return array.viewed(view)
    copy = _unsure_copy(build, array)
    if copy is not None or guard_copied(build, array.view, extents):
        return reshaped(build, copy or copy_array(build, array, order="C"), extents)
    raise build.error(
        "E281", "whether this reshape is a view or a copy is known only at run time", "reshape a .copy() of the array"
    )


def _unsure_copy(build: Builder, array: Array) -> Array | None:
    """A copy for what NumPy may have as a view; None where one could tell: the builder asks for that."""
    container = build.container(array.view.container)
    if build.span is None or build.span in build.exact or container.storage is Storage.REF:
        return None
    copy = copy_array(build, array, order="C")
    build.ledger.snapshots[copy.view.container] = container.base or container.name
    build.ledger.unsure[copy.view.container] = build.span
    return copy


def _extent_or_unknown(build: Builder, item: Operand) -> Index | None:
    value = integer_of(build, item, "an extent")
    return None if value.constant == -1 else extent_of(build, item)


def _guard_gaps(build: Builder, view: View) -> bool:
    """Whether the view is surely not contiguous, under guards: a step along an axis is not what follows it."""
    container = build.container(view.container)
    if not is_dense(container):
        return False
    for axis in range(view.rank):
        step, inner = element_step(view, container, axis), product(view.shape[axis + 1 :])
        if view.shape[axis] is not ONE and step is not inner:
            guard_apart(build, view, [step - inner])
            return True
    return False


@numpy_rule(
    "numpy.ravel", "ndarray.ravel", samples=("ravel(f8[3, 4])", "ravel(f8[5])", "ravel(2.5)", "ravel([[1, 2]])")
)
def lower_ravel(build: Builder, a: Operand, order: Operand | str = "C") -> Operand:
    """One axis: a view of contiguous arrays, a copy of others."""
    static_order(build, order, "C")
    array = as_array(build, a)
    view = reshape_view(build, array.view, (product(array.shape),))
    if view is not None and is_contiguous(build, array.view):
        return array.viewed(view)
    copy = _unsure_copy(build, array)
    if copy is not None or _guard_gaps(build, array.view):
        return flat_array(build, copy or copy_array(build, array, order="C"))
    raise build.error("E282", "whether ravel copies is known only at run time here", "use a.flatten()")


@numpy_rule("ndarray.flatten", samples=("flatten(f8[3, 4])", "flatten(f8[5])", "flatten(f8[2, 3, 2])"))
def lower_flatten(build: Builder, a: Operand, order: Operand | str = "C") -> Operand:
    """One axis, always a copy."""
    static_order(build, order, "C")
    return flat_array(build, copy_array(build, as_array(build, a), order="C"))


# -- axes -------------------------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.transpose",
    "numpy.permute_dims",
    samples=("transpose(f8[3, 4])", "transpose(f8[2, 3, 4], (1, 2, 0))", "transpose(f8[2, 3], axes=(-1, 0))"),
)
def lower_transpose(build: Builder, a: Operand, axes: Given = None) -> Operand:
    """Axes reversed, or in the order given."""
    return _transpose(build, a, axes)


@numpy_rule("ndarray.transpose", samples=("transpose(f8[3, 4])", "transpose(f8[2, 3, 4], 1, 2, 0)"))
def lower_transpose_method(build: Builder, a: Operand, /, *axes: Operand) -> Operand:
    """`a.transpose()`, `a.transpose(1, 0)` or `a.transpose((1, 0))`."""
    if len(axes) == 1:
        return _transpose(build, a, axes[0])
    return _transpose(build, a, Tuple(axes) if axes else None)


def _transpose(build: Builder, a: Operand, axes: Given) -> Array:
    array = as_array(build, a)
    order = static_axes(build, axes, array.rank)
    if order is not None and len(order) != array.rank:
        raise PythonRaises("axes don't match array")
    return array.viewed(permute(array.view, tuple(range(array.rank))[::-1] if order is None else order))


@numpy_rule("numpy.swapaxes", "ndarray.swapaxes", samples=("swapaxes(f8[2, 3, 4], 0, -1)",))
def lower_swapaxes(build: Builder, a: Operand, axis1: Operand, axis2: Operand) -> Operand:
    """Two axes exchanged."""
    array = as_array(build, a)
    first, second = static_axis(build, axis1, array.rank), static_axis(build, axis2, array.rank)
    order = list(range(array.rank))
    order[first], order[second] = second, first
    return array.viewed(permute(array.view, tuple(order)))


@numpy_rule("numpy.moveaxis", samples=("moveaxis(f8[2, 3, 4], 0, -1)", "moveaxis(f8[2, 3, 4], (0, 1), (2, 0))"))
def lower_moveaxis(build: Builder, a: Operand, source: Operand, destination: Operand) -> Operand:
    """Axes moved to other places, the rest in order."""
    array = as_array(build, a)
    origins, places = static_axes(build, source, array.rank), static_axes(build, destination, array.rank)
    if origins is None or places is None or len(origins) != len(places):
        raise PythonRaises("source and destination must have the same number of elements")
    order = [axis for axis in range(array.rank) if axis not in origins]
    for place, origin in sorted(zip(places, origins, strict=True)):
        order.insert(place, origin)
    return array.viewed(permute(array.view, tuple(order)))


@numpy_rule("numpy.expand_dims", samples=("expand_dims(f8[3, 4], 1)", "expand_dims(f8[3], (0, -1))"))
def lower_expand_dims(build: Builder, a: Operand, axis: Operand) -> Operand:
    """New axes of length 1."""
    array = as_array(build, a)
    count = len(axis.items) if isinstance(axis, Tuple) else 1
    axes = static_axes(build, axis, array.rank + count) or ()
    view = array.view
    for position in sorted(axes):
        view = insert_axis(view, position)
    return array.viewed(view)


@numpy_rule(
    "numpy.squeeze", "ndarray.squeeze", samples=("squeeze(f8[3, 1, 4])", "squeeze(f8[1, 3], 0)", "squeeze(f8[1, 1])")
)
def lower_squeeze(build: Builder, a: Operand, axis: Given = None) -> Operand:
    """Without axes of length 1; where it has none, the very array."""
    array = as_array(build, a)
    axes = static_axes(build, axis, array.rank)
    if axes is None:
        axes = tuple(number for number, extent in enumerate(array.shape) if extent is ONE)
        for extent in array.shape:
            if extent is not ONE and extent.constant is None:
                build.ask_for_one(extent)
                build.guard(op("not_equal", (extent, ONE), NP_BOOL), "an axis to squeeze is 1 long")
    view = array.view
    for number in sorted(axes, reverse=True):
        build.guard_equal(
            view.shape[number], ONE, "cannot select an axis to squeeze out which has size not equal to one"
        )
        view = drop_axis(view, number, ZERO)
    return array.viewed(view) if axes else array


@numpy_rule("numpy.atleast_1d", samples=("atleast_1d(2.5)", "atleast_1d(f8[3, 4])", "atleast_1d(f8[3], 1)"))
def lower_atleast_1d(build: Builder, /, *arys: Operand) -> Operand:
    """An array of one axis or more; a tuple of them for several."""
    return _each_at_least(build, arys, 1)


@numpy_rule("numpy.atleast_2d", samples=("atleast_2d(2.5)", "atleast_2d(f8[3])", "atleast_2d(f8[3], i4[2, 2])"))
def lower_atleast_2d(build: Builder, /, *arys: Operand) -> Operand:
    """An array of two axes or more; a tuple of them for several."""
    return _each_at_least(build, arys, 2)


def _each_at_least(build: Builder, operands: tuple[Operand, ...], rank: int) -> Operand:
    arrays = tuple(at_least(build, as_array(build, operand), rank) for operand in operands)
    return arrays[0] if len(arrays) == 1 else Tuple(arrays)


def at_least(build: Builder, array: Array, rank: int) -> Array:
    """The array with new leading axes up to a rank."""
    view = array.view
    while view.rank < rank:
        view = insert_axis(view, 0)
    return array if view is array.view else array.viewed(view)


@numpy_rule("numpy.broadcast_to", samples=("broadcast_to(f8[4], (3, 4))", "broadcast_to(2.5, 3)"))
def lower_broadcast_to(build: Builder, array: Operand, shape: Operand) -> Operand:
    """A view that repeats elements; it cannot be written."""
    source = as_array(build, array)
    extents = shape_of(build, shape)
    if source.rank > len(extents):
        raise PythonRaises("input operand has more dimensions than allowed")
    return Array(broadcast_to(build, source.view, extents), source.dtype, readonly=True)


# -- flips ------------------------------------------------------------------------------------------------------------


def flip_axis(view: View, axis: int) -> View:
    """One axis from back to front."""
    extent = view.shape[axis]
    return narrow_axis(view, axis, extent - 1, extent, const_index(-1))


@numpy_rule("numpy.flip", samples=("flip(f8[3, 4])", "flip(f8[3, 4], 1)", "flip(f8[2, 3, 4], (0, -1))"))
def lower_flip(build: Builder, m: Operand, axis: Given = None) -> Operand:
    """Axes from back to front, all of them if none is given."""
    array = as_array(build, m)
    axes = static_axes(build, axis, array.rank)
    view = array.view
    for number in range(array.rank) if axes is None else axes:
        view = flip_axis(view, number)
    return array.viewed(view)


@numpy_rule("numpy.fliplr", samples=("fliplr(f8[3, 4])",))
def lower_fliplr(build: Builder, m: Operand) -> Operand:
    """The second axis from back to front."""
    array = as_array(build, m)
    if array.rank < 2:
        raise PythonRaises("Input must be >= 2-d.")
    return array.viewed(flip_axis(array.view, 1))


@numpy_rule("numpy.flipud", samples=("flipud(f8[3, 4])",))
def lower_flipud(build: Builder, m: Operand) -> Operand:
    """The first axis from back to front."""
    array = as_array(build, m)
    if array.rank < 1:
        raise PythonRaises("Input must be >= 1-d.")
    return array.viewed(flip_axis(array.view, 0))


@numpy_rule(
    "numpy.rot90",
    samples=("rot90(f8[3, 4])", "rot90(f8[3, 4], 2)", "rot90(f8[3, 4], -1)", "rot90(f8[2, 3, 4], 5, axes=(2, 0))"),
)
def lower_rot90(build: Builder, m: Operand, k: Operand | int = 1, axes: Operand | tuple[int, int] = (0, 1)) -> Operand:
    """A quarter turn from the first axis towards the second, k times: flips and an exchange of axes."""
    array = as_array(build, m)
    pair = (0, 1) if isinstance(axes, tuple) else static_axes(build, axes, array.rank)
    if pair is None or len(pair) != 2 or array.rank < 2:
        raise PythonRaises("rot90 needs two axes of the array")
    turns = static_int(build, k, "k") % 4
    view = array.view
    if turns == 2:
        return array.viewed(flip_axis(flip_axis(view, pair[0]), pair[1]))
    order = list(range(array.rank))
    order[pair[0]], order[pair[1]] = pair[1], pair[0]
    if turns == 1:
        return array.viewed(permute(flip_axis(view, pair[1]), tuple(order)))
    return array.viewed(flip_axis(permute(view, tuple(order)), pair[1]) if turns == 3 else view)
