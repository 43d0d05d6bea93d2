"""The innermost loop of a map of tasklets: vectorized, and once more where strides turn out to be those of elements.

before:  Map [i] in [0:n] { B[i] = A[i] + 1.0 }, with strides known at run time only
after:   if (A_s0 == 8 && B_s0 == 8) {
         #pragma omp simd
             for (int64_t i_1 = 0; i_1 < n; ++i_1) { ... WEFT_AT(double, A, i_1 * 8) ... }
         } else {
             ... WEFT_AT(double, A, i_1 * A_s0) ...
         }

Where functions are computed and rows may be short, the loop is also there along columns:

before:  Map [i, j] in [0:n, 0:m] { B[i, j] = exp(A[i, j]) }, with rows of A that do not follow each other
after:   if (m < 16 && n >= 16) { for j: for i: ... } else { for i: for j: ... }

Rows that go abreast (`passes/jam_rows.py`) do where the arrays are large, or always if they have much in common. They
write last, because the C compiler takes whatever is written for something that the next row reads:

before:  Map [i, j] in [0:n, 0:m] abreast 2 { B[i, j] = A[i, j] + A[i + 1, j] }
after:   row = 0;
         if (m >= 768 && n * m >= 1572864)
             for (; row + 2 <= n; row += 2)
                 for j: { i = row; late = ... } { i = row + 1; late_2 = ... } B[row, j] = late; B[row + 1, j] = late_2;
         for (i = row; i < n; ++i) for j: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace

from weft.analysis.cost import computes_functions
from weft.analysis.side_by_side import have_much_in_common
from weft.codegen.access import element, is_strided, stride_name
from weft.codegen.c_types import c_type
from weft.codegen.copies import copied_axes, emit_copy
from weft.codegen.expressions import index_text
from weft.codegen.fp_flags import clear_flags, outline_again, raised_flags
from weft.codegen.kernel import Flags, Kernel, Scope, Waiting, words
from weft.codegen.outlining import emit_environment
from weft.codegen.replays import Saved
from weft.codegen.sliding import emit_sliding, long_enough, slides_here
from weft.codegen.spans import Span
from weft.ir.nodes import Map, Memlet, Schedule
from weft.ir.traverse import memlets_of, writes_last
from weft.support.records import record

# Points of a strip whose old contents are kept, and the bytes they may take.
_STRIP = 256
_STRIP_BYTES = 16384
# Elements of a row that are too few for vectors of functions.
_SHORT_ROW = 16
# Bytes that no cache holds, and bytes of a row of which three do not stay in the nearest: such rows go side by side.
_LARGE_BYTES = 24 * 1024 * 1024
_LONG_BYTES = 6 * 1024


def innermost_loops(kernel: Kernel, node: Map) -> int:
    """How many loops of a map of tasklets belong together.

    Where strips are kept, rows that are short share one; where functions are computed, loops may change places.
    """
    return 2 if _kept(kernel) is not None or _may_turn(kernel, node) or _is_jammed(kernel, node) else 1


def emit_innermost(kernel: Kernel, node: Map, spans: Sequence[Span]) -> None:
    """The loop over the last parameter of a map of tasklets, or those over the last two."""
    flags, saved = kernel.flags, _kept(kernel)
    if flags is not None and saved is not None and _is_jammed(kernel, node):
        with kernel.block(f"if ({_are_large(kernel, node)})"):
            _emit_strips(kernel, node, spans, flags, saved)
        with kernel.block("else"):
            _emit_strips(kernel, replace(node, abreast=1), spans, flags, saved)
    elif flags is not None and saved is not None:
        _emit_strips(kernel, node, spans, flags, saved)
    elif len(spans) > 1 and _is_jammed(kernel, node):
        _emit_jammed(kernel, node, spans)
    elif len(spans) > 1:
        _emit_turned(kernel, node, spans)
    else:
        _emit_versions(kernel, node, spans[-1])


def _kept(kernel: Kernel) -> Saved | None:
    return kernel.flags.saved if kernel.flags is not None and kernel.rewritten is None else None


def _emit_versions(
    kernel: Kernel, node: Map, span: Span, before: Callable[[], None] | None = None, each: Sequence[str] = ()
) -> None:
    """The loop for strides that are those of elements, and for any.

    `before` writes the first lines of its body; that stands there once for `each` of the lines that say what differs.
    """
    axes = _unit_axes(kernel, node) if kernel.rewritten is None else {}
    if not axes:
        _emit_loop(kernel, node, span, before, each)
        return
    containers = [(kernel.container(name), axis) for name, axis in axes.items()]
    tests = [f"{stride_name(kernel, x, axis)} == {x.dtype.itemsize}" for x, axis in containers]
    with kernel.block(f"if ({' && '.join(tests)})"):
        outer, kernel.unit_axes = kernel.unit_axes, frozenset(axes.items())
        _emit_loop(kernel, node, span, before, each)
        kernel.unit_axes = outer
    with kernel.block("else"):
        _emit_loop(kernel, node, span, before, each)


def _unit_axes(kernel: Kernel, node: Map) -> dict[str, int]:
    """Of containers with strides known at run time only: the axis along which neighbouring points go."""
    found: dict[str, int] = {}
    for memlet in memlets_of(node.body.nodes):
        if is_strided(kernel.container(memlet.container)):
            moved = [axis for axis, index in enumerate(memlet.index) if node.params[-1] in index.values]
            if len(moved) == 1 and (((node.params[-1],), 1)) in memlet.index[moved[0]].terms:
                found.setdefault(memlet.container, moved[0])
    return found


def _emit_loop(
    kernel: Kernel, node: Map, span: Span, before: Callable[[], None] | None, each: Sequence[str] = ()
) -> None:
    """Points of a map are independent by definition, so that all may be computed side by side."""
    if before is None and not each and copied_axes(kernel, node):
        emit_copy(kernel, node, [span])
        return
    depth = kernel.writer.depth + 1
    with kernel.elsewhere() as body:
        body.depth = depth
        kernel.map_depth += 1
        if each and writes_last(node.body):
            _emit_rows(kernel, node, before, each)
        else:
            for line in each or ("",):
                with kernel.block() if line else nullcontext():
                    if line:
                        kernel.line(line)
                    if before is not None:
                        before()
                    kernel.emit_region(kernel, node.body, Scope())
        kernel.map_depth -= 1
    noted = _noted(kernel, node, body.text)
    if not each and not noted and slides_here(kernel, node):
        with kernel.block(f"if ({long_enough(kernel, node, span)})"):
            emit_sliding(kernel, node, span, before)
        kernel.line("else")
    start, stop = node.ranges[-1]
    if kernel.rewritten is None and node.schedule not in (Schedule.RARE, Schedule.JAMMED):
        kernel.line(f"#pragma omp simd reduction(|:{', '.join(noted)})" if noted else "#pragma omp simd")
    elif node.schedule is Schedule.JAMMED and (stop - start).constant is not None:
        kernel.line(f"#pragma GCC unroll {(stop - start).constant}")
    kernel.line(f"{span.head} {{")
    kernel.writer.lines += body.lines
    kernel.line("}")


def _noted(kernel: Kernel, node: Map, text: str) -> list[str]:
    """The variables in which the points of a loop note warnings."""
    flags = kernel.flags
    if flags is None or kernel.rewritten is not None or node.schedule in (Schedule.RARE, Schedule.JAMMED):
        return []
    used = words(text)
    return [name for name in dict.fromkeys((flags.suspect, *flags.sites.values())) if name in used]


# ---- short rows -----------------------------------------------------------------------------------------------------


def _may_turn(kernel: Kernel, node: Map) -> bool:
    """Whether a loop along columns may be better: rows may be too short for vectors, in which functions are cheap."""
    if kernel.rewritten is not None or len(node.params) < 2 or node.schedule in (Schedule.RARE, Schedule.JAMMED):
        return False
    (start, stop), outer = node.ranges[-1], node.ranges[-2]
    extent = (stop - start).constant
    if node.params[-2] in start.values | stop.values or (extent is not None and extent >= _SHORT_ROW):
        return False
    rows = (outer[1] - outer[0]).constant
    return (rows is None or rows >= _SHORT_ROW) and computes_functions(node.body.nodes)


def _emit_turned(kernel: Kernel, node: Map, spans: Sequence[Span], before: Callable[[], None] | None = None) -> None:
    """Many short rows column by column, else row by row: the points of a map may come in any order."""
    outer, inner = spans
    params = (*node.params[:-2], node.params[-1], node.params[-2])
    turned = replace(node, params=params, ranges=(*node.ranges[:-2], node.ranges[-1], node.ranges[-2]))
    short = f"{_minus(inner.high, inner.low)} < {_SHORT_ROW} && {_minus(outer.high, outer.low)} >= {_SHORT_ROW}"
    with kernel.block(f"if ({short})"), kernel.block(inner.head):
        _emit_versions(kernel, turned, outer, before)
    with kernel.block("else"), kernel.block(outer.head):
        _emit_versions(kernel, node, inner, before)


# ---- rows side by side ----------------------------------------------------------------------------------------------


def _is_jammed(kernel: Kernel, node: Map) -> bool:
    return node.abreast > 1 and kernel.rewritten is None and not kernel.team


def _emit_jammed(kernel: Kernel, node: Map, spans: Sequence[Span]) -> None:
    """Some rows at a time where arrays are larger than the caches, and what is left one by one."""
    rows, line = spans
    row, count = kernel.declare(kernel.names.claim("row"), "int64_t"), node.abreast
    kernel.line(f"int64_t {row} = {rows.low};")
    kernel.line(f"if ({_are_large(kernel, node)})")
    with kernel.block(f"for (; {row} + {count} <= {rows.high}; {row} += {count})"):
        _emit_versions(kernel, node, line, each=_rows_from(node, rows, row))
    with kernel.block(Span(rows.name, row, rows.high).head):
        _emit_versions(kernel, node, line)


def _rows_from(node: Map, rows: Span, first: str) -> list[str]:
    """What says which row it is, for those that run side by side."""
    return [f"const int64_t {rows.name} = {first} + {number};" for number in range(node.abreast)]


def _are_large(kernel: Kernel, node: Map) -> str:
    """Whether the arrays that a map goes through do not fit in the caches, nor their rows in the nearest.

    Rows that have much in common go abreast wherever they are.
    """
    if have_much_in_common(node, node.abreast):
        return "1"
    containers = {memlet.container for memlet in memlets_of(node.body.nodes)}
    size = sum(kernel.container(name).dtype.itemsize for name in containers)
    points = [f"(double)({index_text(kernel, stop - start)})" for start, stop in node.ranges]
    long = f"{points[-1]} >= {_LONG_BYTES // max(kernel.container(name).dtype.itemsize for name in containers)}.0"
    return f"{long} && {' * '.join(points)} >= {_LARGE_BYTES // size}.0"


def _emit_rows(kernel: Kernel, node: Map, before: Callable[[], None] | None, each: Sequence[str]) -> None:
    """What rows side by side compute, then what they write: the C compiler takes a write for one of what is read.

    So it would read, and compute, everything once more for every row.
    """
    rows: list[tuple[str, list[Waiting]]] = []
    depth = kernel.writer.depth
    with kernel.elsewhere() as computing:
        computing.depth = depth
        for line in each:
            kernel.waiting = []
            with kernel.block():
                kernel.line(line)
                kernel.emit_region(kernel, node.body, Scope())
            rows.append((line, kernel.waiting))
        kernel.waiting = None
    for _, waiting in rows:
        for late in waiting:
            kernel.line(f"{late.type} {late.name};")
    kernel.writer.lines += computing.lines
    for line, waiting in rows:
        with kernel.block():
            kernel.line(line)
            if before is not None:
                before()
            for late in waiting:
                kernel.line(f"{late.target} = {late.name};")


# ---- strips ---------------------------------------------------------------------------------------------------------


@record
class _Strip:
    """Points whose old contents are kept: `points` of the last parameter, in each of the `rows`."""

    points: Span
    rows: Span | None

    def place(self) -> str:
        """The number of a point in the strip."""
        low, high = self.points.low, self.points.high
        point = f"{self.points.name} - {low}"
        return point if self.rows is None else f"({self.rows.name} - {self.rows.low}) * ({high} - {low}) + {point}"


def _emit_strips(kernel: Kernel, node: Map, spans: Sequence[Span], flags: Flags, saved: Saved) -> None:
    """Strips of points with the old contents of what they write, so that a strip with warnings can be checked."""
    elements = list(dict.fromkeys(saved.elements))
    room = sum(kernel.container(memlet.container).dtype.itemsize for memlet in elements)
    length = min(_STRIP, max(16, _STRIP_BYTES // (room * node.abreast) // 16 * 16))
    span, several = spans[-1], _is_jammed(kernel, node)
    with ExitStack() as stack:
        rows = None
        if len(spans) > 1:
            width = kernel.bind(_minus(span.high, span.low), "int64_t", "width")
            count = f"({width} > 0 && {width} < {length} ? {length} / {width} : 1)"
            count = str(node.abreast) if several else kernel.bind(count, "int64_t", "rows")
            rows = _pieces(kernel, spans[0], count, stack)
        strip = _Strip(_pieces(kernel, span, str(length), stack), rows)
        olds = [_declare_old(kernel, memlet, length * node.abreast) for memlet in elements]
        suspect = kernel.declare(kernel.names.claim("fp"), "int32_t")
        kernel.line(f"int32_t {suspect} = 0;")

        def save() -> None:
            for old, memlet in zip(olds, elements, strict=True):
                kept = f"{old}[{strip.place()}]"
                plain = f"{kept} = {element(kernel, memlet)};"
                kernel.line(plain if kernel.vectors is None else kernel.vectors.copied(kernel, memlet, kept))

        kernel.flags = replace(flags, suspect=suspect)
        if rows is not None and several:
            with kernel.block(f"if ({rows.high} - {rows.low} == {node.abreast})"):
                _emit_versions(kernel, node, strip.points, save, _rows_from(node, rows, rows.low))
            kernel.line("else")
        if rows is not None and _may_turn(kernel, node):
            _emit_turned(kernel, node, (rows, strip.points), save)
        else:
            with kernel.block(rows.head) if rows is not None else nullcontext():
                _emit_versions(kernel, node, strip.points, save)
        kernel.flags = flags
        if flags.kinds:
            kernel.line(f"{suspect} |= {raised_flags(kernel, flags.kinds)};")
        with kernel.block(f"if (__builtin_expect({suspect} != 0, 0))"):
            _emit_checked_strip(kernel, node, strip, flags, list(zip(olds, elements, strict=True)))


def _pieces(kernel: Kernel, span: Span, length: str, stack: ExitStack) -> Span:
    """The loop over pieces of a span; the piece."""
    first, last = kernel.names.claim("first"), kernel.names.claim("last")
    step = f"for (int64_t {first} = {span.low}; {first} < {span.high}; {first} += {length})"
    stack.enter_context(kernel.block(step))
    left = _minus(span.high, first)
    kernel.line(f"const int64_t {last} = {left} > {length} ? {first} + {length} : {span.high};")
    for name in (first, last):
        kernel.declare(name, "int64_t")
    return Span(span.name, first, last)


def _minus(high: str, low: str) -> str:
    left, right = (text if " " not in text else f"({text})" for text in (high, low))
    return left if low == "0" else f"{left} - {right}"


def _declare_old(kernel: Kernel, memlet: Memlet, length: int) -> str:
    type_ = c_type(kernel.container(memlet.container).dtype)
    name = kernel.declare(kernel.names.claim("old"), f"{type_} *")
    kernel.line(f"{type_} {name}[{length}];")
    return name


def _emit_checked_strip(
    kernel: Kernel, node: Map, strip: _Strip, flags: Flags, pairs: Sequence[tuple[str, Memlet]]
) -> None:
    """Put the old contents back, check, and put the new ones in their place again."""
    names = {site: kernel.names.claim("fp") for site in flags.sites}
    inside = replace(strip, points=Span(strip.points.name, "begin", "end"))

    def emit() -> None:
        for param in node.params[-1 if strip.rows is None else -2 :]:
            kernel.new_value(param)
        _emit_exchange(kernel, inside, pairs)
        with kernel.block(strip.rows.head) if strip.rows is not None else nullcontext():
            _emit_loop(kernel, node, inside.points, None)
        _emit_exchange(kernel, inside, pairs[::-1])

    rewritten = flags.saved.rewritten if flags.saved is not None else frozenset[str]()
    body = outline_again(kernel, Flags(names), rewritten, emit)
    emit_environment(kernel, body, "again")
    kernel.line(f"{body.name}(&again, {strip.points.low}, {strip.points.high});")
    for site, name in names.items():
        kernel.line(f"{flags.sites[site]} |= {body.flag(name, 'again')};")
    if flags.kinds:
        clear_flags(kernel)


def _emit_exchange(kernel: Kernel, strip: _Strip, pairs: Sequence[tuple[str, Memlet]]) -> None:
    with kernel.block(strip.rows.head) if strip.rows is not None else nullcontext(), kernel.block(strip.points.head):
        for old, memlet in pairs:
            place, kept = element(kernel, memlet), f"{old}[{strip.place()}]"
            other = kernel.bind(place, c_type(kernel.container(memlet.container).dtype), "other")
            kernel.line(f"{place} = {kept};")
            kernel.line(f"{kept} = {other};")
