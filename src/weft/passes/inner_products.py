"""The product of two vectors is a sum of products, whose terms need not be stored.

before:  matmul T[] over [1, 1] = A[$1] over [1, n] @ B[$0] over [n, 1]
after:   reduce add T[] = elements at (k) over [n] { a = A[k]; b = B[k]; t = a * b; yield t } axes (0) initial 0.0

A library's call costs as much as a hundred terms, and its operands must lie in memory; of a sum they can be computed on
the way, so that `values[i:j] @ x[columns[i:j]]` collects nothing. The order of a sum is free in both.

The product of a matrix and a vector is as many sums. It is left to the library unless the matrix is computed element by
element for this product alone, as in `(x * weights) @ y`: then it need not be stored either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from weft.analysis.uses import container_uses
from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import const, const_index, index, op
from weft.ir.nodes import (
    Axis,
    Elements,
    Elementwise,
    Let,
    MatMul,
    Node,
    Program,
    Reduce,
    Storage,
    Tasklet,
    View,
)
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.support.records import record

_ONE, _ZERO = const_index(1), const_index(0)


@record
class InnerProducts:
    """Turn products of two vectors into reductions."""

    name: ClassVar[str] = "inner-products"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these products as sums."""
        products = [node for node in all_nodes(program.body) if isinstance(node, MatMul)]
        if not products:
            return program
        bench = Bench(self.name, program, session)
        computed = _computed_for_one(program)
        body = rewrite_nodes(program.body, lambda node: _as_sum(node, computed, bench))
        return program if body is program.body else replace(program, body=body)


def _computed_for_one(program: Program) -> frozenset[str]:
    """Temporaries that one element-wise operation writes, from arrays, and one node reads."""
    uses = container_uses(program)
    made = [node for node in all_nodes(program.body) if isinstance(node, Elementwise) and node.inputs]
    return frozenset(
        name
        for node in made
        for name in [node.output.container]
        if program.containers[name].storage is Storage.TRANSIENT
        and (uses[name].writers, uses[name].readers, uses[name].escapes) == (1, 1, 0)
    )


def _as_sum(node: Node, computed: frozenset[str], bench: Bench) -> tuple[Node, ...] | None:
    if not isinstance(node, MatMul) or len(node.output.shape) != 2:
        return None
    dtype = bench.containers[node.output.container].dtype
    rows, columns = (extent is not _ONE for extent in node.output.shape)
    if dtype is DType.BOOL or (rows and columns):
        return None
    if (rows and node.lhs.container not in computed) or (columns and node.rhs.container not in computed):
        return None
    length, type_ = node.lhs.shape[1], ScalarType(dtype)
    extents = [extent for extent in node.output.shape if extent is not _ONE] + [length]
    params = tuple(
        replace(bench.value(name, PY_INT), floor=_ZERO, ceiling=extent - 1, low=0)
        for name, extent in zip(("i", "k")[-len(extents) :], extents, strict=True)
    )
    left, right, term = (bench.value(name, type_) for name in ("a", "b", "t"))
    at, place = index(params[-1]), index(params[0])
    tasklet = Tasklet(
        reads=(
            (left, node.lhs.at((place if rows else _ZERO, at))),
            (right, node.rhs.at((at, place if columns else _ZERO))),
        ),
        lets=(Let(term, op("multiply", (left, right), type_), node.warn),),
        writes=(),
        id=bench.number(),
        span=node.span,
    )
    bench.note("a product of vectors is a sum, whose terms are not stored", node, done=True)
    return (
        Reduce(
            op="add",
            output=_without_axes(node.output, rows=rows, columns=columns),
            input=Elements(params, tuple(extents), (tasklet,), term),
            axes=(len(params) - 1,),
            initial=const(dtype.numpy.type(0).item(), type_),
            warn=node.warn,
            id=node.id,
            span=node.span,
        ),
    )


def _without_axes(output: View, *, rows: bool, columns: bool) -> View:
    """The output as a view without the axes that have one element."""
    kept = 0 if rows else 1 if columns else None
    axes = tuple(
        Axis(axis.offset, tuple((0, step) for number, step in axis.terms if number == kept)) for axis in output.axes
    )
    return View(output.container, () if kept is None else (output.shape[kept],), axes)
