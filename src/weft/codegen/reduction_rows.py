"""Totals across neighbouring elements: neighbours belong to different results.

A row of results is kept in a small array while all elements that belong to it are combined, one after the other. This
is NumPy's order, and it vectorizes.

    for (first = 0; first < m; first += 512) {
        for (i = 0; i < n; ++i)
            for (l = 0; l < width; ++l)
                row[l] = row[l] + a[i * m + first + l];
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from weft.codegen.c_types import c_type
from weft.codegen.reduction_replays import audit, declare_raised, inspect, measured
from weft.codegen.reduction_state import POSITIONS, Reduction, better
from weft.codegen.reduction_strips import Strips, emit_strips

_ROW_BYTES: Final = 16384  # long enough to read memory in order, short enough for the first cache


def row_length(reduction: Reduction) -> int:
    """How many results are kept at a time, at most."""
    # Positions are as many numbers of 8 bytes besides.
    return _ROW_BYTES // (8 if reduction.node.op in POSITIONS else max(reduction.dtype.itemsize, 4))


@dataclass(frozen=True, slots=True)
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

    def combine(n: str) -> None:
        target, x = f"{row.totals}[{n}]", reduction.element()
        kernel.line(f"{target} = {reduction.combine(target, x)};")

    def emit_sums() -> None:
        with reduction.loops(reduction.reduced):
            _emit_over(reduction, row, combine)

    with measured(reduction):
        emit_strips(reduction, Strips(fast, row.first, row.width, row.totals), emit_sums)
    _emit_inspection(reduction, row)
    _emit_over(reduction, row, lambda n: kernel.line(f"{reduction.output()} = {row.totals}[{n}];"))


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
