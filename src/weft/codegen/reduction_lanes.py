"""Totals along neighbouring elements: one result, whose elements follow each other in memory.

Sums of floats are taken in blocks. In a block, elements go to many lanes in turn, so that the additions of a lane
follow each other slowly enough for the machine; what does not fill all lanes goes to eight of them, the last seven
elements or fewer are added one by one. Lanes and blocks are joined as a binary tree: the error stays that of NumPy's
pairwise sum. The order is fixed by the number of elements, the operation, the types and whether truth values are read.
Few elements are a block in the narrow lanes: they go the same way, without the detours.

    for (at = first; at + 32 <= last; at += 32)
        for (l = 0; l < 32; ++l)
            wide[l] = wide[l] + a[at + l];

Several results of the same places (a `Group`) are computed in the same loops: what their elements have in common is
read and computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from weft.codegen.flag_counts import emit_flag_count
from weft.codegen.math_functions import LIBRARY_NAMES
from weft.codegen.reduction_state import FLAG_LANES, Reduction
from weft.ir.dtypes import DType
from weft.ir.exprs import Expr, Op

_LANE_BYTES: Final = 256  # of all lanes together: four of the widest registers
_GROUP_BYTES: Final = 512  # of the lanes of all results of a group
_WIDE_BYTES: Final = 8  # of a lane
_STEPS: Final = 16  # additions per lane and block
_WORTH: Final = 128  # with so many elements it pays to have all lanes, which must be joined in the end
_NARROW: Final = 8
_LONG: Final = 12  # with so many operations per element the additions are no longer what the machine waits for
_CALL: Final = 13  # a function of the C library counts for so many

Group: TypeAlias = Sequence[Reduction]
"""Reductions with the same parameters, extents and axes."""


def emit_totals(group: Group, axes: list[int], span: tuple[str, str] | None = None) -> list[str]:
    """Combine the elements over axes, the last one innermost: C names. `span` replaces the range of the first."""
    if len(group) == 1:
        return [_emit_total(group[0], axes, span)]
    return _emit_tree(group, axes, span) if any(map(is_tree, group)) else _emit_lanes(group, axes, span)


def _emit_total(reduction: Reduction, axes: list[int], span: tuple[str, str] | None = None) -> str:
    if not axes:
        return _emit_single(reduction)
    if is_tree(reduction):
        return _emit_tree([reduction], axes, span)[0]
    if reduction.node.op in ("maximum", "minimum") and reduction.dtype.kind == "f":
        return _emit_lanes([reduction], axes, span)[0]
    if reduction.node.op.startswith("logical_") and not reduction.warnings.checked and not reduction.warnings.raised:
        return _emit_logical(reduction, axes)
    if counts_flags(reduction):
        return _emit_count(reduction, axes, span)
    return _emit_in_order(reduction, axes, span)


def counts_flags(reduction: Reduction) -> bool:
    """Whether it counts truth values that lie in memory, or follow from such alone."""
    node, source, containers = reduction.node, reduction.source, reduction.kernel.program.containers
    reads = [memlet.container for tasklet in source.body for _, memlet in tasklet.reads]
    flags = bool(reads) and all(containers[name].dtype is DType.BOOL for name in reads)
    return flags and node.op == "add" and source.expr.type.dtype is DType.BOOL and reduction.dtype.itemsize == 8


def _emit_count(reduction: Reduction, axes: list[int], span: tuple[str, str] | None) -> str:
    """Truth values of the last axis, in lanes of a byte."""
    kernel, fast = reduction.kernel, axes[-1]
    total = kernel.declare(kernel.names.claim("total"), reduction.type)
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    whole = ("0", reduction.extent(fast))
    with reduction.loops(axes[:-1], span):
        part = whole if len(axes) > 1 else span or whole
        emit_flag_count(kernel, reduction.name(fast), part, total, lambda: reduction.element(plain=True))
    return total


def _emit_single(reduction: Reduction) -> str:
    """One element; a sum of it alone is not -0.0 either."""
    kernel = reduction.kernel
    total = _declare_total(reduction)
    with kernel.block():
        kernel.line(f"{total} = {reduction.combine(total, reduction.element())};")
    return total


def _emit_in_order(reduction: Reduction, axes: list[int], span: tuple[str, str] | None) -> str:
    """One accumulator; of integers, in any order the compiler likes."""
    kernel = reduction.kernel
    total = _declare_total(reduction)
    with reduction.loops(axes, span):
        kernel.line(f"{total} = {reduction.combine(total, reduction.element())};")
    return total


def _emit_logical(reduction: Reduction, axes: list[int]) -> str:
    """In pieces, so that it is quick and still stops soon after the first element that decides."""
    kernel, fast = reduction.kernel, axes[-1]
    claim = kernel.names.claim
    total, done, piece, last = claim("total"), claim("decided"), claim("piece"), claim("last")
    kernel.declare(total, reduction.type)
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    extent = reduction.extent(fast)
    with reduction.loops(axes[:-1]), kernel.block(f"for (int64_t {piece} = 0; {piece} < {extent}; {piece} += 1024)"):
        kernel.line(f"const int64_t {last} = {extent} - {piece} > 1024 ? {piece} + 1024 : {extent};")
        with reduction.loops([fast], (piece, last)):
            kernel.line(f"{total} = {reduction.combine(total, reduction.element())};")
        kernel.line(f"if ({'!' if reduction.node.op == 'logical_and' else ''}{total})")
        kernel.line(f"    goto {done};")
    kernel.line(f"{done}:;")
    return total


def _emit_lanes(group: Group, axes: list[int], span: tuple[str, str] | None) -> list[str]:
    """All elements of the last axis as one block: for operations whose order does not matter."""
    totals = [_declare_total(reduction) for reduction in group]
    whole = ("0", group[0].extent(axes[-1]))
    with group[0].loops(axes[:-1], span):
        _emit_block(group, axes[-1], whole if len(axes) > 1 else span or whole, totals)
    return totals


def _declare_total(reduction: Reduction) -> str:
    total = reduction.kernel.declare(reduction.kernel.names.claim("total"), reduction.type)
    reduction.kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    return total


# ---- trees ----------------------------------------------------------------------------------------------------------


def is_tree(reduction: Reduction) -> bool:
    """Whether the order of combination matters: a sum of floats."""
    return reduction.node.op == "add" and reduction.dtype.kind in "fc"


def block_length(group: Group) -> int:
    """How many elements are one leaf of the tree; a power of two."""
    return _STEPS * _lanes(group)


def _emit_tree(group: Group, axes: list[int], span: tuple[str, str] | None) -> list[str]:
    """A binary tree over the first axis: its leaves are blocks, or the totals of the axes inside."""
    axis, first = axes[0], group[0]
    begin, end = span or ("0", first.extent(axis))
    if span is None and (few := few_elements(group, axes)):
        return _emit_either(group, axis, few)
    if len(axes) > 1:
        name = first.name(axis)
        head = f"for (int64_t {name} = {begin}; {name} < {end}; ++{name})"
        return _emit_leaves(group, head, f"{name} + 1 == {end}", lambda: emit_totals(group, axes[1:]))
    return _emit_blocks(group, axis, begin, end)


def _emit_blocks(group: Group, axis: int, begin: str, end: str) -> list[str]:
    """A binary tree whose leaves are blocks of one axis."""
    kernel, length = group[0].kernel, block_length(group)
    first, last = kernel.names.claim("first"), kernel.names.claim("last")

    def leaf() -> list[str]:
        kernel.line(f"const int64_t {last} = {end} - {first} > {length} ? {first} + {length} : {end};")
        parts = [kernel.names.claim("part") for _ in group]
        for reduction, part in zip(group, parts, strict=True):
            kernel.line(f"{reduction.type} {part} = {reduction.identity};")
        _emit_block(group, axis, (first, last), parts)
        return parts

    head = f"for (int64_t {first} = {begin}; {first} < {end}; {first} += {length})"
    return _emit_leaves(group, head, f"{last} == {end}", leaf)


# ---- few elements ---------------------------------------------------------------------------------------------------


def few_elements(group: Group, axes: list[int]) -> str:
    """When a sum is a single narrow block, as a C condition; empty where it never is, or is not worth more code.

    Where the order does not matter, when it is no longer than that.
    """
    if len(axes) != 1 or any(operations(reduction) > _LONG for reduction in group):
        return ""
    extent = group[0].source.shape[axes[0]].constant
    return f"{group[0].extent(axes[0])} < {_WORTH}" if extent is None or extent < _WORTH else ""


def emit_few(group: Group, axis: int, totals: Sequence[str]) -> None:
    """Combine few elements into `totals`, variables that exist: the order is that of all others."""
    if len(group) > 1 or is_tree(group[0]):
        _emit_block(group, axis, ("0", group[0].extent(axis)), totals, few=True)
    else:
        group[0].kernel.line(f"{totals[0]} = {_emit_total(group[0], [axis])};")


def _emit_either(group: Group, axis: int, few: str) -> list[str]:
    """One way for few elements, another for more."""
    kernel = group[0].kernel
    totals = [_declare_total(reduction) for reduction in group]
    if group[0].source.shape[axis].constant is not None:
        emit_few(group, axis, totals)
        return totals
    with kernel.block(f"if ({few})"):
        emit_few(group, axis, totals)
    with kernel.block("else"):
        found = _emit_blocks(group, axis, "0", group[0].extent(axis))
        for total, name in zip(totals, found, strict=True):
            kernel.line(f"{total} = {name};")
    return totals


def emit_joined(reduction: Reduction, parts: str, count: str) -> str:
    """Combine what several threads have found: an array of totals, in order."""
    kernel, number = reduction.kernel, reduction.kernel.names.claim("number")
    head, element = f"for (int64_t {number} = 0; {number} < {count}; ++{number})", f"{parts}[{number}]"
    if is_tree(reduction):
        return _emit_leaves([reduction], head, f"{number} + 1 == {count}", lambda: [element])[0]
    total = kernel.names.claim("total")
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    kernel.line(head)
    kernel.line(f"    {total} = {reduction.combine(total, element)};")
    return total


def _emit_leaves(group: Group, head: str, is_last: str, leaf: Callable[[], list[str]]) -> list[str]:
    """Sum leaves as a binary tree: `sums` holds those of 2**k leaves, the largest first. One leaf takes no detour."""
    kernel, claim = group[0].kernel, group[0].kernel.names.claim
    sums, depth, count = [claim("sums") for _ in group], claim("depth"), claim("leaves")
    totals = [claim("total") for _ in group]
    for reduction, made, total in zip(group, sums, totals, strict=True):
        kernel.line(f"{reduction.type} {made}[64], {total} = {reduction.identity};")
    kernel.line(f"int {depth} = 0;")
    kernel.line(f"uint64_t {count} = 0;")
    with kernel.block(head):
        parts = leaf()
        with kernel.block(f"if ({is_last})"):
            for total, part in zip(totals, parts, strict=True):
                kernel.line(f"{total} = {part};")
            kernel.line("break;")
        for made, part in zip(sums, parts, strict=True):
            kernel.line(f"{made}[{depth}] = {part};")
        kernel.line(f"++{depth};")
        with kernel.block(f"for (uint64_t bits = ++{count}; (bits & 1) == 0; bits >>= 1, --{depth})"):
            for reduction, made in zip(group, sums, strict=True):
                pair = reduction.combine(f"{made}[{depth} - 2]", f"{made}[{depth} - 1]")
                kernel.line(f"{made}[{depth} - 2] = {pair};")
    with kernel.block(f"while ({depth}-- > 0)"):
        for reduction, made, total in zip(group, sums, totals, strict=True):
            kernel.line(f"{total} = {reduction.combine(f'{made}[{depth}]', total)};")
    return totals


# ---- lanes ----------------------------------------------------------------------------------------------------------


def _lanes(group: Group) -> int:
    """How many each result has. Where elements take long to compute, no more than the narrow ones."""
    if any(operations(reduction) > _LONG for reduction in group):
        return _NARROW
    room = min(_LANE_BYTES, _GROUP_BYTES // power_of_two(len(group)))
    widest = max(reduction.dtype.itemsize for reduction in group)
    if widest == _WIDE_BYTES and len(group) <= 2 and any(reduction.reads_flags for reduction in group):
        return FLAG_LANES
    return max(_NARROW, room // widest)


def power_of_two(number: int) -> int:
    """The next one."""
    return 1 << (number - 1).bit_length()


def operations(reduction: Reduction) -> int:
    """How much is computed per element."""
    lets = [let.expr for tasklet in reduction.source.body for let in tasklet.lets]
    return sum(_size(expr) for expr in (*lets, reduction.source.expr))


def _size(expr: Expr) -> int:
    if not isinstance(expr, Op):
        return 0
    return (_CALL if expr.name in LIBRARY_NAMES else 1) + sum(_size(argument) for argument in expr.args)


def _emit_block(group: Group, axis: int, span: tuple[str, str], totals: Sequence[str], *, few: bool = False) -> None:
    """Combine the elements of a part of an axis into `totals`, variables that exist. `few`: all lanes never pay."""
    kernel, claim, name = group[0].kernel, group[0].kernel.names.claim, group[0].name(axis)
    begin, end = span
    rest, left, whole = claim("rest"), claim("left"), claim("whole")
    lanes, at = [claim("lane") for _ in group], claim("at")
    length = end if begin == "0" else f"({end} - {begin})"
    kernel.line(f"const int64_t {rest} = {length} & {_NARROW - 1}, {whole} = {end} - {rest};")
    with kernel.block(f"for (int64_t {left} = {rest}; {left} > 0; --{left})"):
        kernel.line(f"const int64_t {name} = {end} - {left};")
        _emit_step(group, totals)
    with kernel.block(f"if ({begin} < {whole})"):
        for reduction, lane in zip(group, lanes, strict=True):
            kernel.line(f"{reduction.type} {lane}[{_NARROW}];")
        kernel.line(f"int64_t {at} = {begin};")
        _emit_start(group, lanes, _NARROW)
        if _lanes(group) > _NARROW and not few:
            _emit_wide(group, axis, lanes, (at, whole))
        _emit_turns(group, axis, (lanes, _NARROW), (at, whole))
        _emit_folds(group, lanes, lanes, _NARROW, 2)
        for reduction, lane, total in zip(group, lanes, totals, strict=True):
            pair = kernel.bind(reduction.combine(f"{lane}[0]", f"{lane}[1]"), reduction.type, "pair")
            kernel.line(f"{total} = {reduction.combine(pair, total)};")


def _emit_step(group: Group, targets: Sequence[str]) -> None:
    """Combine the elements of the present point into their targets."""
    for reduction, target in zip(group, targets, strict=True):
        x = reduction.element()
        reduction.kernel.line(f"{target} = {reduction.combine(target, x)};")


def _emit_start(group: Group, lanes: Sequence[str], count: int) -> None:
    # A list of initial values would be stored in other pieces than it is loaded in, which takes long.
    for reduction, lane in zip(group, lanes, strict=True):
        with reduction.over(count) as number:
            reduction.kernel.line(f"{lane}[{number}] = {reduction.identity};")


def _emit_wide(group: Group, axis: int, lanes: Sequence[str], span: tuple[str, str]) -> None:
    kernel, count, (at, whole) = group[0].kernel, _lanes(group), span
    wide = [kernel.names.claim("wide") for _ in group]
    with kernel.block(f"if ({whole} - {at} >= {_WORTH})"):
        for reduction, lane in zip(group, wide, strict=True):
            kernel.line(f"{reduction.type} {lane}[{count}];")
        _emit_start(group, wide, count)
        _emit_turns(group, axis, (wide, count), span)
        _emit_folds(group, wide, lanes, count, _NARROW)


def _emit_turns(group: Group, axis: int, lanes: tuple[Sequence[str], int], span: tuple[str, str]) -> None:
    """Give the elements to the lanes in turn, as long as there is one for each."""
    kernel, (names, count), (at, whole) = group[0].kernel, lanes, span
    head = f"for (; {at} + {count} <= {whole}; {at} += {count})"
    with kernel.block(head), group[0].over(count, checked=True) as number:
        kernel.line(f"const int64_t {group[0].name(axis)} = {at} + {number};")
        _emit_step(group, [f"{name}[{number}]" for name in names])


def _emit_folds(group: Group, lanes: Sequence[str], results: Sequence[str], count: int, until: int) -> None:
    """Combine the halves of the lanes, and the halves of these, until so many are left: those stand in `results`."""
    for reduction, lane, result in zip(group, lanes, results, strict=True):
        half = count
        while half > until:
            half //= 2
            with reduction.over(half) as number:
                pair = reduction.combine(f"{lane}[{number}]", f"{lane}[{number} + {half}]")
                reduction.kernel.line(f"{result if half == until else lane}[{number}] = {pair};")
