"""A sum of products over a pair of matrices is a matrix product, however it was written.

before:  reduce add C[:, :] = elements at (i, j, k) { a = A[i, k]; b = B[k, j]; t = x * a * b; yield t } axes (2)
after:   if l >= 8 and m >= 8 and n >= 8 -> (safe) { safe = no sum of such terms overflows } else { no }
         if safe { matmul C = A @ B times x } else { reduce add C[:, :] = ... }

`np.sum(a[:, :, None] * b[None], axis=1)`, loops over `C[i, j] += A[i, k] * B[k, j]` and over `np.dot(A[i], B[:, j])`
all come here as such sums. When the library may make them, `matrix_products.py` says. Factors may be read at any steps;
one parameter belongs to each of them, one is summed over, others that both have are a batch. Factors that are the same
for all terms are one number, by which the library multiplies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.ir.exprs import Const, Expr
from weft.ir.nodes import Branch, Elements, Loop, MatMul, Node, Program, Reduce, Region, While
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session
from weft.passes.matrix_products import Code, Terms, factors_of, guarded, product_of
from weft.support.records import record


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
    product = _matrices(node, bench)
    if product is None:
        return None
    bench.note("the sum of products is a matrix product", node, done=True)
    return guarded(product, [node], node.span, bench)


def _matrices(node: Reduce, bench: Bench) -> MatMul | None:
    """The product that a sum is."""
    terms = node.input
    if node.op != "add" or not isinstance(terms, Elements) or len(node.axes) != 1 or not _starts_at_zero(node.initial):
        return None
    if node.output.rank != terms.rank - 1:
        return None
    reads = {value: memlet for tasklet in terms.body for value, memlet in tasklet.reads}
    lets = {let.value: let.expr for tasklet in terms.body for let in tasklet.lets}
    code = Code(reads, lets, frozenset((*terms.params, *reads, *lets)))
    factors = factors_of(terms.expr, code, bench.containers[node.output.container].dtype)
    if factors is None or factors.passed != {*reads, *lets}:
        return None
    order = [*(number for number in range(terms.rank) if number != node.axes[0]), node.axes[0]]
    params, shape = tuple(terms.params[n] for n in order), tuple(terms.shape[n] for n in order)
    return product_of(Terms(params, shape, factors, node.output), bench)


def _starts_at_zero(initial: Expr | None) -> bool:
    """What an empty sum gives does not matter: it is not given to the library. A start that is added does."""
    return isinstance(initial, Const) and initial.value == 0
