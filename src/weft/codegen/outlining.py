"""Bodies that threads run: C functions of their own, that find the variables they use in a struct.

before:  what stands in a nest, as a function of the range `begin` to `end`
after:   struct f_env_0 { const double *a; int64_t n; int32_t fp; };
         static void f_body_0(void *raw, int64_t begin, int64_t end) { ... }
         ...
         struct f_env_0 env = {.a = a, .n = n, .fp = 0};
         if (weft_pays(ctx, work, 16384))
             ctx->parallel(ctx, f_body_0, &env, count, grain);
         else
             f_body_0(&env, 0, count);
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from weft.codegen.kernel import Kernel, KnownBody, renamed, words
from weft.support.records import record

# Below this many points everything runs on the calling thread, even where others are awake.
PARALLEL_POINTS = 16384

_TURNS: Final = 255  # of a while loop between two looks for interrupts

# Kinds of functions, see `outline`.
COLD, WIDE = "__attribute__((cold)) ", "WEFT_WIDE "


@record
class Outlined:
    """A body: its struct, its function, and which members of the struct are which variables and flags of its caller.

    One that `polls` may end early, because of an interrupt.
    """

    env_type: str
    name: str
    captured: tuple[tuple[str, str], ...]  # member, variable
    flags: Mapping[str, str]  # by the caller's name of a flag, the member
    polls: bool

    def flag(self, name: str, env: str = "env") -> str:
        """Where a flag is found after a run with this environment."""
        return f"{env}.{self.flags[name]}"


def outline(
    kernel: Kernel, flags: Sequence[str], emit: Callable[[], None], kind: str = "", *, team: str = ""
) -> Outlined:
    """Write a function of `begin` and `end`. What it notes in `flags` (int32, declared in it) is joined in `env`.

    A COLD one hardly ever runs: the compiler makes it small and does not spend time on it. A WIDE one has the widest
    vectors there are. One of a `team` has maps that threads share inside.
    """
    visible, outer = kernel.variables, (kernel.parallel, kernel.turns, kernel.team)
    before = len(kernel.names.claimed)
    kernel.variables = visible.new_child()
    kernel.parallel, kernel.turns, kernel.team = not team, "", team
    with kernel.elsewhere() as body:
        body.depth = 1
        for flag in flags:
            kernel.line(f"int32_t {kernel.declare(flag, 'int32_t')} = 0;")
        emit()
    polls = f"    int64_t {kernel.turns} = 0;\n" if kernel.turns else ""
    used, inside = words(body.text), kernel.variables.maps[0]
    # A second run gives its own variables names that the first one had.
    own = {*inside, *kernel.names.claimed[before:]} - kernel.team_arrays.keys()
    captured = {name: type_ for name, type_ in visible.items() if name in used and name not in own}
    kernel.variables, (kernel.parallel, kernel.turns, kernel.team) = visible, outer
    visible.update(inside)
    return _body(kernel, kind, _Text(polls + body.text, captured, tuple(flags), own, bool(polls)))


@record
class _Text:
    """What stands in a body: the text, the variables it takes from outside with their types, its flags, its own."""

    text: str
    captured: Mapping[str, str]
    flags: tuple[str, ...]
    own: Collection[str]
    polls: bool


def _body(kernel: Kernel, kind: str, body: _Text) -> Outlined:
    """A new function, or one that is the same but for the names of its variables: that of another call, inlined."""
    form, variables = renamed(body.text, {*body.captured, *body.flags, *body.own})
    types = tuple(body.captured.get(name, "") for name in variables)
    known = kernel.known_bodies.get((kind, form, types, len(body.flags)))
    if known is None:
        number, kernel.bodies = kernel.bodies, kernel.bodies + 1
        known = KnownBody(f"{kernel.symbol}_body_{number}", variables)
        kernel.known_bodies[kind, form, types, len(body.flags)] = known
        text = _function(tuple(body.captured.items()), body.flags, body.text, _struct(known), known.name)
        kernel.outlined.append(text.replace("WEFT_OPAQUE ", f"WEFT_OPAQUE {kind}", 1) if kind else text)
    members = dict(zip(variables, known.variables, strict=True))
    captured = tuple((members[name], name) for name in body.captured)
    flags = {name: members[name] for name in body.flags}
    return Outlined(_struct(known), known.name, captured, flags, body.polls)


def _struct(body: KnownBody) -> str:
    return f"struct {body.name.replace('_body_', '_env_')}"


def _function(captured: Sequence[tuple[str, str]], flags: Sequence[str], text: str, env_type: str, name: str) -> str:
    fields = [f"    {_declarator(type_, name)};" for name, type_ in captured]
    fields += [f"    int32_t {name};" for name in flags]
    # gcc 12 takes a body that writes only through pointers in `env` for one without effect, and drops calls of it.
    head = f"WEFT_OPAQUE static void {name}(void *raw, int64_t begin, int64_t end)"
    lines = [f"{env_type} {{", *fields, "};", "", head, "{", f"    {env_type} *env = raw;"]
    lines += [f"    {_declarator(type_, f'const {name}')} = env->{name};" for name, type_ in captured]
    lines.append(text.rstrip("\n"))
    for flag in flags:
        lines += [f"    if ({flag})", f"        __atomic_fetch_or(&env->{flag}, {flag}, __ATOMIC_RELAXED);"]
    return "\n".join([*lines, "}", ""])


def _declarator(type_: str, name: str) -> str:
    return f"{type_}{name}" if type_.endswith("*") else f"{type_} {name}"


def emit_environment(kernel: Kernel, body: Outlined, env: str = "env") -> None:
    """The struct with what a body takes from here."""
    fields = [f".{member} = {name}" for member, name in body.captured]
    fields += [f".{member} = 0" for member in body.flags.values()]
    kernel.line(f"{body.env_type} {env} = {{{', '.join(fields) or '0'}}};")


def emit_outlined(
    kernel: Kernel, body: Outlined, count: str, points: str, grain: str = "", *, env: str = "env"
) -> None:
    """Run a body from 0 to `count`, on threads if `points` pieces of work pay for them, `grain` at a time."""
    emit_environment(kernel, body, env)
    emit_run(kernel, body, count, points, grain, env=env)


def emit_run(kernel: Kernel, body: Outlined, count: str, points: str, grain: str = "", *, env: str = "env") -> None:
    """Run a body whose struct is there."""
    if kernel.team:
        kernel.line(f"{kernel.support.machine('share')}(&{kernel.team}, {body.name}, &{env}, {count});")
        return
    kernel.line(f"if (weft_pays(ctx, {points}, {PARALLEL_POINTS}))")
    grain = grain or f"{kernel.support.machine('grain')}({count}, {points})"
    kernel.line(f"    ctx->parallel(ctx, {body.name}, &{env}, {count}, {grain});")
    kernel.line("else")
    kernel.line(f"    {body.name}(&{env}, 0, {count});")
    _emit_interrupt(kernel, body)


def emit_called(kernel: Kernel, body: Outlined, count: str, *, env: str = "env") -> None:
    """Run a body from 0 to `count` on this thread."""
    emit_environment(kernel, body, env)
    kernel.line(f"{body.name}(&{env}, 0, {count});")
    _emit_interrupt(kernel, body)


def emit_poll(kernel: Kernel) -> None:
    """Ask for interrupts inside of a body, now and again. The context's own count is not for several threads."""
    kernel.turns = kernel.turns or kernel.names.claim("turns")
    with kernel.block(f"if (--{kernel.turns} < 0)"):
        kernel.line("if (ctx->poll(ctx))")
        kernel.line("    return;")
        kernel.line(f"{kernel.turns} = {_TURNS};")


def _emit_interrupt(kernel: Kernel, body: Outlined) -> None:
    """What a body that ended early could not finish is not gone on with."""
    if body.polls:
        kernel.line("if (ctx->poll(ctx))")
        kernel.line("    return;" if kernel.parallel else "    return WEFT_INTERRUPTED;")
