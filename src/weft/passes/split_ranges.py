"""Loops in which one turn is not like the others become the turns before it, that turn, and those after it.

before:  for j in 0:n { x = d[i, j]; y = d[i, k]; z = d[k, j]; write d[i, j] = minimum(x, add(y, z)); continue }
after:   for j in 0:k { ... }; x = d[i, k]; y = d[i, k]; z = d[k, k]; ...; for j in k + 1:n { ... }

A turn is not like the others where a branch asks for it, `if i == 0 or i == n - 1`, or where it writes what others
read: above, d[i, k] in turn k. Ranges that a branch cuts in two, `if j < i`, are cut there. In each part the question
has an answer, and what is left of the branch needs no condition. Indices that go around, `u[(i + 1) % n]`, ask where
they do so, if it is known that they do so once at most, and those that may count from the end, `u[i - 1]`, where they
do: in each part they are plain. Where turns meet, only if the parts are maps by that, proved by the legality core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import ClassVar, Final

from weft.analysis.conditions import Constraint, clauses_of, condition_of
from weft.analysis.effects import Access, effects_of
from weft.analysis.facts import Facts
from weft.ir.dtypes import NP_BOOL
from weft.ir.exprs import Const, Expr, Index, Op, const, const_index, index, op
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Continue,
    Elementwise,
    Guard,
    Let,
    Loop,
    Map,
    Node,
    NumpyCall,
    Program,
    Region,
    Return,
    Site,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, inner_regions, values_defined_in
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.exact_conditions import stays_in_int64
from weft.passes.guard_corners import Front, holds_everywhere
from weft.passes.loop_bodies import computed, has_loops, is_less, only_if, quiet, rewrite_loops, straight
from weft.passes.range_questions import Question, asked_in, indices_around, questions_of
from weft.passes.simplify import Simplify
from weft.support.abi import MAX_EXTENT
from weft.support.records import record

_MOST_NODES: Final = 320  # of a loop of which there will be three
_MOST_MADE: Final = 3000  # nodes of all parts of a nest: of places whose order is not known, each doubles them
_APART: Final = 1 << 61  # from the ends of int64: where a range is cut, it is added to and subtracted from


@record
class SplitRanges:
    """Cut loops where a turn differs: by what branches ask, or (`meeting`) by what other turns need of it."""

    name: ClassVar[str] = "split-ranges"
    meeting: bool = False

    def run(self, program: Program, session: Session) -> Program:
        """The program with more loops, each of turns that are alike."""
        if self.meeting:
            return rewrite_loops(self.name, program, session, _where_turns_meet)
        if not has_loops(program):
            return program
        body = _Walk(Bench(self.name, program, session)).region(program.body, session.facts)
        if body is program.body:
            return program
        return Simplify(loop_sites=True).run(replace(program, body=body), session)


# ---- what branches ask ---------------------------------------------------------------------------------------------


class _TooMany(Exception):  # noqa: N818 - no error
    """The parts of a nest would be too many."""


class _Walk:
    """Goes down to the outermost loops with such questions."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.room = 0  # for so many nodes, in the parts of the nest at hand
        self.loops: list[Loop] = []  # that are cut in it
        self.beside = False  # in a part of few turns, in which remainders may stay

    def region(self, region: Region, facts: Facts) -> Region:
        """A region with its nests cut."""
        nodes: list[Node] = []
        for node in region.nodes:
            made = self.nest(node, facts) if isinstance(node, Loop) else None
            nodes += [self.inside(node, facts, self.region)] if made is None else made
            facts = facts.after(node)
        return region if _are_same(nodes, region.nodes) else Region(tuple(nodes))

    def inside(self, node: Node, facts: Facts, change: Callable[[Region, Facts], Region]) -> Node:
        known = facts.inside(node, self.bench.legality.memory)
        match node:
            case Map() | Loop() | While():
                body = change(node.body, known[0])
                return node if body is node.body else replace(node, body=body)
            case Branch():
                then, orelse = change(node.then, known[0]), change(node.orelse, known[1])
                return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
            case _:
                return node

    def nest(self, loop: Loop, facts: Facts) -> list[Node] | None:
        """A nest in parts, beside itself for where a guard in it does not hold at all ends of its ranges.

        The parts are code of their own, with no way back to Python in front of each: what they need is asked first.
        """
        if not _can_be_cut(loop):
            return None
        limits = list(_limits(loop, facts, self.bench))
        for limit in limits:
            facts = facts.given(limit)
        self.room, self.loops, self.beside = _MOST_MADE, [], False
        try:
            parts = self.cut(loop, facts)
        except _TooMany:
            self.bench.note(f"branches ask for too many places in the loop over {loop.var.name}", loop, done=False)
            return None
        if parts is None:
            return None
        bench, last = self.bench, self.bench.number()
        for name, one in {one.var.name: one for one in self.loops}.items():
            bench.note(f"the loop over {name} is cut where a branch asks for {name}", one, done=True)
        then = with_fresh_values(_own_sites(Region(tuple(parts)), bench).nodes, bench.number, {})
        body = rewrite_nodes(bench.program.body, lambda node: tuple(then) if node is loop else None)
        trial = Simplify(loop_sites=True).run(replace(bench.program, body=body), Session(bench.session.solver))
        inside = _all_inside(trial.body, last, facts, bench)
        conditions = limits if inside is None else [*limits, inside]
        if not conditions:
            return then
        always = reduce(lambda one, other: op("logical_and", (one, other), NP_BOOL), conditions)
        regions = Region((*then, Yield())), quiet(Region((loop, Yield())))
        return [Branch(condition=always, then=regions[0], orelse=regions[1], id=bench.number(), span=loop.span)]

    def cut(self, loop: Loop, facts: Facts) -> list[Node] | None:
        """A loop in parts, then the loops in each of them; None where nothing is cut."""
        parts = self.where_asked(loop, facts)
        if parts is None:
            inner = self.inside(loop, facts, self.cut_inside)
            return [inner] if inner is not loop else None
        made: list[Node] = []
        outer = self.beside
        for part, beside in parts:
            self.beside = outer or beside
            made.append(self.inside(part, facts, self.cut_inside))
            facts = facts.after(part)
        self.beside = outer
        return made

    def where_asked(self, loop: Loop, facts: Facts, *, beside: bool = False) -> list[tuple[Node, bool]] | None:
        """A loop in parts, each of which may be cut again, and whether that is one of few turns (`beside`)."""
        if not _can_be_cut(loop):
            return None
        bench = self.bench
        turned: Mapping[Op, bool | None] = {} if self.beside or beside else self.around_in(loop, facts)
        wanted = questions_of(loop, (*asked_in(loop), *turned))
        questions = [one for one in wanted if stays_in_int64(one.at, facts, bench, apart=_APART)]
        runs = facts.given(is_less(loop.start, loop.stop))
        question = next((one for one in questions if not _is_outside(one, loop, runs, bench)), None)
        if question is None:
            return None
        self.loops.append(loop)
        made: list[tuple[Node, bool]] = []
        same = [other for other in questions if other.at == question.at]
        for sign, part in _parts(loop, question, same, facts, bench):
            self.room -= sum(1 for _ in all_nodes(Region((part,))))
            if self.room < 0:
                raise _TooMany
            few = beside or question.answer(sign).value == turned.get(question.asked)
            further = self.where_asked(part, facts, beside=few) if isinstance(part, Loop) else None
            made += [(part, few)] if further is None else further
        return made

    def around_in(self, loop: Loop, facts: Facts) -> Mapping[Op, bool | None]:
        """What indices ask that go around once at most, and the answer where few turns give it."""
        inside = facts.inside(loop, self.bench.legality.memory)[0]
        return {
            asked: where
            for around in indices_around(loop)
            if all(_is_never_negative(form, inside, self.bench) for form in around.beside)
            for asked, where in around.asked
        }

    def cut_inside(self, region: Region, facts: Facts) -> Region:
        nodes: list[Node] = []
        for node in region.nodes:
            made = self.cut(node, facts) if isinstance(node, Loop) else None
            nodes += [self.inside(node, facts, self.cut_inside)] if made is None else made
            facts = facts.after(node)
        return region if _are_same(nodes, region.nodes) else Region(tuple(nodes))


