"""Element types and scalar types.

A Python scalar (bool, int, float, complex) is a type of its own, distinct from the NumPy scalar of the same machine
type: `a.size` is an int, `a[0]` an np.int64, and they promote and come back differently (NEP 50).
"""

from __future__ import annotations

from enum import Enum
from functools import cache, cached_property

import numpy as np

from weft.support.records import record


class DType(Enum):
    """An element type; the value is NumPy's name of it."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"

    @cached_property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype, in native byte order."""
        return np.dtype(self.value)

    @cached_property
    def kind(self) -> str:
        """One of "b" bool, "i" signed, "u" unsigned, "f" float, "c" complex."""
        return self.numpy.kind

    @cached_property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.numpy.itemsize

    @cached_property
    def text(self) -> str:
        """The short name used in the text form: b1, i8, u4, f8, c16..."""
        return f"{self.kind}{self.itemsize}"

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value of an integer or bool type."""
        if self is DType.BOOL:
            return (0, 1)
        info = np.iinfo(self.value)
        return (int(info.min), int(info.max))


@cache
def dtype_of(dtype: np.dtype[np.generic] | type | str) -> DType | None:
    """The element type for a NumPy dtype, or None where Weft has none (float16, strings, objects, big-endian...)."""
    dt = np.dtype(dtype)
    if not dt.isnative:
        return None
    name = {"longlong": "int64", "ulonglong": "uint64"}.get(dt.name, dt.name)
    return next((member for member in DType if member.value == name), None)


@record
class ScalarType:
    """The type of a scalar value: an element type, and whether it is Python's scalar or NumPy's."""

    dtype: DType
    python: bool = False

    @property
    def text(self) -> str:
        """`f8` for numpy.float64, `py_float` for float."""
        return PYTHON_NAMES[self.dtype] if self.python else self.dtype.text


PYTHON_NAMES = {
    DType.BOOL: "py_bool",
    DType.INT64: "py_int",
    DType.FLOAT64: "py_float",
    DType.COMPLEX128: "py_complex",
}

PY_BOOL = ScalarType(DType.BOOL, python=True)
PY_INT = ScalarType(DType.INT64, python=True)
PY_FLOAT = ScalarType(DType.FLOAT64, python=True)
PY_COMPLEX = ScalarType(DType.COMPLEX128, python=True)
NP_BOOL = ScalarType(DType.BOOL)

SCALAR_TYPES = {
    t.text: t for t in (*(ScalarType(d) for d in DType), *(ScalarType(d, python=True) for d in PYTHON_NAMES))
}
