"""Guards of later statements move up to the earliest site from which Python could start again.

before:  site 2 {a}; t = a + 1; site 3 {a, t}; guard n == m else site 3; b = t * c
after:   site 2 {a}; guard n == m else site 2; t = a + 1; site 3 {a, t}; b = t * c

Between the site and the place of the guard nothing is written that Python can see, neither in arguments nor in what the
site shows, so starting again from the earlier site gives the same; the statements in between run again, in Python. What
they compute no longer leaves with a failing guard, so it need not be stored. A guard that needs values computed in
between stays where it is, and takes the earliest site after which nothing can warn before its own: it would warn twice.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import ClassVar

from weft.analysis.effects import effects_of
from weft.analysis.memory import Memory, made_in_loops
from weft.ir.exprs import Value, values_in
from weft.ir.nodes import (
    Alloc,
    Elementwise,
    Guard,
    Map,
    MatMul,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Scan,
    Site,
    Tasklet,
)  # fmt: skip
from weft.ir.traverse import all_nodes, site_left_through
from weft.passes.base import Bench, Session, rewrite_nodes, rewrite_regions
from weft.passes.open_sites import OpenSite, Writes, open_site, sites_above, writes_of
from weft.support.abi import NOT_COMPILED
from weft.support.records import record


@record
class GatherGuards:
    """Evaluate guards early, at the earliest site that still holds."""

    name: ClassVar[str] = "gather-guards"

    def run(self, program: Program, session: Session) -> Program:
        """The program with its guards gathered."""
        bench = Bench(self.name, program, session)
        writes = writes_of(program, bench.legality.memory)
        return _drop_sites(rewrite_regions(bench, lambda region, _: _gather(region, bench, writes)), writes.memory)


def _drop_sites(program: Program, memory: Memory) -> Program:
    """The program without the sites that no guard and no allocation names, where they show an array of the program's.

    The others cost nothing, and a later pass may need one in front of a loop. One that stands above an operation which
    overwrites what it reads stays too: the copy that may be made there needs memory.
    """
    named = {site_left_through(node) for node in all_nodes(program.body)}
    above = sites_above(program.body)
    operations = (node for node in all_nodes(program.body) if isinstance(node, Elementwise))
    made = made_in_loops(program.body)
    named |= {above[node.id] for node in operations if memory.may_read_elsewhere(node, made)}

    def rule(node: Node) -> tuple[Node, ...] | None:
        return () if isinstance(node, Site) and node.number not in named and open_site(node).shown else None

    body = rewrite_nodes(program.body, rule)
    return program if body is program.body else replace(program, body=body)


@record(frozen=False)
class _Open:
    """A site to which the program can still be taken back from here."""

    site: OpenSite
    end: int  # where its guards end
    defined: set[Value] = field(default_factory=set[Value])  # since, of the earliest site alone
    may_warn: bool = False
    warned: bool = False  # whether something could, before the last site


def _gather(region: Region, bench: Bench, writes: Writes) -> Region:
    nodes: list[Node] = []
    opened: list[_Open] = []  # the earliest first
    for node in region.nodes:
        match node:
            case Site():
                nodes.append(node)
                for one in opened:
                    one.warned = one.may_warn
                opened.append(_Open(open_site(node), len(nodes)))
            case Guard() if opened:
                _place_guard(nodes, node, opened, bench)
            case Alloc() if opened:
                number = opened[0].site.number
                nodes.append(node if node.site == number else replace(node, site=number))
            case _:
                nodes.append(node)
                opened = _still_open(node, opened, bench, writes)
    return region if tuple(nodes) == region.nodes else Region(tuple(nodes))


def _still_open(node: Node, opened: list[_Open], bench: Bench, writes: Writes) -> list[_Open]:
    """The sites that are open after a node; none if the first one is not, for guards that move stand behind it."""
    if not opened or effects_of(node).jumps or writes.close(node, opened[0].site):
        return []
    opened[0].defined |= bench.defines(node)
    kept = [opened[0], *(one for one in opened[1:] if not writes.close(node, one.site))]
    if any(_warns(inner) for inner in all_nodes(Region((node,)))):
        for one in kept:
            one.may_warn = True
    return kept


def _place_guard(nodes: list[Node], guard: Guard, opened: list[_Open], bench: Bench) -> None:
    current = opened[0]
    number = current.site.number
    if guard.reason.startswith(NOT_COMPILED):
        nodes.append(guard)  # Python takes over only where it must
    elif values_in(guard.condition).isdisjoint(current.defined):
        nodes.insert(current.end, replace(guard, site=number))
        for one in opened:
            one.end += 1
        if guard.site != number:
            bench.note(f"checked early: {guard.reason}", done=True)
    elif not current.may_warn and guard.site != number:
        nodes.append(replace(guard, site=number))
    else:
        own = opened[-1].site.number == guard.site
        earliest = next((one.site.number for one in opened if not one.warned), guard.site)
        nodes.append(replace(guard, site=earliest) if own and earliest != guard.site else guard)


def _warns(node: Node) -> bool:
    match node:
        case Tasklet(lets=lets):
            return any(let.warn >= 0 for let in lets)
        case Map() | Elementwise() | Reduce() | Scan() | MatMul():
            return node.warn >= 0
        case NumpyCall():
            return True
        case _:
            return False
