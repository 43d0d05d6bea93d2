"""Reductions and scans as loops.

Along neighbouring elements a sum of floats is taken in blocks of 128 with 8 accumulators, and the blocks are added as a
binary tree: the error stays that of NumPy's pairwise sum, and the order is fixed by the length alone. Where neighbours
belong to different sums, rows are added to the output one after the other, which is NumPy's order and vectorizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from weft.codegen.access import element, fastest_axis
from weft.codegen.c_types import c_type, literal
from weft.codegen.expressions import emit_expr, index_text
from weft.codegen.fp_flags import hardware_flags
from weft.codegen.kernel import Kernel, bare
from weft.codegen.scalars import Operand
from weft.ir.dtypes import DType
from weft.ir.exprs import Index, const_index
from weft.ir.nodes import Reduce, Scan
from weft.support.errors import InternalError

_BLOCK: Final = 128
_LANES: Final = 8
_POSITIONS: Final = ("argmin", "argmax")


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loop variables of a reduction, one per axis of the input."""

    point: tuple[Index, ...]
    names: tuple[str, ...]


def emit_reduce(kernel: Kernel, node: Reduce) -> None:
    """Combine the input over some of its axes."""
    kernel.writer.comment(node.span)
    dtype = kernel.container(node.output.container).dtype
    kinds = "oi" if node.op in ("add", "multiply") and dtype.kind in "fc" else ""
    with kernel.block(), hardware_flags(kernel, node.warn, kinds):
        if not node.axes:
            _emit_copy(kernel, node)
            return
        fresh = [kernel.fresh(name) for name in "ijklmnpq"[: node.input.rank]]
        fresh += [kernel.fresh("i") for _ in range(node.input.rank - len(fresh))]
        loops = _Loops(tuple(point for point, _ in fresh), tuple(name for _, name in fresh))
        with ExitStack() as stack:
            if node.initial is not None:
                _emit_empty(kernel, node, loops, emit_expr(kernel, node.initial))
                stack.enter_context(kernel.block("else"))
            _emit_filled(kernel, node, loops)


def _emit_filled(kernel: Kernel, node: Reduce, loops: _Loops) -> None:
    fast = fastest_axis(kernel, node.input)
    if node.op in _POSITIONS:
        _emit_positions(kernel, node, loops)
    elif fast in node.axes:
        _emit_along(kernel, node, loops, fast)
    else:
        _emit_rows(kernel, node, loops, fast)


# ---- loops over axes ------------------------------------------------------------------------------------------------


def _open(kernel: Kernel, stack: ExitStack, loops: _Loops, node: Reduce | Scan, axes: Sequence[int]) -> None:
    for axis in axes:
        name, extent = loops.names[axis], index_text(kernel, node.input.shape[axis])
        stack.enter_context(kernel.block(f"for (int64_t {name} = 0; {name} < {extent}; ++{name})"))


def _kept(node: Reduce) -> list[int]:
    return [axis for axis in range(node.input.rank) if axis not in node.axes]


def _output(kernel: Kernel, node: Reduce, loops: _Loops) -> str:
    """The element of the output that the point of the input belongs to."""
    if node.output.rank == node.input.rank:
        point = tuple(const_index(0) if axis in node.axes else loops.point[axis] for axis in range(node.input.rank))
    else:
        point = tuple(loops.point[axis] for axis in _kept(node))
    return element(kernel, node.output.at(point))


def _input(kernel: Kernel, node: Reduce | Scan, point: tuple[Index, ...], dtype: DType) -> str:
    """The element of the input, in the type of the reduction."""
    source = kernel.container(node.input.container).dtype
    operand = Operand(element(kernel, node.input.at(point)), source)
    if isinstance(node, Reduce) and node.op.startswith("logical_"):
        return kernel.scalars().truth(operand)
    return kernel.scalars().cast(operand, dtype)


def _combine(kernel: Kernel, node: Reduce | Scan, left: str, right: str, dtype: DType) -> str:
    return bare(kernel.scalars().apply(node.op, (Operand(left, dtype), Operand(right, dtype)), dtype))


