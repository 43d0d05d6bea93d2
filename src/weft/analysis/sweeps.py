"""Products of a matrix and a vector, that a sweep through the matrix can make, and what one can make together.

in:   `matmul y = A @ x` and `matmul w = z @ A`, in this order; the memory of their containers
out:  each with its matrix as (results x terms); whether every element of the matrix need be read only once for both;
      whether the map above them may compute the rows of the matrix just before the sweep comes to them
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TypeGuard

from weft.analysis.memory import Memory
from weft.ir.dtypes import DType
from weft.ir.exprs import Index, const_index, index
from weft.ir.nodes import Map, MatMul, Node, Region, Tasklet, View
from weft.support.records import record


@record
class MatrixVector:
    """`output = matrix @ vector`: views of (results x terms), (terms x 1) and (results x 1)."""

    matrix: View
    vector: View
    output: View


def matrix_vector(node: Node) -> MatrixVector | None:
    """A product as that of a matrix and a column, or None."""
    if not isinstance(node, MatMul) or node.output.rank != 2 or node.adds or node.scale is not None:
        return None
    rows, columns = (extent.constant for extent in node.output.shape)
    if columns == 1 and rows != 1:
        return MatrixVector(node.lhs, node.rhs, node.output)
    if rows == 1 and columns != 1:
        return MatrixVector(transposed(node.rhs), transposed(node.lhs), transposed(node.output))
    return None


def transposed(view: View) -> View:
    """The view of a matrix with its axes exchanged."""
    axes = tuple(
        replace(
            axis, terms=tuple(sorted(((1 - number, step) for number, step in axis.terms), key=lambda term: term[0]))
        )
        for axis in view.axes
    )
    return View(view.container, (view.shape[1], view.shape[0]), axes)


def is_sweep(node: Node, memory: Memory) -> TypeGuard[MatMul]:
    """Whether a node is the product of a matrix and a vector of floats, and does not write what it reads."""
    product = matrix_vector(node)
    if product is None or memory.containers[product.matrix.container].dtype not in (DType.FLOAT32, DType.FLOAT64):
        return False
    read = (product.matrix.container, product.vector.container)
    return not any(memory.may_overlap(product.output.container, name) for name in read)


def share_sweep(first: Node, second: Node, memory: Memory) -> bool:
    """Whether two products are of one matrix, the second of its transpose, and neither writes what the other reads.

    The vector of the second may be what the first gives: a row is done with when it has met both.
    """
    if not is_sweep(first, memory) or not is_sweep(second, memory):
        return False
    one, other = matrix_vector(first), matrix_vector(second)
    if one is None or other is None or transposed(one.matrix) != other.matrix:
        return False
    apart = [(other.output, one.output), (other.output, one.vector)]
    if not follows(one, other):
        apart.append((one.output, other.vector))
    return not any(memory.may_overlap(left.container, right.container) for left, right in apart)


def joint_products(region: Region, memory: Memory) -> dict[int, tuple[MatMul, MatMul]]:
    """The products of a region that are to be made in one sweep with the one behind them, by their place."""
    found: dict[int, tuple[MatMul, MatMul]] = {}
    for place, (first, second) in enumerate(pairwise(region.nodes)):
        if not (isinstance(first, MatMul) and isinstance(second, MatMul) and first.sweep and second.sweep):
            continue
        if place - 1 not in found and share_sweep(first, second, memory):
            found[place] = first, second
    return found


def follows(one: MatrixVector, other: MatrixVector) -> bool:
    """Whether the second product is that of the first one's result."""
    return one.output == other.vector


@record
class RowUpdate:
    """A map that computes rows of a matrix, and the products of it that one sweep makes, in order.

    Point i of the map's first parameter writes row `i + shift` of the matrix that is swept, and no other.
    """

    map: Map
    products: tuple[MatMul, ...]
    matrix: str
    shift: Index


def row_update(first: Node, products: tuple[Node, ...], memory: Memory) -> RowUpdate | None:
    """A map whose points of one row need be done only before the sweep for `products` comes to this row.

    The points of a map may run in any order. So it is enough that what they write of the matrix lies in the row of
    their first parameter, that they write nothing else that the products read, and touch nothing that these write.
    """
    if not isinstance(first, Map) or len(first.params) != 2 or not all(is_sweep(node, memory) for node in products):
        return None
    found = [product for product in map(matrix_vector, products) if product is not None]
    matrix = found[0].matrix
    begin = _row_offset(matrix)
    memlets = _memlets(first)
    if begin is None or memlets is None:
        return None
    reads, writes = memlets
    shifts = {written[0] - index(first.params[0]) - begin for name, written in writes if name == matrix.container}
    others = {name for name, _ in writes} - {matrix.container}
    if len(shifts) != 1 or any(not shift.values.isdisjoint(first.params) for shift in shifts):
        return None
    vectors, outputs = ({getattr(x, kind).container for x in found} for kind in ("vector", "output"))
    touched = others | reads | {matrix.container}
    apart = [(name, read) for name in others | {matrix.container} for read in vectors - outputs]
    apart += [(name, matrix.container) for name in others]
    apart += [(name, output) for name in touched for output in outputs]
    if any(memory.may_overlap(left, right) for left, right in apart):
        return None
    return RowUpdate(first, tuple(node for node in products if isinstance(node, MatMul)), matrix.container, *shifts)


def row_updates(region: Region, memory: Memory) -> dict[int, RowUpdate]:
    """The maps of a region that are part of the sweep for the products behind them, by their place."""
    joint, nodes = joint_products(region, memory), region.nodes
    found: dict[int, RowUpdate] = {}
    for place, (first, second) in enumerate(pairwise(nodes)):
        if isinstance(first, Map) and isinstance(second, MatMul) and second.sweep:
            update = row_update(first, joint.get(place + 1, (second,)), memory)
            if update is not None:
                found[place] = update
    return found


@record
class Sweeps:
    """Of a region, by place: maps with the products behind them, pairs of products, and what these make along."""

    updates: dict[int, RowUpdate]
    joint: dict[int, tuple[MatMul, MatMul]]
    along: frozenset[int]


def sweeps_of(region: Region, memory: Memory) -> Sweeps:
    """What the nodes of a region make together in a sweep through a matrix."""
    updates, joint = row_updates(region, memory), joint_products(region, memory)
    along = {place + 1 for place in joint}
    for place, update in updates.items():
        along.update(range(place + 1, place + 1 + len(update.products)))
    return Sweeps(updates, joint, frozenset(along))


def _row_offset(matrix: View) -> Index | None:
    """Where the rows of a matrix begin in its container, whose first axis is one of the two of the matrix."""
    if len(matrix.axes) != 2:
        return None
    steps = [dict(axis.terms) for axis in matrix.axes]
    if (
        {*steps[0]} | {*steps[1]} != {0, 1}
        or any(len(x) != 1 for x in steps)
        or [*steps[0].values()] != [const_index(1)]
    ):
        return None
    return matrix.axes[0].offset


def _memlets(node: Map) -> tuple[set[str], list[tuple[str, tuple[Index, ...]]]] | None:
    """The containers that a map of plain tasklets reads, and what it writes; None for other maps."""
    reads, writes = set[str](), list[tuple[str, tuple[Index, ...]]]()
    for inner in node.body.nodes:
        if not isinstance(inner, Tasklet) or any(memlet.conflict for memlet, _ in inner.writes):
            return None
        reads |= {memlet.container for _, memlet in inner.reads}
        writes += [(memlet.container, memlet.index) for memlet, _ in inner.writes]
    return reads, writes
