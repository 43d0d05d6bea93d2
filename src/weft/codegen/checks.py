"""Floating-point warnings of one operation, found in its operands and its result.

NumPy asks the processor's flags, which a vectorized nest with comparisons raises without cause. The result tells the
same: it is infinite or NaN while the operands are not.
"""

from __future__ import annotations

import math
from typing import Final

from weft.codegen.c_types import literal
from weft.codegen.scalars import Operand
from weft.codegen.support_functions import SupportFunctions
from weft.ir.dtypes import DType
from weft.ir.ops import OPS, ORDERS, OVERFLOWING, may_warn

_BY_SECOND: Final = frozenset(("divide", "floor_divide"))  # infinite by a second operand of zero: divide, else overflow
_BY_FIRST: Final = frozenset(("power", "reciprocal"))

# Operations that raise exactly the flags NumPy reports for them, vectorized or not.
_EXACT_ON_FLOATS: Final = frozenset((
    "add", "subtract", "multiply", "divide", "negative", "positive", "absolute", "fabs", "square", "reciprocal",
    "sqrt", "copysign", "conjugate", "real", "imag", "complex", "deg2rad", "rad2deg",
))  # fmt: skip
_EXACT_ON_COMPLEX: Final = frozenset(
    ("add", "subtract", "multiply", "negative", "positive", "square", "conjugate", "real", "imag")
)

# What the operand alone tells of functions of real numbers.
_LOGARITHM: Final = "(({0} == {1} ? WEFT_FP_DIVIDE : 0) | ({0} < {1} ? WEFT_FP_INVALID : 0))"
_DOMAINS: Final = {
    **dict.fromkeys(("log", "log2", "log10"), _LOGARITHM.format("{0}", 0)),
    "log1p": _LOGARITHM.format("{0}", -1),
    **dict.fromkeys(("sin", "cos", "tan"), "({1}({0}) == __builtin_inf() ? WEFT_FP_INVALID : 0)"),
    **dict.fromkeys(("arcsin", "arccos"), "({1}({0}) > 1 ? WEFT_FP_INVALID : 0)"),
}

# Of complex numbers: what each step tells, whatever becomes of it, and what is asked of the result.
_BY_STEPS: Final = frozenset(("multiply", "square", "divide", "reciprocal", *ORDERS))
_OF_COMPLEX: Final = {"add": "check_parts", "subtract": "check_parts", "exp": "check_exp", "sign": "check_sign"}
_GROWING: Final = frozenset(("sin", "cos"))  # with the imaginary part

# The smallest number that is truncated to an int32.
_INT32_LOW: Final = {DType.FLOAT32: -(2.0**31), DType.FLOAT64: math.nextafter(-(2.0**31) - 1, 0.0)}


def flags_are_exact(name: str, source: DType, result: DType) -> bool:
    """Whether the processor's flags can be trusted around this operation."""
    if name == "cast":
        return not (source.kind in "fc" and result.kind in "biu")
    if source.kind == "c":
        return name in _EXACT_ON_COMPLEX
    if source.kind == "f":
        return name in _EXACT_ON_FLOATS
    return not may_warn(name, source, result)


def check(
    support: SupportFunctions,
    name: str,
    result: Operand,
    operands: tuple[Operand, ...],
    *,
    lone: bool = False,
    cold: bool = False,
) -> str:
    """A C expression with the WEFT_FP_ bits of an operation whose texts are plain names; "" where there are none.

    `lone`: an operator on NumPy scalars, which, unlike one on arrays, also tells when integers overflow. `cold`: it
    hardly ever runs.
    """
    source = operands[0].dtype
    texts = [x.text for x in operands]
    if lone and source.kind in "iu" and name in OVERFLOWING:
        return _check_overflow(support, name, source, texts)
    if not may_warn(name, source, result.dtype):
        return ""
    if name == "cast":
        return _check_cast(support, result, operands[0])
    if source.kind in "biu":
        return _check_integers(support, name, source, texts)
    need = support.need_apart if cold else support.need
    if source.kind == "c" and name in _BY_STEPS:
        return _check_steps(support, name, source, texts, lone=lone)
    if source.kind == "f" and name in _DOMAINS:
        return _DOMAINS[name].format(texts[0], "__builtin_fabsf" if source is DType.FLOAT32 else "__builtin_fabs")
    if source.kind == "c" and name in _OF_COMPLEX:
        function = need(_OF_COMPLEX[name], source)
    else:
        grows = source.kind == "f" and OPS[name].warns == "o" and len(operands) == 1
        function = need("check_grown" if grows else "check_unary" if len(operands) == 1 else "check_binary", source)
    bits = f"{function}({result.text}, {', '.join(texts)}, {_infinite(name, source, texts)})"
    if name == "power" and source.kind == "f" and not lone:  # 0 to minus infinity divides by zero too
        return f"({bits} | (({texts[0]} == 0) & ({texts[1]} < 0) ? WEFT_FP_DIVIDE : 0))"
    return bits