def _emit_empty(kernel: Kernel, node: Reduce, loops: _Loops, initial: str) -> None:
    empty = " || ".join(f"{_extent(kernel, node.input.shape[axis])} == 0" for axis in node.axes)
    with ExitStack() as stack:
        stack.enter_context(kernel.block(f"if ({empty})"))
        _open(kernel, stack, loops, node, _kept(node))
        kernel.line(f"{_output(kernel, node, loops)} = {bare(initial)};")


def _extent(kernel: Kernel, extent: Index) -> str:
    return index_text(kernel, extent)


def _emit_copy(kernel: Kernel, node: Reduce) -> None:
    """Over no axes: every element by itself."""
    fresh = [kernel.fresh("i") for _ in range(node.input.rank)]
    loops = _Loops(tuple(point for point, _ in fresh), tuple(name for _, name in fresh))
    dtype = kernel.container(node.output.container).dtype
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, range(node.input.rank))
        kernel.line(f"{_output(kernel, node, loops)} = {bare(_input(kernel, node, loops.point, dtype))};")


def identity(op: str, dtype: DType) -> str:
    """What a reduction starts from; a sum from 0.0, so that, as in NumPy, no sum is -0.0."""
    match op:
        case "multiply" | "logical_and":
            return literal(1, dtype)
        case "add" | "logical_or":
            return literal(0, dtype)
        case "maximum" | "minimum":
            infinity = float("inf") if op == "minimum" else -float("inf")
            if dtype.kind == "f":
                return literal(infinity, dtype)
            if dtype.kind == "c":
                return literal(complex(infinity, infinity), dtype)
            return literal(dtype.bounds[op == "minimum"], dtype)
        case _:
            raise InternalError(f"there is no reduction by {op}")


# ---- rows: neighbours belong to different results -------------------------------------------------------------------


def _emit_rows(kernel: Kernel, node: Reduce, loops: _Loops, fast: int) -> None:
    dtype = kernel.container(node.output.container).dtype
    kept = [axis for axis in _kept(node) if axis != fast] + [fast]
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, kept)
        kernel.line(f"{_output(kernel, node, loops)} = {identity(node.op, dtype)};")
    order = [axis for axis in range(node.input.rank) if axis != fast]
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, order)
        kernel.line("#pragma omp simd")
        _open(kernel, stack, loops, node, [fast])
        target = _output(kernel, node, loops)
        value = kernel.bind(_input(kernel, node, loops.point, dtype), c_type(dtype), "x")
        kernel.line(f"{target} = {_combine(kernel, node, target, value, dtype)};")


# ---- along: neighbours belong to the same result --------------------------------------------------------------------


def _emit_along(kernel: Kernel, node: Reduce, loops: _Loops, fast: int) -> None:
    dtype = kernel.container(node.output.container).dtype
    reduced = [axis for axis in node.axes if axis != fast] + [fast]
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, _kept(node))
        target = _output(kernel, node, loops)
        if node.op == "add" and dtype.kind in "fc":
            total = _emit_pairwise(kernel, node, loops, reduced)
        elif node.op in ("maximum", "minimum") and dtype.kind == "f":
            total = _emit_lanes(kernel, node, loops, reduced)
        elif node.op.startswith("logical_"):
            total = _emit_logical(kernel, node, loops, reduced)
        else:
            total = _emit_in_order(kernel, node, loops, reduced)
        kernel.line(f"{target} = {total};")


def _emit_in_order(kernel: Kernel, node: Reduce, loops: _Loops, reduced: list[int]) -> str:
    """One accumulator; of integers, in any order the compiler likes."""
    dtype = kernel.container(node.output.container).dtype
    total = kernel.declare(kernel.names.claim("total"), c_type(dtype))
    kernel.line(f"{c_type(dtype)} {total} = {identity(node.op, dtype)};")
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, reduced)
        value = _input(kernel, node, loops.point, dtype)
        kernel.line(f"{total} = {_combine(kernel, node, total, value, dtype)};")
    return total


