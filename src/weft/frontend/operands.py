"""What an operator sees of its operands, beyond their values.

in:   the operands of a binary operator
out:  whether they can be equal at all; a list beside an array as the array NumPy makes of it
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, NoneType

import numpy as np

from weft.frontend.context import Lowering
from weft.frontend.growing import as_array
from weft.frontend.heap import resolved
from weft.ir.dtypes import PY_COMPLEX, PY_FLOAT, DType, ScalarType
from weft.ir.exprs import op
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.arrays import from_nested
from weft.numpy_rules.values import Array, Dict, Function, Growing, Operand, Scalar, Static, Tuple

_WITH_NUMBERS = ("add", "subtract", "divide", "floor_divide", "remainder", "power")
_UNLIKE_NUMBERS = (NoneType, str, bytes, FunctionType, BuiltinFunctionType, np.ufunc)
NP_FLOAT64 = ScalarType(DType.FLOAT64)


def never_equal(left: Operand, right: Operand) -> bool:
    """Whether one is a string, a function or None and the other a number, list or tuple; or a function beside those."""
    if isinstance(left, Function) and isinstance(right, Static):
        return right.value is None or isinstance(right.value, str | bytes)
    if isinstance(right, Static | Function):
        left, right = right, left
    if not isinstance(left, Function) and not (isinstance(left, Static) and isinstance(left.value, _UNLIKE_NUMBERS)):
        return False
    return isinstance(right, Tuple | Dict) or (isinstance(right, Scalar) and right.type.python)


def is_made_array(name: str, beside: Operand) -> bool:
    """Whether an operator makes an array of a list or tuple: beside an array, and for sums, differences, quotients
    and powers beside a number of NumPy's (by which a list may also be repeated)."""
    if isinstance(beside, Array):
        return True
    return name in _WITH_NUMBERS and isinstance(beside, Scalar) and not beside.type.python


def listed_array(ctx: Lowering, operand: Tuple | Growing) -> Operand:
    """A list or tuple beside an array, which NumPy makes an array of, if it can."""
    nested = resolved(ctx, operand)
    if isinstance(nested, Growing):
        return as_array(ctx, nested)
    assert isinstance(nested, Tuple)
    try:
        return from_nested(ctx.build, nested, None)
    except PythonRaises as raised:
        return ctx.build.leave(raised.reason)


def beside_array(ctx: Lowering, operand: Operand) -> Operand:
    """What an array is changed by: an array, if it is a list or tuple."""
    held = resolved(ctx, operand)
    return listed_array(ctx, held) if isinstance(held, Tuple | Growing) else operand


def as_complex_sees(left: Scalar, right: Scalar) -> Scalar:
    """np.float64 is a float, and a Python complex on its left takes it as one."""
    if left.type == PY_COMPLEX and right.type == NP_FLOAT64:
        return Scalar(op("cast", (right.expr,), PY_FLOAT))
    return right