def _are_same(nodes: Sequence[Node], others: Sequence[Node]) -> bool:
    return len(nodes) == len(others) and all(a is b for a, b in zip(nodes, others, strict=True))


def _limits(loop: Loop, facts: Facts, bench: Bench) -> Iterator[Expr]:
    """What lets the places be computed in 64 bits that are asked for in a nest: what is given to it is not huge."""
    loops = [node for node in all_nodes(Region((loop,))) if isinstance(node, Loop) and _can_be_cut(node)]
    asked = (
        (one, [*asked_in(one), *(part for other in indices_around(one) for part, _ in other.asked)]) for one in loops
    )
    places = [question.at for one, wanted in asked for question in questions_of(one, wanted)]
    values = {value: index(value) for at in places for value in sorted(at.values, key=lambda value: value.id)}
    own = values_defined_in(loop)
    for value, form in values.items():
        if value not in own and not stays_in_int64(form, facts, bench, apart=_APART):
            yield op("less_equal", (form, const_index(MAX_EXTENT)), NP_BOOL)
            yield op("greater_equal", (form, const_index(-MAX_EXTENT)), NP_BOOL)
    yield from dict.fromkeys(wanted for one in loops for wanted in _wide_enough(one, facts, Front(facts, own, bench)))


def _wide_enough(loop: Loop, facts: Facts, front: Front) -> Iterator[Expr]:
    """What lets indices go around once at most: `(i - 2) % n` does where n is not 1. Not that n is small."""
    inside = facts.inside(loop, front.bench.legality.memory)[0]
    for around in indices_around(loop):
        for form in around.beside if loop.var in around.number.values else ():
            if not _is_never_negative(form, inside, front.bench):
                wanted = holds_everywhere([condition_of((Constraint(form),))], [loop], front)
                worst = None if wanted is None else _single_constraint(wanted)
                if worst is not None and all(factor > 0 for monomial, factor in worst.index.terms if monomial):
                    yield condition_of((worst,))


