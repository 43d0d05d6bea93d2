"""Reductions as loops.

in:   a `Reduce` over a view, or over elements that are computed where they are needed
out:  loops along the elements of a result (`reduction_lanes.py`, `reduction_positions.py`) or across them
      (`reduction_rows.py`), whichever way they are neighbours in memory; on threads where the schedule says so;
      several joined ones in the same loops, where these are the same for all

Threads change no bits: they take whole results, or pieces whose size follows from the number of elements, joined in the
order in which one thread would have joined them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from weft.analysis.cost import pays_wide
from weft.codegen.expressions import emit_expr
from weft.codegen.fp_flags import report
from weft.codegen.kernel import Kernel, bare
from weft.codegen.outlining import WIDE, emit_called, emit_outlined, outline
from weft.codegen.reduction_lanes import (
    Group,
    block_length,
    counts_flags,
    emit_few,
    emit_joined,
    emit_totals,
    few_elements,
)  # fmt: skip
from weft.codegen.reduction_positions import emit_position
from weft.codegen.reduction_replays import all_measured, declare_raised, inspect, pin
from weft.codegen.reduction_rows import emit_blocks, emit_row, row_length
from weft.codegen.reduction_source import emit_versions, fast_axis, reduced_elements
from weft.codegen.reduction_state import POSITIONS, Reduction
from weft.codegen.reduction_warnings import plan_warnings
from weft.codegen.teams import emit_gathered
from weft.codegen.work import element_weight
from weft.ir.exprs import Const, Value, index
from weft.ir.nodes import Elements, Reduce, Schedule
from weft.ir.ops import combines_freely
from weft.ir.substitution import Substitution

_PIECES = 64  # of a result that several threads compute, at most
_LEAST = 2048  # elements in one of them
_FLAGS_PER_POINT = 16  # truth values that are counted in the time another element takes

_IDENTITIES = {"add": 0, "multiply": 1, "logical_and": 1, "logical_or": 0}


def emit_reductions(kernel: Kernel, nodes: Sequence[Reduce]) -> None:
    """Combine inputs over some of their axes: a reduction, and those joined to it."""
    groups: list[list[Reduction]] = []
    for reduction in [_planned(kernel, node) for node in nodes]:
        group = next((group for group in groups if _go_together(group[0], reduction)), None)
        if group is None:
            groups.append([reduction])
        else:
            group.append(replace(reduction, source=_at(reduction.source, group[0].source.params)))
    for group in groups:
        _emit_group(group)


def _planned(kernel: Kernel, node: Reduce) -> Reduction:
    source = reduced_elements(kernel, node)
    output = kernel.container(node.output.container).dtype
    dtype = source.expr.type.dtype if node.op in POSITIONS else output
    warnings = plan_warnings(kernel, node, source, dtype, alone=_is_parallel(kernel, node))
    return Reduction(kernel, node, source, dtype, warnings)


def _is_parallel(kernel: Kernel, node: Reduce) -> bool:
    return node.schedule is Schedule.PARALLEL and not kernel.parallel


def _go_together(first: Reduction, other: Reduction) -> bool:
    """Whether the same loops can do two reductions that are joined."""
    for x in (first, other):
        if x.warnings.checked or x.warnings.audited or not x.reduced or not combines_freely(x.node.op, x.dtype):
            return False
    fast = {fast_axis(x.kernel, x.source, x.node.axes) for x in (first, other)}
    return len(fast) == 1 and first.source.shape == other.source.shape and first.node.schedule is other.node.schedule


def _at(source: Elements, params: tuple[Value, ...]) -> Elements:
    """The elements with other parameters."""
    chosen = Substitution(dict(zip(source.params, map(index, params), strict=True)))
    body = tuple(chosen.tasklet(tasklet) for tasklet in source.body)
    return replace(source, params=params, body=body, expr=chosen.expr(source.expr))


def _emit_group(group: Group) -> None:
    kernel = group[0].kernel
    parallel = _is_parallel(kernel, group[0].node)
    for reduction in group:
        kernel.writer.comment(reduction.node.span)
    with kernel.block():
        for reduction in group:
            for name in reduction.warnings.declared.values():
                kernel.line(f"int32_t {kernel.declare(name, 'int32_t')} = 0;")
        group[0].single_axes()
        if all(x.node.initial is None or _is_identity(x.node) for x in group):
            _emit_filled(group, parallel=parallel)
        else:
            _emit_empty(group)
            with kernel.block("else"):
                _emit_filled(group, parallel=parallel)
        for reduction in group:
            for site, name in reduction.warnings.declared.items():
                report(kernel, name, site)


def _is_identity(node: Reduce) -> bool:
    """Whether loops that run for no element give the initial value."""
    number = _IDENTITIES.get(node.op)
    return number is not None and isinstance(node.initial, Const) and _same(node.initial.value, number)


def _same(value: complex, number: int) -> bool:
    """Equal, and no -0.0."""
    parts = (value.real, value.imag)
    return value == number and all(math.copysign(1.0, part) > 0 for part in parts)


def _emit_empty(group: Group) -> None:
    kernel, first = group[0].kernel, group[0]
    initials = [(x, emit_expr(kernel, x.node.initial)) for x in group if x.node.initial is not None]
    empty = " || ".join(f"{first.extent(axis)} == 0" for axis in first.reduced) or "0"
    with kernel.block(f"if ({empty})"), first.loops(first.kept):
        for reduction, initial in initials:
            kernel.line(f"{reduction.output()} = {bare(initial)};")


def _emit_filled(group: Group, *, parallel: bool) -> None:
    first = group[0]
    fast = fast_axis(first.kernel, first.source, first.node.axes) if first.source.rank else -1
    if fast in first.kept:
        _emit_across(group, fast, parallel=parallel)
        return
    axes = first.reduced
    if fast in axes and first.node.op not in POSITIONS:
        axes = [axis for axis in axes if axis != fast] + [fast]
    if not parallel or not axes or (not first.kept and not _may_be_cut(group, axes)):
        _emit_versions(group, axes, lambda: _emit_along(group, axes))
    elif first.kept:
        emit = partial(_emit_versions, group, axes, lambda: _emit_along(group, axes, ("begin", "end")))
        _emit_threads(group, first.extent(first.kept[0]), emit)
    else:
        _emit_single(group, axes)


def _emit_versions(group: Group, axes: list[int], emit: Callable[[], None]) -> None:
    emit_versions(group[0].kernel, [x.source for x in group], axes[-1] if axes else -1, emit)


def _emit_along(group: Group, axes: list[int], span: tuple[str, str] | None = None) -> None:
    """One result after the other; `span` replaces the range of the first axis that is kept."""
    first = group[0]
    with first.loops(first.kept, span):
        for reduction in group:
            declare_raised(reduction)
        with all_measured(group):
            is_position = first.node.op in POSITIONS
            totals = [emit_position(first)] if is_position else emit_totals(group, axes)
            _pin(group, totals)
        _emit_results(group, totals)


def _pin(group: Group, totals: Sequence[str]) -> None:
    for reduction, total in zip(group, totals, strict=True):
        pin(reduction, total)


def _emit_results(group: Group, totals: Sequence[str]) -> None:
    """Write the results; all are looked into before: the elements may be what one of them overwrites."""
    for reduction, total in zip(group, totals, strict=True):
        inspect(reduction, total)
    for reduction, total in zip(group, totals, strict=True):
        reduction.kernel.line(f"{reduction.output()} = {total};")


def _emit_across(group: Group, fast: int, *, parallel: bool) -> None:
    """One row of results after the other."""
    kernel, reduction = group[0].kernel, group[0]
    outer, number = [axis for axis in reduction.kept if axis != fast], kernel.names.claim("number")
    if parallel and not outer and reduction.reduced and _may_be_cut(group, reduction.reduced):
        versions = partial(_emit_versions, group, [fast])
        emit_blocks(group, fast, versions, lambda count, emit: _emit_threads(group, count, emit, "1", raised=True))
        return
    length, extent = str(row_length(group)), reduction.extent(fast)
    if parallel and not outer:
        length = kernel.bind(f"{kernel.support.machine('row')}({extent}, {length})", "int64_t", "length")
    rows = f"({extent} + {length} - 1) / {length}"

    def emit(begin: str, end: str) -> None:
        span = ("0", rows) if outer else (begin, end)
        head = f"for (int64_t {number} = {span[0]}; {number} < {span[1]}; ++{number})"

        def loops() -> None:
            with reduction.loops(outer, (begin, end)), kernel.block(head):
                emit_row(group, fast, number, length)

        _emit_versions(group, [fast], loops)

    count = reduction.extent(outer[0]) if outer else rows
    if parallel:
        _emit_threads(group, count, lambda: emit("begin", "end"))
    else:
        emit("0", count)


# ---- threads --------------------------------------------------------------------------------------------------------


def _emit_threads(group: Group, count: str, emit: Callable[[], None], grain: str = "", *, raised: bool = False) -> None:
    kernel = group[0].kernel
    names = [name for x in group for name in x.warnings.declared.values()]
    names += [x.warnings.raised for x in group if raised and x.warnings.raised]
    body = outline(kernel, names, emit, WIDE if pays_wide([x.node for x in group]) else "")
    number = kernel.bind(count, "int64_t", "count")
    weight = max(element_weight(x.node.input) for x in group)
    factor = f" / {_FLAGS_PER_POINT}" if all(map(counts_flags, group)) else f" * {weight}" if weight > 1 else ""
    work = kernel.bind(f"{group[0].points}{factor}", "double", "work")
    if kernel.team and not group[0].kept:  # every thread of a team needs the result
        emit_called(kernel, body, number)
    else:
        emit_outlined(kernel, body, number, work, grain)
    for name in names:
        kernel.line(f"{name} |= {body.flag(name)};")
    if kernel.team and group[0].kept and raised:
        emit_gathered(kernel, [x.warnings.raised for x in group if x.warnings.raised])


def _may_be_cut(group: Group, axes: list[int]) -> bool:
    """Whether single results may be computed in pieces: not where that changes them, stops early, or is ever short."""
    if few_elements(group, axes) and group[0].source.shape[axes[0]].constant is not None:
        return False
    return all(combines_freely(x.node.op, x.dtype) for x in group)


def _emit_single(group: Group, axes: list[int]) -> None:
    """Single results, from few elements on this thread, from more in pieces."""
    kernel, few = group[0].kernel, few_elements(group, axes)
    for reduction in group:
        declare_raised(reduction)
    if few:
        totals = [kernel.declare(kernel.names.claim("total"), reduction.type) for reduction in group]
        for reduction, total in zip(group, totals, strict=True):
            kernel.line(f"{reduction.type} {total} = {reduction.identity};")

        def emit() -> None:
            with all_measured(group):
                emit_few(group, axes[0], totals)
                _pin(group, totals)

        with kernel.block(f"if ({few})"):
            _emit_versions(group, axes, emit)
        with kernel.block("else"):
            found = _emit_pieces(group, axes)
            for total, name in zip(totals, found, strict=True):
                kernel.line(f"{total} = {name};")
    else:
        totals = _emit_pieces(group, axes)
    _emit_results(group, totals)


def _emit_pieces(group: Group, axes: list[int]) -> list[str]:
    """The totals from pieces of the first axis: of 2**k leaves of the tree, so the tree stays as it is."""
    kernel, claim = group[0].kernel, group[0].kernel.names.claim
    parts, number, first, last = [claim("parts") for _ in group], claim("number"), claim("first"), claim("last")
    extent, alone = group[0].extent(axes[0]), len(axes) == 1
    leaf, least = (block_length(group), _LEAST) if alone else (1, 1)
    for reduction, part in zip(group, parts, strict=True):
        kernel.line(f"{reduction.type} {kernel.declare(part, f'{reduction.type} *')}[{_PIECES}];")
    piece = kernel.bind(f"{kernel.support.machine('piece')}({extent}, {leaf}, {least})", "int64_t", "piece")
    count = kernel.bind(f"({extent} + {piece} - 1) / {piece}", "int64_t", "pieces")

    def emit() -> None:
        with kernel.block(f"for (int64_t {number} = begin; {number} < end; ++{number})"):
            kernel.line(f"const int64_t {first} = {number} * {piece};")
            kernel.line(f"const int64_t {last} = {extent} - {first} > {piece} ? {first} + {piece} : {extent};")
            _emit_versions(group, axes, piece_of)

    def piece_of() -> None:
        with all_measured(group):
            totals = emit_totals(group, axes, (first, last))
            _pin(group, totals)
        for part, total in zip(parts, totals, strict=True):
            kernel.line(f"{part}[{number}] = {total};")

    _emit_threads(group, count, emit, "1", raised=True)
    return [emit_joined(reduction, part, count) for reduction, part in zip(group, parts, strict=True)]
