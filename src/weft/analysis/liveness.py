"""What of a program can be seen from outside: by what it returns and writes, where it leaves, and what it warns of.

in:   a program
out:  `Live`: the values, containers, sites and scopes (maps, loops, branches) that something visible needs

Each thing says what it needs: a value what it is computed from, a container what is written to it, a site what it
shows, a scope its bounds or condition; what stands in a scope needs the scope. Marking starts from what is visible.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TypeAlias

from weft.analysis.memory import Memory, made_in_loops
from weft.analysis.warnings import expr_may_warn, let_may_warn, operation_may_warn
from weft.ir.exprs import Expr, Index, Value, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Bundle,
    Carry,
    Container,
    Continue,
    Elements,
    Elementwise,
    Guard,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Return,
    Scan,
    Site,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.traverse import allocated_by, bundle_values, bundle_views, defined_values, leaving_bundles, view_values
from weft.support.records import record


@record
class SiteNumber:
    """A site, as something that may be needed."""

    number: int


@record
class Scope:
    """A map, loop or branch, as something that may be needed."""

    node: int  # its place in the order of the walk


Thing: TypeAlias = Value | str | SiteNumber | Scope


@record
class Live:
    """What something visible needs."""

    things: frozenset[Thing]
    memory: Memory

    def has(self, thing: Value | str) -> bool:
        """Whether a value, or a container by its own name, is needed."""
        return thing in self.things

    def writes(self, container: str) -> bool:
        """Whether a write to a container can be seen."""
        return not self.memory.roots(container).isdisjoint(self.things)

    def has_site(self, number: int) -> bool:
        """Whether a site is needed."""
        return SiteNumber(number) in self.things

    def has_scope(self, number: int) -> bool:
        """Whether the n-th scope is needed, counted as a walk comes to them (see `find_live`)."""
        return Scope(number) in self.things


def find_live(program: Program, *, loop_sites: bool = False) -> Live:
    """What is needed. Scopes are numbered from 0, outer before inner, in order.

    `loop_sites`: so are sites that passes may still want to leave through: in front of loops with guards or allocations
    inside, which may move there, and of operations on overlapping views, which may need a temporary.
    """
    search = _Search(program, loop_sites=loop_sites)
    search.region(program.body, _Place())
    return Live(frozenset(search.marked()), search.memory)


@record
class _Place:
    """Where a node stands: what every effect there needs, the loops around (innermost last), targets of the branch."""

    scope: tuple[Thing, ...] = ()
    loops: tuple[tuple[Scope, tuple[Carry, ...]], ...] = ()
    results: tuple[Value | str, ...] = ()
    reports: bool = False  # in a map that reports warnings
    site: int = -1


@record(frozen=False)
class _Needs:
    of: dict[Thing, list[Thing]] = field(default_factory=dict[Thing, list[Thing]])

    def add(self, thing: Thing, needed: Iterable[Thing]) -> None:
        self.of.setdefault(thing, []).extend(needed)


class _Search:
    def __init__(self, program: Program, *, loop_sites: bool) -> None:
        self.program = program
        self.loop_sites = loop_sites
        self.memory = Memory(program.containers)
        self.made = made_in_loops(program.body) if loop_sites else frozenset[frozenset[str]]()
        self.needs = _Needs()
        self.visible: list[Thing] = []
        self.scopes = 0
        for container in program.containers.values():
            self.container(container)

    def marked(self) -> set[Thing]:
        live: set[Thing] = set()
        pending = list(self.visible)
        while pending:
            thing = pending.pop()
            if thing in live:
                continue
            live.add(thing)
            pending += self.needs.of.get(thing, ())
            if isinstance(thing, Value):
                pending += _bounds(thing)
        return live

    def container(self, container: Container) -> None:
        extents = [value for extent in container.shape for value in extent.values]
        match container.storage:
            case Storage.ARGUMENT:
                self.visible.append(container.name)
            case Storage.REF:
                self.needs.add(container.name, extents)
                for value in extents:
                    self.needs.add(value, (container.name,))
            case Storage.ALIAS:
                self.needs.add(container.name, (container.base, *extents))
            case Storage.TRANSIENT | Storage.STACK:
                self.needs.add(container.name, extents)

    # -- regions

    def region(self, region: Region, place: _Place) -> None:
        for node in region.nodes:
            match node:
                case Site():
                    place = replace(place, site=node.number)
                    self.needs.add(SiteNumber(node.number), self.shown(leaving_bundles(node)))
                case Map() | Loop() | While() | Branch():
                    self.scope(node, place)
                case Yield(values=items):
                    self.bind(place.results, items, place)
                case Continue() | Break():
                    self.jump(node, place)
                case _:
                    self.effect(node, place)

    def effect(self, node: Node, place: _Place) -> None:
        match node:
            case Tasklet():
                self.tasklet(node, place)
            case Elementwise() | Reduce() | Scan() | MatMul():
                self.operation(node, place)
            case Alloc(container=name, site=site):
                self.needs.add(name, (SiteNumber(site), *place.scope))
            case NumpyCall(site=site, given=given):  # it may raise: it stays, and so does what it gives
                self.visible += (*self.shown(given), *defined_values(node), *allocated_by(node))
                self.visible += (SiteNumber(site), *place.scope)
                for view in node.changes:
                    self.write(view.container, (*view_values(view), *place.scope), warns=False)
            case Guard(condition=condition, site=site):
                self.visible += (*values_in(condition), SiteNumber(site), *place.scope)
            case Return():
                self.visible += (*self.shown(leaving_bundles(node)), *place.scope)
            case _:
                return

    def scope(self, node: Map | Loop | While | Branch, place: _Place) -> None:
        own = Scope(self.scopes)
        self.scopes += 1
        inside = replace(place, scope=(own,))
        self.needs.add(own, place.scope)
        match node:
            case Map():
                for param, (start, stop) in zip(node.params, node.ranges, strict=True):
                    self.needs.add(own, (*_bounds(param), *start.values, *stop.values))
                self.region(node.body, replace(inside, reports=place.reports or node.warn >= 0))
            case Loop() | While():
                self.loop(node, own, place, inside)
            case Branch():
                self.needs.add(own, values_in(node.condition))
                for result in node.results:
                    self.needs.add(result, (own,))
                for arm in (node.then, node.orelse):
                    self.region(arm, replace(inside, results=node.results))

    def loop(self, node: Loop | While, own: Scope, place: _Place, inside: _Place) -> None:
        if isinstance(node, Loop):
            bounds = (value for bound in (node.start, node.stop, node.step) for value in bound.values)
            self.needs.add(own, (*_bounds(node.var), *bounds))
        else:
            self.visible.append(own)  # it may never end
        targets = tuple(carry.target for carry in node.carries)
        for target in targets:
            self.needs.add(target, (own,))
        self.bind(targets, [carry.init for carry in node.carries], place)
        if self.loop_sites and place.site >= 0 and _may_leave(node.body):
            self.visible.append(SiteNumber(place.site))
        self.region(node.body, replace(inside, loops=(*place.loops, (own, node.carries)), results=()))

    def jump(self, node: Continue | Break, place: _Place) -> None:
        """How often the loops run that it leaves depends on whether it is reached."""
        depth = node.depth if isinstance(node, Break) else 0
        for scope, _ in place.loops[len(place.loops) - 1 - depth :]:
            self.needs.add(scope, place.scope)
        _, carries = place.loops[-1 - depth]
        self.bind([carry.target for carry in carries], node.values, place)

    def bind(self, targets: Iterable[Value | str], items: Iterable[Expr | View], place: _Place) -> None:
        for target, item in zip(targets, items, strict=True):
            self.needs.add(target, self.viewed(item) if isinstance(item, View) else values_in(item))
            self.needs.add(target, place.scope)

    # -- dataflow

    def tasklet(self, node: Tasklet, place: _Place) -> None:
        for value, memlet in node.reads:
            self.needs.add(value, (memlet.container, *_at(memlet)))
        for let in node.lets:
            self.needs.add(let.value, values_in(let.expr))
            if let_may_warn(let, self.program.warn_sites, in_nest=place.reports):
                self.visible += (let.value, *place.scope)
        for memlet, expr in node.writes:
            needed = (*_at(memlet), *values_in(expr), *place.scope)
            self.write(memlet.container, needed, warns=place.reports and expr_may_warn(expr))

    def operation(self, node: Elementwise | Reduce | Scan | MatMul, place: _Place) -> None:
        needed: list[Thing] = [*view_values(node.output), *place.scope]
        match node:
            case Elementwise():
                for value, view in node.inputs:
                    self.needs.add(value, self.viewed(view))
                needed += (bound for param in node.params for bound in _bounds(param))
                needed += values_in(node.expr)
            case Reduce(input=source, initial=initial):
                needed += self.elements(source) if isinstance(source, Elements) else self.viewed(source)
                needed += () if initial is None else values_in(initial)
            case Scan():
                needed += self.viewed(node.input)
            case MatMul():
                needed += (*self.viewed(node.lhs), *self.viewed(node.rhs))
                needed += () if node.scale is None else values_in(node.scale)
        copies = isinstance(node, Elementwise) and self.memory.may_read_elsewhere(node, self.made)
        if copies and self.loop_sites and place.site >= 0:
            self.visible.append(SiteNumber(place.site))
        warns = operation_may_warn(node, self.program.containers, self.program.warn_sites)
        self.write(node.output.container, needed, warns=warns)

    def elements(self, source: Elements) -> list[Thing]:
        for tasklet in source.body:
            self.tasklet(tasklet, _Place())
        shape = [value for extent in source.shape for value in extent.values]
        return [*shape, *(bound for param in source.params for bound in _bounds(param)), *values_in(source.expr)]

    def write(self, container: str, needed: Iterable[Thing], *, warns: bool) -> None:
        things = (container, *needed)
        for root in self.memory.roots(container):
            self.needs.add(root, things)
        if warns:
            self.visible += (*self.memory.roots(container), *things)

    # -- what is looked at

    def viewed(self, view: View) -> list[Thing]:
        return [view.container, *view_values(view)] if view.container else []

    def shown(self, bundles: Iterable[Bundle]) -> list[Thing]:
        found: list[Thing] = []
        for bundle in bundles:
            found += bundle_values(bundle)
            found += (view.container for view in bundle_views(bundle) if view.container)
        return found


def _bounds(value: Value) -> Iterable[Value]:
    bounds: list[Index] = [bound for bound in (value.floor, value.ceiling) if bound is not None]
    return (used for bound in bounds for used in bound.values)


def _at(memlet: Memlet) -> Iterable[Value]:
    return (value for coordinate in memlet.index for value in coordinate.values)


def _may_leave(region: Region) -> bool:
    for node in region.nodes:
        match node:
            case Guard() | Alloc() | NumpyCall():
                return True
            case Map(body=body) | Loop(body=body) | While(body=body):
                if _may_leave(body):
                    return True
            case Branch(then=then, orelse=orelse):
                if _may_leave(then) or _may_leave(orelse):
                    return True
            case _:
                continue
    return False
