"""Totals of a short row: a strip of them stays in registers while all elements that belong to it are combined.

before:  for (i = 0; i < n; ++i)                       after:   for (at = 0; at < width; at += 16) {
             for (l = 0; l < width; ++l)                            strip = at + 16 <= width ? at : width - 16;
                 row[l] = row[l] + a[i * m + l];                    for (i = 0; i < n; ++i)
                                                                        for (l = 0; l < 16; ++l)
                                                                            few[l] = few[l] + a[i * m + strip + l];

The order per total is the same; the last strip computes some of the totals before it once more. In a long row of many
elements the strips would not follow memory: chosen at run time. So windows slid over images cost what their additions
cost. Elements that are only read are not worth the code. A `Group` has a strip of each row. Rows that are themselves
parts of longer ones (`is_part`) are short enough as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from weft.codegen.reduction_lanes import Group, operations
from weft.codegen.reduction_state import Reduction
from weft.ir.exprs import const_index
from weft.ir.nodes import Memlet, Schedule
from weft.ir.traverse import memlets_of
from weft.support.records import record

_SIZES: Final = (16, 4)  # four vectors of doubles, to wait for none of the additions; one
_SHORT: Final = 64  # so many totals lie in a few lines of the cache
_NEAR_BYTES: Final = 262144  # what the second cache holds of the elements
_FEW: Final = 8
_QUICK: Final = 4  # with more operations per element, totals are not what the machine waits for


@record
class Row:
    """A part of the axis `fast`: its first element, its length, the arrays of its totals.

    `span` are the elements that go into them, of the first axis that is combined; None for all.
    """

    fast: int
    first: str
    width: str
    totals: list[str]
    span: tuple[str, str] | None = None


def emit_strips(group: Group, row: Row, otherwise: Callable[[], None]) -> None:
    """The totals of a row by strips where that pays; `otherwise` emits them as a whole."""
    kernel, first = group[0].kernel, group[0]
    extent, work = first.source.shape[row.fast].constant, max(map(operations, group))
    if any(x.warnings.checked for x in group) or not 1 <= work <= _QUICK or _are_few(first):
        otherwise()
        return
    sizes = [size for size in _SIZES if extent is None or extent >= size]
    for size in sizes if extent is None else sizes[:1]:
        itemsize = max(x.dtype.itemsize for x in group)
        bytes_ = f"(double){row.width} * {first.elements_each} * {itemsize}"
        near = f"({row.width} <= {_SHORT} || {bytes_} <= {_NEAR_BYTES})"
        near = f"{row.width} < {2 * _SIZES[0]}" if is_part(group, row.fast) else near
        with kernel.block(f"if ({row.width} >= {size} && {near})"):
            _emit_cut(group, row, size)
        kernel.line("else")
    with kernel.block():
        otherwise()


def is_part(group: Group, fast: int) -> bool:
    """Whether a turn of a map combines parts of the lines of an array, so that neighbouring rows are none in memory."""
    if not group[0].kernel.parallel or group[0].node.schedule is Schedule.PARALLEL:
        return False
    return any(_reads_part(x, memlet, fast) for x in group for memlet in memlets_of(x.source.body))


def _reads_part(reduction: Reduction, memlet: Memlet, fast: int) -> bool:
    """Whether an axis of an array is gone along, from somewhere in its middle to somewhere else there."""
    param, length = reduction.source.params[fast], reduction.source.shape[fast]
    for extent, position in zip(reduction.kernel.container(memlet.container).shape, memlet.index, strict=True):
        first = position.substitute({param: const_index(0)})
        if param in position.values and first.constant is None and first + length is not extent:
            return True
    return False


def _are_few(reduction: Reduction) -> bool:
    """Whether so few elements belong to a result that nothing could be won."""
    extents = [reduction.source.shape[axis].constant for axis in reduction.reduced]
    return prod(_FEW if extent is None else extent for extent in extents) < _FEW


def _emit_cut(group: Group, row: Row, size: int) -> None:
    kernel, claim, first = group[0].kernel, group[0].kernel.names.claim, group[0]
    at, strip, few = claim("at"), claim("strip"), [claim("few") for _ in group]
    with kernel.block(f"for (int64_t {at} = 0; {at} < {row.width}; {at} += {size})"):
        kernel.line(f"const int64_t {strip} = {at} + {size} <= {row.width} ? {at} : {row.width} - {size};")
        for reduction, totals in zip(group, few, strict=True):
            kernel.line(f"{reduction.type} {totals}[{size}];")
            with reduction.over(size) as number:
                kernel.line(f"{totals}[{number}] = {reduction.identity};")
        with first.loops(first.reduced, row.span), first.over(size) as number:
            kernel.line(f"const int64_t {first.name(row.fast)} = {row.first} + {strip} + {number};")
            for reduction, totals in zip(group, few, strict=True):
                total = f"{totals}[{number}]"
                kernel.line(f"{total} = {reduction.combine(total, reduction.element())};")
        for totals, whole in zip(few, row.totals, strict=True):
            with first.over(size) as number:
                kernel.line(f"{whole}[{strip} + {number}] = {totals}[{number}];")
