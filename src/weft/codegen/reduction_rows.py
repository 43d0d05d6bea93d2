"""Totals across neighbouring elements: neighbours belong to different results.

A row of results is kept in a small array while all elements that belong to it are combined, one after the other. This
is NumPy's order, and it vectorizes. Where elements are quickly computed, several go into a total while it is at hand.

    for (first = 0; first < m; first += 512) {
        for (i = 0; i + 4 <= n; i += 4)
            for (l = 0; l < width; ++l)
                row[l] = (((row[l] + a[i * m + first + l]) + a[(i + 1) * m + first + l]) + ...
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Final

from weft.codegen.c_types import c_type
from weft.codegen.reduction_lanes import operations
from weft.codegen.reduction_replays import audit, declare_raised, inspect, measured
from weft.codegen.reduction_state import POSITIONS, Reduction, better
from weft.codegen.reduction_strips import Strips, emit_strips
from weft.support.records import record

_ROW_BYTES: Final = 16384  # long enough to read memory in order, short enough for the first cache
_TOGETHER: Final = 4  # elements that go into a total at once
_QUICK: Final = 4  # with more operations per element, totals are not what the machine waits for


def row_length(reduction: Reduction) -> int:
    """How many results are kept at a time, at most."""
    # Positions are as many numbers of 8 bytes besides.
    return _ROW_BYTES // (8 if reduction.node.op in POSITIONS else max(reduction.dtype.itemsize, 4))


@record
class _Row:
    """A part of the axis `fast`: its first element, its length, the array of its totals (and of positions)."""

    fast: int
    first: str
    width: str
    totals: str
    places: str


def emit_row(reduction: Reduction, fast: int, number: str, wanted: str) -> None:
    """The results of one row, by its number; the other axes that are kept stand around it. `wanted` is its length."""
    kernel, claim, length = reduction.kernel, reduction.kernel.names.claim, row_length(reduction)
    row = _Row(fast, claim("first"), claim("width"), claim("row"), claim("places"))
    extent = reduction.extent(fast)
    kernel.line(f"const int64_t {row.first} = {number} * {wanted};")
    left = f"{extent} - {row.first}"
    kernel.line(f"const int64_t {row.width} = {left} > {wanted} ? {wanted} : {left};")
    kernel.line(f"{reduction.type} {row.totals}[{length}];")
    declare_raised(reduction)
    if reduction.node.op in POSITIONS:
        _emit_places(reduction, row)
        return
    _emit_over(reduction, row, lambda n: kernel.line(f"{row.totals}[{n}] = {reduction.identity};"), computed=False)

    with measured(reduction):
        emit_strips(reduction, Strips(fast, row.first, row.width, row.totals), partial(_emit_sums, reduction, row))
    _emit_inspection(reduction, row)
    _emit_over(reduction, row, lambda n: kernel.line(f"{reduction.output()} = {row.totals}[{n}];"))


def _emit_sums(reduction: Reduction, row: _Row) -> None:
    """Combine all elements of a row of results."""
    kernel = reduction.kernel

    def combine(n: str) -> None:
        target, x = f"{row.totals}[{n}]", reduction.element()
        kernel.line(f"{target} = {reduction.combine(target, x)};")

    if not reduction.reduced or reduction.warnings.checked or operations(reduction) > _QUICK:
        with reduction.loops(reduction.reduced):
            _emit_over(reduction, row, combine)
        return
    *outer, last = reduction.reduced
    at, extent = kernel.names.claim("at"), reduction.extent(last)
    with reduction.loops(outer):
        kernel.line(f"int64_t {at} = 0;")
        with kernel.block(f"for (; {at} + {_TOGETHER} <= {extent}; {at} += {_TOGETHER})"):
            _emit_over(reduction, row, lambda n: _combine_several(reduction, last, f"{row.totals}[{n}]", at))
        with reduction.loops([last], (at, extent)):
            _emit_over(reduction, row, combine)


def _combine_several(reduction: Reduction, axis: int, target: str, at: str) -> None:
    """The next elements of one result, in order."""
    kernel = reduction.kernel
    total = kernel.bind(target, reduction.type, "total")
    for number in range(_TOGETHER):
        following = kernel.names.claim("total")
        kernel.line(f"{reduction.type} {following};")
        with kernel.block():
            kernel.line(f"const int64_t {reduction.name(axis)} = {at} + {number};")
            kernel.line(f"{following} = {reduction.combine(total, reduction.element())};")
        total = following
    kernel.line(f"{target} = {total};")


def _emit_over(reduction: Reduction, row: _Row, emit: Callable[[str], None], *, computed: bool = True) -> None:
    """A loop over the results of the row; `computed`: the parameter of the axis is used in it."""
    with reduction.over(row.width, checked=computed) as number:
        if computed:
            reduction.kernel.line(f"const int64_t {reduction.name(row.fast)} = {row.first} + {number};")
        emit(number)


def _emit_inspection(reduction: Reduction, row: _Row) -> None:
    """Look into the results that are suspect."""
    if not reduction.warnings.replayed and not reduction.warnings.raised:
        return
    kernel, odd, number = reduction.kernel, reduction.kernel.names.claim("odd"), reduction.kernel.names.claim("l")
    total = f"{row.totals}[{number}]"
    kernel.line(f"int32_t {odd} = {reduction.warnings.raised or 0};")
    if reduction.warnings.replayed:
        kernel.line(f"for (int64_t {number} = 0; {number} < {row.width}; ++{number})")
        kernel.line(f"    {odd} |= !{reduction.finite(total)};")
    with kernel.block(f"if (__builtin_expect({odd}, 0))"), _each(reduction, row, number):
        inspect(reduction, total)


@contextmanager
def _each(reduction: Reduction, row: _Row, number: str) -> Generator[None]:
    """One result after the other."""
    with reduction.kernel.block(f"for (int64_t {number} = 0; {number} < {row.width}; ++{number})"):
        reduction.kernel.line(f"const int64_t {reduction.name(row.fast)} = {row.first} + {number};")
        yield


def _emit_places(reduction: Reduction, row: _Row) -> None:
    """argmin, argmax: with each total, where it stands."""
    kernel, place = reduction.kernel, reduction.kernel.names.claim("place")
    kernel.line(f"int64_t {row.places}[{row_length(reduction)}];")
    kernel.line(f"int64_t {place} = 0;")

    def start(n: str) -> None:
        kernel.line(f"{row.totals}[{n}] = {reduction.identity};")
        kernel.line(f"{row.places}[{n}] = 0;")

    def compare(n: str) -> None:
        x, best = reduction.element(), f"{row.totals}[{n}]"
        takes = kernel.bind(better(reduction, x, best), "int32_t", "takes")
        kernel.line(f"{best} = {takes} ? {x} : {best};")
        kernel.line(f"{row.places}[{n}] = {takes} ? {place} : {row.places}[{n}];")

    _emit_over(reduction, row, start, computed=False)
    if reduction.warnings.audited:
        number = kernel.names.claim("l")
        with _each(reduction, row, number):
            audit(reduction)
    with measured(reduction), reduction.loops(reduction.reduced):
        _emit_over(reduction, row, compare)
        kernel.line(f"++{place};")
    _emit_inspection(reduction, row)
    result = c_type(kernel.container(reduction.node.output.container).dtype)
    _emit_over(reduction, row, lambda n: kernel.line(f"{reduction.output()} = ({result}){row.places}[{n}];"))
