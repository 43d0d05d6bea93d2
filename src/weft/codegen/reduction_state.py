"""A reduction being written: its loops, its elements, its results."""

from __future__ import annotations

import re
from collections.abc import Container, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

from weft.codegen.access import element
from weft.codegen.c_types import c_type, literal
from weft.codegen.expressions import emit_expr, index_factor
from weft.codegen.kernel import Flags, Kernel, bare
from weft.codegen.reduction_source import result_at
from weft.codegen.reduction_warnings import Warnings
from weft.codegen.scalars import Operand, Scalars
from weft.codegen.tasklets import emit_tasklet
from weft.ir.dtypes import DType
from weft.ir.nodes import Elements, Reduce, Tasklet
from weft.support.errors import InternalError
from weft.support.records import record

POSITIONS: Final = ("argmin", "argmax")
FLAG_LANES: Final = 64  # gcc makes vectors of truth values in memory and numbers of eight bytes where so many fill one
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


@record
class Reduction:
    """`dtype` is that of the numbers combined: the output's, for positions that of the elements."""

    kernel: Kernel
    node: Reduce
    source: Elements
    dtype: DType
    warnings: Warnings

    # -- axes

    @property
    def reduced(self) -> list[int]:
        """The axes that are combined, less those of extent 1."""
        return [axis for axis in sorted(self.node.axes) if self.source.shape[axis].constant != 1]

    @property
    def kept(self) -> list[int]:
        """The axes that stay, less those of extent 1."""
        axes = (axis for axis in range(self.source.rank) if axis not in self.node.axes)
        return [axis for axis in axes if self.source.shape[axis].constant != 1]

    def name(self, axis: int) -> str:
        """The C variable of a parameter."""
        return self.kernel.new_value(self.source.params[axis])

    def extent(self, axis: int) -> str:
        """The extent of an axis, as an operand."""
        return index_factor(self.kernel, self.source.shape[axis])

    @contextmanager
    def loops(self, axes: list[int], span: tuple[str, str] | None = None) -> Generator[None]:
        """Loops over axes; `span` replaces the range of the first."""
        with ExitStack() as stack:
            for number, axis in enumerate(axes):
                first, last = span if span is not None and number == 0 else ("0", self.extent(axis))
                name = self.name(axis)
                head = f"for (int64_t {name} = {first}; {name} < {last}; ++{name})"
                stack.enter_context(self.kernel.block(head))
            yield

    def single_axes(self) -> None:
        """The parameters of axes of extent 1."""
        for axis, extent in enumerate(self.source.shape):
            if extent.constant == 1:
                self.kernel.line(f"const int64_t {self.name(axis)} = 0;")

    @property
    def points(self) -> str:
        """How many elements there are, as a C expression."""
        extents = [self.extent(axis) for axis in (*self.kept, *self.reduced)]
        return f"(double){' * '.join(extents or ['1'])}"

    @property
    def elements_each(self) -> str:
        """How many elements a result has, as a C expression."""
        return f"(double){' * (double)'.join(self.extent(axis) for axis in self.reduced) or '1'}"

    # -- elements and results

    @property
    def reads_flags(self) -> bool:
        """Whether elements depend on truth values that lie in memory."""
        containers = self.kernel.program.containers
        reads = [memlet.container for tasklet in self.source.body for _, memlet in tasklet.reads]
        return any(containers[name].dtype is DType.BOOL for name in reads)

    @property
    def type(self) -> str:
        """The C type of the numbers combined."""
        return c_type(self.dtype)

    def element(self, *, checked: bool | None = None, plain: bool = False) -> str:
        """Compute the element at the present point: a C name. `plain`: as it is, not as the numbers combined are."""
        kernel, checked = self.kernel, self.warnings.checked if checked is None else checked
        outer = kernel.flags, kernel.default_site
        kernel.flags, kernel.default_site = Flags(self.warnings.names) if checked else None, -1
        kernel.map_depth += 1
        for tasklet in self.source.body:
            emit_tasklet(kernel, _silenced(tasklet, self.warnings.names if checked else {}))
        text = emit_expr(kernel, self.source.expr)
        if not plain:
            text = self._converted(Operand(text, self.source.expr.type.dtype))
        kernel.map_depth -= 1
        kernel.flags, kernel.default_site = outer
        type_ = c_type(self.source.expr.type.dtype) if plain else self.type
        return text if _NAME.fullmatch(text) else kernel.bind(text, type_, "x")

    def _converted(self, operand: Operand) -> str:
        if self.node.op.startswith("logical_"):
            return self.kernel.scalars().truth(operand)
        return self.kernel.scalars().cast(operand, self.dtype)

    def combine(self, left: str, right: str) -> str:
        """`left op right`, as a C expression.

        Complex products as of arrays, whose roundings are written out: gcc 12 contracts the others in some loops.
        """
        operands = (Operand(left, self.dtype), Operand(right, self.dtype))
        return bare(Scalars(self.kernel.support, arrays=True).apply(self.node.op, operands, self.dtype))

    @property
    def identity(self) -> str:
        """What a reduction starts from."""
        return identity(self.node.op, self.dtype)

    def output(self) -> str:
        """The element of the output that the present point belongs to."""
        return element(self.kernel, result_at(self.node, self.source))

    def simd(self) -> str:
        """The pragma of a loop whose iterations are independent but for the warnings they note."""
        names = list(dict.fromkeys(self.warnings.names.values()))
        return f"#pragma omp simd reduction(|:{', '.join(names)})" if names else "#pragma omp simd"

    @contextmanager
    def over(self, count: int | str, *, checked: bool = False) -> Generator[str]:
        """A vector loop over lanes: the C name of their number. `checked`: it may note warnings."""
        number = self.kernel.names.claim("l")
        self.kernel.line(self.simd() if checked and self.warnings.checked else "#pragma omp simd")
        with self.kernel.block(f"for (int64_t {number} = 0; {number} < {count}; ++{number})"):
            self.kernel.picks = isinstance(count, int) and count < FLAG_LANES and self.reads_flags
            yield number
            self.kernel.picks = False

    def finite(self, name: str) -> str:
        """Whether a number is, as a C expression."""
        return self.kernel.scalars().apply("isfinite", (Operand(name, self.dtype),), DType.BOOL)


