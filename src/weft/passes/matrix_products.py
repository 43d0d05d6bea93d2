"""Sums of products as matrix products that the library may make: what they are, and when it may.

in:   terms `scale * A[i, k] * B[k, j]` over a box of parameters, the view of the elements they are added up in
out:  the `MatMul` they are; nodes that make it where that is right, and leave it to others where it is not:

    if l >= 8 and m >= 8 and n >= 8 -> (safe) { safe = 2 * l * max(abs(A)) * max(abs(B)) is finite } else { no }
    if safe { matmul C = A @ B } else { as it was written }

The order of a sum is free, so the library may make it. What it does not tell is where an overflow or a NaN came from:
so nothing may overflow, whatever the order, and no factor may be infinite or a NaN. A scale goes last in the library,
and mostly first in programs: nothing may overflow without it either, and what underflows must stay that small with it,
so that none of its numbers may be large (`_SCALES`). Few numbers are not worth a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const, const_index, index, op, polynomial_of, values_in
from weft.ir.nodes import (
    Alloc,
    Axis,
    Branch,
    Elements,
    Let,
    MatMul,
    Memlet,
    Node,
    Reduce,
    Region,
    Storage,
    Tasklet,
    View,
    Yield,
    full_view,
)
from weft.passes.base import Bench
from weft.support.records import record
from weft.support.spans import Span

_LEAST: Final = 8  # extents from which on a library's call is worth its price
_SCALES: Final = (2.0**-32, 2.0**8)  # without their sign: 2**8 times the smallest number is still next to nothing
_REAL: Final = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}
_TYPES: Final = frozenset({DType.FLOAT32, DType.FLOAT64, *_REAL})


# ---- what a term is -------------------------------------------------------------------------------------------------


@record
class Code:
    """What a point reads and computes, by value; `own` are these values and those that differ from point to point."""

    reads: Mapping[Value, Memlet]
    lets: Mapping[Value, Expr]
    own: frozenset[Value]


@record(frozen=False)
class Factors:
    """The factors of a product: elements, numbers that are the same at all points, -1s, and the values on the way."""

    memlets: list[Memlet] = field(default_factory=list[Memlet])
    scalars: list[Expr] = field(default_factory=list[Expr])
    negative: bool = False
    passed: set[Value] = field(default_factory=set[Value])

    def scale(self, type_: ScalarType) -> Expr | None:
        """All numbers as one; None for 1."""
        total: Expr | None = None
        for scalar in self.scalars:
            total = scalar if total is None else op("multiply", (total, scalar), type_)
        if not self.negative:
            return total
        return const(type_.dtype.numpy.type(-1).item(), type_) if total is None else op("negative", (total,), type_)


def factors_of(expr: Expr, code: Code, dtype: DType) -> Factors | None:
    """The factors of a term with two elements; None if it is none, or computes in another type."""
    found = Factors()
    pending = [expr]
    while pending:
        part = pending.pop()
        while isinstance(part, Value) and part in code.lets:
            found.passed.add(part)
            part = code.lets[part]
        if part.type.dtype is not dtype:
            return None
        match part:
            case Value() if part in code.reads:
                found.passed.add(part)
                found.memlets.append(code.reads[part])
            case _ if code.own.isdisjoint(values_in(part)):
                found.scalars.append(part)
            case Op(name="multiply", args=args):
                pending += reversed(args)
            case Op(name="negative", args=(arg,)):
                found.negative = not found.negative
                pending.append(arg)
            case _:
                return None
    if len(found.memlets) != 2 or (found.scalars and dtype in _REAL):
        return None
    return found


@record
class Terms:
    """Terms over a box, counted from 0, and where they are added up: over one parameter, which is the last."""

    params: tuple[Value, ...]
    shape: tuple[Index, ...]
    factors: Factors
    output: View  # its axes are the parameters but for the last


def product_of(terms: Terms, bench: Bench) -> MatMul | None:
    """The product that a sum of terms is; its axes in the order batch, row, column."""
    dtype = bench.containers[terms.output.container].dtype
    lhs, rhs = terms.factors.memlets
    overlap = bench.legality.memory.may_overlap
    if dtype not in _TYPES or any(overlap(factor.container, terms.output.container) for factor in (lhs, rhs)):
        return None
    *kept, summed = terms.params
    rows = [n for n, param in enumerate(kept) if _moves(lhs, param) and not _moves(rhs, param)]
    columns = [n for n, param in enumerate(kept) if _moves(rhs, param) and not _moves(lhs, param)]
    if len(rows) != 1 or len(columns) != 1 or not all(_moves(factor, summed) for factor in (lhs, rhs)):
        return None
    if rows[0] > columns[0]:  # the result as it lies in memory
        lhs, rhs, rows, columns = rhs, lhs, columns, rows
    batch = [n for n in range(len(kept)) if n not in (*rows, *columns)]
    left = _view(lhs, [*batch, *rows, len(kept)], terms)
    right = _view(rhs, [*batch, len(kept), *columns], terms)
    if left is None or right is None:
        return None
    order = [*batch, *rows, *columns]
    places = {number: place for place, number in enumerate(order)}
    output = View(
        terms.output.container,
        tuple(terms.shape[number] for number in order),
        tuple(Axis(axis.offset, tuple((places[n], step) for n, step in axis.terms)) for axis in terms.output.axes),
    )
    return MatMul(output=output, lhs=left, rhs=right, scale=terms.factors.scale(ScalarType(dtype)))


def _moves(memlet: Memlet, param: Value) -> bool:
    return any(param in coordinate.values for coordinate in memlet.index)


def _view(memlet: Memlet, order: Sequence[int], terms: Terms) -> View | None:
    """All the elements of a factor, with some of the parameters as axes; None if a step depends on another of them."""
    params = frozenset(terms.params)
    axes: list[Axis] = []
    for coordinate in memlet.index:
        steps: list[tuple[int, Index]] = []
        rest = coordinate
        for place, number in enumerate(order):
            param = terms.params[number]
            step = polynomial_of(_without(param, coordinate))
            if params & step.values:
                return None
            if step.constant != 0:
                steps.append((place, step))
                rest = rest - step * index(param)
        if params & rest.values:
            return None
        axes.append(Axis(rest, tuple(steps)))
    return View(memlet.container, tuple(terms.shape[number] for number in order), tuple(axes))


def _without(param: Value, coordinate: Index) -> Iterator[tuple[tuple[Value, ...], int]]:
    """The terms of a polynomial with a parameter, less one of it."""
    for monomial, coefficient in coordinate.terms:
        if param in monomial:
            place = monomial.index(param)
            yield monomial[:place] + monomial[place + 1 :], coefficient


# ---- when the library may make it -----------------------------------------------------------------------------------


def guarded(product: MatMul, otherwise: Sequence[Node], span: Span | None, bench: Bench) -> list[Node]:
    """The product where it is worth a call and nothing can overflow, other nodes where not."""
    asking = _Asking(bench, span)
    large: Expr = const(True, NP_BOOL)
    for extent in (*product.lhs.shape[-2:], product.rhs.shape[-1]):
        large = op("logical_and", (large, op("greater_equal", (extent, const_index(_LEAST)), NP_BOOL)), NP_BOOL)
    safe = bench.value("safe", NP_BOOL)
    made = replace(product, id=bench.number(), span=span)
    return [
        Branch(
            condition=large,
            then=Region(tuple(asking.all_is_finite(product))),
            orelse=Region((Yield((const(False, NP_BOOL),)),)),
            results=(safe,),
            id=bench.number(),
            span=span,
        ),
        Branch(
            condition=safe,
            then=Region((made, Yield())),
            orelse=Region((*otherwise, Yield())),
            id=bench.number(),
            span=span,
        ),
    ]


@record
class _Asking:
    """Nodes that find something out, and the value they leave it in."""

    bench: Bench
    span: Span | None

    def all_is_finite(self, product: MatMul) -> list[Node]:
        """Whether neither a term of a product, nor a part of one, nor any sum of terms overflows."""
        dtype = self.bench.containers[product.output.container].dtype
        real = ScalarType(_REAL.get(dtype, dtype))
        nodes: list[Node] = []
        factors: list[Expr] = []
        for view in (product.lhs, product.rhs):
            largest, found = self.largest(view, real)
            nodes += found
            factors.append(largest)
        conditions: list[Expr] = []
        sizes = [] if product.scale is None else [op("absolute", (scalar,), real) for scalar in _scalars(product.scale)]
        if sizes:
            factors = [_at_least_one(factor, real) for factor in (*factors, *sizes)]
        for size in sizes:
            conditions += [
                op("greater_equal", (size, const(_SCALES[0], real)), NP_BOOL),
                op("less_equal", (size, const(_SCALES[1], real)), NP_BOOL),
            ]
        bound: Expr = op("cast", (product.lhs.shape[-1],), real)
        for factor in factors:
            bound = op("multiply", (bound, factor), real)
        if product.adds:
            largest, found = self.largest(product.output, real)
            nodes += found
            bound = op("add", (bound, largest), real)
        twice, answer = self.bench.value("bound", real), self.bench.value("finite", NP_BOOL)
        finite: Expr = op("isfinite", (twice,), NP_BOOL)
        for condition in conditions:
            finite = op("logical_and", (finite, condition), NP_BOOL)
        lets = (Let(twice, op("multiply", (bound, const(2.0, real)), real)), Let(answer, finite))
        return [*nodes, Tasklet(lets=lets, id=self.bench.number(), span=self.span), Yield((answer,))]

    def largest(self, view: View, real: ScalarType) -> tuple[Value, list[Node]]:
        """The largest absolute value of all elements of a view."""
        bench = self.bench
        params = tuple(
            replace(bench.value("p", PY_INT), floor=const_index(0), ceiling=extent - 1, low=0) for extent in view.shape
        )
        element = bench.value("c", ScalarType(bench.containers[view.container].dtype))
        answer, result = bench.value("f", real), bench.value("found", real)
        target = bench.container("found", real.dtype, (), Storage.STACK)
        tasklet = Tasklet(
            reads=((element, view.at(tuple(index(param) for param in params))),),
            lets=(Let(answer, op("absolute", (element,), real)),),
            id=bench.number(),
        )
        return result, [
            Alloc(container=target.name, site=-1, id=bench.number(), span=self.span),
            Reduce(
                op="maximum",
                output=full_view(target),
                input=Elements(params, view.shape, (tasklet,), answer),
                axes=tuple(range(len(params))),
                initial=const(0.0, real),
                id=bench.number(),
                span=self.span,
            ),
            Tasklet(reads=((result, Memlet(target.name, ())),), id=bench.number(), span=self.span),
        ]


def _scalars(scale: Expr) -> list[Expr]:
    """The numbers a scale consists of, but for signs: a program may multiply by each of them where it likes."""
    match scale:
        case Op(name="multiply" | "negative", args=args):
            return [scalar for arg in args for scalar in _scalars(arg)]
        case Const(value=1 | -1):
            return []
        case _:
            return [scale]


def _at_least_one(number: Expr, real: ScalarType) -> Expr:
    return op("maximum", (number, const(1.0, real)), real)