def _emit_logical(kernel: Kernel, node: Reduce, loops: _Loops, reduced: list[int]) -> str:
    """Stops at the first element that decides."""
    dtype = kernel.container(node.output.container).dtype
    total = kernel.declare(kernel.names.claim("total"), c_type(dtype))
    done = kernel.names.claim("decided")
    decides, sign = ("0", "!") if node.op == "logical_and" else ("1", "")
    kernel.line(f"{c_type(dtype)} {total} = {identity(node.op, dtype)};")
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, reduced)
        with kernel.block(f"if ({sign}{_input(kernel, node, loops.point, dtype)})"):
            kernel.line(f"{total} = {decides};")
            kernel.line(f"goto {done};")
    kernel.line(f"{done}:;")
    return total


def _emit_lanes(kernel: Kernel, node: Reduce, loops: _Loops, reduced: list[int]) -> str:
    """Several accumulators side by side, for operations whose order does not matter."""
    dtype = kernel.container(node.output.container).dtype
    type_, lane = c_type(dtype), kernel.names.claim("lane")
    start = identity(node.op, dtype)
    kernel.line(f"{type_} {lane}[{_LANES}] = {{{', '.join([start] * _LANES)}}};")
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, reduced[:-1])
        extent = index_text(kernel, node.input.shape[reduced[-1]])
        _emit_lane_loop(kernel, node, loops, reduced[-1], (lane, "0", extent))
    return _tree(kernel, node, [f"{lane}[{number}]" for number in range(_LANES)], dtype)


def _emit_lane_loop(kernel: Kernel, node: Reduce, loops: _Loops, fast: int, span: tuple[str, str, str]) -> None:
    """Add the elements begin to end along the fast axis to the lanes in turn."""
    lane, begin, end = span
    dtype = kernel.container(node.output.container).dtype
    position, name = loops.point[fast], loops.names[fast]
    offset, offset_name = kernel.fresh("l")
    ahead = tuple(p + offset if axis == fast else p for axis, p in enumerate(loops.point))
    kernel.line(f"int64_t {name} = {begin};")
    with kernel.block(f"for (; {name} + {_LANES} <= {end}; {name} += {_LANES})"):
        kernel.line("#pragma omp simd")
        with kernel.block(f"for (int64_t {offset_name} = 0; {offset_name} < {_LANES}; ++{offset_name})"):
            target = f"{lane}[{offset_name}]"
            kernel.line(f"{target} = {_combine(kernel, node, target, _input(kernel, node, ahead, dtype), dtype)};")
    with kernel.block(f"for (; {name} < {end}; ++{name})"):
        target, here = f"{lane}[0]", tuple(position if axis == fast else p for axis, p in enumerate(loops.point))
        kernel.line(f"{target} = {_combine(kernel, node, target, _input(kernel, node, here, dtype), dtype)};")


