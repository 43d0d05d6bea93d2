"""The innermost loop of a map of tasklets: vectorized, and once more where strides turn out to be those of elements.

before:  Map [i] in [0:n] { B[i] = A[i] + 1.0 }, with strides known at run time only
after:   if (A_s0 == 8 && B_s0 == 8) {
         #pragma omp simd
             for (int64_t i_1 = 0; i_1 < n; ++i_1) { ... WEFT_AT(double, A, i_1 * 8) ... }
         } else {
             ... WEFT_AT(double, A, i_1 * A_s0) ...
         }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from weft.codegen.access import element, is_strided, stride_name
from weft.codegen.c_types import c_type
from weft.codegen.copies import copied_axes, emit_copy
from weft.codegen.fp_flags import clear_flags, outline_again, raised_flags
from weft.codegen.kernel import Flags, Kernel, Scope, words
from weft.codegen.outlining import emit_environment
from weft.codegen.replays import Saved
from weft.codegen.spans import Span
from weft.ir.nodes import Map, Memlet, Schedule, Tasklet

# Points of a strip whose old contents are kept, and the bytes they may take.
_STRIP = 256
_STRIP_BYTES = 16384


def emit_innermost(kernel: Kernel, node: Map, span: Span) -> None:
    """The loop over the last parameter of a map of tasklets."""
    if kernel.flags is not None and kernel.flags.saved is not None and kernel.rewritten is None:
        _emit_strips(kernel, node, span, kernel.flags, kernel.flags.saved)
    else:
        _emit_versions(kernel, node, span)


def _emit_versions(kernel: Kernel, node: Map, span: Span, before: Callable[[], None] | None = None) -> None:
    """The loop for strides that are those of elements, and for any. `before` writes the first lines of its body."""
    axes = _unit_axes(kernel, node) if kernel.rewritten is None else {}
    if not axes:
        _emit_loop(kernel, node, span, before)
        return
    containers = [(kernel.container(name), axis) for name, axis in axes.items()]
    tests = [f"{stride_name(kernel, x, axis)} == {x.dtype.itemsize}" for x, axis in containers]
    with kernel.block(f"if ({' && '.join(tests)})"):
        outer, kernel.unit_axes = kernel.unit_axes, frozenset(axes.items())
        _emit_loop(kernel, node, span, before)
        kernel.unit_axes = outer
    with kernel.block("else"):
        _emit_loop(kernel, node, span, before)


def _unit_axes(kernel: Kernel, node: Map) -> dict[str, int]:
    """Of containers with strides known at run time only: the axis along which neighbouring points go."""
    found: dict[str, int] = {}
    for memlet in _memlets(node):
        if is_strided(kernel.container(memlet.container)):
            moved = [axis for axis, index in enumerate(memlet.index) if node.params[-1] in index.values]
            if len(moved) == 1 and (((node.params[-1],), 1)) in memlet.index[moved[0]].terms:
                found.setdefault(memlet.container, moved[0])
    return found


def _memlets(node: Map) -> list[Memlet]:
    tasklets = [x for x in node.body.nodes if isinstance(x, Tasklet)]
    reads = [memlet for x in tasklets for _, memlet in x.reads]
    return reads + [memlet for x in tasklets for memlet, _ in x.writes]


def _emit_loop(kernel: Kernel, node: Map, span: Span, before: Callable[[], None] | None) -> None:
    """Points of a map are independent by definition, so that all may be computed side by side."""
    if before is None and copied_axes(kernel, node):
        emit_copy(kernel, node, [span])
        return
    depth = kernel.writer.depth + 1
    with kernel.elsewhere() as body:
        body.depth = depth
        kernel.map_depth += 1
        if before is not None:
            before()
        kernel.emit_region(kernel, node.body, Scope())
        kernel.map_depth -= 1
    if kernel.rewritten is None and node.schedule is not Schedule.RARE:
        flags = kernel.flags
        noted = [flags.suspect, *flags.sites.values()] if flags is not None else []
        used = words(body.text)
        joined = [name for name in dict.fromkeys(noted) if name in used]
        kernel.line(f"#pragma omp simd reduction(|:{', '.join(joined)})" if joined else "#pragma omp simd")
    kernel.line(f"{span.head} {{")
    kernel.writer.lines += body.lines
    kernel.line("}")


# ---- strips ---------------------------------------------------------------------------------------------------------


def _emit_strips(kernel: Kernel, node: Map, span: Span, flags: Flags, saved: Saved) -> None:
    """Strips of points with the old contents of what they write, so that a strip with warnings can be checked."""
    elements = list(dict.fromkeys(saved.elements))
    room = sum(kernel.container(memlet.container).dtype.itemsize for memlet in elements)
    length = min(_STRIP, max(16, _STRIP_BYTES // room // 16 * 16))
    first, last = kernel.names.claim("first"), kernel.names.claim("last")
    step = f"for (int64_t {first} = {span.low}; {first} < {span.high}; {first} += {length})"
    with kernel.block(step):
        left = f"{span.high} - {first}" if " " not in span.high else f"({span.high}) - {first}"
        kernel.line(f"const int64_t {last} = {left} > {length} ? {first} + {length} : {span.high};")
        kernel.declare(first, "int64_t")
        olds = [_declare_old(kernel, memlet, length) for memlet in elements]
        suspect = kernel.declare(kernel.names.claim("fp"), "int32_t")
        kernel.line(f"int32_t {suspect} = 0;")

        def save() -> None:
            for old, memlet in zip(olds, elements, strict=True):
                kernel.line(f"{old}[{span.name} - {first}] = {element(kernel, memlet)};")

        kernel.flags = replace(flags, suspect=suspect)
        _emit_versions(kernel, node, Span(span.name, first, last), save)
        kernel.flags = flags
        if flags.kinds:
            kernel.line(f"{suspect} |= {raised_flags(kernel, flags.kinds)};")
        with kernel.block(f"if (__builtin_expect({suspect} != 0, 0))"):
            pairs = list(zip(olds, elements, strict=True))
            _emit_checked_strip(kernel, node, Span(span.name, first, last), flags, pairs)


def _declare_old(kernel: Kernel, memlet: Memlet, length: int) -> str:
    type_ = c_type(kernel.container(memlet.container).dtype)
    name = kernel.declare(kernel.names.claim("old"), f"{type_} *")
    kernel.line(f"{type_} {name}[{length}];")
    return name


def _emit_checked_strip(
    kernel: Kernel, node: Map, span: Span, flags: Flags, pairs: Sequence[tuple[str, Memlet]]
) -> None:
    """Put the old contents back, check, and put the new ones in their place again."""
    names = {site: kernel.names.claim("fp") for site in flags.sites}
    inside = Span(span.name, "begin", "end")

    def emit() -> None:
        kernel.new_value(node.params[-1])
        _emit_exchange(kernel, inside, pairs)
        _emit_loop(kernel, node, inside, None)
        _emit_exchange(kernel, inside, pairs[::-1])

    rewritten = flags.saved.rewritten if flags.saved is not None else frozenset[str]()
    body = outline_again(kernel, Flags(names), rewritten, emit)
    emit_environment(kernel, body, "again")
    kernel.line(f"{body.name}(&again, {span.low}, {span.high});")
    for site, name in names.items():
        kernel.line(f"{flags.sites[site]} |= again.{name};")
    if flags.kinds:
        clear_flags(kernel)


def _emit_exchange(kernel: Kernel, span: Span, pairs: Sequence[tuple[str, Memlet]]) -> None:
    with kernel.block(span.head):
        for old, memlet in pairs:
            place, kept = element(kernel, memlet), f"{old}[{span.name} - begin]"
            other = kernel.bind(place, c_type(kernel.container(memlet.container).dtype), "other")
            kernel.line(f"{place} = {kept};")
            kernel.line(f"{kept} = {other};")
