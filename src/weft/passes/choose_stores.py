"""Branches at the points of maps read before and store behind what they choose: what is left runs in vectors.

before:  map (i) in [0:n] { x = a[i]; c = greater(x, 0.0)
           if c { s = sqrt(x); write y[i] = s; yield } else { write y[i] = 0.0; write z[i] = x; yield } }
after:   map (i) in [0:n] { x = a[i]; z' = z[i]; c = greater(x, 0.0); s = sqrt(select(c, x, 1.0))
           write y[i] = select(c, s, 0.0); write z[i] = select(c, z', x) }

What a side reads is read at every point, if it exists there. An element that both sides write is written always. One
that a side writes alone gets its old value where the side is not taken, if the legality core proves that no other point
touches it. What is then computed under a condition is computed always, of numbers that give no warning where its side
is not taken (`harmless`). Where it is nothing but sums and products of what is read in any case, and all is written in
any case, it stays a branch: the C compiler computes those on both sides by itself, and they hardly ever warn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.cost import operations_in, tasklet_weight
from weft.analysis.facts import Facts
from weft.analysis.ranges import fits_int64
from weft.ir.dtypes import NP_BOOL, ScalarType
from weft.ir.exprs import Const, Expr, Index, Value, op
from weft.ir.nodes import Branch, Let, Map, Memlet, Node, Program, Region, Tasklet, View, Yield
from weft.ir.ops import may_warn
from weft.ir.traverse import all_nodes, values_defined_in
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.guard_looks import is_partial
from weft.passes.harmless import harmless
from weft.passes.straight_code import is_inside
from weft.passes.tasklets import explicit, tidy
from weft.support.records import record

_MOST_WEIGHT: Final = 160  # of what both sides compute: some functions in vectors, or a branch foreseen wrongly
_PLAIN: Final = frozenset(("add", "subtract", "multiply", "negative", "square"))


@record
class ChooseStores:
    """Turn branches at the points of maps into choices."""

    name: ClassVar[str] = "choose-stores"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer branches in maps."""
        if not any(isinstance(node, Map) and _has_branch(node) for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        return rewrite_regions(bench, lambda region, facts: _chosen(region, facts, bench))


def _has_branch(node: Map) -> bool:
    return any(isinstance(inner, Branch) for inner in node.body.nodes)


def _chosen(region: Region, facts: Facts, bench: Bench) -> Region:
    nodes: list[Node] = []
    for node in region.nodes:
        nodes.append(_straightened(node, facts, bench) if isinstance(node, Map) and _has_branch(node) else node)
        facts = facts.after(node)
    return region if all(a is b for a, b in zip(nodes, region.nodes, strict=True)) else Region(tuple(nodes))


def _straightened(node: Map, facts: Facts, bench: Bench) -> Map:
    """A map with the branches in it made choices, where all that is in it is tasklets and branches."""
    if not all(isinstance(inner, Tasklet | Branch) for inner in node.body.nodes):
        return node
    made = explicit(node, bench)
    inside = facts.inside(made, bench.legality.memory)[0]
    for backs in (True, False):  # writing old values back is proved of the whole, or left
        body = _Body(bench, inside, backs)
        nodes = tuple(new for inner in made.body.nodes for new in body.node(inner))
        if not body.changed:
            return node
        result = replace(made, body=Region(nodes))
        if not body.wrote_back or not bench.legality.elsewhere(result, result, facts):
            bench.note(f"what is stored under conditions over {node.params[-1].name} is chosen", node, done=True)
            return tidy(result, bench)
    return node


class _Refused(Exception):  # noqa: N818 - no error
    """A branch that stays one."""


class _Body:
    """Goes through the body of a map in order."""

    def __init__(self, bench: Bench, facts: Facts, backs: bool) -> None:
        self.bench = bench
        self.facts = facts
        self.backs = backs  # whether old values may be written back
        self.known: set[Memlet] = set()  # elements that are there
        self.changed = False
        self.wrote_back = False

    def node(self, node: Node) -> list[Node]:
        """A node of the body, or what it becomes."""
        made: list[Node] = [node]
        if isinstance(node, Branch):
            try:
                made = self.branch(node)
            except _Refused as refused:
                self.bench.note(f"a branch stays one: {refused}", node, done=False)
            self.changed |= made != [node]
        for inner in made:
            self.facts = self.facts.after(inner)
            if isinstance(inner, Tasklet):
                self.known.update(memlet for _, memlet in inner.reads)
                self.known.update(memlet for memlet, _ in inner.writes)
        return made

    def branch(self, node: Branch) -> list[Node]:
        """A branch with its accesses around it, then without itself."""
        weight = sum(tasklet_weight(inner) for inner in all_nodes(Region((node,))) if isinstance(inner, Tasklet))
        if weight > _MOST_WEIGHT:
            raise _Refused(f"its sides cost {weight} additions")
        if any(isinstance(inner, Branch) and _binds(inner) for inner in all_nodes(Region((node,)))):
            raise _Refused("it binds arrays")
        sides = _Accesses(node, self.bench)
        made, written, backs = sides.apart(node)
        own = values_defined_in(node)
        if any(at.values & own for memlet in (*written, *(m for _, m in sides.reads)) for at in memlet.index):
            raise _Refused("it computes where it reads or writes")
        if not all(memlet in self.known or is_inside(memlet, self.facts, self.bench) for _, memlet in sides.reads):
            raise _Refused("what it reads may not exist elsewhere")
        if backs and not self.backs:
            raise _Refused("other points may need what it does not write")
        self.wrote_back |= backs
        number = self.bench.number
        first = [Tasklet(reads=tuple(sides.reads), id=number(), span=node.span)] if sides.reads else []
        last = [Tasklet(writes=tuple(written.items()), id=number(), span=node.span)] if written else []
        at_hand = self.known | (sides.shared(node) - written.keys())
        stays = not backs and _is_left_to_c(made) and at_hand.issuperset(memlet for _, memlet in sides.reads)
        return [*first, *([made] if stays else _chosen_always(made, self.bench)), *last]


def _binds(node: Branch) -> bool:
    return any(isinstance(result, str) for result in node.results)


# ---- what a branch reads and writes --------------------------------------------------------------------------------


class _Accesses:
    """Takes what a branch reads in front of it, and what it writes behind."""

    def __init__(self, node: Branch, bench: Bench) -> None:
        self.bench = bench
        self.reads: list[tuple[Value, Memlet]] = []
        tasklets = [inner for inner in all_nodes(Region((node,))) if isinstance(inner, Tasklet)]
        types = {memlet: expr.type for tasklet in tasklets for memlet, expr in tasklet.writes}
        self.old: dict[Memlet, Value] = {memlet: bench.value("old", type_) for memlet, type_ in types.items()}
        self.used: set[Memlet] = set()
        self.overlaps = bench.legality.memory.may_overlap
        for memlet in types:
            others = (other.container for other in types if other != memlet)
            if memlet.conflict or any(self.overlaps(other, memlet.container) for other in others):
                raise _Refused("it writes several elements of an array")

    def apart(self, node: Branch) -> tuple[Branch, dict[Memlet, Expr], bool]:
        """The branch without accesses, what is written behind it, and whether old values are among that."""
        before: dict[Memlet, Expr] = {**self.old}
        made, after = self.branch(node, before)
        backs = not all(self.writes(node, memlet) for memlet in self.old)
        self.reads += [(self.old[memlet], memlet) for memlet in self.old if memlet in self.used]
        return made, after, backs

    def shared(self, node: Branch) -> set[Memlet]:
        """The elements that both sides read."""
        tasklets = ([one for one in all_nodes(side) if isinstance(one, Tasklet)] for side in (node.then, node.orelse))
        then, orelse = ({memlet for one in side for _, memlet in one.reads} for side in tasklets)
        return then & orelse

    def writes(self, node: Branch, memlet: Memlet) -> bool:
        """Whether a branch writes an element on both sides."""
        return all(any(self.writes_in(inner, memlet) for inner in side.nodes) for side in (node.then, node.orelse))

    def writes_in(self, node: Node, memlet: Memlet) -> bool:
        if isinstance(node, Branch):
            return self.writes(node, memlet)
        return isinstance(node, Tasklet) and any(written == memlet for written, _ in node.writes)

    def branch(self, node: Branch, now: dict[Memlet, Expr]) -> tuple[Branch, dict[Memlet, Expr]]:
        """A branch that gives what its sides would have written, besides its results."""
        sides = [self.side(region, dict(now)) for region in (node.then, node.orelse)]
        changed = [memlet for memlet in now if any(end[memlet] != now[memlet] for _, end, _ in sides)]
        results = {memlet: self.bench.value("new", self.old[memlet].type) for memlet in changed}
        regions = [
            Region((*nodes, Yield((*given, *(self.use(memlet, end) for memlet in changed)))))
            for nodes, end, given in sides
        ]
        made = replace(node, then=regions[0], orelse=regions[1], results=(*node.results, *results.values()))
        return made, {**now, **results}

    def use(self, memlet: Memlet, now: dict[Memlet, Expr]) -> Expr:
        """What an element is."""
        if now[memlet] == self.old[memlet]:
            self.used.add(memlet)
        return now[memlet]

    def side(
        self, region: Region, now: dict[Memlet, Expr]
    ) -> tuple[list[Node], dict[Memlet, Expr], tuple[Expr | View, ...]]:
        *inside, last = region.nodes or (None,)
        if not isinstance(last, Yield):
            raise _Refused("it jumps")
        nodes: list[Node] = []
        for node in inside:
            if isinstance(node, Branch):
                made, now = self.branch(node, now)
                nodes.append(made)
            elif isinstance(node, Tasklet):
                nodes += self.tasklet(node, now)
            else:
                raise _Refused("it does more than compute and store")
        return nodes, now, last.values

    def tasklet(self, node: Tasklet, now: dict[Memlet, Expr]) -> list[Node]:
        """What a tasklet computes; `now` gets what it writes."""
        lets: list[Let] = []
        for value, memlet in node.reads:
            if memlet in now:
                lets.append(Let(value, self.use(memlet, now)))
                continue
            written = (other.container for other in now if now[other] != self.old[other])
            if any(self.overlaps(other, memlet.container) for other in written):
                raise _Refused("it reads what it may have written")
            self.reads.append((value, memlet))
        lets += node.lets
        now.update(node.writes)
        return [Tasklet(lets=tuple(lets), id=node.id, span=node.span)] if lets else []


# ---- what a branch computes ----------------------------------------------------------------------------------------

_Around = tuple[tuple[Expr, bool], ...]


def _is_left_to_c(node: Branch) -> bool:
    """Whether the C compiler computes both sides by itself: sums and products of what was read in any case."""
    lets = [let for inner in all_nodes(Region((node,))) if isinstance(inner, Tasklet) for let in inner.lets]
    return any(let.warn >= 0 and _warns(let.expr) for let in lets) and all(_is_plain(let.expr) for let in lets)


def _chosen_always(node: Branch, bench: Bench) -> list[Node]:
    """A branch that only computes, as choices between what both sides give."""
    try:
        return list(_choices(node, (), bench))
    except _Refused as refused:
        bench.note(f"what a branch computes stays in it: {refused}", node, done=False)
        return [node]


def _choices(node: Branch, around: _Around, bench: Bench) -> Iterator[Tasklet]:
    condition = node.condition
    if not isinstance(condition, Value | Const) or condition.type != NP_BOOL:
        value = bench.value("c", NP_BOOL)
        yield Tasklet(
            lets=(_calm(Let(value, _as_type(condition, NP_BOOL)), around),), id=bench.number(), span=node.span
        )
        condition = value
    ends: list[Sequence[Expr | View]] = []
    for region, truth in ((node.then, True), (node.orelse, False)):
        inner: _Around = (*around, (condition, truth))
        for part in region.nodes:
            match part:
                case Tasklet():
                    yield replace(part, lets=tuple(_calm(let, inner) for let in part.lets))
                case Branch():
                    yield from _choices(part, inner, bench)
                case Yield(values=values):
                    ends.append(values)
                case _:
                    raise _Refused("it does more than compute")
    lets = [
        Let(result, op("select", (condition, _as_type(yes, result.type), _as_type(no, result.type)), result.type))
        for result, yes, no in zip(node.results, *ends, strict=True)
        if isinstance(result, Value) and not isinstance(yes, View) and not isinstance(no, View)
    ]
    if lets:
        yield Tasklet(lets=tuple(lets), id=bench.number(), span=node.span)


def _as_type(expr: Expr, type_: ScalarType) -> Expr:
    return expr if expr.type == type_ else op("cast", (expr,), type_)


def _calm(let: Let, around: _Around) -> Let:
    """A definition that may be computed where its side is not taken: nothing traps, leaves int64 or warns."""
    if not around:
        return let
    if not _is_total(let.expr):
        raise _Refused("it must not be computed elsewhere")
    if let.warn < 0 or not _warns(let.expr):
        return let
    expr: Expr | None = let.expr
    for condition, truth in around:
        expr = harmless(expr, condition, truth=truth, functions=True) if expr is not None else None
    if expr is None:
        raise _Refused("it may warn elsewhere")
    return Let(let.value, expr, let.warn)


_GROWING: Final = frozenset(("add", "subtract", "multiply", "negative", "absolute", "power", "left_shift"))


def _is_total(expr: Expr) -> bool:
    """Whether an expression may be computed of any numbers: Python's ints have guards where they are meant only."""
    if isinstance(expr, Index):
        return fits_int64(expr)
    if is_partial(expr):
        return False
    for part in operations_in(expr):
        if part.type.python and part.type.dtype.kind == "i" and part.name in _GROWING:
            return False
        if any(isinstance(argument, Index) and not fits_int64(argument) for argument in part.args):
            return False
    return True


def _is_plain(expr: Expr) -> bool:
    """Whether all that may warn in it is sums and products of real numbers."""
    return all(part.name in _PLAIN for part in operations_in(expr) if _may_warn(part.name, part.args, part.type))


def _warns(expr: Expr) -> bool:
    return any(_may_warn(part.name, part.args, part.type) for part in operations_in(expr))


def _may_warn(name: str, args: Sequence[Expr], type_: ScalarType) -> bool:
    return may_warn(name, args[-1].type.dtype, type_.dtype, lone=True)
