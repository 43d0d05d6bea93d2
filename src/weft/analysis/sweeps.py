"""Products of a matrix and a vector, that a sweep through the matrix can make, and two that one can make together.

in:   `matmul y = A @ x` and `matmul w = z @ A`, in this order; the memory of their containers
out:  each with its matrix as (results x terms); whether every element of the matrix need be read only once for both
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TypeGuard

from weft.analysis.memory import Memory
from weft.ir.dtypes import DType
from weft.ir.nodes import MatMul, Node, Region, View
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
