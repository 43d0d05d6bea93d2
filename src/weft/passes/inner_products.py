"""The product of two vectors is a sum of products, whose terms need not be stored.

before:  matmul T[] over [1, 1] = A[$1] over [1, n] @ B[$0] over [n, 1]
after:   reduce add T[] = elements at (k) over [n] { a = A[k]; b = B[k]; t = a * b; yield t } axes (0) initial 0.0

A library's call costs as much as a hundred terms, and its operands must lie in memory; of a sum they can be computed on
the way, so that `values[i:j] @ x[columns[i:j]]` collects nothing. The order of a sum is free in both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import const, const_index, index, op
from weft.ir.nodes import Axis, Elements, Let, MatMul, Node, Program, Reduce, Tasklet, View
from weft.passes.base import Bench, Session, rewrite_nodes

_ONE, _ZERO = const_index(1), const_index(0)


@dataclass(frozen=True, slots=True)
class InnerProducts:
    """Turn products of two vectors into reductions."""

    name: ClassVar[str] = "inner-products"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these products as sums."""
        bench = Bench(self.name, program, session)
        body = rewrite_nodes(program.body, lambda node: _as_sum(node, bench))
        return program if body is program.body else replace(program, body=body)


def _as_sum(node: Node, bench: Bench) -> tuple[Node, ...] | None:
    if not isinstance(node, MatMul) or not _of_vectors(node):
        return None
    dtype = bench.containers[node.output.container].dtype
    if dtype is DType.BOOL:
        return None
    length, type_ = node.lhs.shape[1], ScalarType(dtype)
    param = replace(bench.value("k", PY_INT), floor=_ZERO, ceiling=length - 1, low=0)
    left, right, term = (bench.value(name, type_) for name in ("a", "b", "t"))
    at = index(param)
    tasklet = Tasklet(
        reads=((left, node.lhs.at((_ZERO, at))), (right, node.rhs.at((at, _ZERO)))),
        lets=(Let(term, op("multiply", (left, right), type_), node.warn),),
        writes=(),
        id=bench.number(),
        span=node.span,
    )
    bench.note("a product of vectors is a sum, whose terms are not stored", node, done=True)
    return (
        Reduce(
            op="add",
            output=_without_axes(node.output),
            input=Elements((param,), (length,), (tasklet,), term),
            axes=(0,),
            initial=const(dtype.numpy.type(0).item(), type_),
            warn=node.warn,
            id=node.id,
            span=node.span,
        ),
    )


def _of_vectors(node: MatMul) -> bool:
    lhs, rhs = node.lhs.shape, node.rhs.shape
    return len(lhs) == 2 and len(rhs) == 2 and lhs[0] is _ONE and rhs[1] is _ONE


def _without_axes(output: View) -> View:
    """The one element of the output, as a view without axes."""
    place = output.at((_ZERO, _ZERO))
    return View(output.container, (), tuple(Axis(position) for position in place.index))
