"""Floating-point warnings of whole nests.

The processor's flags tell for nothing whether any operation of a nest may have warned. There are these ways:

- exact: all that the nest computes belongs to one site and raises just the flags NumPy reports. They are read after it.
- filter: the flags are read after the nest, and only if some are up it runs again, in a cold function that checks
  every operation by itself (`checks.py`) and writes nothing. What raises no flag is checked in the first run.
- saved: a plain map that overwrites what it reads does so in strips, and keeps the old contents of one strip
  (`strips.py`).
- check: every operation notes its warnings. The last resort in a map.
- collect: scalar code and nests of nests. Operations look whether their results are finite (`late_checks.py`), and the
  nests inside choose ways of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import field
from enum import Enum, auto

from weft.codegen.kernel import Flags, Kernel, Watch
from weft.codegen.late_checks import is_arithmetic
from weft.codegen.nest_operations import NestOperations, nest_operations
from weft.codegen.outlining import COLD, Outlined, emit_called, outline
from weft.codegen.replays import Saved, is_closed, replay_writes, saved_elements
from weft.ir.exprs import Value
from weft.ir.nodes import Elementwise, Loop, Map, MatMul, Node, Reduce, Scan, Schedule, Tasklet
from weft.ir.traverse import all_nodes, inner_regions
from weft.support.records import record

_KINDS = {"d": "DIVIDE", "o": "OVERFLOW", "i": "INVALID"}

Nest = Map | Loop


def report(kernel: Kernel, flags: str, site: int) -> None:
    """Pass on warnings: to the variable of the nest we are in, or to the caller."""
    if kernel.flags is not None and site in kernel.flags.sites:
        kernel.line(f"{kernel.flags.sites[site]} |= {flags};")
        return
    kernel.line(f"if ({flags})")
    kernel.line(f"    ctx->warn(ctx, {flags}, {site});")


@contextmanager
def hardware_flags(kernel: Kernel, site: int, kinds: str) -> Generator[None]:
    """Report at `site` which of the kinds ("d", "o", "i") the code inside raises.

    Inside a nest whose flags are read at its end they are left standing.
    """
    if site < 0 or not kinds or (kernel.flags is not None and kernel.flags.mode is Watch.FILTER):
        yield
        return
    clear_flags(kernel)
    yield
    raised = kernel.bind(raised_flags(kernel, kinds), "int32_t", "raised")
    report(kernel, raised, site)


def clear_flags(kernel: Kernel, pinned: Iterable[Value] = ()) -> None:
    """Clear the processor's flags. What is pinned is computed before, whatever it raises."""
    for value in pinned:
        if kernel.is_defined(value):
            _pin(kernel, value)
    kernel.line(f"{kernel.support.machine('fp_clear')}();")


def _pin(kernel: Kernel, value: Value) -> None:
    kernel.line(f'__asm__ volatile("" : : "g"({kernel.value(value)}));')


def raised_flags(kernel: Kernel, kinds: str) -> str:
    """The processor's flags of these kinds, as an expression."""
    mask = " | ".join(f"WEFT_FP_{_KINDS[kind]}" for kind in kinds)
    return f"{kernel.support.machine('fp_flags')}() & ({mask})"


# ---- choosing a way -------------------------------------------------------------------------------------------------


class Way(Enum):
    """How a nest finds its warnings."""

    NONE = auto()  # it has none, or the nest around it sees to them
    EXACT = auto()
    FILTER = auto()
    SAVED = auto()
    CHECK = auto()
    COLLECT = auto()


@record
class Plan:
    """The way of a nest, the sites it warns at, what a second run writes again, what strips save."""

    way: Way
    sites: tuple[int, ...] = ()
    operations: NestOperations | None = None
    rewritten: frozenset[str] = frozenset()
    saved: Saved | None = None