def _silenced(tasklet: Tasklet, sites: Container[int]) -> Tasklet:
    """Only these sites warn."""
    return replace(tasklet, lets=tuple(let if let.warn in sites else replace(let, warn=-1) for let in tasklet.lets))


def better(reduction: Reduction, value: str, best: str) -> str:
    """Whether an element is better than the best one before it: larger or smaller, or the first NaN."""
    scalars, dtype = reduction.kernel.scalars(), reduction.dtype
    new, old = Operand(value, dtype), Operand(best, dtype)
    order = scalars.apply("greater" if reduction.node.op == "argmax" else "less", (new, old), DType.BOOL)
    if dtype.kind not in "fc":
        return bare(order)
    new_nan, old_nan = (scalars.apply("isnan", (operand,), DType.BOOL) for operand in (new, old))
    return f"({old_nan} == 0) & ({order} | {new_nan})"


def identity(op: str, dtype: DType) -> str:
    """What a reduction starts from; a sum from 0.0, so that, as in NumPy, no sum is -0.0."""
    match op:
        case "multiply" | "logical_and":
            return literal(1, dtype)
        case "add" | "logical_or":
            return literal(0, dtype)
        case "maximum" | "minimum" | "argmax" | "argmin":
            smallest = op in ("maximum", "argmax")
            infinity = -float("inf") if smallest else float("inf")
            if dtype.kind == "f":
                return literal(infinity, dtype)
            if dtype.kind == "c":
                return literal(complex(infinity, infinity), dtype)
            return literal(dtype.bounds[not smallest], dtype)
        case _:
            raise InternalError(f"there is no reduction by {op}")
