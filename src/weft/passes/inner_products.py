"""The product of two vectors is a sum of products, whose terms need not be stored.

before:  matmul T[] over [1, 1] = A[$1] over [1, n] @ B[$0] over [n, 1]
after:   reduce add T[] = elements at (k) over [n] { a = A[k]; b = B[k]; t = a * b; yield t } axes (0) initial 0.0

A library's call costs as much as a hundred terms, and its operands must lie in memory; of a sum they can be computed on
the way, so that `values[i:j] @ x[columns[i:j]]` collects nothing. The order of a sum is free in both.

The product of a matrix and a vector is as many sums. It is left to the library unless the matrix is computed element by
element for this product alone, as in `(x * weights) @ y`: then it need not be stored either. Its rows may be those of
an array of more axes, as in `np.dot(image / 255, weights)`, or windows slid over an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.cost import operations_in
from weft.analysis.uses import Uses, container_uses
from weft.ir.dtypes import PY_INT, DType, ScalarType
from weft.ir.exprs import Index, const, const_index, index, op
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
    full_view,
)
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.support.records import record

_QUICK = frozenset(("add", "subtract", "multiply", "negative", "positive", "conjugate", "cast", "complex"))
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
        return program if body is program.body else _without_names(replace(program, body=body))


def _without_names(program: Program) -> Program:
    """The program without other names of arrays that nothing goes by any more."""
    uses = container_uses(program)
    kept = {
        name: container
        for name, container in program.containers.items()
        if container.storage is not Storage.ALIAS or uses[name] != Uses()
    }
    return replace(program, containers=kept)


def _computed_for_one(program: Program) -> frozenset[str]:
    """Temporaries that one element-wise operation writes, from arrays, and one node reads, maybe by another name."""
    uses = container_uses(program)
    made = [node for node in all_nodes(program.body) if isinstance(node, Elementwise) and node.inputs]
    names = {node.output.container for node in made if _is_quick(node, program)}
    aliases: dict[str, list[str]] = {name: [] for name in names}
    for other in program.containers.values():
        if other.storage is Storage.ALIAS and other.base in names:
            aliases[other.base].append(other.name)

    def is_for_one(name: str) -> bool:
        own = uses[name]
        if not aliases[name]:
            return (own.writers, own.readers, own.escapes) == (1, 1, 0)
        others = [uses[alias] for alias in aliases[name]]
        read = own.readers + sum(other.readers for other in others)
        written = own.writers + sum(other.writers for other in others)
        seen = own.escapes + sum(other.escapes for other in others) - len(others)
        return (written, read, seen) == (1, 1, 0)

    return frozenset(
        name for name in names if program.containers[name].storage is Storage.TRANSIENT and is_for_one(name)
    )


def _is_quick(node: Elementwise, program: Program) -> bool:
    """Whether elements are computed as fast for a sum as for an array.

    Quotients and functions of complex numbers are not: their warnings do not show in the sum.
    """
    if program.containers[node.output.container].dtype.kind != "c":
        return True
    return all(part.name in _QUICK for part in operations_in(node.expr))


def _as_sum(node: Node, computed: frozenset[str], bench: Bench) -> tuple[Node, ...] | None:
    if not isinstance(node, MatMul) or len(node.output.shape) != 2:
        return None
    dtype = bench.containers[node.output.container].dtype
    rows, columns = (extent is not _ONE for extent in node.output.shape)
    if dtype is DType.BOOL or (rows and columns):
        return None
    matrix = node.lhs if rows else _transposed(node.rhs) if columns else None
    lines = None if matrix is None else _lines(matrix, computed, bench)
    if matrix is not None and lines is None:
        return None
    extents = () if lines is None else lines.shape[:-1]
    params = tuple(
        replace(bench.value(name, PY_INT), floor=_ZERO, ceiling=extent - 1, low=0)
        for name, extent in zip((*"i" * len(extents), "k"), (*extents, node.lhs.shape[1]), strict=True)
    )
    type_ = ScalarType(dtype)
    left, right, term = (bench.value(name, type_) for name in ("a", "b", "t"))
    at = index(params[-1])
    whole = None if lines is None else lines.at(tuple(index(param) for param in params))
    tasklet = Tasklet(
        reads=(
            (left, whole if rows and whole is not None else node.lhs.at((_ZERO, at))),
            (right, whole if columns and whole is not None else node.rhs.at((at, _ZERO))),
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
            output=_lined_up(node.output, 1 if columns else 0, extents),
            input=Elements(params, (*extents, node.lhs.shape[1]), (tasklet,), term),
            axes=(len(params) - 1,),
            initial=const(dtype.numpy.type(0).item(), type_),
            warn=node.warn,
            id=node.id,
            span=node.span,
        ),
    )


def _lines(matrix: View, computed: frozenset[str], bench: Bench) -> View | None:
    """The rows of a matrix that is computed for this product; all of its axes where it is another name of an array.

    Also windows slid over an array, which are no matrix to a library.
    """
    if matrix.container in computed or any(len(axis.terms) > 1 for axis in matrix.axes):
        return matrix
    container = bench.containers[matrix.container]
    if container.storage is not Storage.ALIAS or container.base not in computed or matrix != full_view(container):
        return None
    base = bench.containers[container.base]
    return full_view(base) if base.shape[-1] == matrix.shape[-1] else None


def _transposed(matrix: View) -> View:
    axes = tuple(Axis(axis.offset, tuple((1 - number, step) for number, step in axis.terms)) for axis in matrix.axes)
    return View(matrix.container, (matrix.shape[1], matrix.shape[0]), axes)


def _lined_up(output: View, kept: int, extents: Sequence[Index]) -> View:
    """The rows of the output as a view with these axes: none where it has one element."""
    steps: list[Index] = []
    for number in range(len(extents)):
        step = _ONE
        for extent in extents[number + 1 :]:
            step = step * extent
        steps.append(step)
    axes = tuple(
        Axis(
            axis.offset,
            tuple((n, step * by) for number, by in axis.terms if number == kept for n, step in enumerate(steps)),
        )
        for axis in output.axes
    )
    return View(output.container, tuple(extents), axes)
