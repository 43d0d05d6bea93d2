"""Attributes of arrays and NumPy scalars: a.shape, a.T, a.size, a.dtype.

in:   an array or a scalar
out:  Python ints and tuples of them, views, and dtype objects known at compile time
"""

from __future__ import annotations

from weft.ir.exprs import const_index
from weft.numpy_rules.arguments import Given, is_none, static_axis
from weft.numpy_rules.arrays import as_array, as_data, data_dtype
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.elementwise import permute
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.reshaping import product, reshape_view
from weft.numpy_rules.values import Array, Flat, Operand, Scalar, Static, Tuple


@numpy_rule("ndarray.shape", "scalar.shape", "numpy.shape", samples=("shape(f8[3, 4])", "shape(f8[()])", "shape(2.5)"))
def lower_shape(build: Builder, a: Operand, /) -> Operand:
    """A tuple of Python ints."""
    data = as_data(build, a)
    return Tuple(tuple(Scalar(extent) for extent in data.shape) if isinstance(data, Array) else ())


@numpy_rule("ndarray.T", "scalar.T", samples=("T(f8[3, 4])", "T(f8[3])", "T(f8[2, 3, 4])"))
def lower_transposed(build: Builder, a: Operand, /) -> Operand:
    """The view with the axes reversed."""
    data = as_data(build, a)
    if isinstance(data, Scalar):
        return data
    return Array(permute(data.view, tuple(range(data.rank))[::-1]), data.dtype)


@numpy_rule("ndarray.mT", samples=("mT(f8[2, 3, 4])",))
def lower_matrix_transposed(build: Builder, a: Operand, /) -> Operand:
    """The view with the last two axes swapped."""
    array = as_array(build, a)
    if array.rank < 2:
        return build.leave("matrix transpose with ndim < 2 is undefined")
    axes = tuple(range(array.rank))
    return Array(permute(array.view, (*axes[:-2], axes[-1], axes[-2])), array.dtype)


@numpy_rule("ndarray.ndim", "scalar.ndim", "numpy.ndim", samples=("ndim(f8[3, 4])", "ndim(2.5)"))
def lower_ndim(build: Builder, a: Operand, /) -> Operand:
    """A Python int."""
    data = as_data(build, a)
    return Scalar(const_index(data.rank if isinstance(data, Array) else 0))


@numpy_rule("ndarray.size", "scalar.size", samples=("size(f8[3, 4])", "size(f8[0, 4])"))
def lower_size(build: Builder, a: Operand, /) -> Operand:
    """A Python int."""
    data = as_data(build, a)
    return Scalar(product(data.shape) if isinstance(data, Array) else const_index(1))


@numpy_rule("numpy.size", samples=("size(f8[3, 4])", "size(f8[3, 4], 1)", "size(2.5)"))
def lower_size_function(build: Builder, a: Operand, axis: Given = None) -> Operand:
    """Of the array or of one axis."""
    if is_none(axis):
        return lower_size(build, a)
    array = as_array(build, a)
    return Scalar(array.shape[static_axis(build, axis, array.rank)])


@numpy_rule("ndarray.dtype", "scalar.dtype", samples=("dtype(f4[3])",))
def lower_dtype(build: Builder, a: Operand, /) -> Operand:
    """Known at compile time."""
    return Static(data_dtype(as_data(build, a)).numpy)


@numpy_rule("ndarray.itemsize", "scalar.itemsize", samples=("itemsize(f4[3])",))
def lower_itemsize(build: Builder, a: Operand, /) -> Operand:
    """Bytes per element."""
    return Scalar(const_index(data_dtype(as_data(build, a)).itemsize))


@numpy_rule("ndarray.nbytes", "scalar.nbytes", samples=("nbytes(f4[3, 4])",))
def lower_nbytes(build: Builder, a: Operand, /) -> Operand:
    """Bytes of all elements."""
    data = as_data(build, a)
    size = product(data.shape) if isinstance(data, Array) else const_index(1)
    return Scalar(size * data_dtype(data).itemsize)


@numpy_rule("ndarray.flat")
def lower_flat(build: Builder, a: Operand, /) -> Operand:
    """All elements in C order, to be indexed, assigned or looped over."""
    array = as_array(build, a)
    view = reshape_view(build, array.view, (product(array.shape),))
    return Flat(array, None if view is None else array.viewed(view))
