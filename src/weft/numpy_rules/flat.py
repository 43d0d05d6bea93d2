"""`a.flat`: the elements of an array in C order, by one index.

in:   the array; a number, a slice or positions; values to write, repeated as it takes
out:  an element or a copy; or the elements written
"""

from __future__ import annotations

from weft.ir.dtypes import PY_INT, DType
from weft.ir.exprs import op
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.arrays import copy_array, data_dtype, empty_array, generate
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast, refuse_readonly, store
from weft.numpy_rules.gathering import may_share, read_selected, write_selected
from weft.numpy_rules.indexing import drop_axis
from weft.numpy_rules.placing import flat_selection, repeated, values_for
from weft.numpy_rules.reshaping import flat_array, product
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.selections import Basic, Selection, select
from weft.numpy_rules.values import Array, Flat, Operand, Scalar, Slice, Tuple


def read_flat(build: Builder, flat: Flat, key: Operand) -> Operand:
    """`array.flat[key]`: an element, or a copy of several."""
    try:
        _check_flat_key(build, key)
        found = read_selected(build, select(build, flat.line or flat_array(build, flat.array), key))
    except PythonRaises as raised:
        return build.leave(raised.reason)
    if isinstance(found, Array) and isinstance(key, Slice):
        return copy_array(build, found)
    return found


def write_flat(build: Builder, flat: Flat, key: Operand, value: Operand) -> Operand:
    """`array.flat[key] = value`, the values repeated as it takes."""
    try:
        _check_flat_key(build, key)
        selected = _flat_target(build, flat, key)
        data = values_for(build, value, flat.array.dtype, safe=False)
        if isinstance(selected, Basic):
            if not isinstance(data, Scalar):
                raise build.error(
                    "E280", "an array is not compiled as the value of an element of a.flat", "use a number"
                )
            refuse_readonly(build, selected.array)
            build.write(selected.array.view.at(()), cast(data.expr, flat.array.dtype))
        else:
            write_selected(build, selected, repeated(build, data, selected.shape))
    except PythonRaises as raised:
        return build.leave(raised.reason)
    return value


def fill_flat(build: Builder, array: Array, value: Operand) -> Operand:
    """`array.flat = value`, the values repeated as it takes."""
    try:
        data = values_for(build, value, array.dtype, safe=False)
        if isinstance(data, Array) and may_share(build, data.view, array.view):
            raise build.error("E280", "a.flat with elements of the same array is not compiled", "copy them first")
        store(build, array, repeated(build, data, array.shape))
    except PythonRaises as raised:
        return build.leave(raised.reason)
    return value


def _check_flat_key(build: Builder, key: Operand) -> None:
    """A number, a slice, or positions along one axis: NumPy takes no more, or does something odd."""
    integer = isinstance(key, Scalar | Array) and data_dtype(key).kind in "iu"
    listed = isinstance(key, Tuple) and key.is_list
    if not (isinstance(key, Slice) or integer or listed):
        raise build.error("E280", "this index of a.flat is not compiled", "use a number, a slice or integers")


def _flat_target(build: Builder, flat: Flat, key: Operand) -> Basic | Selection:
    """What `array.flat[key] = value` writes: an element, or a line of them."""
    size = product(flat.array.shape)
    line = empty_array(build, (size,), DType.INT64, name="at")
    generate(build, line.view, lambda point, _: cast(point[0], DType.INT64))
    found = read_selected(build, select(build, line, key))
    if isinstance(found, Array):
        return flat_selection(build, flat.array, flat_array(build, found))
    position = as_index(build, found)
    assert position is not None
    view = flat.array.view
    for axis in reversed(range(view.rank)):
        extent = view.shape[axis]
        within = build.let_index(op("remainder", (position, extent), PY_INT), "k", low=0)
        position = build.let_index(op("floor_divide", (position, extent), PY_INT), "k", low=0)
        view = drop_axis(view, axis, within)
    return Basic(flat.array.viewed(view), scalar=True)
