"""Complex numbers in order, as NumPy compares two numbers: by real parts, and where those are equal by imaginary ones.

NumPy's loops over arrays are another matter: for them no number with a NaN in it is before or behind another.
"""

from __future__ import annotations

from typing import Final

from weft.ir.dtypes import NP_BOOL, DType, ScalarType
from weft.ir.exprs import Expr, op

# By comparison: the one of the real parts that decides.
_ORDERS: Final = {"less": "less", "less_equal": "less", "greater": "greater", "greater_equal": "greater"}


def order_of_parts(name: str, left: Expr, right: Expr) -> Expr:
    """A comparison of two complex numbers of one type."""
    part = ScalarType(DType.FLOAT32 if left.type.dtype is DType.COMPLEX64 else DType.FLOAT64)
    reals, imags = (tuple(op(which, (number,), part) for number in (left, right)) for which in ("real", "imag"))
    same = op("logical_and", (op("equal", reals, NP_BOOL), op(name, imags, NP_BOOL)), NP_BOOL)
    return op("logical_or", (op(_ORDERS[name], reals, NP_BOOL), same), NP_BOOL)
