"""Totals across neighbouring elements: neighbours belong to different results.

A row of results is kept in a small array while all elements that belong to it are combined, one after the other. This
is NumPy's order, and it vectorizes. Where elements are quickly computed, several go into a total while it is at hand.

    for (first = 0; first < m; first += 512) {
        for (i = 0; i + 4 <= n; i += 4)
            for (l = 0; l < width; ++l)
                row[l] = (((row[l] + a[i * m + first + l]) + a[(i + 1) * m + first + l]) + ...

Several rows of results of the same places (a `Group`) are made in the same loops.

Threads take rows of results; where there are few of them, also blocks of the elements, in the order of memory. Each
block then has totals of its own, and these are joined:

    double parts[16384];
    block(begin, end):  for (i = ...) for (l = 0; l < width; ++l) parts[number * width + l] += a[i * m + first + l];
    for (number = 1; number < blocks; ++number)
        for (l = 0; l < width; ++l)
            parts[l] = parts[l] + parts[number * width + l];
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias

from weft.codegen.c_types import c_type
from weft.codegen.kernel import Kernel
from weft.codegen.reduction_lanes import Group, operations, power_of_two
from weft.codegen.reduction_replays import all_measured, audit, declare_raised, inspect, measured
from weft.codegen.reduction_state import POSITIONS, Reduction, better
from weft.codegen.reduction_strips import Row, emit_strips, is_part
from weft.support.records import record

_ROW_BYTES: Final = 16384  # long enough to read memory in order, short enough for the first cache
_PARTS_BYTES: Final = 131072  # of the totals of all blocks
_TOGETHER: Final = 4  # elements that go into a total at once
_SHORT: Final = 32  # results in a row: with as many the next element need not wait for the total
_LONG: Final = 512  # with fewer, memory is read faster in its own order
_QUICK: Final = 4  # with more operations per element, totals are not what the machine waits for


def row_length(group: Group) -> int:
    """How many results are kept at a time, at most."""
    # Positions are as many numbers of 8 bytes besides.
    sizes = (8 if x.node.op in POSITIONS else max(x.dtype.itemsize, 4) for x in group)
    return _ROW_BYTES // max(sizes) // power_of_two(len(group))


def emit_row(group: Group, fast: int, number: str, wanted: str) -> None:
    """The results of one row, by its number; the other axes that are kept stand around it. `wanted` is its length."""
    kernel, claim, length = group[0].kernel, group[0].kernel.names.claim, row_length(group)
    row = Row(fast, claim("first"), claim("width"), [claim("row") for _ in group])
    extent = group[0].extent(fast)
    kernel.line(f"const int64_t {row.first} = {number} * {wanted};")
    _emit_width(row, extent, wanted, kernel)
    for reduction, totals in zip(group, row.totals, strict=True):
        kernel.line(f"{reduction.type} {totals}[{length}];")
        declare_raised(reduction)
    if group[0].node.op in POSITIONS:
        _emit_places(group[0], row)
        return
    _emit_totals(group, row)
    _emit_end(group, row)


def _emit_totals(group: Group, row: Row) -> None:
    kernel = group[0].kernel
    for reduction, totals in zip(group, row.totals, strict=True):
        start = f"{totals}[%s] = {reduction.identity};"
        _emit_over(reduction, row, lambda n, start=start: kernel.line(start % n), computed=False)
    with all_measured(group):
        emit_strips(group, row, partial(_emit_sums, group, row))


def _emit_end(group: Group, row: Row) -> None:
    """Look into the results, and write them."""
    for reduction, totals in zip(group, row.totals, strict=True):
        _emit_inspection(reduction, row, totals)
    _emit_over(group[0], row, lambda n: _emit_results(group, row, n))


# ---- blocks of elements ---------------------------------------------------------------------------------------------


Versions: TypeAlias = Callable[[Callable[[], None]], None]
Threads: TypeAlias = Callable[[str, Callable[[], None]], None]


@record
class _Blocks:
    """How results are shared out: rows of `length` of them, each from `blocks` of `size` elements, with `parts`."""

    length: str
    blocks: str
    size: str
    parts: list[str]


def emit_blocks(group: Group, fast: int, versions: Versions, threads: Threads) -> None:
    """All results, in rows and from blocks of elements, on `threads`: what runs a body `begin` to `end` of so many."""
    kernel, claim, reduction = group[0].kernel, group[0].kernel.names.claim, group[0]
    extent, rows = reduction.extent(fast), reduction.extent(reduction.reduced[0])
    room = min(_PARTS_BYTES // max(x.dtype.itemsize, 4) for x in group) // power_of_two(len(group))
    parts = [claim("parts") for _ in group]
    for x, name in zip(group, parts, strict=True):
        kernel.declare_array(name, x.type, room)
        declare_raised(x)
    machine, most = kernel.support.machine, row_length(group)
    wanted = kernel.bind(f"{machine('blocks')}({reduction.points}, {rows}, {extent}, {room})", "int64_t", "wanted")
    size = kernel.bind(f"({rows} + {wanted} - 1) / {wanted}", "int64_t", "size")
    blocks = kernel.bind(f"{size} > 0 ? ({rows} + {size} - 1) / {size} : 1", "int64_t", "blocks")
    longest = f"{blocks} == 1 ? {machine('row')}({extent}, {most}) : {extent} < {most} ? {extent} : {most}"
    shared = _Blocks(kernel.bind(longest, "int64_t", "length"), blocks, size, parts)
    strips = kernel.bind(f"({extent} + {shared.length} - 1) / {shared.length}", "int64_t", "strips")
    threads(f"{strips} * {blocks}", lambda: _emit_blocks_of(group, fast, shared, versions))
    with kernel.block(f"if ({blocks} > 1{f' && {kernel.team}.rank == 0' if kernel.team else ''})"):
        _emit_joined(group, fast, shared)


def _emit_blocks_of(group: Group, fast: int, shared: _Blocks, versions: Versions) -> None:
    """The blocks from `begin` to `end`, those of a row one after the other."""
    kernel, claim = group[0].kernel, group[0].kernel.names.claim
    number, block, low, high = claim("number"), claim("block"), claim("low"), claim("high")
    row = Row(fast, claim("first"), claim("width"), [claim("row") for _ in group], (low, high))
    rows, extent = group[0].extent(group[0].reduced[0]), group[0].extent(fast)
    own = [claim("own") for _ in group]
    for x, name in zip(group, own, strict=True):
        kernel.line(f"{x.type} {name}[{row_length(group)}];")
    with kernel.block(f"for (int64_t {number} = begin; {number} < end; ++{number})"):
        kernel.line(f"const int64_t {block} = {number} % {shared.blocks};")
        kernel.line(f"const int64_t {low} = {block} * {shared.size};")
        kernel.line(f"const int64_t {high} = {rows} - {low} > {shared.size} ? {low} + {shared.size} : {rows};")
        kernel.line(f"const int64_t {row.first} = {number} / {shared.blocks} * {shared.length};")
        _emit_width(row, extent, shared.length, kernel)
        for x, part, name, totals in zip(group, shared.parts, own, row.totals, strict=True):
            place = f"{part} + {block} * {extent} + {row.first}"
            kernel.line(f"{x.type} *const {totals} = {shared.blocks} > 1 ? {place} : {name};")
        versions(lambda: _emit_totals(group, row))
        with kernel.block(f"if ({shared.blocks} == 1)"):
            _emit_end(group, row)


def _emit_joined(group: Group, fast: int, shared: _Blocks) -> None:
    """The results from the totals of several blocks."""
    kernel, claim, extent = group[0].kernel, group[0].kernel.names.claim, group[0].extent(fast)
    number = claim("number")
    all_ = Row(fast, "0", extent, shared.parts)
    with kernel.block(f"for (int64_t {number} = 1; {number} < {shared.blocks}; ++{number})"):
        _emit_over(group[0], all_, lambda n: _emit_join(group, all_, n, number), computed=False)
    _emit_end(group, all_)


def _emit_join(group: Group, row: Row, at: str, number: str) -> None:
    for reduction, part in zip(group, row.totals, strict=True):
        total, other = f"{part}[{at}]", f"{part}[{number} * {row.width} + {at}]"
        reduction.kernel.line(f"{total} = {reduction.combine(total, other)};")


def _emit_width(row: Row, extent: str, length: str, kernel: Kernel) -> None:
    left = f"{extent} - {row.first}"
    kernel.line(f"const int64_t {row.width} = {left} > {length} ? {length} : {left};")


# ---- the elements ---------------------------------------------------------------------------------------------------


def _emit_results(group: Group, row: Row, number: str) -> None:
    for reduction, totals in zip(group, row.totals, strict=True):
        reduction.kernel.line(f"{reduction.output()} = {totals}[{number}];")


def _emit_sums(group: Group, row: Row) -> None:
    """Combine all elements of a row of results."""
    kernel, reduced = group[0].kernel, group[0].reduced

    def combine(n: str) -> None:
        for reduction, totals in zip(group, row.totals, strict=True):
            target, x = f"{totals}[{n}]", reduction.element()
            kernel.line(f"{target} = {reduction.combine(target, x)};")

    def one_by_one() -> None:
        with group[0].loops(reduced, row.span):
            _emit_over(group[0], row, combine)

    if not reduced or any(x.warnings.checked or operations(x) > _QUICK for x in group):
        one_by_one()
        return
    extent = group[0].source.shape[row.fast].constant
    if is_part(group, row.fast):
        _emit_several(group, row, combine)
    elif extent is None:
        with kernel.block(f"if ({row.width} >= {_SHORT} && {row.width} < {_LONG})"):
            one_by_one()
        with kernel.block("else"):
            _emit_several(group, row, combine)
    elif _SHORT <= extent < _LONG:
        one_by_one()
    else:
        _emit_several(group, row, combine)


def _emit_several(group: Group, row: Row, combine: Callable[[str], None]) -> None:
    """Several elements go into a total while it is at hand."""
    kernel, (*outer, last) = group[0].kernel, group[0].reduced
    at, (start, extent) = kernel.names.claim("at"), (not outer and row.span) or ("0", group[0].extent(last))
    with group[0].loops(outer, row.span):
        kernel.line(f"int64_t {at} = {start};")
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


def _emit_over(reduction: Reduction, row: Row, emit: Callable[[str], None], *, computed: bool = True) -> None:
    """A loop over the results of the row; `computed`: the parameter of the axis is used in it."""
    with reduction.over(row.width, checked=computed) as number:
        if computed:
            reduction.kernel.line(f"const int64_t {reduction.name(row.fast)} = {row.first} + {number};")
        emit(number)


def _emit_inspection(reduction: Reduction, row: Row, totals: str) -> None:
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
def _each(reduction: Reduction, row: Row, number: str) -> Generator[None]:
    """One result after the other."""
    with reduction.kernel.block(f"for (int64_t {number} = 0; {number} < {row.width}; ++{number})"):
        reduction.kernel.line(f"const int64_t {reduction.name(row.fast)} = {row.first} + {number};")
        yield


def _emit_places(reduction: Reduction, row: Row) -> None:
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
