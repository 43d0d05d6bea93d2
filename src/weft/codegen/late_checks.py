"""Checks of scalar code that run only where a result is not finite.

before:  t = b * c;  fp |= check(t, b, c);  r = a - t;  fp |= check(r, a, t);
after:   t = b * c;  r = a - t;
         if (__builtin_expect(!(fabs(r) <= MAX), 0)) { fp |= check(t, b, c);  fp |= check(r, a, t); }

A warning leaves an infinity or a NaN behind, and sums and products pass those on: it is enough to look at the last one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from weft.codegen.c_types import math_suffix
from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.exprs import Expr, Op, Value

# The operands whose infinities and NaNs are seen in the result.
_PASSED_ON: Final = {
    "add": (0, 1), "subtract": (0, 1), "multiply": (0, 1), "square": (0,), "divide": (0,), "sqrt": (0,), "cast": (0,),
}  # fmt: skip
_LARGEST: Final = {DType.FLOAT32: "3.40282347e+38f", DType.FLOAT64: "1.7976931348623157e+308"}


@dataclass(slots=True)
class LateChecks:
    """The operations of one tasklet, with the C names of their results."""

    results: dict[Op, str] = field(default_factory=dict[Op, str])
    lines: list[str] = field(default_factory=list[str])
    passed_on: set[Op] = field(default_factory=set[Op])
    lets: dict[Value, Expr] = field(default_factory=dict[Value, Expr])

    def accepts(self, operation: Op) -> bool:
        """Whether a warning of the operation shows in its result."""
        source, result = operation.args[0].type.dtype, operation.type.dtype
        return source.kind == "f" and result.kind == "f"

    def add(self, operation: Op, name: str, line: str) -> None:
        """Note an operation, the name of its result, and the line that checks it."""
        self.results[operation] = name
        self.lines.append(line)
        for number in _PASSED_ON.get(operation.name, ()):
            operand = operation.args[number]
            if isinstance(operand, Value):
                operand = self.lets.get(operand, operand)
            if isinstance(operand, Op):
                self.passed_on.add(operand)

    def emit(self, kernel: Kernel) -> None:
        """Look at the results, and check if one is not finite."""
        tests = [
            f"!(__builtin_fabs{math_suffix(operation.type.dtype)}({name}) <= {_LARGEST[operation.type.dtype]})"
            for operation, name in self.results.items()
            if operation not in self.passed_on
        ]
        if tests:
            with kernel.block(f"if (__builtin_expect({' | '.join(tests)}, 0))"):
                for line in self.lines:
                    kernel.line(line)
