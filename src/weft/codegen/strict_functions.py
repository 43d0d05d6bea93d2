"""`strict=True`: mathematical functions give NumPy's bits, because NumPy computes them.

A kernel calls the inner loop of NumPy's ufunc, one element at a time. Where that loop is comes through `ctx->library`:
"loop:exp:d->d" and "data:exp:d->d", which the kernel puts into two variables of the file when it is entered.
"""

from __future__ import annotations

from typing import Final

from weft.codegen.math_functions import LIBRARY_NAMES

# Arithmetic, comparisons, sqrt and rounding have one right answer and need no loop of NumPy's.
STRICT_FUNCTIONS: Final = frozenset(LIBRARY_NAMES) - {"fmod", "erf", "erfc"} | {
    "logaddexp",
    "logaddexp2",
    "deg2rad",
    "rad2deg",
}
STRICT_COMPLEX: Final = frozenset(
    ("exp", "log", "log2", "log10", "log1p", "exp2", "expm1", "sqrt", "power", "sin", "cos", "tan", "arcsin", "arccos",
     "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "absolute")
)  # fmt: skip


def is_strict(name: str, kind: str) -> bool:
    """Whether NumPy's own loop decides the bits of an operation."""
    return name in (STRICT_COMPLEX if kind == "c" else STRICT_FUNCTIONS) and kind in "fc"


def numpy_loop(symbol: str, arity: int, type_: str, result: str) -> str:
    """The C function for one element."""
    parameters = ", ".join(f"{type_} a{number}" for number in range(arity))
    pointers = ", ".join(f"(char *)&a{number}" for number in range(arity))
    steps = ", ".join(["0"] * (arity + 1))
    return f"""\
static void (*{symbol}_loop)(char **, const int64_t *, const int64_t *, void *);
static void *{symbol}_data;
static {result} {symbol}({parameters})
{{
    {result} r;
    char *pointers[] = {{{pointers}, (char *)&r}};
    const int64_t count = 1, steps[] = {{{steps}}};
    {symbol}_loop(pointers, &count, steps, {symbol}_data);
    return r;
}}"""


def entry_lines(loops: dict[str, str], first: int) -> tuple[list[str], list[str]]:
    """What a kernel does on entry, and the names it asks the run time for, from place `first` on."""
    lines: list[str] = []
    names: list[str] = []
    for symbol, loop in loops.items():
        place = first + len(names)
        lines.append(
            f"{symbol}_loop = (void (*)(char **, const int64_t *, const int64_t *, void *))ctx->library[{place}];"
        )
        lines.append(f"{symbol}_data = ctx->library[{place + 1}];")
        names += [f"loop:{loop}", f"data:{loop}"]
    return lines, names