def plan_nest(kernel: Kernel, nest: Nest) -> Plan:
    """How a nest finds its warnings."""
    if kernel.flags is not None and kernel.flags.mode is not Watch.COLLECT:
        return Plan(Way.NONE)
    if not is_closed(kernel.program, nest):
        return Plan(Way.NONE)
    found = nest_operations(kernel.program, nest, strict=kernel.support.strict)
    if not found.sites:
        return Plan(Way.NONE)
    if _is_whole(kernel, nest) and not _is_jammed(nest):
        if found.exact:
            return Plan(Way.EXACT, found.sites, found)
        if found.kinds or any(map(is_arithmetic, found.unseen)):
            again = _second_run(kernel, nest, found)
            if again is not None:
                return again
        if isinstance(nest, Map) and is_plain(nest):
            return Plan(Way.CHECK, found.sites, found)
    # The maps in a loop report for themselves, as they run.
    sites = found.scalar_sites if isinstance(nest, Loop) else found.sites
    known = kernel.flags is not None and kernel.flags.sites.keys() >= set(sites) and not _is_parallel(nest)
    return Plan(Way.NONE) if known or not sites else Plan(Way.COLLECT, sites, found)


def _second_run(kernel: Kernel, nest: Nest, found: NestOperations) -> Plan | None:
    rewritten = replay_writes(kernel.program, nest)
    if rewritten is not None:
        return Plan(Way.FILTER, found.sites, found, rewritten)
    saved = saved_elements(kernel.program, nest) if isinstance(nest, Map) else None
    return Plan(Way.SAVED, found.sites, found, saved=saved) if saved is not None else None


def is_plain(node: Map) -> bool:
    """Only tasklets inside, each point writing its own elements."""
    return all(isinstance(x, Tasklet) and all(not memlet.conflict for memlet, _ in x.writes) for x in node.body.nodes)


def _is_whole(kernel: Kernel, nest: Nest) -> bool:
    """Whether a nest runs on one thread without anything inside that had better be a nest of its own."""
    inside = [node for inner in inner_regions(nest) for node in all_nodes(inner)]
    if isinstance(nest, Loop):
        bound = any(isinstance(carry.target, str) for carry in nest.carries)
        return not bound and not any(isinstance(x, Map | Elementwise | Reduce | Scan | MatMul) for x in inside)
    return kernel.parallel or _is_parallel(nest) or not any(_is_parallel(node) for node in inside)


def _is_jammed(nest: Nest) -> bool:
    """Whether a nest has a few points only, too few to read the processor's flags for."""
    return isinstance(nest, Map) and nest.schedule is Schedule.JAMMED


def _is_parallel(node: Node) -> bool:
    return isinstance(node, Map | Reduce) and node.schedule is Schedule.PARALLEL


# ---- going it -------------------------------------------------------------------------------------------------------


