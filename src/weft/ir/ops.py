"""The closed table of scalar operations.

NumPy's ufunc names mean the ufunc's inner loop on operands of one type (casts stand outside): array integers wrap,
`floor_divide` and `remainder` floor, integer division by zero gives 0. With Python scalar types the same names mean
Python's arithmetic under guards that exclude what would raise or leave int64.
"""

from __future__ import annotations

from typing import Final

from weft.ir.dtypes import DType
from weft.support.records import record


@record
class OpInfo:
    """Arity, and which floating-point warnings NumPy can give for it ("d" divide, "o" overflow, "i" invalid)."""

    arity: int
    warns: str = ""


_ARITHMETIC: Final = {
    "add": OpInfo(2, "oi"),
    "subtract": OpInfo(2, "oi"),
    "multiply": OpInfo(2, "oi"),
    "divide": OpInfo(2, "doi"),
    "floor_divide": OpInfo(2, "doi"),
    "remainder": OpInfo(2, "di"),
    "fmod": OpInfo(2, "di"),
    "power": OpInfo(2, "doi"),
    "negative": OpInfo(1),
    "positive": OpInfo(1),
    "absolute": OpInfo(1),  # of complex numbers too: NumPy clears the flags of that loop
    "fabs": OpInfo(1),
    "sign": OpInfo(1, "i"),
    "square": OpInfo(1, "oi"),
    "reciprocal": OpInfo(1, "do"),
    "maximum": OpInfo(2),
    "minimum": OpInfo(2),
    "fmax": OpInfo(2),
    "fmin": OpInfo(2),
    "copysign": OpInfo(2),
    "heaviside": OpInfo(2),
    "conjugate": OpInfo(1),
    "real": OpInfo(1),
    "imag": OpInfo(1),
    "floor": OpInfo(1),
    "ceil": OpInfo(1),
    "trunc": OpInfo(1),
    "rint": OpInfo(1),
}

_FUNCTIONS: Final = {
    "sqrt": OpInfo(1, "i"),
    "cbrt": OpInfo(1),
    "exp": OpInfo(1, "o"),
    "exp2": OpInfo(1, "o"),
    "expm1": OpInfo(1, "o"),
    "log": OpInfo(1, "di"),
    "log2": OpInfo(1, "di"),
    "log10": OpInfo(1, "di"),
    "log1p": OpInfo(1, "di"),
    "sin": OpInfo(1, "i"),
    "cos": OpInfo(1, "i"),
    "tan": OpInfo(1, "i"),
    "arcsin": OpInfo(1, "i"),
    "arccos": OpInfo(1, "i"),
    "arctan": OpInfo(1),
    "arctan2": OpInfo(2),
    "sinh": OpInfo(1, "o"),
    "cosh": OpInfo(1, "o"),
    "tanh": OpInfo(1),
    "arcsinh": OpInfo(1),
    "arccosh": OpInfo(1, "i"),
    "arctanh": OpInfo(1, "di"),
    "hypot": OpInfo(2, "o"),
    "erf": OpInfo(1),  # no ufunc: those of the module math
    "erfc": OpInfo(1),
    "logaddexp": OpInfo(2),
    "logaddexp2": OpInfo(2),
    "deg2rad": OpInfo(1),
    "rad2deg": OpInfo(1, "o"),
}

_COMPARISONS: Final = {
    name: OpInfo(2)
    for name in (
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
        "logical_and", "logical_or", "logical_xor",
    )
}  # fmt: skip

_PREDICATES: Final = {name: OpInfo(1) for name in ("logical_not", "isnan", "isinf", "isfinite", "signbit")}

_BITS: Final = {
    "bitwise_and": OpInfo(2),
    "bitwise_or": OpInfo(2),
    "bitwise_xor": OpInfo(2),
    "invert": OpInfo(1),
    "left_shift": OpInfo(2),  # by the width or more: 0, as NumPy
    "right_shift": OpInfo(2),  # by the width or more: 0 or -1, as NumPy
}

_STRUCTURE: Final = {
    "cast": OpInfo(1, "i"),  # ndarray.astype; from complex it takes the real part
    "select": OpInfo(3),  # args[0] (bool) ? args[1] : args[2]; both sides are evaluated
    "complex": OpInfo(2),  # real and imaginary part
}

# On Python ints (and as guards): true when the int64 result would be wrong.
_OVERFLOW: Final = {
    "add_overflows": OpInfo(2),
    "subtract_overflows": OpInfo(2),
    "multiply_overflows": OpInfo(2),
    "power_overflows": OpInfo(2),
    "left_shift_overflows": OpInfo(2),
}

OPS: Final = {
    **_ARITHMETIC, **_FUNCTIONS, **_COMPARISONS, **_PREDICATES, **_BITS, **_STRUCTURE, **_OVERFLOW,
}  # fmt: skip

SCANS: Final = ("add", "multiply", "minimum", "maximum")  # of which there are running ones

# ---- warnings -------------------------------------------------------------------------------------------------------

OVERFLOWING: Final = frozenset(("add", "subtract", "multiply", "negative", "absolute"))  # of integers
ORDERS: Final = frozenset(("less", "less_equal", "greater", "greater_equal"))
_INTEGER_DIVISIONS: Final = frozenset(("floor_divide", "remainder", "fmod", "reciprocal"))


def may_warn(name: str, source: DType, result: DType, *, lone: bool = False) -> bool:
    """Whether NumPy can give a RuntimeWarning for the operation on these types.

    `lone`: an operator on NumPy scalars, which, unlike one on arrays, also tells when integers overflow.
    """
    if lone and source.kind in "iu" and name in OVERFLOWING:
        return True
    if name == "cast":
        return (source.kind in "fc" and result.kind in "iu") or narrows(source, result)
    if source.kind in "biu":
        return name in _INTEGER_DIVISIONS
    if name in ORDERS:  # of real numbers NumPy says nothing
        return source.kind == "c"
    return bool(OPS[name].warns)


def narrows(source: DType, result: DType) -> bool:
    """A cast to single precision, which may overflow."""
    single = (DType.FLOAT32, DType.COMPLEX64)
    return source.kind in "fc" and result in single and source not in single


def combines_freely(name: str, dtype: DType) -> bool:
    """Whether a reduction combines all elements in any fixed order: it does not stop at one that decides."""
    if name == "add":
        return True
    return dtype.kind in "biu" if name == "multiply" else name in ("minimum", "maximum") and dtype.kind != "c"