def _tree(kernel: Kernel, node: Reduce, parts: list[str], dtype: DType) -> str:
    """((0 1) (2 3)) ((4 5) (6 7)), each pair a constant of its own: the operations use their operands twice."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [kernel.bind(_combine(kernel, node, a, b, dtype), c_type(dtype), "pair") for a, b in pairs]
    return parts[0]


def _emit_pairwise(kernel: Kernel, node: Reduce, loops: _Loops, reduced: list[int]) -> str:
    dtype = kernel.container(node.output.container).dtype
    type_, fast = c_type(dtype), reduced[-1]
    zero = identity("add", dtype)
    claim = kernel.names.claim
    sums, depth, count, lane, total = claim("sums"), claim("depth"), claim("blocks"), claim("lane"), claim("total")
    kernel.line(f"{type_} {sums}[64];")
    kernel.line(f"int {depth} = 0;")
    kernel.line(f"uint64_t {count} = 0;")
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, reduced[:-1])
        begin, end, extent = claim("first"), claim("last"), index_text(kernel, node.input.shape[fast])
        head = f"for (int64_t {begin} = 0; {begin} < {extent}; {begin} += {_BLOCK})"
        stack.enter_context(kernel.block(head))
        kernel.line(f"const int64_t {end} = {extent} - {begin} > {_BLOCK} ? {begin} + {_BLOCK} : {extent};")
        kernel.line(f"{type_} {lane}[{_LANES}] = {{{', '.join([zero] * _LANES)}}};")
        _emit_lane_loop(kernel, node, loops, fast, (lane, begin, end))
        part = _tree(kernel, node, [f"{lane}[{number}]" for number in range(_LANES)], dtype)
        kernel.line(f"{sums}[{depth}++] = {part};")
        merge = f"for (uint64_t bits = ++{count}; (bits & 1) == 0; bits >>= 1, --{depth})"
        with kernel.block(merge):
            kernel.line(f"{sums}[{depth} - 2] += {sums}[{depth} - 1];")
    kernel.line(f"{type_} {total} = {zero};")
    kernel.line(f"while ({depth} > 0)")
    kernel.line(f"    {total} = {sums}[--{depth}] + {total};")
    return total


# ---- positions ------------------------------------------------------------------------------------------------------


def _emit_positions(kernel: Kernel, node: Reduce, loops: _Loops) -> None:
    """argmin, argmax: the first of the best, the first NaN if there is one."""
    source = kernel.container(node.input.container).dtype
    claim = kernel.names.claim
    best, where, number = claim("best"), claim("where"), claim("number")
    with ExitStack() as stack:
        _open(kernel, stack, loops, node, _kept(node))
        target = _output(kernel, node, loops)
        first = tuple(const_index(0) if axis in node.axes else p for axis, p in enumerate(loops.point))
        kernel.line(f"{c_type(source)} {best} = {element(kernel, node.input.at(first))};")
        kernel.line(f"int64_t {where} = 0, {number} = 0;")
        with ExitStack() as inner:
            _open(kernel, inner, loops, node, sorted(node.axes))
            value = kernel.bind(element(kernel, node.input.at(loops.point)), c_type(source), "x")
            with kernel.block(f"if ({_better(kernel, node.op, value, best, source)})"):
                kernel.line(f"{best} = {value};")
                kernel.line(f"{where} = {number};")
            kernel.line(f"++{number};")
        kernel.line(f"{target} = ({c_type(kernel.container(node.output.container).dtype)}){where};")


def _better(kernel: Kernel, op: str, value: str, best: str, dtype: DType) -> str:
    scalars = kernel.scalars()
    new, old = Operand(value, dtype), Operand(best, dtype)
    order = scalars.apply("greater" if op == "argmax" else "less", (new, old), DType.BOOL)
    if dtype.kind not in "fc":
        return bare(order)
    new_nan, old_nan = (scalars.apply("isnan", (operand,), DType.BOOL) for operand in (new, old))
    return f"({old_nan} == 0) & ({order} | {new_nan})"


# ---- scans ----------------------------------------------------------------------------------------------------------


def emit_scan(kernel: Kernel, node: Scan) -> None:
    """Running sums or products, in order."""
    kernel.writer.comment(node.span)
    dtype = kernel.container(node.output.container).dtype
    fresh = [kernel.fresh("i") for _ in range(node.input.rank)]
    loops = _Loops(tuple(point for point, _ in fresh), tuple(name for _, name in fresh))
    others = [axis for axis in range(node.input.rank) if axis != node.axis]
    with kernel.block(), hardware_flags(kernel, node.warn, "oi" if dtype.kind in "fc" else ""), ExitStack() as stack:
        _open(kernel, stack, loops, node, others)
        total = kernel.declare(kernel.names.claim("total"), c_type(dtype))
        # A running sum starts with the first element itself, which -0.0 does not change.
        first = literal(complex(-0.0, -0.0) if dtype.kind == "c" else -0.0, dtype) if dtype.kind in "fc" else "0"
        kernel.line(f"{c_type(dtype)} {total} = {first if node.op == 'add' else identity(node.op, dtype)};")
        _open(kernel, stack, loops, node, [node.axis])
        value = _input(kernel, node, loops.point, dtype)
        kernel.line(f"{total} = {_combine(kernel, node, total, value, dtype)};")
        kernel.line(f"{element(kernel, node.output.at(loops.point))} = {total};")
