"""Looking for warnings at the end of a tasklet, in results that are not finite.

before:  t = b * c;  fp |= check(t, b, c);  r = a - t;  fp |= check(r, a, t);
after:   t = b * c;  r = a - t;
         if (__builtin_expect(!(fabs(r) <= MAX), 0)) { fp |= check(t, b, c);  fp |= check(r, a, t); }

A warning leaves an infinity or a NaN behind, and sums and products pass those on: it is enough to look at the last one.
Of complex numbers the sum of the two parts is looked at; the divisor as well, whose square may overflow to a quotient
of zero. In vectorized loops there is no branch, `fp |= !(fabs(r) <= MAX)`: what they note only leads to a second run.
Several results are looked at together, `fp |= r * 0 + s * 0 != 0`: only what is finite becomes zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from weft.codegen.kernel import Kernel
from weft.ir.dtypes import DType
from weft.ir.exprs import Expr, Op, Value
from weft.support.records import record

# The operands whose infinities and NaNs are seen in the result.
_PASSED_ON: Final = {
    "add": (0, 1), "subtract": (0, 1), "multiply": (0, 1), "square": (0,), "divide": (0,), "sqrt": (0,), "cast": (0,),
}  # fmt: skip
_ARITHMETIC: Final = frozenset((*_PASSED_ON, "reciprocal"))
_COMPLEX: Final = frozenset(("add", "subtract", "multiply", "square", "divide"))
_TRANSPARENT: Final = frozenset(("negative", "positive", "absolute", "fabs"))
_LARGEST: Final = {4: "3.40282347e+38f", 8: "1.7976931348623157e+308"}  # by the bytes of a real number


def is_arithmetic(operation: Op) -> bool:
    """Whether a result that is not finite tells of a warning, or of an operand that is not finite."""
    return operation.name in (_ARITHMETIC if _is_float(operation) else _COMPLEX if _is_complex(operation) else ())


def _is_float(operation: Op) -> bool:
    return operation.args[0].type.dtype.kind + operation.type.dtype.kind == "ff"


def _is_complex(operation: Op) -> bool:
    return operation.type.dtype.kind == "c" and all(arg.type.dtype is operation.type.dtype for arg in operation.args)


def _is_not_finite(name: str, dtype: DType) -> str:
    """A C expression: whether a number is not finite (or, a complex one, nearly so)."""
    size = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    absolute = "__builtin_fabsf" if size == 4 else "__builtin_fabs"
    parts = [f"__real__ {name}", f"__imag__ {name}"] if dtype.kind == "c" else [name]
    return f"!({' + '.join(f'{absolute}({part})' for part in parts)} <= {_LARGEST[size]})"


@record(frozen=False)
class LateChecks:
    """The operations of one tasklet, with the C expressions that tell of a result that is not finite.

    `suspect`: the variable that takes note of a result that is not finite, in place of the checks.
    """

    suspect: str = ""
    tests: dict[Op, str] = field(default_factory=dict[Op, str])
    names: dict[Op, str] = field(default_factory=dict[Op, str])
    lines: list[str] = field(default_factory=list[str])
    passed_on: set[Op] = field(default_factory=set[Op])
    lets: dict[Value, Expr] = field(default_factory=dict[Value, Expr])

    def accepts(self, operation: Op) -> bool:
        """Whether a warning of the operation shows in its result.

        A function may well have a result that is not finite without a warning, which must not lead to a second run.
        """
        return is_arithmetic(operation) or (_is_float(operation) and not self.suspect)

    def add(self, operation: Op, name: str, operands: Sequence[str], line: str) -> None:
        """Note an operation, the names of its result and of its operands, and the line that checks it."""
        dtype = operation.type.dtype
        self.tests[operation], self.names[operation] = _is_not_finite(name, dtype), name
        if operation.name == "divide" and dtype.kind == "c":
            self.tests[operation] += f" | {_is_not_finite(operands[1], dtype)}"
        self.lines.append(line)
        for number in _PASSED_ON.get(operation.name, ()):
            operand = self._origin(operation.args[number])
            if isinstance(operand, Op):
                self.passed_on.add(operand)

    def _origin(self, expr: Expr) -> Expr:
        """The operation that an operand comes from, its sign apart."""
        while True:
            if isinstance(expr, Value) and expr in self.lets:
                expr = self.lets[expr]
            elif isinstance(expr, Op) and expr.name in _TRANSPARENT:
                expr = expr.args[0]
            else:
                return expr

    def emit(self, kernel: Kernel) -> None:
        """Look at the results."""
        last = [operation for operation in self.tests if operation not in self.passed_on]
        tests = [self.tests[operation] for operation in last]
        dtype = last[0].type.dtype if last else DType.BOOL
        if len(last) > 1 and self.suspect and dtype.kind == "f" and all(x.type.dtype is dtype for x in last):
            fused, total = kernel.support.need("fused", dtype), f"{self.names[last[0]]} * 0"
            for operation in last[1:]:
                total = f"{fused}({total}, {self.names[operation]}, 0)"
            kernel.line(f"{self.suspect} |= {total} != 0;")
        elif tests and self.suspect:
            kernel.line(f"{self.suspect} |= {' | '.join(tests)};")
        elif tests:
            with kernel.block(f"if (__builtin_expect({' | '.join(tests)}, 0))"):
                for line in self.lines:
                    kernel.line(line)
