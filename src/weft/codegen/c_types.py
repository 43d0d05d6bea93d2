"""Element types in C: their names, their literals, and where a scalar lies in a `weft_value`."""

from __future__ import annotations

import math

from weft.ir.dtypes import DType, ScalarType

C_TYPES = {
    DType.BOOL: "uint8_t",
    DType.INT8: "int8_t",
    DType.INT16: "int16_t",
    DType.INT32: "int32_t",
    DType.INT64: "int64_t",
    DType.UINT8: "uint8_t",
    DType.UINT16: "uint16_t",
    DType.UINT32: "uint32_t",
    DType.UINT64: "uint64_t",
    DType.FLOAT32: "float",
    DType.FLOAT64: "double",
    DType.COMPLEX64: "float _Complex",
    DType.COMPLEX128: "double _Complex",
}

REAL_OF = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}


def c_type(dtype: DType | ScalarType) -> str:
    """The C type of an element, or of a scalar value (Python's and NumPy's scalars share it)."""
    return C_TYPES[dtype.dtype if isinstance(dtype, ScalarType) else dtype]


def tag(dtype: DType) -> str:
    """Kind and width in bits, the ending of our C functions: b8, i64, f32, c128."""
    return f"{dtype.kind}{8 * dtype.itemsize}"


def math_suffix(dtype: DType) -> str:
    """`f` for the single precision functions of the C library and for literals, nothing for the double ones."""
    return "f" if dtype in (DType.FLOAT32, DType.COMPLEX64) else ""


def literal(value: bool | int | float | complex, dtype: DType) -> str:
    """A constant of exactly this type, so that C's own promotions never change an operation on it."""
    if dtype.kind == "c":
        number, part = complex(value), REAL_OF[dtype]
        return f"__builtin_complex({literal(number.real, part)}, {literal(number.imag, part)})"
    if isinstance(value, complex):
        raise TypeError(f"{value} is no literal of {dtype.value}")
    if dtype.kind == "f":
        return _float_literal(float(value), math_suffix(dtype))
    return _int_literal(int(value), dtype)


def _float_literal(value: float, suffix: str) -> str:
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    text = f"__builtin_inf{suffix}()" if math.isinf(value) else f"{abs(value)!r}{suffix}"
    return f"(-{text})" if sign else text


def _int_literal(value: int, dtype: DType) -> str:
    match dtype:
        case DType.BOOL:
            return "1" if value else "0"
        case DType.INT64:
            text = "INT64_MIN" if value == dtype.bounds[0] else f"{value}LL"
        case DType.UINT64:
            text = f"{value}ULL"
        case DType.UINT32:
            text = f"{value}U"
        case DType.INT32:
            text = "INT32_MIN" if value == dtype.bounds[0] else str(value)
        case _:
            text = f"({c_type(dtype)}){value}"
    return f"({text})" if text.startswith(("-", "(")) else text


def load_scalar(place: str, dtype: DType) -> str:
    """The scalar in a `weft_value`."""
    match dtype.kind:
        case "f":
            return f"({c_type(dtype)}){place}.f"
        case "c":
            part = c_type(REAL_OF[dtype])
            return f"__builtin_complex(({part}){place}.c[0], ({part}){place}.c[1])"
        case _:
            return f"({c_type(dtype)}){place}.i"


def store_scalar(place: str, text: str, dtype: DType) -> list[str]:
    """Statements that put a scalar into a `weft_value`."""
    match dtype.kind:
        case "f":
            return [f"{place}.f = {text};"]
        case "c":
            return [f"{place}.c[0] = __real__ {text};", f"{place}.c[1] = __imag__ {text};"]
        case _:
            return [f"{place}.i = (int64_t){text};"]