def _single_constraint(condition: Expr) -> Constraint | None:
    match tuple(clauses_of(condition)):
        case ((Constraint() as only,),):
            return only
        case _:
            return None


def _all_inside(body: Region, last: int, facts: Facts, bench: Bench) -> Expr | None:
    """What lets the guards of parts hold that are worst at ends of ranges; what is theirs has a number after `last`.

    Asked when all questions have been answered: what no branch leads to any more needs nothing.
    """
    own = frozenset(value for node in body.nodes for value in values_defined_in(node) if value.id > last)
    front = Front(facts, own, bench)
    found: dict[Expr, None] = {}

    def visit(region: Region, loops: tuple[Loop, ...]) -> None:
        for node in region.nodes:
            if isinstance(node, Guard) and node.site > last:
                condition = holds_everywhere([node.condition], loops, front)
                if condition is not None and not _is_refuted(condition):
                    found[condition] = None
            for inner in inner_regions(node):
                visit(inner, (node, *loops) if isinstance(node, Loop) and node.var in own else loops)

    visit(body, ())
    result: Expr | None = None
    for condition in found:
        result = condition if result is None else op("logical_and", (result, condition), NP_BOOL)
    return result


def _is_refuted(condition: Expr) -> bool:
    """Whether a condition is never true."""
    return any(
        all(isinstance(atom, Constraint) and (atom.index.constant or 0) < 0 for atom in clause)
        for clause in clauses_of(condition)
    )


