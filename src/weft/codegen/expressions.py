"""Expressions and index polynomials as C text.

Expressions are shared graphs: what is used twice, and what grows long, becomes a C constant of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from weft.analysis.imaginary import is_imaginary
from weft.codegen.c_types import c_type, literal
from weft.codegen.checks import check, flags_are_exact
from weft.codegen.kernel import Kernel, bare
from weft.codegen.late_checks import LateChecks
from weft.codegen.math_functions import halves_of_exponent
from weft.codegen.scalars import Operand
from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Expr, Index, Monomial, Op, Value
from weft.ir.ops import may_warn
from weft.support.records import record

_LONGEST = 100
_NEEDS_LARGE = frozenset(("add", "subtract", "multiply", "square"))  # hardly ever raise a flag
_ATOM = re.compile(r"[A-Za-z_]\w*|[\d.]+(LL|f)?")


@record
class Noting:
    """Where operations note their warnings: all of them, or `only` some; at once, or `late`.

    `lone`: operators on NumPy scalars, which, unlike those on arrays, also tell when integers overflow.
    """

    variable: str
    only: frozenset[Op] | None = None
    late: LateChecks | None = None
    lone: bool = False


def emit_expr(kernel: Kernel, expr: Expr) -> str:
    """The expression as C text; lines with its parts may be written before."""
    return emit_exprs(kernel, (expr,))[0]


def emit_exprs(kernel: Kernel, exprs: Sequence[Expr], noting: Noting | None = None) -> list[str]:
    """Several expressions, with their common parts computed once."""
    uses: dict[Expr, int] = {}
    for expr in exprs:
        _count(expr, uses)
    rendering = _Rendering(kernel, uses, noting)
    return [rendering.text(expr) for expr in exprs]


def _count(expr: Expr, uses: dict[Expr, int]) -> None:
    if not isinstance(expr, Op):
        return
    uses[expr] = uses.get(expr, 0) + 1
    if uses[expr] == 1:
        for argument in expr.args:
            _count(argument, uses)


@record(frozen=False)
class _Rendering:
    kernel: Kernel
    uses: dict[Expr, int]
    noting: Noting | None
    done: dict[Expr, str] = field(default_factory=dict[Expr, str])
    kept_apart: set[Expr] = field(default_factory=set[Expr])

    def text(self, expr: Expr) -> str:
        match expr:
            case Value():
                return self.kernel.value(expr)
            case Const(value=value, type=type_):
                return literal(value, type_.dtype)
            case Index():
                constant = expr.constant
                return literal(constant, DType.INT64) if constant is not None else index_factor(self.kernel, expr)
            case Op():
                if expr not in self.done:
                    self.done[expr] = self._operation(expr)
                return self.done[expr]

    def _operation(self, expr: Op) -> str:
        kernel, result = self.kernel, expr.type.dtype
        if self._is_unseen(expr) and expr.name not in _NEEDS_LARGE:
            self.kept_apart.update(arg for arg in expr.args if _is_harmless(arg))
        operands = tuple(Operand(self.text(arg), arg.type.dtype, arg.type.python) for arg in expr.args)
        if expr.name == "subtract" and _is_from_integer(expr.args[1]):
            # In one expression gcc takes `0.0 - (double)i` for `-(double)i`, which is another zero where i is 0.
            operands = (operands[0], self._atom(operands[1]))
        noting = self.noting
        if noting is not None and _is_checked(expr, noting):
            operands = tuple(self._atom(operand) for operand in operands)
            if kernel.rewritten is not None and _is_flagged(expr):
                return self._flagged(expr, operands, noting.variable)
            name = kernel.bind(self._applied(expr, operands), c_type(result))
            late = noting.late is not None and noting.late.accepts(expr)
            cold = late or (kernel.rewritten is not None and result.kind != "c")
            found = check(kernel.support, expr.name, Operand(name, result), operands, lone=noting.lone, cold=cold)
            if noting.late is not None and late:
                noting.late.add(expr, name, [x.text for x in operands], f"{noting.variable} |= {found};")
            else:
                kernel.line(f"{noting.variable} |= {found};")
            return name
        text = self._applied(expr, operands)
        if self.uses[expr] > 1 or len(text) > _LONGEST:
            return kernel.bind(text, c_type(result))
        return text

    def _is_unseen(self, expr: Op) -> bool:
        """Whether an operation had better raise no flag of those that are looked at after the nest."""
        flags, noting = self.kernel.flags, self.noting
        return bool(noting and noting.only and expr in noting.only and flags and flags.kinds)

    def _applied(self, expr: Op, operands: tuple[Operand, ...]) -> str:
        """The operation; powers with a known exponent of a few halves take no logarithm.

        Exponentials of imaginary numbers are a cosine and a sine, which vectorized loops have.
        """
        scalars, dtype = self.kernel.scalars(), expr.type.dtype
        picked = self.kernel.picks and expr.name == "select" and dtype is DType.FLOAT64
        if picked or expr in self.kept_apart:
            condition, yes, no = (operand.text for operand in operands)
            return f"{self.kernel.support.need('pick', dtype)}(-(int{8 * dtype.itemsize}_t){condition}, {yes}, {no})"
        free = scalars.arrays and not self.kernel.support.strict
        halves = halves_of_exponent(expr)
        if free and halves is not None:
            return f"{self.kernel.support.need('halves', dtype)}({operands[0].text}, {halves})"
        if free and dtype.kind == "c" and expr.name == "exp" and is_imaginary(expr.args[0], self.kernel.meanings):
            return f"{self.kernel.support.need('exp_imaginary', dtype)}({operands[0].text})"
        return scalars.apply(expr.name, operands, dtype)

    def _flagged(self, expr: Op, operands: tuple[Operand, ...], variable: str) -> str:
        """An operation with its very flags, in code that hardly ever runs."""
        kernel, dtype = self.kernel, expr.type.dtype
        inside = tuple(Operand(name, dtype) for name in "ab"[: len(operands)])
        text = bare(kernel.scalars().apply(expr.name, inside, dtype))
        name = f"{expr.name}_arrays" if kernel.scalars().arrays else expr.name  # NumPy has two formulas for some
        function = kernel.support.flagged(name, dtype, len(operands), text)
        texts = ", ".join(operand.text for operand in operands)
        return kernel.bind(f"{function}({texts}, &{variable})", c_type(dtype))

    def _atom(self, operand: Operand) -> Operand:
        if _ATOM.fullmatch(operand.text):
            return operand
        return Operand(self.kernel.bind(operand.text, c_type(operand.dtype)), operand.dtype, operand.python)


def _is_from_integer(expr: Expr) -> bool:
    """Whether a number was an integer just before."""
    if not isinstance(expr, Op) or expr.name != "cast":
        return False
    return expr.type.dtype.kind in "fc" and expr.args[0].type.dtype.kind in "biu"


def _is_harmless(expr: Expr) -> bool:
    """Whether this stands for an operand whose result is discarded, lest the operation raise a flag.

    Of `?:` gcc makes a branch that goes around the operation, and of that branch the operation on all operands.
    """
    if not isinstance(expr, Op) or expr.name != "select" or expr.type.dtype.kind != "f":
        return False
    return isinstance(expr.args[2], Const) and expr.args[0].type.dtype is DType.BOOL


def _is_flagged(expr: Op) -> bool:
    """Of complex numbers the operands and the result do not tell which part has warned, but the processor does.

    Of sums and products all steps are looked at: iterations that grow until they overflow run again in every turn.
    """
    dtype = expr.args[0].type.dtype
    if expr.name in ("add", "subtract", "multiply"):
        return False
    return dtype.kind == "c" and expr.type.dtype is dtype and flags_are_exact(expr.name, dtype, dtype)


def _is_checked(expr: Op, noting: Noting) -> bool:
    if expr.type.python or (noting.only is not None and expr not in noting.only):
        return False
    return may_warn(expr.name, expr.args[0].type.dtype, expr.type.dtype, lone=noting.lone)


# ---- index polynomials ----------------------------------------------------------------------------------------------


def index_text(kernel: Kernel, polynomial: Index) -> str:
    """`n_1 * m_2 - 3 * i_4 + 1`, the constant last."""
    terms = sorted(polynomial.terms, key=lambda term: not term[0])
    if not terms:
        return "0"
    pieces: list[str] = []
    for position, (monomial, coefficient) in enumerate(terms):
        sign = "-" if coefficient < 0 else "+"
        body = _term(kernel, monomial, abs(coefficient))
        pieces.append((f"-{body}" if coefficient < 0 else body) if position == 0 else f" {sign} {body}")
    return "".join(pieces)


def index_factor(kernel: Kernel, polynomial: Index) -> str:
    """The polynomial as a factor or operand: in parentheses if it is more than one atom."""
    text = index_text(kernel, polynomial)
    return text if _ATOM.fullmatch(text) else f"({text})"


def _term(kernel: Kernel, monomial: Monomial, coefficient: int) -> str:
    factors = [_integer(kernel, value) for value in monomial]
    if not factors:
        return str(coefficient) if coefficient < 2**31 else f"{coefficient}LL"
    if coefficient != 1:
        factors.insert(0, str(coefficient) if coefficient < 2**31 else f"{coefficient}LL")
    return " * ".join(factors)


def _integer(kernel: Kernel, value: Value) -> str:
    name = kernel.value(value)
    return name if value.type.dtype is DType.INT64 else f"(int64_t){name}"
