"""What `weft.float64[N, M]` is to a type checker: an array of float64, whatever its sizes.

Never loaded at run time, where `weft.driver.annotations` has the objects. Protocols, so that any ndarray of the element
type fits; `__class_getitem__`, so that sizes, which are no types, may stand in the brackets.
"""
# ruff: noqa: N801, N802  (named as NumPy names them)

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from weft.driver.annotations import Extent

Sizes: TypeAlias = Extent | tuple[Extent, ...]
Element_co = TypeVar("Element_co", bound=np.generic, covariant=True)


class AnyArray(Protocol[Element_co]):
    """What arrays of every element type can do."""

    def __array__(self) -> np.ndarray[Any, np.dtype[Element_co]]: ...

    @property
    def T(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> Any: ...
    @property
    def shape(self) -> Any: ...
    @property
    def size(self) -> Any: ...
    @property
    def strides(self) -> Any: ...

    __add__: Any
    __radd__: Any
    __sub__: Any
    __rsub__: Any
    __mul__: Any
    __rmul__: Any
    __truediv__: Any
    __rtruediv__: Any
    __pow__: Any
    __rpow__: Any
    __matmul__: Any
    __rmatmul__: Any
    __neg__: Any
    __abs__: Any
    __lt__: Any
    __le__: Any
    __gt__: Any
    __ge__: Any
    __getitem__: Any
    __setitem__: Any
    __len__: Any
    __iter__: Any
    all: Any
    any: Any
    argmax: Any
    argmin: Any
    astype: Any
    clip: Any
    conj: Any
    copy: Any
    cumsum: Any
    diagonal: Any
    dot: Any
    fill: Any
    flatten: Any
    item: Any
    max: Any
    mean: Any
    min: Any
    nonzero: Any
    prod: Any
    ravel: Any
    repeat: Any
    reshape: Any
    round: Any
    sort: Any
    std: Any
    sum: Any
    tolist: Any
    trace: Any
    transpose: Any
    var: Any


class RealArray(AnyArray[Element_co], Protocol[Element_co]):
    """An array of numbers that can be divided with a remainder."""

    __floordiv__: Any
    __rfloordiv__: Any
    __mod__: Any
    __rmod__: Any


class WholeArray(RealArray[Element_co], Protocol[Element_co]):
    """An array of integers or bools."""

    __and__: Any
    __rand__: Any
    __or__: Any
    __ror__: Any
    __xor__: Any
    __rxor__: Any
    __invert__: Any
    __lshift__: Any
    __rlshift__: Any
    __rshift__: Any
    __rrshift__: Any


class ComplexArray(AnyArray[Element_co], Protocol[Element_co]):
    """An array of complex numbers."""

    @property
    def imag(self) -> Any: ...
    @property
    def real(self) -> Any: ...


class bool_(WholeArray[np.bool_], Protocol):
    """An array of bools."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class int8(WholeArray[np.int8], Protocol):
    """An array of int8."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class int16(WholeArray[np.int16], Protocol):
    """An array of int16."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class int32(WholeArray[np.int32], Protocol):
    """An array of int32."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class int64(WholeArray[np.int64], Protocol):
    """An array of int64."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class uint8(WholeArray[np.uint8], Protocol):
    """An array of uint8."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class uint16(WholeArray[np.uint16], Protocol):
    """An array of uint16."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class uint32(WholeArray[np.uint32], Protocol):
    """An array of uint32."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class uint64(WholeArray[np.uint64], Protocol):
    """An array of uint64."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class float32(RealArray[np.float32], Protocol):
    """An array of float32."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class float64(RealArray[np.float64], Protocol):
    """An array of float64."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class complex64(ComplexArray[np.complex64], Protocol):
    """An array of complex64."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...


class complex128(ComplexArray[np.complex128], Protocol):
    """An array of complex128."""

    def __class_getitem__(cls, shape: Sizes) -> Any: ...
