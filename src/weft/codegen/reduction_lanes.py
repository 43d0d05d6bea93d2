"""Totals along neighbouring elements: one result, whose elements follow each other in memory.

Sums of floats are taken in blocks. In a block, elements go to many lanes in turn, so that the additions of a lane
follow each other slowly enough for the machine; what does not fill all lanes goes to eight of them, the last seven
elements or fewer are added one by one. Lanes and blocks are joined as a binary tree: the error stays that of NumPy's
pairwise sum. The order is fixed by the number of elements, the operation and the types alone. Few elements are a
block in the narrow lanes: they go the same way, without the detours.

    for (at = first; at + 32 <= last; at += 32)
        for (l = 0; l < 32; ++l)
            wide[l] = wide[l] + a[at + l];
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weft.codegen.math_functions import LIBRARY_NAMES
from weft.codegen.reduction_state import Reduction
from weft.ir.dtypes import DType
from weft.ir.exprs import Expr, Op

_LANE_BYTES: Final = 256  # of all lanes together: four of the widest registers
_STEPS: Final = 16  # additions per lane and block
_WORTH: Final = 128  # with so many elements it pays to have all lanes, which must be joined in the end
_NARROW: Final = 8
_LONG: Final = 12  # with so many operations per element the additions are no longer what the machine waits for
_FLAGS: Final = 64  # lanes of truth values
_FULL: Final = 255  # as many as a lane of them can count
_CALL: Final = 13  # a function of the C library counts for so many


def emit_total(reduction: Reduction, axes: list[int], span: tuple[str, str] | None = None) -> str:
    """Combine the elements over axes, the last one innermost: a C name. `span` replaces the range of the first."""
    if not axes:
        return _emit_single(reduction)
    if is_tree(reduction):
        return _emit_tree(reduction, axes, span)
    if reduction.node.op in ("maximum", "minimum") and reduction.dtype.kind == "f":
        return _emit_lanes(reduction, axes, span)
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
    """In lanes of a byte, which are added up before one of them can be full."""
    kernel, fast, claim = reduction.kernel, axes[-1], reduction.kernel.names.claim
    total = kernel.declare(claim("total"), reduction.type)
    lane, at, last = claim("lane"), claim("at"), claim("last")
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    whole = ("0", reduction.extent(fast))
    with reduction.loops(axes[:-1], span):
        begin, end = whole if len(axes) > 1 else span or whole
        kernel.line(f"int64_t {at} = {begin};")
        with kernel.block(f"while ({end} - {at} >= {_FLAGS})"):
            most = _FLAGS * _FULL
            kernel.line(f"const int64_t {last} = {end} - {at} > {most} ? {at} + {most} : {end};")
            kernel.line(f"uint8_t {lane}[{_FLAGS}];")
            with reduction.over(_FLAGS) as number:
                kernel.line(f"{lane}[{number}] = 0;")
            head = f"for (; {at} + {_FLAGS} <= {last}; {at} += {_FLAGS})"
            with kernel.block(head), reduction.over(_FLAGS) as number:
                kernel.line(f"const int64_t {reduction.name(fast)} = {at} + {number};")
                kernel.line(f"{lane}[{number}] = (uint8_t)({lane}[{number}] + {reduction.element(plain=True)});")
            kernel.line(f"for (int {number} = 0; {number} < {_FLAGS}; ++{number})")
            kernel.line(f"    {total} += {lane}[{number}];")
        with reduction.loops([fast], (at, end)):
            kernel.line(f"{total} += {reduction.element(plain=True)};")
    return total


def _emit_single(reduction: Reduction) -> str:
    """One element; a sum of it alone is not -0.0 either."""
    kernel = reduction.kernel
    total = kernel.declare(kernel.names.claim("total"), reduction.type)
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    with kernel.block():
        kernel.line(f"{total} = {reduction.combine(total, reduction.element())};")
    return total


def _emit_in_order(reduction: Reduction, axes: list[int], span: tuple[str, str] | None) -> str:
    """One accumulator; of integers, in any order the compiler likes."""
    kernel = reduction.kernel
    total = kernel.declare(kernel.names.claim("total"), reduction.type)
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
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


def _emit_lanes(reduction: Reduction, axes: list[int], span: tuple[str, str] | None) -> str:
    """All elements of the last axis as one block: for operations whose order does not matter."""
    kernel, fast = reduction.kernel, axes[-1]
    total = kernel.declare(kernel.names.claim("total"), reduction.type)
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    whole = ("0", reduction.extent(fast))
    with reduction.loops(axes[:-1], span):
        _emit_block(reduction, fast, whole if len(axes) > 1 else span or whole, total)
    return total


# ---- trees ----------------------------------------------------------------------------------------------------------


def is_tree(reduction: Reduction) -> bool:
    """Whether the order of combination matters: a sum of floats."""
    return reduction.node.op == "add" and reduction.dtype.kind in "fc"


def block_length(reduction: Reduction) -> int:
    """How many elements are one leaf of the tree; a power of two."""
    return _STEPS * _lanes(reduction)


def _emit_tree(reduction: Reduction, axes: list[int], span: tuple[str, str] | None) -> str:
    """A binary tree over the first axis: its leaves are blocks, or the totals of the axes inside."""
    axis = axes[0]
    begin, end = span or ("0", reduction.extent(axis))
    if span is None and (few := few_elements(reduction, axes)):
        return _emit_either(reduction, axis, few)
    if len(axes) > 1:
        name = reduction.name(axis)
        head = f"for (int64_t {name} = {begin}; {name} < {end}; ++{name})"
        return _emit_leaves(reduction, head, f"{name} + 1 == {end}", lambda: emit_total(reduction, axes[1:]))
    return _emit_blocks(reduction, axis, begin, end)


def _emit_blocks(reduction: Reduction, axis: int, begin: str, end: str) -> str:
    """A binary tree whose leaves are blocks of one axis."""
    kernel, length = reduction.kernel, block_length(reduction)
    first, last = kernel.names.claim("first"), kernel.names.claim("last")

    def leaf() -> str:
        kernel.line(f"const int64_t {last} = {end} - {first} > {length} ? {first} + {length} : {end};")
        part = kernel.names.claim("part")
        kernel.line(f"{reduction.type} {part} = {reduction.identity};")
        _emit_block(reduction, axis, (first, last), part)
        return part

    head = f"for (int64_t {first} = {begin}; {first} < {end}; {first} += {length})"
    return _emit_leaves(reduction, head, f"{last} == {end}", leaf)


# ---- few elements ---------------------------------------------------------------------------------------------------


def few_elements(reduction: Reduction, axes: list[int]) -> str:
    """When a sum is a single narrow block, as a C condition; empty where it never is, or is not worth more code.

    Where the order does not matter, when it is no longer than that.
    """
    if len(axes) != 1 or operations(reduction) > _LONG:
        return ""
    extent = reduction.source.shape[axes[0]].constant
    return f"{reduction.extent(axes[0])} < {_WORTH}" if extent is None or extent < _WORTH else ""


def emit_few(reduction: Reduction, axis: int, total: str) -> None:
    """Combine few elements into `total`, a variable that exists: the order is that of all others."""
    if is_tree(reduction):
        _emit_block(reduction, axis, ("0", reduction.extent(axis)), total, few=True)
    else:
        reduction.kernel.line(f"{total} = {emit_total(reduction, [axis])};")


def _emit_either(reduction: Reduction, axis: int, few: str) -> str:
    """One way for few elements, another for more."""
    kernel = reduction.kernel
    total = kernel.declare(kernel.names.claim("total"), reduction.type)
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    if reduction.source.shape[axis].constant is not None:
        emit_few(reduction, axis, total)
        return total
    with kernel.block(f"if ({few})"):
        emit_few(reduction, axis, total)
    with kernel.block("else"):
        kernel.line(f"{total} = {_emit_blocks(reduction, axis, '0', reduction.extent(axis))};")
    return total


def emit_joined(reduction: Reduction, parts: str, count: str) -> str:
    """Combine what several threads have found: an array of totals, in order."""
    kernel, number = reduction.kernel, reduction.kernel.names.claim("number")
    head, element = f"for (int64_t {number} = 0; {number} < {count}; ++{number})", f"{parts}[{number}]"
    if is_tree(reduction):
        return _emit_leaves(reduction, head, f"{number} + 1 == {count}", lambda: element)
    total = kernel.names.claim("total")
    kernel.line(f"{reduction.type} {total} = {reduction.identity};")
    kernel.line(head)
    kernel.line(f"    {total} = {reduction.combine(total, element)};")
    return total


def _emit_leaves(reduction: Reduction, head: str, is_last: str, leaf: Callable[[], str]) -> str:
    """Sum leaves as a binary tree: `sums` holds those of 2**k leaves, the largest first. One leaf takes no detour."""
    kernel, claim = reduction.kernel, reduction.kernel.names.claim
    sums, depth, count, total = claim("sums"), claim("depth"), claim("leaves"), claim("total")
    kernel.line(f"{reduction.type} {sums}[64], {total} = {reduction.identity};")
    kernel.line(f"int {depth} = 0;")
    kernel.line(f"uint64_t {count} = 0;")
    with kernel.block(head):
        part = leaf()
        with kernel.block(f"if ({is_last})"):
            kernel.line(f"{total} = {part};")
            kernel.line("break;")
        kernel.line(f"{sums}[{depth}++] = {part};")
        kernel.line(f"for (uint64_t bits = ++{count}; (bits & 1) == 0; bits >>= 1, --{depth})")
        pair = reduction.combine(f"{sums}[{depth} - 2]", f"{sums}[{depth} - 1]")
        kernel.line(f"    {sums}[{depth} - 2] = {pair};")
    kernel.line(f"while ({depth} > 0)")
    kernel.line(f"    {total} = {reduction.combine(f'{sums}[--{depth}]', total)};")
    return total


# ---- lanes ----------------------------------------------------------------------------------------------------------


def _lanes(reduction: Reduction) -> int:
    """How many there are. Where elements take long to compute, and in small types, no more than the narrow ones."""
    if operations(reduction) > _LONG:
        return _NARROW
    return max(_NARROW, _LANE_BYTES // reduction.dtype.itemsize)


def operations(reduction: Reduction) -> int:
    """How much is computed per element."""
    lets = [let.expr for tasklet in reduction.source.body for let in tasklet.lets]
    return sum(_size(expr) for expr in (*lets, reduction.source.expr))


def _size(expr: Expr) -> int:
    if not isinstance(expr, Op):
        return 0
    return (_CALL if expr.name in LIBRARY_NAMES else 1) + sum(_size(argument) for argument in expr.args)


def _emit_block(reduction: Reduction, axis: int, span: tuple[str, str], total: str, *, few: bool = False) -> None:
    """Combine the elements of a part of an axis into `total`, a variable that exists. `few`: all lanes never pay."""
    kernel, claim = reduction.kernel, reduction.kernel.names.claim
    begin, end = span
    rest, left, whole, lane, at = claim("rest"), claim("left"), claim("whole"), claim("lane"), claim("at")
    length = end if begin == "0" else f"({end} - {begin})"
    kernel.line(f"const int64_t {rest} = {length} & {_NARROW - 1}, {whole} = {end} - {rest};")
    with kernel.block(f"for (int64_t {left} = {rest}; {left} > 0; --{left})"):
        kernel.line(f"const int64_t {reduction.name(axis)} = {end} - {left};")
        kernel.line(f"{total} = {reduction.combine(total, reduction.element())};")
    with kernel.block(f"if ({begin} < {whole})"):
        kernel.line(f"{reduction.type} {lane}[{_NARROW}];")
        kernel.line(f"int64_t {at} = {begin};")
        _emit_start(reduction, lane, _NARROW)
        if _lanes(reduction) > _NARROW and not few:
            _emit_wide(reduction, axis, lane, (at, whole))
        _emit_turns(reduction, axis, (lane, _NARROW), (at, whole))
        _emit_folds(reduction, lane, lane, _NARROW, 2)
        pair = kernel.bind(reduction.combine(f"{lane}[0]", f"{lane}[1]"), reduction.type, "pair")
        kernel.line(f"{total} = {reduction.combine(pair, total)};")


def _emit_start(reduction: Reduction, lane: str, count: int) -> None:
    # A list of initial values would be stored in other pieces than it is loaded in, which takes long.
    with reduction.over(count) as number:
        reduction.kernel.line(f"{lane}[{number}] = {reduction.identity};")


def _emit_wide(reduction: Reduction, axis: int, lane: str, span: tuple[str, str]) -> None:
    kernel, count, (at, whole) = reduction.kernel, _lanes(reduction), span
    wide = kernel.names.claim("wide")
    with kernel.block(f"if ({whole} - {at} >= {_WORTH})"):
        kernel.line(f"{reduction.type} {wide}[{count}];")
        _emit_start(reduction, wide, count)
        _emit_turns(reduction, axis, (wide, count), span)
        _emit_folds(reduction, wide, lane, count, _NARROW)


def _emit_turns(reduction: Reduction, axis: int, lanes: tuple[str, int], span: tuple[str, str]) -> None:
    """Give the elements to the lanes in turn, as long as there is one for each."""
    kernel, (lane, count), (at, whole) = reduction.kernel, lanes, span
    head = f"for (; {at} + {count} <= {whole}; {at} += {count})"
    with kernel.block(head), reduction.over(count, checked=True) as number:
        kernel.line(f"const int64_t {reduction.name(axis)} = {at} + {number};")
        target, x = f"{lane}[{number}]", reduction.element()
        kernel.line(f"{target} = {reduction.combine(target, x)};")


def _emit_folds(reduction: Reduction, lane: str, result: str, count: int, until: int) -> None:
    """Combine the halves of the lanes, and the halves of these, until so many are left: those stand in `result`."""
    half = count
    while half > until:
        half //= 2
        with reduction.over(half) as number:
            pair = reduction.combine(f"{lane}[{number}]", f"{lane}[{number} + {half}]")
            reduction.kernel.line(f"{result if half == until else lane}[{number}] = {pair};")