@record(frozen=False)
class WatchedNest:
    """The text of a nest with what finds its warnings. `emit` writes the loops; it may be called twice.

    In the second run `kernel.rewritten` is set, and what is not in it is not written. `variables` are those in which
    the first run leaves its flags: int32, declared and zero before it.
    """

    kernel: Kernel
    nest: Nest
    emit: Callable[[], None]
    plan: Plan = field(init=False)
    names: dict[int, str] = field(default_factory=dict[int, str])
    raised: str = ""
    _values: dict[int, str] = field(init=False)
    _taken: set[str] = field(init=False)
    _extents: dict[str, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        kernel, self.plan = self.kernel, plan_nest(self.kernel, self.nest)
        if self.plan.way in (Way.EXACT, Way.FILTER):
            self.raised = kernel.names.claim("fp")
        elif self.plan.way is not Way.NONE:
            self.names = {site: kernel.names.claim("fp") for site in self.plan.sites}
        self._values, self._taken = dict(kernel.value_names), set(kernel.names.taken)
        self._extents = dict(kernel.own_extents)

    @property
    def variables(self) -> list[str]:
        """Where the first run leaves its flags."""
        return [self.raised] if self.raised else list(self.names.values())

    def first_run(self) -> None:
        """The nest itself."""
        kernel, plan = self.kernel, self.plan
        if plan.operations is None:
            self.emit()
            return
        if plan.way in (Way.EXACT, Way.FILTER, Way.SAVED) and plan.operations.kinds:
            clear_flags(kernel, plan.operations.pinned)
        outer, kernel.flags = kernel.flags, self._flags(plan.operations)
        self.emit()
        kernel.flags = outer
        if isinstance(self.nest, Loop):
            self._pin_carries(self.nest)
        if self.raised and plan.operations.kinds:
            kernel.line(f"{self.raised} |= {raised_flags(kernel, plan.operations.kinds)};")

    def _flags(self, found: NestOperations) -> Flags:
        match self.plan.way:
            case Way.EXACT | Way.FILTER:
                return Flags({}, Watch.FILTER, self.raised, found.unseen, found.kinds)
            case Way.SAVED:
                return Flags(self.names, Watch.FILTER, unseen=found.unseen, kinds=found.kinds, saved=self.plan.saved)
            case Way.COLLECT:
                outer = self.kernel.flags
                return Flags({**(outer.sites if outer else {}), **self.names}, Watch.COLLECT)
            case _:
                return Flags(self.names, Watch.CHECK)

    def _pin_carries(self, nest: Loop) -> None:
        """What the nest leaves in registers is computed before the flags are read."""
        for carry in nest.carries:
            if self.raised and isinstance(carry.target, Value) and carry.target.type.dtype.kind == "f":
                _pin(self.kernel, carry.target)

    def settle(self, first: Outlined | None = None, call: Callable[[Outlined, str], None] | None = None) -> None:
        """After the first run: report, or find out in a second run what to report.

        `first` is the body that ran, if it was one; `call` runs another with an environment of this name.
        """
        found = {name: name if first is None else first.flag(name) for name in self.variables}
        if self.plan.way is Way.EXACT:
            report(self.kernel, found[self.raised], self.plan.sites[0])
        elif self.plan.way is Way.FILTER:
            with self.kernel.block(f"if (__builtin_expect({found[self.raised]} != 0, 0))"):
                self._second_run(call)
        for site, name in self.names.items():
            report(self.kernel, found[name], site)

    def _second_run(self, call: Callable[[Outlined, str], None] | None) -> None:
        kernel = self.kernel
        names = {site: kernel.names.claim("fp") for site in self.plan.sites}
        flags = Flags(names, Watch.CHECK)
        body = outline_again(kernel, flags, self.plan.rewritten, self._again)
        if call is not None:
            call(body, "again")
        else:
            emit_called(kernel, body, "0", env="again")
        for site, name in names.items():
            report(kernel, body.flag(name, "again"), site)

    def _again(self) -> None:
        """The same text with the same names: they belong to another function."""
        kernel = self.kernel
        values, taken, extents = kernel.value_names, kernel.names.taken, kernel.own_extents
        kernel.value_names, kernel.names.taken = dict(self._values), set(self._taken)
        kernel.own_extents = dict(self._extents)
        self.emit()
        kernel.names.taken = taken | kernel.names.taken
        kernel.value_names, kernel.own_extents = values, extents


def outline_again(kernel: Kernel, flags: Flags, rewritten: frozenset[str], emit: Callable[[], None]) -> Outlined:
    """A body, cold as a rule, that computes once more, notes all warnings, and writes only what it must."""
    outer = kernel.flags, kernel.rewritten, kernel.unit_axes
    kernel.flags, kernel.rewritten, kernel.unit_axes = flags, rewritten, frozenset()
    # What overflows in complex numbers does so again and again, in other parts: that may take no long time.
    often = any(container.dtype.kind == "c" for container in kernel.program.containers.values())
    body = outline(kernel, list(flags.sites.values()), emit, "" if often else COLD)
    kernel.flags, kernel.rewritten, kernel.unit_axes = outer
    return body


def emit_watched(kernel: Kernel, nest: Nest, emit: Callable[[], None]) -> None:
    """A nest on this thread, and what reports its warnings. `emit` writes the loops, and is called once or twice."""
    watched = WatchedNest(kernel, nest, emit)
    for name in watched.variables:
        kernel.line(f"int32_t {kernel.declare(name, 'int32_t')} = 0;")
    watched.first_run()
    watched.settle()
