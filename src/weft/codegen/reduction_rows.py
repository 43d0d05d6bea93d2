"""Totals across neighbouring elements: neighbours belong to different results.

A row of results is kept in a small array while all elements that belong to it are combined, one after the other. This
is NumPy's order, and it vectorizes. Where elements are quickly computed, several go into a total while it is at hand.

    for (first = 0; first < m; first += 512) {
        for (i = 0; i + 4 <= n; i += 4)
            for (l = 0; l < width; ++l)
                row[l] = (((row[l] + a[i * m + first + l]) + a[(i + 1) * m + first + l]) + ...

Several rows of results of the same places (a `Group`) are made in the same loops.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Final

from weft.codegen.c_types import c_type
from weft.codegen.reduction_lanes import Group, operations, power_of_two
from weft.codegen.reduction_replays import all_measured, audit, declare_raised, inspect, measured
from weft.codegen.reduction_state import POSITIONS, Reduction, better
from weft.codegen.reduction_strips import Strips, emit_strips
from weft.support.records import record

_ROW_BYTES: Final = 16384  # long enough to read memory in order, short enough for the first cache
_TOGETHER: Final = 4  # elements that go into a total at once
_QUICK: Final = 4  # with more operations per element, totals are not what the machine waits for


def row_length(group: Group) -> int:
    """How many results are kept at a time, at most."""
    # Positions are as many numbers of 8 bytes besides.
    sizes = (8 if x.node.op in POSITIONS else max(x.dtype.itemsize, 4) for x in group)
    return _ROW_BYTES // max(sizes) // power_of_two(len(group))


@record
class _Row:
    """A part of the axis `fast`: its first element, its length, the arrays of its totals."""

    fast: int
    first: str
    width: str
    totals: list[str]


def emit_row(group: Group, fast: int, number: str, wanted: str) -> None:
    """The results of one row, by its number; the other axes that are kept stand around it. `wanted` is its length."""
    kernel, claim, length = group[0].kernel, group[0].kernel.names.claim, row_length(group)
    row = _Row(fast, claim("first"), claim("width"), [claim("row") for _ in group])
    extent = group[0].extent(fast)
    kernel.line(f"const int64_t {row.first} = {number} * {wanted};")
    left = f"{extent} - {row.first}"
    kernel.line(f"const int64_t {row.width} = {left} > {wanted} ? {wanted} : {left};")
    for reduction, totals in zip(group, row.totals, strict=True):
        kernel.line(f"{reduction.type} {totals}[{length}];")
        declare_raised(reduction)
    if group[0].node.op in POSITIONS:
        _emit_places(group[0], row)
        return
    for reduction, totals in zip(group, row.totals, strict=True):
        start = f"{totals}[%s] = {reduction.identity};"
        _emit_over(reduction, row, lambda n, start=start: kernel.line(start % n), computed=False)
    with all_measured(group):
        emit_strips(group, Strips(fast, row.first, row.width, row.totals), partial(_emit_sums, group, row))
    for reduction, totals in zip(group, row.totals, strict=True):
        _emit_inspection(reduction, row, totals)
    _emit_over(group[0], row, lambda n: _emit_results(group, row, n))


def _emit_results(group: Group, row: _Row, number: str) -> None:
    for reduction, totals in zip(group, row.totals, strict=True):
        reduction.kernel.line(f"{reduction.output()} = {totals}[{number}];")


def _emit_sums(group: Group, row: _Row) -> None:
    """Combine all elements of a row of results."""
    kernel, reduced = group[0].kernel, group[0].reduced

    def combine(n: str) -> None:
        for reduction, totals in zip(group, row.totals, strict=True):
            target, x = f"{totals}[{n}]", reduction.element()
            kernel.line(f"{target} = {reduction.combine(target, x)};")

    if not reduced or any(x.warnings.checked or operations(x) > _QUICK for x in group):
        with group[0].loops(reduced):
            _emit_over(group[0], row, combine)
        return
    *outer, last = reduced
    at, extent = kernel.names.claim("at"), group[0].extent(last)
    with group[0].loops(outer):
        kernel.line(f"int64_t {at} = 0;")
        with kernel.block(f"for (; {at} + {_TOGETHER} <= {extent}; {at} += {_TOGETHER})"):
            _emit_over(group[0], row, lambda n: _combine_several(group, last, [f"{x}[{n}]" for x in row.totals], at))
        with group[0].loops([last], (at, extent)):
            _emit_over(group[0], row, combine)


def _combine_several(group: Group, axis: int, targets: list[str], at: str) -> None:
    """The next elements of each result, in order."""
    kernel = group[0].kernel
    totals = [kernel.bind(target, x.type, "total") for x, target in zip(group, targets, strict=True)]
    for number in range(_TOGETHER):
        following = [kernel.names.claim("total") for _ in group]
        for reduction, name in zip(group, following, strict=True):
            kernel.line(f"{reduction.type} {name};")
        with kernel.block():
            kernel.line(f"const int64_t {group[0].name(axis)} = {at} + {number};")
            for reduction, total, name in zip(group, totals, following, strict=True):
                kernel.line(f"{name} = {reduction.combine(total, reduction.element())};")
        totals = following
    for target, total in zip(targets, totals, strict=True):
        kernel.line(f"{target} = {total};")


def _emit_over(reduction: Reduction, row: _Row, emit: Callable[[str], None], *, computed: bool = True) -> None:
    """A loop over the results of the row; `computed`: the parameter of the axis is used in it."""
    with reduction.over(row.width, checked=computed) as number:
        if computed:
            reduction.kernel.line(f"const int64_t {reduction.name(row.fast)} = {row.first} + {number};")
        emit(number)


def _emit_inspection(reduction: Reduction, row: _Row, totals: str) -> None:
    """Look into the results that are suspect."""
    if not reduction.warnings.replayed and not reduction.warnings.raised:
        return
    kernel, odd, number = reduction.kernel, reduction.kernel.names.claim("odd"), reduction.kernel.names.claim("l")
    total = f"{totals}[{number}]"
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
    kernel, claim, (totals,) = reduction.kernel, reduction.kernel.names.claim, row.totals
    place, places = claim("place"), claim("places")
    kernel.line(f"int64_t {places}[{row_length([reduction])}];")
    kernel.line(f"int64_t {place} = 0;")

    def start(n: str) -> None:
        kernel.line(f"{totals}[{n}] = {reduction.identity};")
        kernel.line(f"{places}[{n}] = 0;")

    def compare(n: str) -> None:
        x, best = reduction.element(), f"{totals}[{n}]"
        takes = kernel.bind(better(reduction, x, best), "int32_t", "takes")
        kernel.line(f"{best} = {takes} ? {x} : {best};")
        kernel.line(f"{places}[{n}] = {takes} ? {place} : {places}[{n}];")

    _emit_over(reduction, row, start, computed=False)
    if reduction.warnings.audited:
        number = kernel.names.claim("l")
        with _each(reduction, row, number):
            audit(reduction)
    with measured(reduction), reduction.loops(reduction.reduced):
        _emit_over(reduction, row, compare)
        kernel.line(f"++{place};")
    _emit_inspection(reduction, row, totals)
    result = c_type(kernel.container(reduction.node.output.container).dtype)
    _emit_over(reduction, row, lambda n: kernel.line(f"{reduction.output()} = ({result}){places}[{n}];"))
