"""Arrays put together or repeated: concatenate, stack, roll, repeat, tile, diff, meshgrid.

in:   arrays, or a tuple or list of them
out:  a new array, filled block by block

    np.concatenate((a, b))  ->  t of n + m elements;  t[:n] = a;  t[n:] = b
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.dtypes import PY_INT, DType
from weft.ir.exprs import Index, const_index, op
from weft.numpy_rules.arguments import (
    Given,
    PythonRaises,
    extent_of,
    integer_of,
    is_none,
    static_axes,
    static_axis,
    static_dtype,
    static_int,
    static_value,
)
from weft.numpy_rules.arrays import as_array, copy_array, empty_array, strong_dtype, ufunc
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import broadcast_shapes, broadcast_to, initialise, new_array
from weft.numpy_rules.indexing import insert_axis, narrow_axis
from weft.numpy_rules.memory_order import copied_order, joined_order
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import flat_array, reshaped
from weft.numpy_rules.shapes import at_least
from weft.numpy_rules.values import Array, Operand, Tuple

ZERO, ONE = const_index(0), const_index(1)

_NEAR = 4  # the longest shift on a grid that is taken for that of a stencil


def _arrays(build: Builder, operand: Operand) -> list[Array]:
    if isinstance(operand, Array):
        raise build.error("E283", "joining the rows of an array is not compiled", "pass a tuple of arrays")
    if not isinstance(operand, Tuple):
        raise PythonRaises("arrays to join must be given as a sequence")
    if not operand.items:
        raise PythonRaises("need at least one array to join")
    return [as_array(build, item) for item in operand.items]


def join(build: Builder, arrays: Sequence[Array], axis: int, dtype: DType | None = None) -> Array:
    """Arrays of one rank one after the other along an axis."""
    first = arrays[0]
    if any(array.rank != first.rank for array in arrays):
        raise PythonRaises("all the input array dimensions must match")
    total = ZERO
    for array in arrays:
        total = total + array.shape[axis]
        for number_ in range(first.rank):
            if number_ != axis:
                build.guard_equal(
                    first.shape[number_], array.shape[number_], "array dimensions must match to be joined"
                )
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    kind = dtype or strong_dtype(build, arrays)
    target = new_array(build, shape, kind, "join", [array.view for array in arrays], joined_order)
    start = ZERO
    for array in arrays:
        block = narrow_axis(target.view, axis, start, array.shape[axis], ONE)
        initialise(build, Array(block, kind), array)
        start = start + array.shape[axis]
    return target


@numpy_rule(
    "numpy.concatenate",
    "numpy.concat",
    samples=(
        "concatenate((f8[3], f8[4]))",
        "concatenate([f8[2, 3], i4[2, 2]], axis=1)",
        "concatenate((f8[2, 3], f8[2]), axis=None)",
        "concatenate((f4[2, 3], f4[1, 3]), dtype=np.float64)",
    ),
)
def lower_concatenate(build: Builder, arrays: Operand, /, axis: Operand | int = 0, *, dtype: Given = None) -> Operand:
    """Along an axis that exists already."""
    parts = _arrays(build, arrays)
    kind = static_dtype(build, dtype)
    if not isinstance(axis, int) and is_none(axis):
        return join(build, [flat_array(build, part) for part in parts], 0, kind)
    if any(part.rank == 0 for part in parts):
        raise PythonRaises("zero-dimensional arrays cannot be concatenated")
    return join(build, parts, static_axis(build, axis, parts[0].rank), kind)


@numpy_rule("numpy.stack", samples=("stack((f8[3], f8[3]))", "stack([f8[2, 3], f4[2, 3]], axis=-1)"))
def lower_stack(build: Builder, arrays: Operand, axis: Operand | int = 0) -> Operand:
    """Along a new axis."""
    parts = _arrays(build, arrays)
    if any(part.rank != parts[0].rank for part in parts):
        raise PythonRaises("all input arrays must have the same shape")
    position = static_axis(build, axis, parts[0].rank + 1)
    return join(build, [Array(insert_axis(part.view, position), part.dtype) for part in parts], position)


@numpy_rule("numpy.hstack", samples=("hstack((f8[3], f8[2]))", "hstack([f8[2, 3], f8[2, 1]])", "hstack((1, f8[2]))"))
def lower_hstack(build: Builder, tup: Operand) -> Operand:
    """Vectors one after the other, matrices side by side."""
    parts = [at_least(build, part, 1) for part in _arrays(build, tup)]
    return join(build, parts, 0 if parts[0].rank == 1 else 1)


@numpy_rule("numpy.vstack", samples=("vstack((f8[3], f8[3]))", "vstack([f8[2, 3], f8[3]])"))
def lower_vstack(build: Builder, tup: Operand) -> Operand:
    """Rows below each other."""
    return join(build, [at_least(build, part, 2) for part in _arrays(build, tup)], 0)


@numpy_rule("numpy.column_stack", samples=("column_stack((f8[3], f8[3]))", "column_stack([f8[2, 3], f8[2]])"))
def lower_column_stack(build: Builder, tup: Operand) -> Operand:
    """Vectors as columns."""
    parts: list[Array] = []
    for part in _arrays(build, tup):
        column = at_least(build, part, 1)
        parts.append(column if column.rank > 1 else Array(insert_axis(column.view, 1), column.dtype))
    return join(build, parts, 1)


# -- roll, repeat, tile -----------------------------------------------------------------------------------------------


@numpy_rule(
    "numpy.roll",
    samples=("roll(f8[5], 2)", "roll(f8[3, 4], -1)", "roll(f8[3, 4], v(7), axis=1)", "roll(f8[3, 4], (1, 2), (0, 1))"),
)
def lower_roll(build: Builder, a: Operand, shift: Operand, axis: Given = None) -> Operand:
    """Elements that fall off one end come back at the other."""
    array = as_array(build, a)
    axes = static_axes(build, axis, array.rank)
    if axes is None:
        line = _roll_axis(build, flat_array(build, array), 0, integer_of(build, shift, "shift"))
        return reshaped(build, line, array.shape)
    shifts = shift.items if isinstance(shift, Tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise build.error("E284", "np.roll needs one shift per axis here", "write one roll per axis")
    for number_, amount in zip(axes, shifts, strict=True):
        array = _roll_axis(build, array, number_, integer_of(build, amount, "shift"))
    return array if axes else copy_array(build, array)


def _roll_axis(build: Builder, array: Array, axis: int, shift: Index) -> Array:
    extent, by = array.shape[axis], shift.constant
    if by is not None and abs(by) <= (_NEAR if array.rank > 1 else 1):  # a stencil: all places are known
        build.guard_nonnegative(extent - 2 * abs(by), "np.roll: the axis is shorter than twice the shift")
        offset = shift if by >= 0 else extent + by
        rest = extent - offset
    else:
        period = extent if build.proves_nonnegative(extent - 1) else _at_least_one(build, extent)
        offset = build.let_index(op("remainder", (shift, period), PY_INT), "off", low=0)
        rest = build.let_index(op("maximum", (extent - offset, ZERO), PY_INT), "rest", low=0)
    target = new_array(build, array.shape, array.dtype, "roll", [array.view], copied_order)
    for source, place, length in ((ZERO, offset, rest), (rest, ZERO, extent - rest)):
        block = Array(narrow_axis(target.view, axis, place, length, ONE), array.dtype)
        initialise(build, block, Array(narrow_axis(array.view, axis, source, length, ONE), array.dtype))
    return target


def _at_least_one(build: Builder, extent: Index) -> Index:
    return build.let_index(op("maximum", (extent, ONE), PY_INT), "n", low=1)


@numpy_rule(
    "numpy.repeat", "ndarray.repeat", samples=("repeat(f8[3], 2)", "repeat(f8[3, 4], 3, axis=0)", "repeat(2, 3)")
)
def lower_repeat(build: Builder, a: Operand, repeats: Operand, axis: Given = None) -> Operand:
    """Every element several times, one after the other."""
    array = as_array(build, a)
    if isinstance(repeats, Array | Tuple):
        raise build.error("E285", "np.repeat with several counts is not compiled", "write the loop")
    count = extent_of(build, repeats, "repeats")
    if is_none(axis):
        array, position = flat_array(build, array), 0
    else:
        position = static_axis(build, axis, array.rank)
    shape = (*array.shape[: position + 1], count, *array.shape[position + 1 :])
    merged = (*array.shape[:position], array.shape[position] * count, *array.shape[position + 1 :])
    target = empty_array(build, shape, array.dtype, name="repeat")
    initialise(build, target, Array(insert_axis(array.view, position + 1), array.dtype))
    return reshaped(build, target, merged)


@numpy_rule("numpy.tile", samples=("tile(f8[3], 2)", "tile(f8[2, 3], (2, 1, 2))", "tile(f8[2, 3], v(2))"))
def lower_tile(build: Builder, A: Operand, reps: Operand) -> Operand:
    """The whole array several times along its axes."""
    counts = [extent_of(build, item, "reps") for item in (reps.items if isinstance(reps, Tuple) else (reps,))]
    array = at_least(build, as_array(build, A), len(counts))
    counts = [ONE] * (array.rank - len(counts)) + counts
    view = array.view
    for axis in range(array.rank):
        view = insert_axis(view, 2 * axis)
    shape: list[Index] = []
    for count, extent in zip(counts, array.shape, strict=True):
        shape += [count, extent]
    target = empty_array(build, tuple(shape), array.dtype, name="tile")
    initialise(build, target, Array(view, array.dtype))
    merged = tuple(count * extent for count, extent in zip(counts, array.shape, strict=True))
    return reshaped(build, target, merged)


# -- differences and grids --------------------------------------------------------------------------------------------


@numpy_rule("numpy.diff", samples=("diff(f8[5])", "diff(i4[3, 4], axis=0)", "diff(f8[3, 5], n=2)", "diff(b1[5])"))
def lower_diff(build: Builder, a: Operand, n: Operand | int = 1, axis: Operand | int = -1) -> Operand:
    """Each element less the one before."""
    array = as_array(build, a)
    times = static_int(build, n, "n")
    if array.rank == 0 or times < 0:
        raise PythonRaises("diff requires input that is at least one dimensional")
    position = static_axis(build, axis, array.rank)
    name = "not_equal" if array.dtype is DType.BOOL else "subtract"
    for _ in range(times):
        rest = array.shape[position] - 1
        build.guard_nonnegative(rest, "diff of an empty axis")
        later = Array(narrow_axis(array.view, position, ONE, rest, ONE), array.dtype)
        earlier = Array(narrow_axis(array.view, position, ZERO, rest, ONE), array.dtype)
        array = as_array(build, ufunc(build, name, later, earlier))
    return array


@numpy_rule("numpy.meshgrid", samples=("meshgrid(f8[3], f8[4])", "meshgrid(f8[3], i4[4], f8[2], indexing='ij')"))
def lower_meshgrid(build: Builder, /, *xi: Operand, indexing: Operand | str = "xy") -> Operand:
    """A tuple of coordinate arrays."""
    style = static_value(build, indexing, "indexing")
    if style not in ("xy", "ij"):
        raise PythonRaises("Valid values for `indexing` are 'xy' and 'ij'.")
    lines = [at_least(build, as_array(build, x), 1) for x in xi]
    if any(line.rank > 1 for line in lines):
        raise build.error("E286", "np.meshgrid of matrices is not compiled", "pass vectors")
    places = list(range(len(lines)))
    if style == "xy" and len(lines) > 1:
        places[0], places[1] = 1, 0
    spread: list[Array] = []
    for line, place in zip(lines, places, strict=True):
        view = line.view
        for axis in range(len(lines)):
            if axis != place:
                view = insert_axis(view, axis)
        spread.append(Array(view, line.dtype))
    shape = broadcast_shapes(build, [array.shape for array in spread])
    full = [Array(broadcast_to(build, array.view, shape), array.dtype) for array in spread]
    return Tuple(tuple(copy_array(build, array, order="C") for array in full))
