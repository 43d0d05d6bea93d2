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

Where it is not known which elements of an array the loop reads (`x[columns[starts[i]:starts[i + 1]]]`), all of them are
looked at, if those are not many more than turns. What is not read may be anything: if an element does not fit, the loop
runs as it was, guards and all. So it does where an index in `for j in range(starts[i], starts[i + 1])` is negative: of
ranges from data only the ends are looked at.

Where the guards stand under conditions on data but hold at the ends of all ranges, as in `if a[i] > 0: y[i] = b[i]`
with arrays of one length, that is all that is asked first; the look, or the loop as it was, is for where it is not so.

All guards of a nest go, or none: done where the turns of a loop become independent by that (`Legality.carried`), or a
loop a reduction. `hoist-guards` has taken those that need no look at all turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.ir.exprs import Expr, Index, Value
from weft.ir.nodes import (
    Alloc,
    Branch,
    Guard,
    Loop,
    Map,
    Node,
    NumpyCall,
    Program,
    Region,
    Site,
    Tasklet,
    Yield,
)  # fmt: skip
from weft.ir.substitution import Substitution, fresh_values
from weft.ir.traverse import all_nodes, site_left_through
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.dead_code import DropDeadCode
from weft.passes.guard_corners import Front, holds_everywhere
from weft.passes.guard_looks import Check, Look, all_of
from weft.passes.loop_bodies import has_loops, quiet, straight
from weft.passes.loop_reductions import reduced
from weft.passes.open_sites import OpenSite, open_site, rewrite_inside, writes_of
from weft.passes.private_bins import added_up
from weft.support.records import record


