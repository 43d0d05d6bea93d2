"""Functions of the C library, declared by us: the headers would cost more to compile than the kernels.

Where glibc's libmvec has a vector variant, the declaration says so and gcc calls it from vectorized loops. The variants
stay within 4 ulp (`tests/semantics/test_functions.py`). clang does not know the attribute; it has -fveclib=libmvec.
"""

from __future__ import annotations

from typing import Final

from weft.ir.exprs import Const, Op

_HALVES: Final = frozenset((-4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8))  # at most 4 roundings add up

# NumPy's names of functions with one meaning in the C library.
LIBRARY_NAMES: Final = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "hypot": "hypot", "cbrt": "cbrt", "power": "pow", "fmod": "fmod",
    "erf": "erf", "erfc": "erfc",
}  # fmt: skip

COMPLEX_NAMES: Final = {
    "exp": "cexp", "log": "clog", "sqrt": "csqrt", "power": "cpow", "sin": "csin", "cos": "ccos", "tan": "ctan",
    "arcsin": "casin", "arccos": "cacos", "arctan": "catan", "sinh": "csinh", "cosh": "ccosh", "tanh": "ctanh",
    "arcsinh": "casinh", "arccosh": "cacosh", "arctanh": "catanh",
}  # fmt: skip

# Vector variants, by the version of glibc that brought them.
_SINCE_2_22: Final = frozenset(("exp", "log", "sin", "cos", "pow"))
_SINCE_2_35: Final = frozenset((
    "exp2", "expm1", "log2", "log10", "log1p", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "hypot", "cbrt", "erf", "erfc",
))  # fmt: skip
_BINARY: Final = frozenset(("pow", "atan2", "hypot", "fmod", "copysign", "cpow"))

# <stdint.h> has told us the version of glibc.
VECTOR_MACROS: Final = """\
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WEFT_VECTOR_22 __attribute__((simd("notinbranch"), const))
#if __GLIBC__ > 2 || __GLIBC_MINOR__ >= 35
#define WEFT_VECTOR_35 __attribute__((simd("notinbranch"), const))
#endif
#endif
#ifndef WEFT_VECTOR_22
#define WEFT_VECTOR_22 __attribute__((const))
#endif
#ifndef WEFT_VECTOR_35
#define WEFT_VECTOR_35 __attribute__((const))
#endif
"""


def declaration(name: str, suffix: str, c_name: str, *, is_complex: bool) -> str:
    """The prototype of a function of the C library."""
    arguments = ", ".join([c_name] * (2 if name in _BINARY else 1))
    if name == "ldexp":
        arguments = f"{c_name}, int"
    if not is_complex and name in _SINCE_2_22:
        attribute = "WEFT_VECTOR_22"
    elif not is_complex and name in _SINCE_2_35:
        attribute = "WEFT_VECTOR_35"
    else:
        attribute = "__attribute__((const))"
    return f"{attribute} {c_name} {name}{suffix}({arguments});"


def halves_of_exponent(operation: Op) -> int | None:
    """Twice the exponent of a power that takes no logarithm in nests, but at most 4 products and roots."""
    exponent = operation.args[1].value if operation.name == "power" and isinstance(operation.args[1], Const) else None
    if not isinstance(exponent, float) or operation.type.dtype.kind != "f" or 2 * exponent not in _HALVES:
        return None
    return round(2 * exponent)