def _is_outside(question: Question, loop: Loop, facts: Facts, bench: Bench) -> bool:
    """Whether all turns give one answer."""
    before, after = (question.at, question.at + 1) if question.singles_out else (question.cut, question.cut)
    beyond = before - loop.stop, loop.start - after
    return any(_is_never_negative(form, facts, bench) for form in beyond)


def _parts(
    loop: Loop, question: Question, same: Sequence[Question], facts: Facts, bench: Bench
) -> Iterator[tuple[int, Node]]:
    """The parts of a loop with the questions answered that are about one place, and on which side of it they are."""
    if question.singles_out:
        signs, ends = (-1, 0, 1), (question.at, question.at + 1)
    else:
        signs, ends = (-1, 1), (question.cut, question.cut)
        same = [other for other in same if not other.singles_out and other.cut == question.cut]
    for sign in signs:
        answered = replace(loop, body=_answered(loop.body, {other.asked: other.answer(sign) for other in same}))
        if not sign:
            yield sign, _single(answered, question.at, facts, bench)
        elif sign < 0 and not _is_never_negative(loop.start - ends[0], facts, bench):
            stop, lets = _bounded("minimum", ends[0], loop.stop, facts, bench)
            yield from ((sign, node) for node in computed(lets, loop, bench))
            yield sign, _copy(answered, loop.start, stop, bench)
        elif sign > 0 and not _is_never_negative(ends[1] - loop.stop, facts, bench):
            start, lets = _bounded("maximum", ends[1], loop.start, facts, bench)
            yield from ((sign, node) for node in computed(lets, loop, bench))
            yield sign, _copy(answered, start, loop.stop, bench)


def _is_never_negative(form: Index, facts: Facts, bench: Bench) -> bool:
    return bench.legality.is_nonnegative(form.substitute(facts.definitions), facts)


def _bounded(name: str, end: Index, limit: Index, facts: Facts, bench: Bench) -> tuple[Index, tuple[Let, ...]]:
    """An end of a part, not beyond that of the loop."""
    if _is_never_negative(limit - end if name == "minimum" else end - limit, facts, bench):
        return end, ()
    value = bench.value("end", end.type)
    return index(value), (Let(value, op(name, (end, limit), end.type)),)


def _answered(region: Region, answers: Mapping[Expr, Const]) -> Region:
    """A region with comparisons replaced by their answers."""

    def rule(node: Node) -> tuple[Node, ...] | None:
        match node:
            case Branch(condition=condition):
                made: Node = replace(node, condition=_replaced(condition, answers))
            case Tasklet(lets=lets):
                made = replace(node, lets=tuple(replace(let, expr=_replaced(let.expr, answers)) for let in lets))
            case Yield(values=values):
                made = Yield(tuple(v if isinstance(v, View) else _replaced(v, answers) for v in values))
            case _:
                return None
        return None if made == node else (made,)

    return rewrite_nodes(region, rule)


def _replaced(expr: Expr, answers: Mapping[Expr, Const]) -> Expr:
    if expr in answers:
        return answers[expr]
    if not isinstance(expr, Op):
        return expr
    args = tuple(_replaced(argument, answers) for argument in expr.args)
    return expr if args == expr.args else op(expr.name, args, expr.type)


# ---- what other turns need -----------------------------------------------------------------------------------------


