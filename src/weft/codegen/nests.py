"""Maps as loops, and parallel maps as outlined bodies.

before:  Map [i, j] in [0:n, 0:m] { B[i, j] = 2.0 * A[i, j] }
after:   for (int64_t i_1 = 0; i_1 < n; ++i_1) {
         #pragma omp simd
             for (int64_t j_2 = 0; j_2 < m; ++j_2) { ... }
         }
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.codegen.expressions import index_text
from weft.codegen.fp_flags import hardware_flags, plan_flags, raised_flags, report
from weft.codegen.kernel import Kernel, Scope, words
from weft.ir.exprs import const_index, index
from weft.ir.nodes import Elementwise, Map, Region, Schedule, Tasklet

# Below this many points a parallel map runs on the calling thread: starting threads would cost more.
PARALLEL_POINTS = 32768


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
            return
        plan = plan_flags(kernel, node)
        _declare_flags(kernel, plan.names.values())
        with hardware_flags(kernel, plan.site, plan.kinds, plan.pinned), plan.collecting(kernel):
            _emit_loops(kernel, node)
        for site, name in plan.names.items():
            report(kernel, name, site)


def _declare_flags(kernel: Kernel, names: Iterable[str]) -> None:
    for name in names:
        kernel.line(f"int32_t {name} = 0;")


def _is_leaf(node: Map) -> bool:
    """Only tasklets inside, each point writing its own elements."""
    return all(isinstance(x, Tasklet) and all(not memlet.conflict for memlet, _ in x.writes) for x in node.body.nodes)


def _emit_loops(kernel: Kernel, node: Map, bounds: tuple[str, str] | None = None) -> None:
    """`bounds` replaces the range of the first parameter."""
    heads: list[str] = []
    for number, (param, (start, stop)) in enumerate(zip(node.params, node.ranges, strict=True)):
        low, high = index_text(kernel, start), index_text(kernel, stop)
        if number == 0 and bounds is not None:
            low, high = bounds
        name = kernel.new_value(param)
        heads.append(f"for (int64_t {name} = {low}; {name} < {high}; ++{name})")
    for number, head in enumerate(heads):
        if number == len(heads) - 1 and _is_leaf(node):
            kernel.line(_simd_pragma(kernel))
        kernel.line(f"{head} {{")
        kernel.writer.depth += 1
    kernel.map_depth += 1
    kernel.emit_region(kernel, node.body, Scope())
    kernel.map_depth -= 1
    for _ in heads:
        kernel.writer.depth -= 1
        kernel.line("}")


def _simd_pragma(kernel: Kernel) -> str:
    """Points of a map are independent by definition."""
    names = list(dict.fromkeys(kernel.flags.sites.values())) if kernel.flags is not None else []
    return f"#pragma omp simd reduction(|:{', '.join(names)})" if names else "#pragma omp simd"


# ---- parallel -------------------------------------------------------------------------------------------------------


def _emit_parallel(kernel: Kernel, node: Map) -> None:
    number = len(kernel.outlined)
    env_type, body_name = f"struct {kernel.symbol}_env_{number}", f"{kernel.symbol}_body_{number}"
    visible, kernel.variables = kernel.variables, {}
    plan = plan_flags(kernel, node)
    flags = dict(plan.names)
    if plan.kinds:
        flags[plan.site] = kernel.declare(kernel.names.claim("fp"), "int32_t")
    names = list(flags.values())
    start = index_text(kernel, node.ranges[0][0])
    with kernel.elsewhere() as body, plan.collecting(kernel):
        kernel.parallel = True
        body.depth = 1
        _declare_flags(kernel, names)
        if plan.kinds:
            kernel.line(f"{kernel.support.machine('fp_clear')}();")
        first, last = (f"{start} + begin", f"{start} + end") if start != "0" else ("begin", "end")
        _emit_loops(kernel, node, (first, last))
        if plan.kinds:
            kernel.line(f"{flags[plan.site]} = {raised_flags(kernel, plan.kinds)};")
        kernel.parallel = False
    used, inside = words(body.text), kernel.variables
    captured = [(name, type_) for name, type_ in visible.items() if name in used and name not in inside]
    kernel.variables = {**visible, **inside}
    kernel.outlined.append(_outlined(env_type, body_name, captured, names, body.text))
    _emit_call(kernel, node, (env_type, body_name), [name for name, _ in captured], names)
    for site, name in flags.items():
        report(kernel, f"env.{name}", site)


def _outlined(env_type: str, body_name: str, captured: list[tuple[str, str]], flags: list[str], text: str) -> str:
    fields = [f"    {_declarator(type_, name)};" for name, type_ in captured]
    fields += [f"    int32_t {name};" for name in flags]
    # gcc 12 takes a body that writes only through pointers in `env` for one without effect, and drops calls of it.
    head = f"WEFT_OPAQUE static void {body_name}(void *raw, int64_t begin, int64_t end)"
    lines = [f"{env_type} {{", *fields, "};", "", head, "{", f"    {env_type} *env = raw;"]
    lines += [f"    {_declarator(type_, f'const {name}')} = env->{name};" for name, type_ in captured]
    lines.append(text.rstrip("\n"))
    for name in flags:
        lines += [f"    if ({name})", f"        __atomic_fetch_or(&env->{name}, {name}, __ATOMIC_RELAXED);"]
    return "\n".join([*lines, "}", ""])


def _declarator(type_: str, name: str) -> str:
    return f"{type_}{name}" if type_.endswith("*") else f"{type_} {name}"


def _emit_call(kernel: Kernel, node: Map, names: tuple[str, str], captured: list[str], flags: list[str]) -> None:
    env_type, body_name = names
    start, stop = node.ranges[0]
    count = kernel.bind(index_text(kernel, stop - start), "int64_t", "count")
    inner = [index_text(kernel, high - low) for low, high in node.ranges[1:]]
    points = kernel.bind(" * ".join([f"(double){count}", *(f"({extent})" for extent in inner)]), "double", "points")
    fields = [f".{name} = {name}" for name in captured] + [f".{name} = 0" for name in flags]
    kernel.line(f"{env_type} env = {{{', '.join(fields) or '0'}}};")
    kernel.line(f"if ({points} >= {PARALLEL_POINTS})")
    grain = f"{kernel.support.machine('grain')}({count}, {points})"
    kernel.line(f"    ctx->parallel(ctx, {body_name}, &env, {count}, {grain});")
    kernel.line("else")
    kernel.line(f"    {body_name}(&env, 0, {count});")
