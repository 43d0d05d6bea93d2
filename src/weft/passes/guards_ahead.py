"""Guards on data leave loops that could be parallel: what all turns need is looked at first, in a reduction.

before:  site 1 {...}                                  after:   site 1 {...}
         for i in 0:n {                                         alloc t
           k = idx[i]                                           reduce minimum t[] = elements at (i) over [n] {
           guard k < m else site 3                                k = idx[i] } yield k < m
           write y[i] = x[k]                                    guard t[] else site 1
           continue }                                           for i in 0:n { k = idx[i]; write y[i] = x[k]; continue }

Legal where nothing that the conditions are computed from is written in the loop, and where Python can start again in
front of it: whatever the conditions are, Python then does what the loop would have done. So a check may be stricter
than the guards: it need not know how often loops run that it does not depend on. But it may only read what exists. What
the loop reads in any case exists once the guards before have been checked; of the rest it must be proved.

All guards of a nest go, or none: done where the turns of a loop become independent by that (`Legality.carried`), or a
loop a reduction. `hoist-guards` has taken those that need no look at all turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from weft.analysis.conditions import as_index
from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.analysis.uses import written_by
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Index, Op, Value, const, const_index, index, op, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Elements,
    Guard,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Program,
    Reduce,
    Region,
    Site,
    Storage,
    Tasklet,
    While,
    full_view,
)  # fmt: skip
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, bound_extents, site_left_through, values_defined_in
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.dead_code import DropDeadCode
from weft.passes.loop_bodies import Count, counted, ends, has_loops, is_less, straight
from weft.passes.loop_reductions import reduced
from weft.passes.open_sites import OpenSite, open_site, writes_of
from weft.passes.straight_code import Code, is_inside
from weft.support.abi import NOT_COMPILED


@dataclass(frozen=True, slots=True)
class GuardsAhead:
    """Look at what guards depend on before loops run."""

    name: ClassVar[str] = "guards-ahead"

    def run(self, program: Program, session: Session) -> Program:
        """The program with guards on data in front of loops."""
        if not has_loops(program) or not any(isinstance(node, Guard) for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        body = _Walk(bench).region(program.body, Facts(), None)
        if body is program.body:
            return program
        return DropDeadCode(loop_sites=True).run(
            replace(program, body=body, containers=dict(bench.containers)), session
        )


class _Walk:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.memory = bench.legality.memory
        self.writes = writes_of(bench.program, self.memory)
        left = (node for node in all_nodes(bench.program.body) if not isinstance(node, Alloc | Guard))
        self.calls = frozenset(site for node in left if (site := site_left_through(node)) is not None)

    def region(self, region: Region, facts: Facts, site: OpenSite | None) -> Region:
        """A region with the guards of its loops in front of them; `site` is open at its head."""
        nodes: list[Node] = []
        for node in region.nodes:
            if isinstance(node, Site):
                site = open_site(node)
            made = self.looked_at(node, facts, site) if isinstance(node, Loop) and site is not None else None
            nodes += [self.inside(node, facts, site)] if made is None else made
            facts = facts.after(node)
            if site is not None and self.writes.close(node, site):
                site = None
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    def inside(self, node: Node, facts: Facts, site: OpenSite | None) -> Node:
        known = facts.inside(node, self.memory)
        match node:
            case Loop() | While():
                kept = None if site is None or self.writes.close(node, site) else site
                body = self.region(node.body, known[0], kept)
                return node if body is node.body else replace(node, body=body)
            case Branch():
                then, orelse = self.region(node.then, known[0], site), self.region(node.orelse, known[1], site)
                return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
            case _:
                return node

    def looked_at(self, loop: Loop, facts: Facts, site: OpenSite) -> list[Node] | None:
        """A loop without guards behind what looks at all of its turns; None where that is not possible, or no gain."""
        if not any(isinstance(node, Guard) for node in all_nodes(loop.body)):
            return None
        without = replace(loop, body=rewrite_nodes(loop.body, lambda n: () if isinstance(n, Guard) else None))
        if not self.gains(without, facts):
            return None
        look = _Look(self.bench, loop, facts, self.writes.of(loop))
        reason = look.obstacle()
        if reason:
            self.bench.note(f"guards stay in the loop over {loop.var.name}: {reason}", loop, done=False)
            return None
        self.bench.note(f"what the loop over {loop.var.name} depends on is looked at in front of it", loop, done=True)
        return [*look.build(site), without]

    def gains(self, loop: Loop, facts: Facts) -> bool:
        """Whether a loop without guards, or one in it, has independent turns or is a reduction."""
        if straight(loop, self.calls) is not None:
            if not loop.carries and not self.bench.legality.carried(loop, facts, first=True):
                return True
            trial = Bench(self.bench.step, self.bench.program, Session(self.bench.session.solver))
            if loop.carries and reduced(loop, facts, trial, self.calls) is not None:
                return True
        return self.gains_inside(loop.body, facts.inside(loop, self.memory)[0])

    def gains_inside(self, region: Region, facts: Facts) -> bool:
        for node in region.nodes:
            if isinstance(node, Loop) and self.gains(node, facts):
                return True
            if isinstance(node, Branch):
                then, orelse = facts.inside(node, self.memory)
                if self.gains_inside(node.then, then) or self.gains_inside(node.orelse, orelse):
                    return True
            facts = facts.after(node)
        return False


@dataclass(frozen=True, slots=True)
class _Found:
    """A guard, the loops around it (outermost first) and the branches."""

    guard: Guard
    loops: tuple[Loop, ...]
    conditions: tuple[tuple[Expr, bool], ...]

    @property
    def condition(self) -> Expr:
        """What must hold, wherever the branches lead."""
        condition = self.guard.condition
        for outer, truth in self.conditions:
            other = op("logical_not", (outer,), outer.type) if truth else outer
            condition = op("logical_or", (other, condition), NP_BOOL)
        return condition


@dataclass(slots=True)
class _Check:
    """Conditions that are looked at together: over the turns of some loops, from the same elements."""

    loops: tuple[Loop, ...]
    around: tuple[Loop, ...]  # that must run for the elements to exist
    reads: frozenset[Value]  # and divisions, which not all numbers allow either
    found: list[_Found] = field(default_factory=list[_Found])


class _Look:
    """What the guards of a nest need, and a look at it."""

    def __init__(self, bench: Bench, loop: Loop, facts: Facts, written: frozenset[str]) -> None:
        self.bench = bench
        self.loop = loop
        self.facts = facts
        self.written = written
        own = values_defined_in(loop) | frozenset(bound_extents(loop, bench.containers))
        self.own = own
        self.made = effects_of(loop).allocates | effects_of(loop).binds
        self.writers = Counter(name for node in all_nodes(loop.body) for name in written_by(node))
        self.code = Code()
        self.supposed: set[Value] = set()
        self.found: list[_Found] = []
        self.checks: list[_Check] = []
        self.all_of: dict[
            str, tuple[Expr, tuple[Loop, ...]]
        ] = {}  # conditions that a reduction has joined, by its result

    def obstacle(self) -> str:
        """Why guards cannot be looked at first; what is to be looked at is collected on the way."""
        reason = self.collect(self.loop.body, (self.loop,), ())
        if reason:
            return reason
        for found in self.found:
            reason = self.add(found)
            if reason:
                return f"{reason}: {found.guard.reason}"
        return ""

    def collect(self, region: Region, loops: tuple[Loop, ...], conditions: tuple[tuple[Expr, bool], ...]) -> str:
        """The guards and what is computed on the way to them."""
        for node in region.nodes:
            reason = ""
            match node:
                case Tasklet():
                    self.define(node, supposed=bool(conditions))
                case Reduce(op="logical_and"):
                    self.joined(node, supposed=bool(conditions))
                case Guard():
                    reason = self.meet(_Found(node, loops, conditions))
                case Loop(body=body):
                    reason = self.collect(body, (*loops, node), conditions)
                case Branch(condition=condition, then=then, orelse=orelse):
                    reason = self.collect(then, loops, (*conditions, (condition, True)))
                    reason = reason or self.collect(orelse, loops, (*conditions, (condition, False)))
                case While(body=body) | Map(body=body) if any(isinstance(inner, Guard) for inner in all_nodes(body)):
                    reason = "there is one in a loop that may never end"
                case _:
                    pass
            if reason:
                return reason
        return ""

    def meet(self, found: _Found) -> str:
        if found.guard.reason.startswith(NOT_COMPILED):
            return "Python takes over only where it must"
        self.found.append(self.taken_apart(found))
        return ""

    def define(self, node: Tasklet, *, supposed: bool) -> None:
        for value, memlet in node.reads:
            self.code.reads[value] = memlet
        for let in node.lets:
            self.code.lets[let.value] = replace(let, warn=-1)  # the loop reports it
        defined = [*(value for value, _ in node.reads), *(let.value for let in node.lets)]
        self.code.order += defined
        self.code.spans.update(dict.fromkeys(defined, node.span))
        if supposed:
            self.supposed.update(defined)

    def joined(self, node: Reduce, *, supposed: bool) -> None:
        """A condition on all elements is as good as one in a loop over them: the look is a reduction itself."""
        source, name = node.input, node.output.container
        if not isinstance(source, Elements) or node.output.rank or name in self.all_of:
            return
        for tasklet in source.body:
            self.define(tasklet, supposed=supposed)
        zero, one = const_index(0), const_index(1)
        loops = tuple(
            Loop(var=param, start=zero, stop=extent, step=one, carries=(), body=Region(()), id=node.id, span=node.span)
            for param, extent in zip(source.params, source.shape, strict=True)
        )
        self.all_of[name] = source.expr, loops

    def taken_apart(self, found: _Found) -> _Found:
        """A guard on the result of such a reduction, as one on its elements."""
        condition = found.guard.condition
        memlet = self.code.reads.get(condition) if isinstance(condition, Value) else None
        if memlet is None or memlet.container not in self.all_of or self.writers[memlet.container] > 1:
            return found
        each, loops = self.all_of[memlet.container]
        return replace(found, guard=replace(found.guard, condition=each), loops=(*found.loops, *loops))

    # -- one guard

    def add(self, found: _Found) -> str:
        """Put a guard among the checks; why not, if that cannot be done."""
        origins = self.code.origins(found.condition)
        computed = self.code.needs(values_in(found.condition))
        variables = {loop.var: loop for loop in found.loops}
        if any(value in self.own and value not in computed and value not in variables for value in origins):
            return "it depends on what the loop computes"
        reads = frozenset(value for value in computed if value in self.code.reads)
        if any(self.may_change(self.code.reads[value].container) for value in reads):
            return "it depends on what the loop writes"
        over = tuple(loop for loop in found.loops if loop.var in origins)
        if not all(self.is_fixed(loop) for loop in over):
            return "it depends on a loop whose range varies"
        if any(effects_of(loop.body.nodes).jumps for loop in over):
            return "the loop may end before its last iteration"
        partial = frozenset(v for v in computed if v in self.code.lets and is_partial(self.code.lets[v].expr))
        if is_partial(found.guard.condition):
            partial |= {Value(-1 - len(self.checks), "", PY_INT)}  # looked at on its own
        reads |= partial
        around = self.needed(found, over, reads)
        if around is None:
            return "it reads what may not exist"
        self.join(found, _Check(over, around, reads))
        return ""

    def may_change(self, name: str) -> bool:
        """Whether an array is made, bound or written in the nest."""
        overlaps = self.bench.legality.memory.may_overlap
        return name in self.made or any(overlaps(name, other) for other in self.written)

    def is_fixed(self, loop: Loop) -> bool:
        """Whether the range of a loop is known in front of the nest."""
        return loop.step.constant is not None and self.own.isdisjoint(loop.start.values | loop.stop.values)

    def needed(self, found: _Found, over: tuple[Loop, ...], reads: frozenset[Value]) -> tuple[Loop, ...] | None:
        """The loops that must run for what a guard reads to exist; None where it may not."""
        facts = self.facts
        for loop in over:
            facts = facts.in_range(loop.var, loop.start, loop.stop, loop.step)
        if all(self.exists(value, facts) for value in reads):
            return ()
        around = tuple(loop for loop in found.loops if loop not in over and self.is_fixed(loop))
        for loop in around:
            facts = facts.given(_runs(loop))
        doubtful = [value for value in reads if not self.exists(value, facts)]
        if not doubtful:
            return around
        # The loop itself reads it at every point, behind the guards before, which are checked before.
        in_any_case = len(around) + len(over) == len(found.loops) and self.supposed.isdisjoint(doubtful)
        if found.conditions and any(value.id < 0 for value in doubtful):
            return None
        return around if in_any_case else None

    def exists(self, value: Value, facts: Facts) -> bool:
        """Whether an element provably is there to be read; no division has that proof."""
        memlet = self.code.reads.get(value)
        return memlet is not None and is_inside(memlet, facts, self.bench)

    def join(self, found: _Found, wanted: _Check) -> None:
        """Add a guard to the last check that reads as much in the same loops, else make another."""
        for check in self.checks:
            same = check.loops == wanted.loops and check.around == wanted.around
            if same and wanted.reads <= check.reads:
                check.found.append(found)
                return
        wanted.found.append(found)
        self.checks.append(wanted)

    # -- nodes

    def build(self, site: OpenSite) -> Iterator[Node]:
        """The checks, each followed by its guard."""
        for check in self.checks:
            yield from self.check(check, site)

    def check(self, check: _Check, site: OpenSite) -> Iterator[Node]:
        bench, span = self.bench, self.loop.span
        counts = [self.count(loop) for loop in check.loops]
        lets = [let for count in counts for let in count.lets]
        trips = [count.trips for count in counts] or [const_index(1)]
        if check.around:
            trips[0] = self.if_all_run(check.around, trips[0], lets)
        turns = [Value(bench.number(), loop.var.name, PY_INT, 0, None, const_index(0), trip - 1)
                 for loop, trip in zip(check.loops or (self.loop,), trips, strict=True)]  # fmt: skip
        condition, *more = (found.condition for found in check.found)
        for other in more:
            condition = op("logical_and", (condition, other), NP_BOOL)
        source = Elements(tuple(turns), tuple(trips), tuple(self.code.slice_of(values_in(condition))), condition)
        container = bench.container("holds", NP_BOOL.dtype, (), Storage.STACK)
        reduce = Reduce(
            op="minimum", output=full_view(container), input=source, axes=tuple(range(source.rank)),
            initial=const(True, NP_BOOL), id=bench.number(), span=span,
        )  # fmt: skip
        at: dict[Value, Expr] = {
            loop.var: count.at(turns[number])
            for number, (loop, count) in enumerate(zip(check.loops, counts, strict=True))
        }
        if lets:
            yield Tasklet(lets=tuple(lets), id=bench.number(), span=span)
        yield Alloc(container=container.name, site=-1, id=bench.number(), span=span)
        yield from with_fresh_values([reduce], bench.number, {**at, **{turn: turn for turn in turns}})
        holds = bench.value("holds", NP_BOOL)
        yield Tasklet(reads=((holds, Memlet(container.name, ())),), id=bench.number(), span=span)
        reasons = dict.fromkeys(found.guard.reason for found in check.found)
        yield Guard(holds, site.number, "; ".join(reasons))

    def count(self, loop: Loop) -> Count:
        count = counted(loop, self.facts, self.bench)
        assert count is not None
        return count

    def if_all_run(self, loops: Sequence[Loop], trips: Index, lets: list[Let]) -> Index:
        """A number of turns, 0 if one of the loops does not run."""
        condition: Expr = const(True, NP_BOOL)
        for loop in loops:
            condition = op("logical_and", (condition, _runs(loop)), NP_BOOL)
        value = replace(self.bench.value("turns", PY_INT), low=0)
        lets.append(Let(value, op("select", (condition, trips, const_index(0)), PY_INT)))
        return index(value)


_PARTIAL: Final = frozenset(("floor_divide", "remainder", "fmod"))


def is_partial(expr: Expr) -> bool:
    """Whether there are integers for which an expression must not be computed."""
    if not isinstance(expr, Op):
        return False
    divides = expr.name in _PARTIAL and expr.type.dtype.kind in "iu"
    by = as_index(expr.args[1]) if divides else None
    return (divides and (by is None or (by.constant or 0) <= 0)) or any(map(is_partial, expr.args))


def _runs(loop: Loop) -> Expr:
    return is_less(*ends(loop))
