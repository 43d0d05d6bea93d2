"""Expressions and index polynomials as C text.

Expressions are shared graphs: what is used twice, and what grows long, becomes a C constant of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.codegen.c_types import c_type, literal
from weft.codegen.checks import check, may_warn
from weft.codegen.kernel import Kernel
from weft.codegen.scalars import Operand
from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Expr, Index, Monomial, Op, Value

_LONGEST = 100
_ATOM = re.compile(r"[A-Za-z_]\w*|[\d.]+(LL|f)?")


def emit_expr(kernel: Kernel, expr: Expr, flags: str | None = None, *, lone: bool = False) -> str:
    """The expression as C text; lines with its parts may be written before."""
    return emit_exprs(kernel, (expr,), flags, lone=lone)[0]


def emit_exprs(kernel: Kernel, exprs: Sequence[Expr], flags: str | None = None, *, lone: bool = False) -> list[str]:
    """Several expressions, with their common parts computed once.

    `flags` collects the warnings; `lone` says that they are those of operators on NumPy scalars.
    """
    uses: dict[Expr, int] = {}
    for expr in exprs:
        _count(expr, uses)
    rendering = _Rendering(kernel, uses, flags, lone)
    return [rendering.text(expr) for expr in exprs]


def _count(expr: Expr, uses: dict[Expr, int]) -> None:
    if not isinstance(expr, Op):
        return
    uses[expr] = uses.get(expr, 0) + 1
    if uses[expr] == 1:
        for argument in expr.args:
            _count(argument, uses)


@dataclass(slots=True)
class _Rendering:
    kernel: Kernel
    uses: dict[Expr, int]
    flags: str | None
    lone: bool
    done: dict[Expr, str] = field(default_factory=dict[Expr, str])

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
        operands = tuple(Operand(self.text(arg), arg.type.dtype, arg.type.python) for arg in expr.args)
        if self._is_checked(expr):
            operands = tuple(self._atom(operand) for operand in operands)
            name = kernel.bind(kernel.scalars().apply(expr.name, operands, result), c_type(result))
            found = check(kernel.support, expr.name, Operand(name, result), operands, lone=self.lone)
            kernel.line(f"{self.flags} |= {found};")
            return name
        text = kernel.scalars().apply(expr.name, operands, result)
        if self.uses[expr] > 1 or len(text) > _LONGEST:
            return kernel.bind(text, c_type(result))
        return text

    def _is_checked(self, expr: Op) -> bool:
        if self.flags is None or expr.type.python:
            return False
        source, result = expr.args[0].type.dtype, expr.type.dtype
        return may_warn(expr.name, source, result, lone=self.lone)

    def _atom(self, operand: Operand) -> Operand:
        if _ATOM.fullmatch(operand.text):
            return operand
        return Operand(self.kernel.bind(operand.text, c_type(operand.dtype)), operand.dtype, operand.python)


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
