"""The operations the generator chooses from, as templates of source text.

`{0}`, `{1}`... are operands. A rule is used where NumPy takes the operands it is given (asked once, on ones). `free`
are those whose last bits are open (functions, sums of what rounds): only some programs use them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One operation: its name in the table of buckets, its text, how often, and of which letters (dtype kinds)."""

    name: str
    template: str
    weight: float = 1.0
    letters: str = "biufc"
    free: bool = False


def _infix(*operators: str, weight: float, letters: str = "biufc") -> tuple[Rule, ...]:
    return tuple(Rule(operator, f"({{0}} {operator} {{1}})", weight, letters) for operator in operators)


def _calls(
    *names: str, operands: int, weight: float = 1.0, letters: str = "biufc", free: bool = False
) -> tuple[Rule, ...]:
    given = ", ".join(f"{{{number}}}" for number in range(operands))
    return tuple(Rule(name, f"np.{name}({given})", weight, letters, free) for name in names)


BINARY = (
    *_infix("+", "-", "*", weight=6),
    *_infix("/", weight=3),
    *_infix("//", "%", weight=3, letters="iuf"),
    *_infix("&", "|", "^", weight=1, letters="biu"),
    *_calls("minimum", "maximum", operands=2, weight=2),
    *_calls("add", "subtract", "multiply", "divide", operands=2, weight=0.6),
    *_calls("floor_divide", "remainder", "mod", "fmod", operands=2, weight=0.7, letters="iuf"),
    *_calls("fmin", "fmax", operands=2, weight=0.6),
    # The sign of a NaN is open: in NumPy it depends on the loop that is taken.
    Rule("copysign", "np.copysign({0}, np.where(np.isnan({1}), 0, {1}))", 0.5, "f"),
    *_calls("heaviside", operands=2, weight=0.3, letters="f"),
    *_calls("logical_and", "logical_or", "logical_xor", operands=2, weight=0.4),
    *_calls("bitwise_and", "bitwise_or", "bitwise_xor", operands=2, weight=0.3, letters="biu"),
    *_calls("hypot", "arctan2", operands=2, weight=0.5, letters="f", free=True),
    Rule("**", "({0} ** {1})", 0.6, "f", free=True),
    Rule("power", "np.power({0}, {1})", 0.4, "f", free=True),
)
COMPARISONS = (
    *_infix("<", "<=", ">", ">=", weight=2, letters="biuf"),  # of complex NaNs NumPy warns as its compiler has it
    *_infix("==", "!=", weight=2),
    *_calls("less", "greater_equal", operands=2, weight=0.4, letters="biuf"),
    *_calls("equal", "not_equal", operands=2, weight=0.4),
)
UNARY = (
    Rule("negative", "(-{0})", 3, "iufc"),
    Rule("abs", "abs({0})", 1.5),
    Rule("np.abs", "np.abs({0})", 1.5),
    Rule("~", "(~{0})", 1, "biu"),
    Rule("**2", "({0} ** 2)", 2, "iufc"),
    Rule("**3", "({0} ** 3)", 0.7, "iu"),
    Rule("**0.5", "({0} ** 0.5)", 0.5, "f"),
    Rule("<<", "({0} << 2)", 0.5, "iu"),
    Rule(">>", "({0} >> 1)", 0.5, "iu"),
    *_calls("sqrt", operands=1, weight=1.5, letters="f"),
    *_calls("square", "sign", operands=1, weight=1, letters="iuf"),
    *_calls("negative", "positive", "absolute", operands=1, weight=0.4, letters="iufc"),
    *_calls("floor", "ceil", "rint", "trunc", operands=1, weight=0.7, letters="f"),
    *_calls("reciprocal", operands=1, weight=0.5, letters="f"),
    *_calls("fabs", operands=1, weight=0.4, letters="f"),
    *_calls("isnan", "isfinite", "isinf", operands=1, weight=0.4, letters="f"),
    Rule("signbit", "np.logical_and(np.signbit({0}), np.equal({0}, {0}))", 0.4, "f"),
    *_calls("logical_not", operands=1, weight=0.5),
    *_calls("invert", operands=1, weight=0.3, letters="biu"),
    *_calls("conj", "real", "imag", operands=1, weight=0.7, letters="c"),
    *_calls(
        "exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "cbrt", operands=1, weight=0.6, letters="f", free=True
    ),
    *_calls("tan", "arctan", "sinh", "cosh", "log2", "log10", "exp2", operands=1, weight=0.2, letters="f", free=True),
)
ARRAY_UNARY = (
    Rule("astype", "{0}.astype(np.float64)", 1, "biuf"),
    Rule("astype", "{0}.astype(np.float32)", 0.7, "biuf"),
    Rule("astype", "{0}.astype(np.int64)", 0.5, "biu"),
    Rule("astype", "{0}.astype(np.int8)", 0.4, "biu"),
    Rule("astype", "{0}.astype(np.uint16)", 0.3, "biu"),
    Rule("astype", "{0}.astype(bool)", 0.4, "biuf"),
    Rule("astype", "{0}.astype(np.complex128)", 0.3, "biufc"),
    Rule("copy", "{0}.copy()", 0.7),
    Rule("np.copy", "np.copy({0})", 0.3),
    Rule("clip", "np.clip({0}, -1, 2)", 0.7, "if"),
    Rule("round", "np.round({0}, 1)", 0.3, "f"),
    Rule("zeros_like", "np.zeros_like({0})", 0.5),
    Rule("ones_like", "np.ones_like({0})", 0.4),
    Rule("full_like", "np.full_like({0}, 3)", 0.3),
    Rule("flip", "np.flip({0})", 0.5),
    Rule("roll", "np.roll({0}, 1, axis=0)", 0.5),
)
TERNARY = (
    Rule("where", "np.where({0}, {1}, {2})", 2),
    Rule("clip", "np.clip({1}, {2}, 3)", 0.5, "if"),
)
SCANS = (
    Rule("cumsum", "np.cumsum({0}, axis={axis})", 1, "biuf"),
    Rule("cumprod", "np.cumprod({0}, axis={axis})", 0.4, "if"),
)
REDUCTIONS = (
    Rule("sum", "np.sum({0}, {axis})", 4),
    Rule(".sum", "{0}.sum({axis})", 2),
    Rule("max", "np.max({0}, {axis})", 2, "biuf"),
    Rule("min", "np.min({0}, {axis})", 2, "biuf"),
    Rule(".max", "{0}.max({axis})", 1, "biuf"),
    Rule("prod", "np.prod({0}, {axis})", 1, "biuf"),
    Rule("mean", "np.mean({0}, {axis})", 1.5, "biuf"),
    Rule("nanmean", "np.nanmean({0}, {axis})", 0.4, "biuf"),
    Rule("nansum", "np.nansum({0}, {axis})", 0.4, "biuf"),
    Rule("nanmax", "np.nanmax({0}, {axis})", 0.4, "biuf"),
    Rule("nanstd", "np.nanstd({0}, {axis})", 0.4, "f", free=True),
    Rule("any", "np.any({0}, {axis})", 0.7),
    Rule("all", "np.all({0}, {axis})", 0.7),
    Rule("argmax", "np.argmax({0}, {axis})", 1.2, "biuf"),
    Rule("argmin", "np.argmin({0}, {axis})", 1.2, "biuf"),
    Rule("count_nonzero", "np.count_nonzero({0}, {axis})", 0.5),
    Rule("var", "np.var({0}, {axis})", 0.4, "f", free=True),
    Rule("std", "np.std({0}, {axis})", 0.3, "f", free=True),
    Rule("ptp", "np.ptp({0}, {axis})", 0.3, "if"),
)
NO_KEEPDIMS = frozenset(("argmax", "argmin"))
SCALAR_UNARY = (
    Rule("int()", "int({0})", 0.7, "biu"),
    Rule("float()", "float({0})", 0.7, "biuf"),
    Rule("bool()", "bool({0})", 0.3),
    Rule("np.float32()", "np.float32({0})", 0.4, "biuf"),
    Rule("np.int32()", "np.int32({0})", 0.3, "b"),
    Rule("np.float64()", "np.float64({0})", 0.3, "biuf"),
    Rule("math.sqrt", "math.sqrt(abs({0}))", 0.4, "biuf"),
    Rule("math.floor", "math.floor({0})", 0.2, "biu"),
    Rule("math.exp", "math.exp({0})", 0.2, "f", free=True),
    Rule("round", "round({0})", 0.2, "i"),
)
SCALAR_BINARY = (
    Rule("min()", "min({0}, {1})", 1, "iuf"),
    Rule("max()", "max({0}, {1})", 1, "iuf"),
    Rule("divmod", "divmod({0}, {1})[0]", 0.3, "if"),
)
