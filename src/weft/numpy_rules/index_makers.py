"""Arrays made by indexing something: `np.mgrid[0:n, 0:m]`, `np.ogrid`, `np.r_[a, b]`, `np.c_[a, b]`.

    np.mgrid[0:n, -1:1:5j]  ->  G = alloc [2, n, 5]; G[0, i, j] = i; G[1, i, j] = j * 0.5 - 1
    np.r_[a, 0.0, b]        ->  a, 0.0 and b in the type of the arrays, one after the other

Grids of integers with steps of one, and of a known number of points, vectors and numbers are computed here; everything
else that may stand in these brackets is a call of NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.ir.dtypes import PY_FLOAT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, const, const_index, op
from weft.numpy_rules.arguments import PythonRaises, is_none
from weft.numpy_rules.arrays import as_array, generate
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import cast
from weft.numpy_rules.indexing import drop_axis, insert_axis
from weft.numpy_rules.joining import join
from weft.numpy_rules.scalars import as_index
from weft.numpy_rules.shapes import at_least
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Array, Operand, Scalar, Slice, Tuple
from weft.support.records import record

_MAKERS = ("mgrid", "ogrid", "r_", "c_")
_ONE = const_index(1)


def made_by_index(build: Builder, value: object, key: Operand) -> Operand | None:
    """`value[key]`, where the value is one of them; else None."""
    name = next((name for name in _MAKERS if value is getattr(np, name)), None)
    if name is None:
        return None
    items = key.items if isinstance(key, Tuple) and not key.is_list else ()
    made = _grid(build, items, name) if name.endswith("grid") else _joined(build, items, name)
    if made is not None:
        return made
    try:
        return call_numpy(build, f"numpy.{name}.__getitem__", (key,), {})
    except PythonRaises as raised:
        return build.leave(raised.reason)


# -- grids ------------------------------------------------------------------------------------------------------------


@record
class _Line:
    """The coordinates of one axis: `start + step * i`, integers where both are."""

    size: Index
    start: Expr
    step: Expr

    @property
    def is_whole(self) -> bool:
        return isinstance(self.start, Index) and isinstance(self.step, Index)

    def at(self, point: Index, dtype: DType) -> Expr:
        """One coordinate, computed as NumPy does."""
        if dtype is DType.INT64:
            assert isinstance(self.start, Index)
            return cast(point + self.start, dtype)
        type_ = ScalarType(dtype)
        scaled = op("multiply", (cast(point, dtype), cast(self.step, dtype)), type_)
        return op("add", (scaled, cast(self.start, dtype)), type_)


def _grid(build: Builder, items: Sequence[Operand], name: str) -> Operand | None:
    found = [_line(build, item) for item in items]
    lines = [line for line in found if line is not None]
    if not lines or len(lines) < len(found):
        return None
    dtype = DType.INT64 if all(line.is_whole for line in lines) else DType.FLOAT64
    for line in lines:
        build.guard_nonnegative(line.size, "negative dimensions are not allowed")
    if name == "ogrid":
        return Tuple(tuple(_open_line(build, line, number, len(lines), dtype) for number, line in enumerate(lines)))
    grid = build.alloc((const_index(len(lines)), *(line.size for line in lines)), dtype, "grid")
    for number, line in enumerate(lines):
        part = drop_axis(grid, 0, const_index(number))
        generate(build, part, lambda p, _, line=line, axis=number: line.at(p[axis], dtype))
    return Array(grid, dtype)


def _open_line(build: Builder, line: _Line, number: int, count: int, dtype: DType) -> Array:
    view = build.alloc((line.size,), dtype, "grid")
    generate(build, view, lambda p, _: line.at(p[0], dtype))
    for axis in range(count):
        if axis != number:
            view = insert_axis(view, axis)
    return Array(view, dtype)


def _line(build: Builder, item: Operand) -> _Line | None:
    """The axis that a slice of Python numbers stands for."""
    if not isinstance(item, Slice) or not isinstance(item.stop, Scalar):
        return None
    start = Scalar(const_index(0)) if is_none(item.start) else item.start
    if not isinstance(start, Scalar) or not (start.type.python and item.stop.type.python):
        return None
    low, high = as_index(build, start), as_index(build, item.stop)
    step = item.step.expr if isinstance(item.step, Scalar) else _ONE if is_none(item.step) else None
    if isinstance(step, Const) and isinstance(step.value, complex) and int(abs(step.value)) > 1:
        return _points(build, int(abs(step.value)), start, item.stop)
    if low is None or high is None or step != _ONE:
        return None
    return _Line(high - low, low, _ONE)


def _points(build: Builder, count: int, start: Scalar, stop: Scalar) -> _Line | None:
    """So many points with both ends."""
    if any(end.type.dtype.kind not in "if" for end in (start, stop)):
        return None
    low, high = (build.let(cast(end.expr, DType.FLOAT64), "end") for end in (start, stop))
    length = op("subtract", (high, low), PY_FLOAT)
    step = build.let(op("divide", (length, const(float(count - 1), PY_FLOAT)), PY_FLOAT), "step")
    return _Line(const_index(count), low, step)


# -- joining ----------------------------------------------------------------------------------------------------------


def _joined(build: Builder, items: Sequence[Operand], name: str) -> Operand | None:
    arrays = [item for item in items if isinstance(item, Array)]
    if not arrays or any(array.rank != 1 or array.dtype is not arrays[0].dtype for array in arrays):
        return None
    dtype = arrays[0].dtype
    parts: list[Array] = []
    for item in items:
        if isinstance(item, Array):
            parts.append(item)
        elif isinstance(item, Scalar) and item.type.python and _is_taken(item.type.dtype, dtype) and name == "r_":
            parts.append(at_least(build, as_array(build, Scalar(cast(item.expr, dtype))), 1))
        else:
            return None
    if name == "r_":
        return join(build, parts, 0)
    return join(build, [Array(insert_axis(part.view, 1), dtype) for part in parts], 1)


def _is_taken(number: DType, dtype: DType) -> bool:
    """Whether a Python number takes the type of an array."""
    return dtype.kind == "f" and (number.kind == "f" or (number.kind == "i" and dtype is DType.FLOAT64))
