"""Counters that cannot leave int64 need no check.

before:  for i in 0:n carry (c: py_int = 0) {
           ...; if x -> (d: py_int) { guard not(add_overflows(c, 1)) else site 4; yield c + 1 } else { yield c }
           continue d }
after:   the same without the guard: n is the length of an array, and each iteration adds 1 at most

A Python int that a loop only adds bounded numbers to stays within what it was before the loop and the largest number of
iterations times the most an iteration adds. Nobody waits for 2**61 turns of a `while`: at one in a nanosecond they take
70 years. Nor for so many of loops in loops, if each of their turns looks at an element before it counts: the C compiler
might run other loops in no time.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import field, replace
from typing import ClassVar, Final

from weft.analysis.conditions import OVERFLOWS
from weft.analysis.facts import Facts, as_index
from weft.analysis.ranges import INT64_MAX, INT64_MIN, fits_int64, index_bounds
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Expr, Index, Op, Value, index, values_in
from weft.ir.nodes import (
    Branch,
    Break,
    Carry,
    Continue,
    Guard,
    Loop,
    Node,
    Program,
    Region,
    Tasklet,
    View,
    While,
    Yield,
)
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench, Session, rewrite_nodes, rewrite_regions
from weft.support.records import record

_MOST_TURNS: Final = 2**61


@record
class BoundedCounts:
    """Take checks for overflow from counters."""

    name: ClassVar[str] = "bounded-counts"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer guards."""
        if not any(isinstance(node, Loop | While) and node.carries for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        return rewrite_regions(bench, lambda region, facts: _unchecked(region, facts, bench))


def _unchecked(region: Region, facts: Facts, bench: Bench) -> Region:
    nodes: list[Node] = []
    for node in region.nodes:
        nodes.append(_loop(node, facts, bench) if isinstance(node, Loop | While) else node)
        facts = facts.after(node)
    return region if all(a is b for a, b in zip(nodes, region.nodes, strict=True)) else Region(tuple(nodes))


def _loop(loop: Loop | While, facts: Facts, bench: Bench) -> Loop | While:
    counters: dict[Value, Value] = {}
    for carry in loop.carries:
        if isinstance(carry.target, Value) and carry.target.type == PY_INT and not isinstance(carry.init, View):
            versions = _Versions(carry.target)
            if versions.follow(loop):
                counters.update(versions.bounded(_most_turns(loop, facts), carry.init))
    if not counters:
        return loop
    body = rewrite_nodes(loop.body, lambda node: () if _never_fails(node, counters) else None)
    if body is loop.body:
        return loop
    which = f"loop over {loop.var.name}" if isinstance(loop, Loop) else "while loop"
    bench.note(f"counters of the {which} stay within int64", loop, done=True)
    return replace(loop, body=body)


def _never_fails(node: Node, counters: dict[Value, Value]) -> bool:
    match node:
        case Guard(condition=Op(name="logical_not", args=(Op(name=name, args=(left, right)),))) if name in OVERFLOWS:
            a, b = as_index(left), as_index(right)
            if a is None or b is None or not (a.values | b.values) & counters.keys():
                return False
            known = {value: index(bounded) for value, bounded in counters.items()}
            a, b = a.substitute(known), b.substitute(known)
            return fits_int64({"add_overflows": a + b, "subtract_overflows": a - b}.get(name, a * b))
        case _:
            return False


@record(frozen=False)
class _Versions:
    """The values a counter has in an iteration, and how far each may be from the one at its beginning."""

    start: Value
    steps: dict[Value, tuple[int, int]] = field(default_factory=dict[Value, tuple[int, int]])
    inner: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # what turns of loops inside add

    def follow(self, loop: Loop | While) -> bool:
        """Whether the loop does nothing but add bounded numbers to it, in one way through its body."""
        if not _has_one_way(loop):
            return False
        self.steps[self.start] = (0, 0)
        self.region(loop.body)
        grown = self.grown(loop, self.start)
        if grown is None:
            return False
        self.steps[self.start] = grown  # of an iteration
        return True

    def grown(self, loop: Loop | While, target: Value) -> tuple[int, int] | None:
        """What a turn adds to a version that it carries, without loops inside; None if it does something else."""
        position, last = [carry.target for carry in loop.carries].index(target), loop.body.nodes[-1]
        end = last.values[position] if isinstance(last, Continue) else None
        after = None if end is None or isinstance(end, View) else self.step(end)
        low, high = self.steps[target]
        return None if after is None else (after[0] - low, after[1] - high)

    def region(self, region: Region) -> None:
        for node in region.nodes:
            match node:
                case Tasklet(lets=lets):
                    for let in lets:
                        self.note(let.value, self.step(let.expr))
                case Branch():
                    self.branch(node)
                case Loop():
                    self.loop(node)
                case _:
                    continue

    def loop(self, loop: Loop) -> None:
        """A loop inside: a version that it carries is one after it, too. What its turns add is counted apart."""
        if not _has_one_way(loop) or any(isinstance(node, Break) for node in all_nodes(loop.body)):
            return
        targets = [carry.target for carry in loop.carries if self.step_of(carry) is not None]
        before, inner = dict(self.steps), len(self.inner)
        for carry in loop.carries:
            if carry.target in targets and isinstance(carry.target, Value):
                self.note(carry.target, self.step_of(carry))
        self.region(loop.body)
        for target in targets:
            grown = self.grown(loop, target) if isinstance(target, Value) else None
            if grown is None or (any(grown) and not (grown[0] < grown[1] and _counts_elements(loop, self.steps))):
                self.steps, self.inner = before, self.inner[:inner]  # nor is anything a version that is made of it
                return
            self.inner.append(grown)

    def step_of(self, carry: Carry) -> tuple[int, int] | None:
        """How far a carry is from the counter before its loop; None where it is something else."""
        if not isinstance(carry.target, Value) or isinstance(carry.init, View):
            return None
        return self.step(carry.init)

    def branch(self, node: Branch) -> None:
        self.region(node.then)
        self.region(node.orelse)
        ends = [side.nodes[-1] for side in (node.then, node.orelse) if side.nodes]
        for number, result in enumerate(node.results):
            given = [end.values[number] for end in ends if isinstance(end, Yield)]
            steps = [None if isinstance(value, View) else self.step(value) for value in given]
            known = [step for step in steps if step is not None]
            if isinstance(result, Value) and known and len(known) == len(steps):
                self.note(result, (min(low for low, _ in known), max(high for _, high in known)))

    def note(self, value: Value, step: tuple[int, int] | None) -> None:
        if step is not None:
            self.steps[value] = step

    def step(self, expr: Expr) -> tuple[int, int] | None:
        """How far an expression may be from the counter at the beginning; None if it is something else."""
        polynomial = as_index(expr)
        if polynomial is None:
            return None
        for value, (low, high) in self.steps.items():
            rest: Index = polynomial - value
            if value in polynomial.values and not rest.values & self.steps.keys():
                least, most = index_bounds(rest)
                return (low + least, high + most)
        return None

    def bounded(self, turns: int | None, init: Expr) -> Iterator[tuple[Value, Value]]:
        """The values, with the bounds they have in all iterations, of which there are so many at most."""
        first = as_index(init)
        if first is None or turns is None:
            return
        low, high = index_bounds(first)
        least, most = self.steps[self.start]
        low, high = low + min(0, turns * least), high + max(0, turns * most)
        low += _MOST_TURNS * min((0, *(down for down, _ in self.inner)))
        high += _MOST_TURNS * max((0, *(up for _, up in self.inner)))
        for value, (down, up) in self.steps.items():
            ends = (low, high) if value == self.start else (low + min(0, down), high + max(0, up))
            if ends[0] >= INT64_MIN and ends[1] <= INT64_MAX:
                yield value, replace(value, low=ends[0], high=ends[1])


def _most_turns(loop: Loop | While, facts: Facts) -> int | None:
    if isinstance(loop, While):
        return _MOST_TURNS
    by = loop.step.constant
    if not by:
        return None
    span = loop.stop - loop.start if by > 0 else loop.start - loop.stop
    # What a fact says is not negative may be added: the shorter of two arrays is no longer than either.
    forms = (span, *(span + fact.index for fact in facts.constraints))
    return max(0, min(index_bounds(form)[1] for form in forms)) // abs(by) + 1


def _counts_elements(loop: Loop, versions: Container[Value]) -> bool:
    """Whether it depends on the element that a turn looks at what becomes of a counter."""
    varying: set[Value] = set()
    for node in loop.body.nodes:
        match node:
            case Tasklet(reads=reads, lets=lets):
                varying.update(value for value, at in reads if any(loop.var in place.values for place in at.index))
                varying.update(let.value for let in lets if values_in(let.expr) & varying)
            case Branch(condition=condition, results=results) if values_in(condition) & varying:
                if any(result in versions for result in results if isinstance(result, Value)):
                    return True
            case _:
                continue
    return False


def _has_one_way(loop: Loop | While) -> bool:
    """Whether turns go on at the end of the body alone."""
    nodes = loop.body.nodes
    return bool(nodes) and isinstance(nodes[-1], Continue) and not any(map(_goes_on, nodes[:-1]))


def _goes_on(node: Node) -> bool:
    """Whether an iteration may end in a node by going on with the next."""
    if isinstance(node, Branch):
        return any(_goes_on(inner) for side in (node.then, node.orelse) for inner in side.nodes)
    return isinstance(node, Continue)
