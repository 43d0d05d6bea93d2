"""One scalar operation as a C expression: a table of operations per kind of operand.

An entry is an expression with the operands as {0}, {1}, {2}; or `@name`, a support function; or `%name`, a function of
the C library. C's promotions are undone at once: `(int8_t)(a + b)`, so that every text has exactly its NumPy type.
"""

from __future__ import annotations

from typing import Final

from weft.codegen.c_types import REAL_OF, c_type, literal, math_suffix
from weft.codegen.math_functions import COMPLEX_NAMES, LIBRARY_NAMES
from weft.codegen.strict_functions import is_strict
from weft.codegen.support_functions import SupportFunctions
from weft.ir.dtypes import DType
from weft.support.errors import InternalError
from weft.support.records import record

_COMPARISONS: Final = {
    "equal": "{0} == {1}", "not_equal": "{0} != {1}", "less": "{0} < {1}", "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}", "greater_equal": "{0} >= {1}",
}  # fmt: skip

_LOGIC: Final = {
    "logical_and": "({0} != 0) & ({1} != 0)",
    "logical_or": "({0} != 0) | ({1} != 0)",
    "logical_xor": "({0} != 0) ^ ({1} != 0)",
    "logical_not": "{0} == 0",
}

_SELECT: Final = {"select": "{0} ? {1} : {2}"}

_BOOL: Final = {
    **_COMPARISONS, **_SELECT,
    "logical_and": "{0} & {1}", "logical_or": "{0} | {1}", "logical_xor": "{0} ^ {1}", "logical_not": "{0} == 0",
    "add": "{0} | {1}", "multiply": "{0} & {1}", "maximum": "{0} | {1}", "minimum": "{0} & {1}",
    "fmax": "{0} | {1}", "fmin": "{0} & {1}",
    "bitwise_and": "{0} & {1}", "bitwise_or": "{0} | {1}", "bitwise_xor": "{0} ^ {1}", "invert": "{0} == 0",
    "absolute": "{0}", "positive": "{0}", "conjugate": "{0}", "real": "{0}", "imag": "0 * {0}",
    "floor": "{0}", "ceil": "{0}", "trunc": "{0}", "square": "{0}",
    "isnan": "0 * {0}", "isinf": "0 * {0}", "isfinite": "1 | {0}",
}  # fmt: skip

_UNSIGNED: Final = {
    **_COMPARISONS, **_LOGIC, **_SELECT,
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "negative": "-{0}", "positive": "{0}",
    "floor_divide": "@floor_divide_unsigned", "remainder": "@remainder_unsigned", "fmod": "@remainder_unsigned",
    "power": "@power", "absolute": "{0}", "sign": "{0} != 0", "square": "@square", "reciprocal": "@reciprocal",
    "maximum": "@maximum", "minimum": "@minimum", "fmax": "@maximum", "fmin": "@minimum",
    "conjugate": "{0}", "real": "{0}", "imag": "0 * {0}",
    "floor": "{0}", "ceil": "{0}", "trunc": "{0}",
    "isnan": "0 * {0}", "isinf": "0 * {0}", "isfinite": "1 | (0 * {0})",
    "bitwise_and": "{0} & {1}", "bitwise_or": "{0} | {1}", "bitwise_xor": "{0} ^ {1}", "invert": "~{0}",
    "left_shift": "@left_shift", "right_shift": "@right_shift_unsigned",
}  # fmt: skip

_SIGNED: Final = {
    **_UNSIGNED,
    "floor_divide": "@floor_divide", "remainder": "@remainder", "fmod": "@fmod", "absolute": "@absolute",
    "negative": "@negative", "sign": "@sign", "right_shift": "@right_shift", "divide": "@true_divide",
    "signbit": "{0} < 0",
    "add_overflows": "@add_overflows", "subtract_overflows": "@subtract_overflows",
    "multiply_overflows": "@multiply_overflows", "power_overflows": "@power_overflows",
    "left_shift_overflows": "@left_shift_overflows",
}  # fmt: skip