@record
class GuardsAhead:
    """Look at what guards depend on before loops run."""

    name: ClassVar[str] = "guards-ahead"

    def run(self, program: Program, session: Session) -> Program:
        """The program with guards on data in front of loops."""
        if not has_loops(program) or not any(isinstance(node, Guard) for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        body = _Walk(bench).region(program.body, session.facts, None)
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
        self.depth = 0  # of `for` loops around
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
        if isinstance(node, Map):
            return node
        self.depth += isinstance(node, Loop)
        made = rewrite_inside(node, facts.inside(node, self.memory), site, self.writes, self.region)
        self.depth -= isinstance(node, Loop)
        return made

    def looked_at(self, loop: Loop, facts: Facts, site: OpenSite) -> list[Node] | None:
        """A loop without guards behind what looks at all of its turns; None where that is not possible, or no gain."""
        if not any(isinstance(node, Guard) for node in all_nodes(loop.body)):
            return None
        without = replace(loop, body=rewrite_nodes(loop.body, lambda n: () if isinstance(n, Guard) else None))
        if not self.gains(without, facts, self.depth):
            return None
        look = Look(self.bench, loop, facts, self.writes.of(loop))
        reason = look.obstacle()
        if reason:
            held = _anyway(look) if self.has_copy(loop) else None
            if held is not None:
                self.bench.note(f"the loop over {loop.var.name} needs no guards where all ranges fit", loop, done=True)
                return [self.either(held, self.copy(without), (loop,))]
            self.bench.note(f"guards stay in the loop over {loop.var.name}: {reason}", loop, done=False)
            return None
        if look.is_open and not self.has_copy(loop):
            return None
        self.bench.note(f"what the loop over {loop.var.name} depends on is looked at in front of it", loop, done=True)
        holding: list[Value] = []
        checks = list(look.build(site, holding))
        held = _always(look) if self.has_copy(loop) else None
        if held is not None:  # as a rule: then nothing is looked at, and all that is read exists at every turn
            return [self.either(held, self.copy(without), (*checks, without))]
        if not holding:
            return [*checks, without]
        condition = all_of(holding)
        plain = rewrite_nodes(Region((without,)), lambda node: _as_checked(node, look.plain)).nodes[0]
        assert isinstance(plain, Loop)
        return [*checks, self.either(condition, self.copy(plain), (loop,))]

    def either(self, condition: Expr, then: Loop, orelse: tuple[Node, ...]) -> Branch:
        """A loop in two ways. Of the second, for what hardly happens, later passes tell the user nothing."""
        first, second = Region((then, Yield())), quiet(Region((*orelse, Yield())))
        return Branch(condition=condition, then=first, orelse=second, id=self.bench.number(), span=then.span)

    def has_copy(self, loop: Loop) -> bool:
        """Whether a loop may be there twice: nothing that is defined in it is seen elsewhere."""
        made = effects_of(loop).allocates
        aliased = any(container.base in made for container in self.bench.containers.values())
        return not loop.carries and not effects_of(loop).binds and not aliased

    def copy(self, loop: Loop) -> Loop:
        """A loop with values, arrays and sites of its own."""
        bench = self.bench
        values = Substitution(fresh_values([loop], bench.number))
        names: dict[str, str] = {}
        for name in sorted(effects_of(loop).allocates):
            container = bench.containers[name]
            names[name] = f"{name.partition('.')[0]}.{bench.number()}"
            shape = tuple(map(values.index, container.shape))
            bench.containers[names[name]] = replace(container, name=names[name], shape=shape)
        sites = {node.number: bench.number() for node in all_nodes(loop.body) if isinstance(node, Site)}

        def rule(node: Node) -> tuple[Node, ...] | None:
            match node:
                case Site(number=number):
                    return (replace(node, number=sites[number]),)
                case Alloc(site=site) | NumpyCall(site=site) if site in sites:
                    return (replace(node, site=sites[site]),)
                case _:
                    return None

        (made,) = rewrite_nodes(Region((Substitution(values.values, names).node(loop),)), rule).nodes
        assert isinstance(made, Loop)
        return made

    def gains(self, loop: Loop, facts: Facts, depth: int) -> bool:
        """Whether a loop without guards, or one in it, has independent turns, is a reduction, or adds to bins.

        Not where that stands in a loop itself: rows are short, and looking at each in front costs more than it gains.
        """
        body = straight(loop, self.calls)
        if body is not None:
            if not loop.carries and not depth and added_up(body, self.memory) is not None:
                return True
            if not loop.carries and not self.bench.legality.carried(loop, facts, first=True):
                return True
            trial = Bench(self.bench.step, self.bench.program, Session(self.bench.session.solver))
            if loop.carries and not depth and reduced(loop, facts, trial, self.calls) is not None:
                return True
        return self.gains_inside(loop.body, facts.inside(loop, self.memory)[0], depth + 1)

    def gains_inside(self, region: Region, facts: Facts, depth: int) -> bool:
        for node in region.nodes:
            if isinstance(node, Loop) and self.gains(node, facts, depth):
                return True
            if isinstance(node, Branch):
                then, orelse = facts.inside(node, self.memory)
                if self.gains_inside(node.then, then, depth) or self.gains_inside(node.orelse, orelse, depth):
                    return True
            facts = facts.after(node)
        return False


def _as_checked(node: Node, plain: Mapping[Value, Index]) -> tuple[Node, ...] | None:
    """A tasklet with what is known of indices."""
    if not isinstance(node, Tasklet) or all(let.value not in plain for let in node.lets):
        return None
    lets = (replace(let, expr=plain.get(let.value, let.expr)) for let in node.lets)
    return (replace(node, lets=tuple(lets)),)


def _always(look: Look) -> Expr | None:
    """What lets all guards hold whatever the data, which some of them wait for; None where nothing is known to."""
    if look.is_open or not any(check.reads and _waits(check) for check in look.checks):
        return None
    conditions: list[Expr] = []
    front = Front(look.facts, look.own, look.bench)
    for check in look.checks:
        everywhere = holds_everywhere([found.guard.condition for found in check.found], check.loops, front)
        if everywhere is None:
            return None
        conditions.append(everywhere)
    return all_of(conditions)


def _anyway(look: Look) -> Expr | None:
    """What lets all guards hold whatever the data, where some cannot be looked at; None where nothing is known to."""
    if not look.collected or not any(found.conditions for found in look.found):
        return None
    conditions: list[Expr] = []
    front = Front(look.facts, look.own, look.bench)
    for found in look.found:
        everywhere = holds_everywhere([found.guard.condition], found.loops[::-1], front)
        if everywhere is None:
            return None
        conditions.append(everywhere)
    return all_of(list(dict.fromkeys(conditions)))


def _waits(check: Check) -> bool:
    """Whether its guards stand under conditions."""
    return any(found.conditions for found in check.found)
