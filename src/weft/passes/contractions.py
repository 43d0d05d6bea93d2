"""A sum of products over a pair of matrices is a matrix product, however it was written.

before:  reduce add C[:, :] = elements at (i, j, k) { a = A[i, k]; b = B[k, j]; t = a * b; yield t } axes (2)
after:   if l >= 8 and m >= 8 and n >= 8 -> (safe) { safe = 2 * max(abs(A)) * max(abs(B)) is finite } else { no }
         if safe -> (done) { matmul C = A @ B; done = all of C are finite } else { no }
         if not done { reduce add C[:, :] = ... }

`np.sum(a[:, :, None] * b[None], axis=1)`, loops over `C[i, j] += A[i, k] * B[k, j]` and over `np.dot(A[i], B[:, j])`
all come here as such sums. The order of a sum is free, so the library may make it. What it does not tell is where an
overflow or a NaN came from, and a term that overflows may vanish in a fused addition: so no term may overflow, and
where a result is not finite all the same the sum is made as it was written, with its warnings. Few numbers are not
worth a call. Factors may be read at any steps; one parameter belongs to each of them, one is summed over, and others
that both have are a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const, const_index, index, op, polynomial_of
from weft.ir.nodes import (
    Alloc,
    Axis,
    Branch,
    Elements,
    Let,
    Loop,
    MatMul,
    Memlet,
    Node,
    Program,
    Reduce,
    Region,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
    full_view,
)
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import only_if
from weft.support.records import record
from weft.support.spans import Span

_LEAST: Final = 8  # extents from which on a library's call is worth its price
_REAL: Final = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}
_TYPES: Final = frozenset({DType.FLOAT32, DType.FLOAT64, *_REAL})


@record
class Contractions:
    """Give sums of products to the library."""

    name: ClassVar[str] = "contractions"

    def run(self, program: Program, session: Session) -> Program:
        """The program with matrix products in place of sums."""
        if not any(isinstance(node, Reduce) for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        body = _region(program.body, bench)
        return program if body is program.body else replace(program, body=body, containers=dict(bench.containers))


def _region(region: Region, bench: Bench) -> Region:
    """A region; what is in maps stays: their points are shared out already."""
    nodes: list[Node] = []
    for node in region.nodes:
        match node:
            case Reduce():
                nodes += _product(node, bench) or (node,)
            case Loop() | While():
                body = _region(node.body, bench)
                nodes.append(node if body is node.body else replace(node, body=body))
            case Branch():
                then, orelse = _region(node.then, bench), _region(node.orelse, bench)
                same = then is node.then and orelse is node.orelse
                nodes.append(node if same else replace(node, then=then, orelse=orelse))
            case _:
                nodes.append(node)
    return region if tuple(nodes) == region.nodes else Region(tuple(nodes))


def _product(node: Reduce, bench: Bench) -> list[Node] | None:
    matrices = _matrices(node, bench)
    if matrices is None:
        return None
    bench.note("the sum of products is a matrix product", node, done=True)
    large: Expr = const(True, NP_BOOL)
    for extent in (*matrices.lhs.shape[-2:], matrices.rhs.shape[-1]):
        large = op("logical_and", (large, op("greater_equal", (extent, const_index(_LEAST)), NP_BOOL)), NP_BOOL)
    asking = _Asking(bench, node.span)
    safe, check = asking.terms_are_finite(matrices)
    done, verify = asking.all_are_finite(node.output)
    product = replace(matrices, id=bench.number(), span=node.span)
    return [
        asking.branch(large, check, safe),
        asking.branch(safe, [product, *verify], done),
        only_if(op("logical_not", (done,), NP_BOOL), [node], node.span, bench),
    ]


@record
class _Asking:
    """Nodes that find something out, and the value they leave it in."""

    bench: Bench
    span: Span | None

    def branch(self, condition: Expr, nodes: list[Node], answer: Value) -> Branch:
        """The answer that nodes yield at their end, under a condition; no without it."""
        return Branch(
            condition=condition,
            then=Region(tuple(nodes)),
            orelse=Region((Yield((const(False, NP_BOOL),)),)),
            results=(answer,),
            id=self.bench.number(),
            span=self.span,
        )

    def terms_are_finite(self, product: MatMul) -> tuple[Value, list[Node]]:
        """Whether no product of two elements of the matrices, nor a sum of two (of complex numbers), overflows."""
        nodes: list[Node] = []
        largest: list[Value] = []
        for view in (product.lhs, product.rhs):
            dtype = self.bench.containers[view.container].dtype
            real = ScalarType(_REAL.get(dtype, dtype))
            value, found = self.reduction("maximum", "absolute", view, real, const(0.0, real))
            nodes += found
            largest.append(value)
        real = largest[0].type
        bound = self.bench.value("bound", real)
        both = op("multiply", (op("multiply", (largest[0], largest[1]), real), const(2.0, real)), real)
        answer = self.bench.value("finite", NP_BOOL)
        lets = (Let(bound, both), Let(answer, op("isfinite", (bound,), NP_BOOL)))
        nodes += [Tasklet(lets=lets, id=self.bench.number(), span=self.span), Yield((answer,))]
        return self.bench.value("safe", NP_BOOL), nodes

    def all_are_finite(self, view: View) -> tuple[Value, list[Node]]:
        """Whether all elements of a view are finite."""
        value, nodes = self.reduction("logical_and", "isfinite", view, NP_BOOL, const(True, NP_BOOL))
        return self.bench.value("done", NP_BOOL), [*nodes, Yield((value,))]

    def reduction(
        self, combine: str, function: str, view: View, type_: ScalarType, initial: Expr
    ) -> tuple[Value, list[Node]]:
        """A function of all elements of a view, combined into one number."""
        bench = self.bench
        params = tuple(
            replace(bench.value("p", PY_INT), floor=const_index(0), ceiling=extent - 1, low=0) for extent in view.shape
        )
        element = bench.value("c", ScalarType(bench.containers[view.container].dtype))
        answer, result = bench.value("f", type_), bench.value("found", type_)
        target = bench.container("found", type_.dtype, (), Storage.STACK)
        tasklet = Tasklet(
            reads=((element, view.at(tuple(index(param) for param in params))),),
            lets=(Let(answer, op(function, (element,), type_)),),
            id=bench.number(),
        )
        return result, [
            Alloc(container=target.name, site=-1, id=bench.number(), span=self.span),
            Reduce(
                op=combine,
                output=full_view(target),
                input=Elements(params, view.shape, (tasklet,), answer),
                axes=tuple(range(len(params))),
                initial=initial,
                id=bench.number(),
                span=self.span,
            ),
            Tasklet(reads=((result, Memlet(target.name, ())),), id=bench.number(), span=self.span),
        ]


# ---- which sums are products ----------------------------------------------------------------------------------------


def _matrices(node: Reduce, bench: Bench) -> MatMul | None:
    """The product that a sum is; its parameters in the order batch, row, column, and the one summed over."""
    terms = node.input
    if node.op != "add" or not isinstance(terms, Elements) or len(node.axes) != 1 or not _starts_at_zero(node.initial):
        return None
    dtype = bench.containers[node.output.container].dtype
    factors = _factors(terms)
    if dtype not in _TYPES or factors is None or node.output.rank != terms.rank - 1:
        return None
    if any(bench.containers[factor.container].dtype is not dtype for factor in factors):
        return None
    overlap = bench.legality.memory.may_overlap
    if any(overlap(factor.container, node.output.container) for factor in factors):
        return None
    summed = terms.params[node.axes[0]]
    kept = [number for number in range(terms.rank) if number != node.axes[0]]
    lhs, rhs = factors
    rows = [n for n in kept if _moves(lhs, terms.params[n]) and not _moves(rhs, terms.params[n])]
    columns = [n for n in kept if _moves(rhs, terms.params[n]) and not _moves(lhs, terms.params[n])]
    if len(rows) != 1 or len(columns) != 1 or not all(_moves(factor, summed) for factor in factors):
        return None
    if rows[0] > columns[0]:  # the result as it lies in memory
        lhs, rhs, rows, columns = rhs, lhs, columns, rows
    batch = [n for n in kept if n not in (*rows, *columns)]
    left = _view(lhs, [*batch, *rows, node.axes[0]], terms)
    right = _view(rhs, [*batch, node.axes[0], *columns], terms)
    if left is None or right is None:
        return None
    order = [*batch, *rows, *columns]
    places = {old: order.index(number) for old, number in enumerate(kept)}
    output = View(
        node.output.container,
        tuple(terms.shape[number] for number in order),
        tuple(Axis(axis.offset, tuple((places[n], step) for n, step in axis.terms)) for axis in node.output.axes),
    )
    return MatMul(output=output, lhs=left, rhs=right)


def _starts_at_zero(initial: Expr | None) -> bool:
    """What an empty sum gives does not matter: it is not given to the library. A start that is added does."""
    return isinstance(initial, Const) and initial.value == 0


def _factors(terms: Elements) -> tuple[Memlet, Memlet] | None:
    """The two elements whose product a term is."""
    reads = {value: memlet for tasklet in terms.body for value, memlet in tasklet.reads}
    lets = {let.value: let.expr for tasklet in terms.body for let in tasklet.lets}
    product: Expr = terms.expr
    while isinstance(product, Value) and product in lets:
        product = lets[product]
    if not isinstance(product, Op) or product.name != "multiply" or len(reads) > 2:
        return None
    found = [reads[factor] for factor in product.args if isinstance(factor, Value) and factor in reads]
    return (found[0], found[1]) if len(found) == 2 and len(lets) == 1 else None


def _moves(memlet: Memlet, param: Value) -> bool:
    return any(param in coordinate.values for coordinate in memlet.index)


def _view(memlet: Memlet, order: Sequence[int], terms: Elements) -> View | None:
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
