"""Maps as loops, and parallel maps as outlined bodies.

before:  Map [i, j] in [0:n, 0:m] { B[i, j] = 2.0 * A[i, j] }
after:   for (int64_t i_1 = 0; i_1 < n; ++i_1) {
         #pragma omp simd
             for (int64_t j_2 = 0; j_2 < m; ++j_2) { ... }
         }
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext

from weft.analysis.cost import pays_wide
from weft.codegen.copies import copied_axes, emit_copy
from weft.codegen.expressions import index_text
from weft.codegen.fp_flags import WatchedNest, emit_watched, is_plain
from weft.codegen.innermost import emit_innermost, innermost_loops
from weft.codegen.kernel import Kernel, Scope, bare
from weft.codegen.outlining import COLD, WIDE, Outlined, emit_called, emit_environment, emit_outlined, emit_run, outline
from weft.codegen.spans import Span
from weft.codegen.teams import emit_part
from weft.codegen.work import work_text
from weft.ir.exprs import const_index, index
from weft.ir.nodes import Elementwise, Map, Region, Schedule, Tasklet


def emit_elementwise(kernel: Kernel, node: Elementwise) -> None:
    """A direct loop: what writes must not disturb has been copied before (see docs/ir.md)."""
    point = tuple(index(param) for param in node.params)
    tasklet = Tasklet(
        reads=tuple((value, view.at(point)) for value, view in node.inputs),
        writes=((node.output.at(point), node.expr),),
        span=node.span,
    )
    ranges = tuple((const_index(0), extent) for extent in node.output.shape)
    body = Region((tasklet,))
    emit_map(kernel, Map(params=node.params, ranges=ranges, body=body, warn=node.warn, id=node.id, span=node.span))


# Writes what may run the body of a map, of so many points for each of its first parameter, along with something else;
# and says when the body is still to be run.
Along = Callable[[Outlined, str], str]


def is_outlined(kernel: Kernel, node: Map) -> bool:
    """Whether threads may share a map where it stands."""
    return node.schedule is Schedule.PARALLEL and bool(node.params) and not kernel.parallel


def emit_map(kernel: Kernel, node: Map, along: Along | None = None) -> None:
    """The loops of a map, parallel where its schedule says so and it is large enough."""
    kernel.writer.comment(node.span)
    with kernel.block():
        if kernel.team and (node.owner is not None or is_outlined(kernel, node)):
            _emit_part(kernel, node)
        elif is_outlined(kernel, node):
            _emit_parallel(kernel, node, along)
        elif node.schedule is Schedule.RARE and node.params and not kernel.parallel:
            _emit_rare(kernel, node)
        else:
            emit_watched(kernel, node, lambda: _emit_loops(kernel, node))


def _emit_loops(kernel: Kernel, node: Map, *, part: bool = False) -> None:
    """All points; of a parallel map the `part` from `begin` to `end`."""
    outer_site, kernel.default_site = kernel.default_site, node.warn
    plain = bool(node.params) and is_plain(node)
    copied = copied_axes(kernel, node) if plain else 0
    with ExitStack() as stack:
        spans = _part(kernel, node, stack) if part else _spans(kernel, node)
        inner = (copied or min(innermost_loops(kernel, node), len(spans))) if plain else 0
        for span in spans[: len(spans) - inner]:
            stack.enter_context(kernel.block(span.head))
        if copied:
            emit_copy(kernel, node, spans[-copied:])
        elif plain:
            emit_innermost(kernel, node, spans[-inner:])
        else:
            kernel.map_depth += 1
            kernel.emit_region(kernel, node.body, Scope())
            kernel.map_depth -= 1
    kernel.default_site = outer_site


def _spans(kernel: Kernel, node: Map) -> list[Span]:
    ranges = [(index_text(kernel, start), index_text(kernel, stop)) for start, stop in node.ranges]
    return [Span(kernel.new_value(param), *pair) for param, pair in zip(node.params, ranges, strict=True)]


# ---- threads --------------------------------------------------------------------------------------------------------


def _is_split_in_rows(kernel: Kernel, node: Map) -> bool:
    """Whether threads share the points of the first two parameters, not only those of the first, which may be few."""
    return len(node.params) > 1 and not copied_axes(kernel, node)


def _part(kernel: Kernel, node: Map, stack: ExitStack) -> list[Span]:
    """The loops of a part: over the first parameter, or over rows of the second, the first and last of them cut.

    Whole rows come together where the loops inside want two parameters.
    """
    first, *rest = _spans(kernel, node)
    if not _is_split_in_rows(kernel, node):
        return [Span(first.name, _plus(first.low, "begin"), _plus(first.low, "end")), *rest]
    second = rest[0]
    together = len(node.params) < 1 + innermost_loops(kernel, node)
    claim = kernel.names.claim
    cut, to, left = claim("cut"), claim("to"), claim("left")
    row, rows = (claim("row"), claim("rows")) if together else (first.name, "1")
    start, stop = node.ranges[1]
    width = kernel.bind(index_text(kernel, stop - start), "int64_t", "width")
    kernel.line(f"int64_t {row} = {_plus(first.low, f'({width} > 0 ? begin / {width} : 0)')};")
    kernel.line(f"int64_t {kernel.declare(cut, 'int64_t')} = {width} > 0 ? begin % {width} : 0;")
    if together:
        kernel.line(f"int64_t {kernel.declare(rows, 'int64_t')} = 1;")
    head = f"for (int64_t {left} = end - begin; {left} > 0; {row} += {rows}, {cut} = 0)"
    stack.enter_context(kernel.block(head))
    if together:
        kernel.line(f"{rows} = {cut} == 0 && {left} > {width} ? {left} / {width} : 1;")
    kernel.line(f"const int64_t {kernel.declare(to, 'int64_t')} = {width} - {cut} < {left} ? {width} : {cut} + {left};")
    kernel.line(f"{left} -= ({to} - {cut}) * {rows};")
    row_by_row = [Span(first.name, row, f"{row} + {rows}")] if together else []
    return [*row_by_row, Span(second.name, _plus(second.low, cut), _plus(second.low, to)), *rest[1:]]


def _plus(low: str, offset: str) -> str:
    return offset if low == "0" else f"{low} + {offset}"


def _extents(kernel: Kernel, node: Map) -> list[str]:
    return [f"({index_text(kernel, stop - start)})" for start, stop in node.ranges[:2]]


def _bind_count(kernel: Kernel, node: Map, extents: list[str]) -> str:
    """How many parts there are: rows, or points of the first parameter."""
    text = " * ".join(extents) if _is_split_in_rows(kernel, node) else bare(extents[0])
    return kernel.bind(text, "int64_t", "count")


def _emit_rare(kernel: Kernel, node: Map) -> None:
    watched = WatchedNest(kernel, node, lambda: _emit_loops(kernel, node, part=True))
    body = outline(kernel, watched.variables, watched.first_run, COLD)
    count = _bind_count(kernel, node, _extents(kernel, node))
    emit_called(kernel, body, count)
    watched.settle(body, lambda again, env: emit_called(kernel, again, count, env=env))


def _emit_part(kernel: Kernel, node: Map) -> None:
    """What one thread of a team does of a map: the very body that a region of threads would run."""
    rare = node.schedule is Schedule.RARE
    watched = WatchedNest(kernel, node, lambda: _emit_loops(kernel, node, part=True))
    kind = COLD if rare else WIDE if pays_wide(node.body.nodes) else ""
    body = outline(kernel, watched.variables, watched.first_run, kind)
    extents = _extents(kernel, node)
    count = _bind_count(kernel, node, extents)
    unit = extents[1] if _is_split_in_rows(kernel, node) else "1"
    emit_environment(kernel, body)
    emit_part(kernel, body, node, count, unit, "env")

    def again(other: Outlined, env: str) -> None:
        emit_environment(kernel, other, env)
        emit_part(kernel, other, node, count, unit, env)

    watched.settle(body, again)


def _emit_parallel(kernel: Kernel, node: Map, along: Along | None) -> None:
    amount = work_text(kernel, node)
    watched = WatchedNest(kernel, node, lambda: _emit_loops(kernel, node, part=True))
    body = outline(kernel, watched.variables, watched.first_run, WIDE if pays_wide(node.body.nodes) else "")
    extents, rows = _extents(kernel, node), _is_split_in_rows(kernel, node)
    count = _bind_count(kernel, node, extents)
    work = kernel.bind(amount, "double", "work")
    sizes = ", ".join((*extents, work, str(node.abreast)))
    grain = f"{kernel.support.machine('grain_of_rows')}({sizes})" if rows else ""
    emit_environment(kernel, body)
    still = "" if along is None else f"if ({along(body, extents[1] if rows else '1')})"
    with kernel.block(still) if still else nullcontext():
        emit_run(kernel, body, count, work, grain)
    watched.settle(body, lambda again, env: emit_outlined(kernel, again, count, work, grain, env=env))