def _where_turns_meet(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    body = straight(loop, named)
    if body is None or not _can_be_cut(loop):
        return None
    loop = replace(loop, body=Region((*body, loop.body.nodes[-1])))
    dependences = bench.legality.carried(loop, facts)
    places = {place for one in dependences for place in _meeting_places(one.source, one.sink, loop)}
    if len(places) != 1:
        return None
    (place,) = places
    inside = (place - loop.start, loop.stop - place - 1)
    if not all(_is_never_negative(form, facts, bench) for form in inside):
        return None
    first = _copy(loop, loop.start, place, bench)
    last = _copy(loop, place + 1, loop.stop, bench)
    if any(bench.legality.carried(part, facts, first=True) for part in (first, last)):
        return None
    bench.note(f"the loop over {loop.var.name} is cut where its turns meet", loop, done=True)
    return [first, *_turn(loop, place, bench), last]


def _meeting_places(source: Access, sink: Access, loop: Loop) -> Iterator[Index]:
    """The turns in which one of two accesses is where the other one always is."""
    own = values_defined_in(loop)
    for left, right in zip(source.index, sink.index, strict=True):
        for moving, fixed in ((left, right), (right, left)):
            offset = moving - index(loop.var)
            if loop.var in moving.values and not offset.values & own and not fixed.values & own:
                yield fixed - offset


# ---- parts ---------------------------------------------------------------------------------------------------------


def _can_be_cut(loop: Loop) -> bool:
    """Whether all that a turn does is in its body: it passes nothing on and makes no memory, and nothing ends it."""
    inside = Region(loop.body.nodes[:-1])
    nodes = list(all_nodes(inside))
    if loop.step.constant != 1 or loop.carries or loop.wish or len(nodes) > _MOST_NODES:
        return False
    if not loop.body.nodes or not isinstance(loop.body.nodes[-1], Continue) or any(map(_jumps, inside.nodes)):
        return False
    effects = effects_of(loop)
    return not effects.allocates and not effects.binds and not any(isinstance(node, NumpyCall) for node in nodes)


def _jumps(node: Node, depth: int = 0) -> bool:
    """Whether a node may end a turn, or a loop around."""
    match node:
        case Continue():
            return depth == 0
        case Break(depth=out):
            return out >= depth
        case Return():
            return True
        case Branch(then=then, orelse=orelse):
            return any(_jumps(inner, depth) for inner in (*then.nodes, *orelse.nodes))
        case Loop(body=body) | While(body=body):
            return any(_jumps(inner, depth + 1) for inner in body.nodes)
        case _:
            return False


def _copy(loop: Loop, start: Index, stop: Index, bench: Bench) -> Loop:
    """A part of a loop, with values and sites of its own."""
    var = replace(loop.var, id=bench.number(), low=None, high=None, floor=start, ceiling=stop - 1)
    body = _own_sites(loop.body, bench)
    nodes = with_fresh_values(body.nodes, bench.number, {loop.var: var})
    return replace(loop, var=var, start=start, stop=stop, body=Region(tuple(nodes)), id=bench.number())


def _turn(loop: Loop, place: Index, bench: Bench) -> list[Node]:
    """A single turn of a loop."""
    body = _own_sites(Region(loop.body.nodes[:-1]), bench)
    return with_fresh_values(body.nodes, bench.number, {loop.var: place})


def _single(loop: Loop, place: Index, facts: Facts, bench: Bench) -> Branch:
    """A single turn of a loop, if it is one of its turns."""
    low, high = (place - loop.start, loop.stop - place - 1)
    conditions: list[Expr] = []
    for form, condition in ((low, is_less(loop.start, place + 1)), (high, is_less(place, loop.stop))):
        if not _is_never_negative(form, facts, bench):
            conditions.append(condition)
    condition: Expr = const(True, NP_BOOL)
    for number, one in enumerate(conditions):
        condition = op("logical_and", (condition, one), NP_BOOL) if number else one
    return only_if(condition, _turn(loop, place, bench), loop.span, bench)


def _own_sites(region: Region, bench: Bench) -> Region:
    """A region whose sites have other numbers, and operations on arrays, each of which has a site above it."""
    sites = {node.number: bench.number() for node in all_nodes(region) if isinstance(node, Site)}

    def rule(node: Node) -> tuple[Node, ...] | None:
        match node:
            case Site(number=number):
                return (replace(node, number=sites[number]),)
            case Elementwise():
                return (replace(node, id=bench.number()),)
            case Alloc(site=site) | Guard(site=site) | NumpyCall(site=site) if site in sites:
                return (replace(node, site=sites[site]),)
            case _:
                return None

    return rewrite_nodes(region, rule)