def _check_steps(support: SupportFunctions, name: str, source: DType, texts: list[str], *, lone: bool) -> str:
    if name in ("divide", "reciprocal"):
        return f"{support.need(f'check_{name}', source)}({', '.join(texts)})"
    if name in ORDERS:
        return f"{support.need('check_order', source)}({', '.join(texts)})"
    function = support.need("check_multiply" if lone else "check_multiply_arrays", source)
    return f"{function}({texts[0]}, {texts[-1]})"


def _infinite(name: str, source: DType, texts: list[str]) -> str:
    """The flag for an infinite result of finite operands."""
    zero = "{} == 0" if source.kind == "f" else "({0} == 0)"
    if name in _BY_SECOND or name in _BY_FIRST:
        which = texts[1] if name in _BY_SECOND else texts[0]
        # NumPy snaps an infinite quotient to an integer by way of inf - inf.
        snapped = " | WEFT_FP_INVALID" if name == "floor_divide" else ""
        return f"{zero.format(which)} ? WEFT_FP_DIVIDE : WEFT_FP_OVERFLOW{snapped}"
    warns = OPS[name].warns
    grows = "o" in warns or (source.kind == "c" and name in _GROWING)
    kind = "OVERFLOW" if grows else "DIVIDE" if "d" in warns else ""
    return f"WEFT_FP_{kind}" if kind else "0"


def _check_overflow(support: SupportFunctions, name: str, source: DType, texts: list[str]) -> str:
    if name in ("negative", "absolute"):
        if source.kind == "u":
            return f"({texts[0]} != 0 ? WEFT_FP_OVERFLOW : 0)" if name == "negative" else "0"
        lost = f"{texts[0]} == {literal(source.bounds[0], source)}"
    else:
        function = f"flag_{name}" if name in ("add", "subtract", "multiply") else f"{name}_overflows"
        lost = f"{support.need(function, source)}({', '.join(texts)})"
    return f"({lost} ? WEFT_FP_OVERFLOW : 0)"


def _check_integers(support: SupportFunctions, name: str, source: DType, texts: list[str]) -> str:
    if name == "reciprocal":
        return f"({texts[0]} == 0 ? WEFT_FP_DIVIDE | WEFT_FP_INVALID : 0)"
    if name == "floor_divide" and source.kind == "i":
        return f"{support.need('check_division', source)}({texts[0]}, {texts[1]})"
    return f"({texts[1]} == 0 ? WEFT_FP_DIVIDE : 0)"


def _check_cast(support: SupportFunctions, result: Operand, operand: Operand) -> str:
    source, text = operand.dtype, operand.text
    if result.dtype.kind in "fc":
        real, imaginary = ("__real__ ", "__imag__ ")
        match source.kind, result.dtype.kind:
            case "c", "c":
                pairs = [(f"{part}{text}", f"{part}{result.text}") for part in (real, imaginary)]
            case "c", _:
                pairs = [(f"{real}{text}", result.text)]
            case _, "c":
                pairs = [(text, f"{real}{result.text}")]
            case _:
                pairs = [(text, result.text)]
        grown = [f"(__builtin_isfinite({old}) & (__builtin_isinf({new}) != 0))" for old, new in pairs]
        return f"({' | '.join(grown)} ? WEFT_FP_OVERFLOW : 0)"
    if source.kind == "c":
        source = DType.FLOAT32 if source is DType.COMPLEX64 else DType.FLOAT64
        text = f"__real__ {text}"
    match result.dtype:
        case DType.INT64:
            low, high = -(2.0**63), 2.0**63
        case DType.UINT64:
            low, high = -(2.0**63), 2.0**64
        case DType.UINT32:
            low, high = _INT32_LOW[source], 2.0**32
        case _:
            low, high = _INT32_LOW[source], 2.0**31
    function = support.need("check_to_integer", source)
    return f"{function}({text}, {literal(low, source)}, {literal(high, source)})"
