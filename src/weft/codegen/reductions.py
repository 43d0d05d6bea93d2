"""Reductions as loops.

in:   a `Reduce` over a view, or over elements that are computed where they are needed
out:  loops along the elements of a result (`reduction_lanes.py`, `reduction_positions.py`) or across them
      (`reduction_rows.py`), whichever way they are neighbours in memory; on threads where the schedule says so

Threads change no bits: they take whole results, or pieces whose size follows from the number of elements, joined in the
order in which one thread would have joined them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from weft.analysis.cost import pays_wide
from weft.codegen.expressions import emit_expr
from weft.codegen.fp_flags import report
from weft.codegen.kernel import Kernel, bare
from weft.codegen.outlining import WIDE, emit_outlined, outline
from weft.codegen.reduction_lanes import (
    block_length,
    counts_flags,
    emit_few,
    emit_joined,
    emit_total,
    few_elements,
    is_tree,
)
from weft.codegen.reduction_positions import emit_position
from weft.codegen.reduction_replays import declare_raised, inspect, measured, pin
from weft.codegen.reduction_rows import emit_row, row_length
from weft.codegen.reduction_source import emit_versions, fast_axis, reduced_elements
from weft.codegen.reduction_state import POSITIONS, Reduction
from weft.codegen.reduction_warnings import plan_warnings
from weft.ir.exprs import Const
from weft.ir.nodes import Reduce, Schedule

_PIECES = 64  # of a result that several threads compute, at most
_LEAST = 8192  # elements in one of them
_FLAGS_PER_POINT = 16  # truth values that are counted in the time another element takes

_IDENTITIES = {"add": 0, "multiply": 1, "logical_and": 1, "logical_or": 0}


def emit_reduce(kernel: Kernel, node: Reduce) -> None:
    """Combine the input over some of its axes."""
    kernel.writer.comment(node.span)
    with kernel.block():
        source = reduced_elements(kernel, node)
        output = kernel.container(node.output.container).dtype
        dtype = source.expr.type.dtype if node.op in POSITIONS else output
        parallel = node.schedule is Schedule.PARALLEL and not kernel.parallel
        warnings = plan_warnings(kernel, node, source, dtype, alone=parallel)
        reduction = Reduction(kernel, node, source, dtype, warnings)
        for name in warnings.declared.values():
            kernel.line(f"int32_t {kernel.declare(name, 'int32_t')} = 0;")
        reduction.single_axes()
        if node.initial is None or _is_identity(node):
            _emit_filled(reduction, parallel=parallel)
        else:
            _emit_empty(reduction, emit_expr(kernel, node.initial))
            with kernel.block("else"):
                _emit_filled(reduction, parallel=parallel)
        for site, name in warnings.declared.items():
            report(kernel, name, site)


def _is_identity(node: Reduce) -> bool:
    """Whether loops that run for no element give the initial value."""
    number = _IDENTITIES.get(node.op)
    return number is not None and isinstance(node.initial, Const) and _same(node.initial.value, number)


def _same(value: complex, number: int) -> bool:
    """Equal, and no -0.0."""
    parts = (value.real, value.imag)
    return value == number and all(math.copysign(1.0, part) > 0 for part in parts)


def _emit_empty(reduction: Reduction, initial: str) -> None:
    kernel = reduction.kernel
    empty = " || ".join(f"{reduction.extent(axis)} == 0" for axis in reduction.reduced) or "0"
    with kernel.block(f"if ({empty})"), reduction.loops(reduction.kept):
        kernel.line(f"{reduction.output()} = {bare(initial)};")


def _emit_filled(reduction: Reduction, *, parallel: bool) -> None:
    source = reduction.source
    fast = fast_axis(reduction.kernel, source, reduction.node.axes) if source.rank else -1
    if fast in reduction.kept:
        _emit_across(reduction, fast, parallel=parallel)
        return
    axes = reduction.reduced
    if fast in axes and reduction.node.op not in POSITIONS:
        axes = [axis for axis in axes if axis != fast] + [fast]
    if not parallel or not axes or (not reduction.kept and not _may_be_cut(reduction, axes)):
        _emit_versions(reduction, axes, lambda: _emit_along(reduction, axes))
    elif reduction.kept:
        emit = partial(_emit_versions, reduction, axes, lambda: _emit_along(reduction, axes, ("begin", "end")))
        _emit_threads(reduction, reduction.extent(reduction.kept[0]), emit)
    else:
        _emit_single(reduction, axes)


def _emit_versions(reduction: Reduction, axes: list[int], emit: Callable[[], None]) -> None:
    emit_versions(reduction.kernel, reduction.source, axes[-1] if axes else -1, emit)


def _emit_along(reduction: Reduction, axes: list[int], span: tuple[str, str] | None = None) -> None:
    """One result after the other; `span` replaces the range of the first axis that is kept."""
    kernel = reduction.kernel
    with reduction.loops(reduction.kept, span):
        declare_raised(reduction)
        with measured(reduction):
            is_position = reduction.node.op in POSITIONS
            total = emit_position(reduction) if is_position else emit_total(reduction, axes)
            pin(reduction, total)
        inspect(reduction, total)
        kernel.line(f"{reduction.output()} = {total};")


def _emit_across(reduction: Reduction, fast: int, *, parallel: bool) -> None:
    """One row of results after the other."""
    kernel = reduction.kernel
    outer, number = [axis for axis in reduction.kept if axis != fast], kernel.names.claim("number")
    length, extent = str(row_length(reduction)), reduction.extent(fast)
    if parallel and not outer:
        length = kernel.bind(f"{kernel.support.machine('row')}({extent}, {length})", "int64_t", "length")
    rows = f"({extent} + {length} - 1) / {length}"

    def emit(begin: str, end: str) -> None:
        span = ("0", rows) if outer else (begin, end)
        head = f"for (int64_t {number} = {span[0]}; {number} < {span[1]}; ++{number})"

        def loops() -> None:
            with reduction.loops(outer, (begin, end)), kernel.block(head):
                emit_row(reduction, fast, number, length)

        _emit_versions(reduction, [fast], loops)

    count = reduction.extent(outer[0]) if outer else rows
    if parallel:
        _emit_threads(reduction, count, lambda: emit("begin", "end"))
    else:
        emit("0", count)


# ---- threads --------------------------------------------------------------------------------------------------------


def _emit_threads(
    reduction: Reduction, count: str, emit: Callable[[], None], grain: str = "", raised: str = ""
) -> None:
    kernel, names = reduction.kernel, [*reduction.warnings.declared.values(), *([raised] if raised else [])]
    body = outline(kernel, names, emit, WIDE if pays_wide([reduction.node]) else "")
    number = kernel.bind(count, "int64_t", "count")
    points = f"{reduction.points} / {_FLAGS_PER_POINT}" if counts_flags(reduction) else reduction.points
    emit_outlined(kernel, body, number, kernel.bind(points, "double", "points"), grain)
    for name in names:
        kernel.line(f"{name} |= env.{name};")


def _may_be_cut(reduction: Reduction, axes: list[int]) -> bool:
    """Whether a single result may be computed in pieces: not where that changes it, stops early, or is always short."""
    if few_elements(reduction, axes) and reduction.source.shape[axes[0]].constant is not None:
        return False
    if is_tree(reduction):
        return True
    minimum = reduction.node.op in ("minimum", "maximum")
    exact = reduction.dtype.kind in "biu" and reduction.node.op in ("add", "multiply")
    return exact or (minimum and reduction.dtype.kind != "c")


def _emit_single(reduction: Reduction, axes: list[int]) -> None:
    """A single result, from few elements on this thread, from more in pieces."""
    kernel, few = reduction.kernel, few_elements(reduction, axes)
    declare_raised(reduction)
    if few:
        total = kernel.declare(kernel.names.claim("total"), reduction.type)
        kernel.line(f"{reduction.type} {total} = {reduction.identity};")

        def emit() -> None:
            with measured(reduction):
                emit_few(reduction, axes[0], total)
                pin(reduction, total)

        with kernel.block(f"if ({few})"):
            _emit_versions(reduction, axes, emit)
        with kernel.block("else"):
            kernel.line(f"{total} = {_emit_pieces(reduction, axes)};")
    else:
        total = _emit_pieces(reduction, axes)
    inspect(reduction, total)
    kernel.line(f"{reduction.output()} = {total};")


def _emit_pieces(reduction: Reduction, axes: list[int]) -> str:
    """The total from pieces of the first axis: of 2**k leaves of the tree, so the tree stays as it is."""
    kernel, claim = reduction.kernel, reduction.kernel.names.claim
    parts, number, first, last = claim("parts"), claim("number"), claim("first"), claim("last")
    extent, alone = reduction.extent(axes[0]), len(axes) == 1
    leaf, least = (block_length(reduction), _LEAST) if alone else (1, 1)
    kernel.line(f"{reduction.type} {kernel.declare(parts, f'{reduction.type} *')}[{_PIECES}];")
    piece = kernel.bind(f"{kernel.support.machine('piece')}({extent}, {leaf}, {least})", "int64_t", "piece")
    count = kernel.bind(f"({extent} + {piece} - 1) / {piece}", "int64_t", "pieces")

    def emit() -> None:
        with kernel.block(f"for (int64_t {number} = begin; {number} < end; ++{number})"):
            kernel.line(f"const int64_t {first} = {number} * {piece};")
            kernel.line(f"const int64_t {last} = {extent} - {first} > {piece} ? {first} + {piece} : {extent};")
            _emit_versions(reduction, axes, piece_of)

    def piece_of() -> None:
        with measured(reduction):
            total = emit_total(reduction, axes, (first, last))
            pin(reduction, total)
        kernel.line(f"{parts}[{number}] = {total};")

    _emit_threads(reduction, count, emit, "1", reduction.warnings.raised)
    return emit_joined(reduction, parts, count)