_FLOAT: Final = {
    **_COMPARISONS, **_LOGIC, **_SELECT, **{name: f"%{library}" for name, library in LIBRARY_NAMES.items()},
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "divide": "{0} / {1}",
    "negative": "-{0}", "positive": "{0}", "floor_divide": "@floor_divide", "remainder": "@remainder",
    "absolute": "__builtin_fabs{f}({0})", "fabs": "__builtin_fabs{f}({0})", "sign": "@sign", "square": "@square",
    "reciprocal": "1.0{f} / {0}", "maximum": "@maximum", "minimum": "@minimum", "fmax": "@fmax", "fmin": "@fmin",
    "copysign": "__builtin_copysign{f}({0}, {1})", "heaviside": "@heaviside",
    "conjugate": "{0}", "real": "{0}", "imag": "0.0{f}", "sqrt": "__builtin_sqrt{f}({0})",
    "floor": "__builtin_floor{f}({0})", "ceil": "__builtin_ceil{f}({0})", "trunc": "__builtin_trunc{f}({0})",
    "rint": "__builtin_rint{f}({0})", "logaddexp": "@logaddexp", "logaddexp2": "@logaddexp2",
    "deg2rad": "{0} * (3.14159265358979323846{f} / 180.0{f})",
    "rad2deg": "{0} * (180.0{f} / 3.14159265358979323846{f})",
    "isnan": "__builtin_isnan({0}) != 0", "isinf": "__builtin_fabs{f}({0}) == __builtin_inf{f}()",
    "isfinite": "__builtin_fabs{f}({0}) < __builtin_inf{f}()",
    "signbit": "__builtin_copysign{f}(1.0{f}, {0}) < 0.0{f}",
    "complex": "__builtin_complex({0}, {1})",
}  # fmt: skip

_COMPLEX: Final = {
    **_SELECT, **{name: f"%{library}" for name, library in COMPLEX_NAMES.items()},
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "@multiply", "divide": "@divide", "power": "@power",
    "negative": "@negative", "positive": "{0}", "absolute": "@absolute", "sign": "@sign", "square": "@square",
    "reciprocal": "@reciprocal", "conjugate": "@conjugate", "real": "__real__ {0}", "imag": "__imag__ {0}",
    "maximum": "@maximum", "minimum": "@minimum", "fmax": "@fmax", "fmin": "@fmin", "rint": "@rint",
    "exp2": "@exp2", "expm1": "@expm1", "log2": "@log2", "log10": "@log10", "log1p": "@log1p",
    "equal": "{0} == {1}", "not_equal": "{0} != {1}", "less": "@less", "less_equal": "@less_equal",
    "greater": "@greater", "greater_equal": "@greater_equal",
    "isnan": "@isnan", "isinf": "@isinf", "isfinite": "@isfinite",
}  # fmt: skip

_TABLES: Final = {"b": _BOOL, "u": _UNSIGNED, "i": _SIGNED, "f": _FLOAT, "c": _COMPLEX}

# Where Python's own arithmetic is not NumPy's.
_PYTHON: Final = {
    ("f", "floor_divide"): "@python_floor_divide",
    ("f", "remainder"): "@python_remainder",
    ("c", "divide"): "@python_divide",
    ("c", "power"): "@python_power",
}

# Where NumPy's loops over arrays differ from its scalars, or ours can be faster.
_ARRAYS: Final = {
    ("c", "multiply"): "@multiply_arrays", ("c", "square"): "@square_arrays", ("f", "exp"): "@exp_arrays",
}  # fmt: skip

# Of vectors: what takes numbers does not take them.
_VECTORS: Final = {("f", "square"): "{0} * {0}", ("i", "negative"): "-{0}"}

_BOOL_RESULTS: Final = frozenset((*_COMPARISONS, *_LOGIC, "isnan", "isinf", "isfinite", "signbit"))


@record
class Operand:
    """The C text of an operand and its type."""

    text: str
    dtype: DType
    python: bool = False


