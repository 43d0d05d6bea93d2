"""Maps as loops, and parallel maps as outlined bodies.

before:  Map [i, j] in [0:n, 0:m] { B[i, j] = 2.0 * A[i, j] }
after:   for (int64_t i_1 = 0; i_1 < n; ++i_1) {
         #pragma omp simd
             for (int64_t j_2 = 0; j_2 < m; ++j_2) { ... }
         }
"""

from __future__ import annotations

from weft.codegen.expressions import index_text
from weft.codegen.fp_flags import WatchedNest, emit_watched, is_plain
from weft.codegen.innermost import Span, emit_innermost
from weft.codegen.kernel import Kernel, Scope
from weft.codegen.outlining import emit_outlined, outline
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


def emit_map(kernel: Kernel, node: Map) -> None:
    """The loops of a map, parallel where its schedule says so and it is large enough."""
    kernel.writer.comment(node.span)
    with kernel.block():
        if node.schedule is Schedule.PARALLEL and node.params and not kernel.parallel:
            _emit_parallel(kernel, node)
        else:
            emit_watched(kernel, node, lambda: _emit_loops(kernel, node))


def _emit_loops(kernel: Kernel, node: Map, bounds: tuple[str, str] | None = None) -> None:
    """`bounds` replaces the range of the first parameter."""
    spans: list[Span] = []
    for number, (param, (start, stop)) in enumerate(zip(node.params, node.ranges, strict=True)):
        low, high = index_text(kernel, start), index_text(kernel, stop)
        if number == 0 and bounds is not None:
            low, high = bounds
        spans.append(Span(kernel.new_value(param), low, high))
    outer_site, kernel.default_site = kernel.default_site, node.warn
    plain = bool(spans) and is_plain(node)
    around = spans[:-1] if plain else spans
    for span in around:
        kernel.line(f"{span.head} {{")
        kernel.writer.depth += 1
    if plain:
        emit_innermost(kernel, node, spans[-1])
    else:
        kernel.map_depth += 1
        kernel.emit_region(kernel, node.body, Scope())
        kernel.map_depth -= 1
    for _ in around:
        kernel.writer.depth -= 1
        kernel.line("}")
    kernel.default_site = outer_site


def _emit_parallel(kernel: Kernel, node: Map) -> None:
    start = index_text(kernel, node.ranges[0][0])
    bounds = (f"{start} + begin", f"{start} + end") if start != "0" else ("begin", "end")
    watched = WatchedNest(kernel, node, lambda: _emit_loops(kernel, node, bounds))
    body = outline(kernel, watched.variables, watched.first_run)
    count = kernel.bind(index_text(kernel, node.ranges[0][1] - node.ranges[0][0]), "int64_t", "count")
    inner = [index_text(kernel, high - low) for low, high in node.ranges[1:]]
    points = kernel.bind(" * ".join([f"(double){count}", *(f"({extent})" for extent in inner)]), "double", "points")
    emit_outlined(kernel, body, count, points)
    watched.settle("env.", lambda again, env: emit_outlined(kernel, again, count, points, env=env))
