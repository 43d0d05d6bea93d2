"""Loops that add up NumPy's integers are there without a look for overflows too, for numbers that are small enough.

before:  for i in 0:n carry (s: i8 = 0) { x = a[i]; t = add(s, x) warn 0; continue t }
after:   m = the largest absolute value of a
         if (n + 1) * m < 0.99 * 2**63 {      in floats
           for i in 0:n carry (s: i8 = 0) { x = a[i]; t = add(s, x); continue t }      which is a reduction
         } else { the loop as it was }

NumPy's scalars tell when they overflow, so that sums of them have an order. What a number in a nest can be at most is
found by `Sizes`: of elements that are only read, by a look at them; of what grows, from what it starts with and from
how often at most how much is added to it. Only where a loop of the nest becomes a reduction by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.facts import Facts
from weft.ir.dtypes import NP_BOOL
from weft.ir.exprs import Op, Value, op
from weft.ir.nodes import Branch, Let, Loop, Map, Node, Program, Region, Site, Tasklet, While, Yield
from weft.ir.ops import OVERFLOWING
from weft.ir.substitution import Substitution, fresh_values
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.loop_bodies import has_loops, named_sites, quiet
from weft.passes.loop_reductions import reduced
from weft.passes.number_sizes import Sizes
from weft.support.records import record

_SHORT: Final = 16  # turns


@record
class SumsInRange:
    """Add a version of loops in which integers cannot overflow."""

    name: ClassVar[str] = "sums-in-range"

    def run(self, program: Program, session: Session) -> Program:
        """The program with such loops twice."""
        if not has_loops(program) or not any(_tells(let) for let in _lets(program.body)):
            return program
        bench = Bench(self.name, program, session)
        body = _region(program.body, session.facts, _Place(bench, named_sites(program)), inside=False)
        return program if body is program.body else replace(program, body=body, containers=dict(bench.containers))


@record
class _Place:
    bench: Bench
    named: frozenset[int]  # sites


def _lets(region: Region) -> Iterator[Let]:
    for node in all_nodes(region):
        if isinstance(node, Tasklet):
            yield from node.lets


def _tells(let: Let) -> bool:
    """Whether an operation on integers may tell that it overflows: on arrays it does not, so it is one on scalars."""
    kind = let.value.type.dtype.kind
    return let.warn >= 0 and kind in "iu" and isinstance(let.expr, Op) and let.expr.name in OVERFLOWING


def _region(region: Region, facts: Facts, place: _Place, *, inside: bool) -> Region:
    nodes: list[Node] = []
    for node in region.nodes:
        made = _twice(node, facts, place, inside=inside) if isinstance(node, Loop) else None
        nodes += [_within(node, facts, place, inside=inside)] if made is None else made
        facts = facts.after(node)
    same = len(nodes) == len(region.nodes) and all(a is b for a, b in zip(nodes, region.nodes, strict=True))
    return region if same else Region(tuple(nodes))


def _within(node: Node, facts: Facts, place: _Place, *, inside: bool) -> Node:
    known = facts.inside(node, place.bench.legality.memory)
    match node:
        case Loop() | While():
            body = _region(node.body, known[0], place, inside=True)
            return node if body is node.body else replace(node, body=body)
        case Branch():
            then, orelse = (
                _region(arm, its, place, inside=inside)
                for arm, its in zip((node.then, node.orelse), known, strict=True)
            )
            return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
        case _:
            return node


def _twice(loop: Loop, facts: Facts, place: _Place, *, inside: bool) -> list[Node] | None:
    bench = place.bench
    if inside and not any(isinstance(node, Loop | Map) for node in all_nodes(loop.body)):
        return None  # a short loop in another: a look at its elements costs more than it gains
    if any(isinstance(carry.target, str) for carry in loop.carries) or not any(map(_tells, _lets(loop.body))):
        return None
    trial = _silent(loop, None)
    if not _gains(loop, trial, facts, place):
        return None
    sizes = Sizes(loop, facts, bench)
    known = frozenset(let.value for let in filter(_tells, _lets(loop.body)) if sizes.of(let.value) is not None)
    silent = _silent(loop, known)
    if not _gains(loop, silent, facts, place):
        return None
    condition, *others = sizes.limits
    for other in others:
        condition = op("logical_and", (condition, other), NP_BOOL)
    bench.note(f"the loop over {loop.var.name} needs no look for overflows where numbers are small", loop, done=True)
    first, second = _copy(silent, bench), _without_sites(_copy(loop, bench))
    branch = Branch(
        condition=condition, then=first, orelse=quiet(second),
        results=tuple(carry.target for carry in loop.carries), id=bench.number(), span=loop.span,
    )  # fmt: skip
    return [*sizes.nodes, branch]


def _silent(loop: Loop, which: frozenset[Value] | None) -> Loop:
    """A loop in which these operations tell of nothing; None: all of them."""

    def rule(node: Node) -> tuple[Node, ...] | None:
        if not isinstance(node, Tasklet):
            return None
        lets = tuple(
            replace(let, warn=-1) if _tells(let) and (which is None or let.value in which) else let for let in node.lets
        )
        return None if lets == node.lets else (replace(node, lets=lets),)

    return replace(loop, body=rewrite_nodes(loop.body, rule))


def _gains(loop: Loop, silent: Loop, facts: Facts, place: _Place) -> bool:
    """Whether a loop, or one in it, is a reduction where it tells of no overflow, and is none otherwise."""
    trial = Bench(place.bench.step, place.bench.program, Session(place.bench.session.solver))
    could = None if _is_short(loop) else reduced(silent, facts, trial, place.named)
    if could is not None and reduced(loop, facts, trial, place.named) is None:
        return True
    known = facts.inside(loop, place.bench.legality.memory)[0]
    for one, other in zip(loop.body.nodes, silent.body.nodes, strict=True):
        if isinstance(one, Loop) and isinstance(other, Loop) and _gains(one, other, known, place):
            return True
        known = known.after(one)
    return False


def _is_short(loop: Loop) -> bool:
    """Whether a loop has a few turns, which are written out: a window of 3 x 3."""
    turns = (loop.stop - loop.start).constant
    return turns is not None and abs(turns) <= _SHORT


def _without_sites(region: Region) -> Region:
    """A region that is there twice: nothing in it leaves, and each site may stand once."""
    return rewrite_nodes(region, lambda node: () if isinstance(node, Site) else None)


def _copy(loop: Loop, bench: Bench) -> Region:
    """A loop with values of its own, as an arm that gives what it carries."""
    values = Substitution(fresh_values([loop], bench.number))
    made = values.node(loop)
    given = tuple(values.expr(carry.target) for carry in loop.carries if isinstance(carry.target, Value))
    return Region((made, Yield(given)))