@record
class Scalars:
    """Writes operations; what they call is noted in `support`.

    `arrays`: on elements of arrays, not on lone scalars; `vectors`: on whole vectors of them.
    """

    support: SupportFunctions
    arrays: bool = False
    vectors: bool = False

    def apply(self, name: str, operands: tuple[Operand, ...], result: DType) -> str:
        """`name(operands)` as a C expression of type `result`, in parentheses where it needs them."""
        if name == "cast":
            return self.cast(operands[0], result)
        subject = operands[1] if name == "select" else operands[0]
        if subject.dtype.kind == "c" and name.startswith("logical_"):
            return self.apply(name, tuple(Operand(self.truth(x), DType.BOOL) for x in operands), result)
        if {x.dtype.kind for x in operands} == {"i", "u"} and name in _COMPARISONS:
            return self._mixed_comparison(name, operands)
        texts = [x.text for x in operands]
        if self.support.strict and not subject.python and is_strict(name, subject.dtype.kind):
            return f"{self.support.loop(name, subject.dtype, len(operands))}({', '.join(texts)})"
        rule = self._rule(name, subject)
        if rule[0] == "@":
            return f"{self.support.need(rule[1:], subject.dtype)}({', '.join(texts)})"
        if rule[0] == "%":
            return f"{self.support.math(rule[1:], subject.dtype)}({', '.join(texts)})"
        text = rule.format(*texts, f=math_suffix(subject.dtype))
        if rule == "{0}":
            return text
        narrow = result.kind in "iu" and result.itemsize < 4 and name not in _BOOL_RESULTS
        return f"({c_type(result)})({text})" if narrow else f"({text})"

    def _rule(self, name: str, subject: Operand) -> str:
        kind = subject.dtype.kind
        rule = _TABLES[kind].get(name)
        if subject.python:
            rule = _PYTHON.get((kind, name), rule)
        elif self.arrays:
            rule = (_VECTORS if self.vectors else _ARRAYS).get((kind, name), rule)
        if rule is None:
            raise InternalError(f"there is no C for {name} on {subject.dtype.value}")
        return rule

    def _mixed_comparison(self, name: str, operands: tuple[Operand, ...]) -> str:
        """NumPy compares int64 with uint64 by value."""
        left, right = operands
        compare = self.support.machine("compare_signed_unsigned")
        if left.dtype.kind == "i":
            order = f"{compare}({left.text}, {right.text})"
        else:
            order = f"-{compare}({right.text}, {left.text})"
        return f"({_COMPARISONS[name].format(order, '0')})"

    def truth(self, operand: Operand) -> str:
        """Whether it is not zero, as C's 0 or 1."""
        if operand.dtype is DType.BOOL:
            return operand.text
        if operand.dtype.kind == "c":
            return f"{self.support.need('truth', operand.dtype)}({operand.text})"
        return f"({operand.text} != 0)"

    def cast(self, operand: Operand, target: DType) -> str:
        """ndarray.astype of one element."""
        source, text = operand.dtype, operand.text
        if source is target:
            return text
        if target is DType.BOOL:
            return self.truth(operand)
        if source.kind == "c" and target.kind != "c":
            return self.cast(Operand(f"(__real__ {text})", REAL_OF[source]), target)
        if target.kind == "c" and source.kind != "c":
            part = REAL_OF[target]
            real = self.cast(operand, part)
            return f"__builtin_complex({real}, {literal(0.0, part)})"
        if source.kind == "f" and target.kind in "iu":
            return self._to_integer(text, source, target)
        return f"(({c_type(target)}){text})"

    def _to_integer(self, text: str, source: DType, target: DType) -> str:
        """Through the integer that NumPy's loops on this machine go through, so that out-of-range values agree."""
        if target in (DType.UINT64, DType.UINT32):
            return f"{self.support.need('to_u64' if target is DType.UINT64 else 'to_u32', source)}({text})"
        middle = DType.INT64 if target is DType.INT64 else DType.INT32
        converted = f"(({c_type(middle)}){text})"
        # gcc makes `(double)(int64_t)x` a truncation, which keeps the sign of -0.5 and numbers out of range.
        if not self.arrays:
            converted = f"{self.support.need('keep', middle)}{converted}"
        elif target is middle:
            converted = f"({converted} + {self.support.machine('zero')})"
        return converted if target is middle else f"(({c_type(target)}){converted})"
