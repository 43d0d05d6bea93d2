"""Loops at the points of a map run for a few points side by side: one turn for all of them, then the next.

before:  map (p) in [0:m] { for j in 1:n { x = X[p, j - 1]; write X[p, j] = a * x } }
after:   map (g) in [0:groups] { first = 8 * g; width = min(8, m - first)
             if width == 8 {
                 for j in 1:n { map (p) in [first:first + 8] jammed { x = X[p, j - 1]; write X[p, j] = a * x } }
             } else { the same for so many } }

A turn waits for the one before it, and a processor that waits could well work at other points. Legal without a proof:
points of a map are independent, whatever the order of what they do. What a point knows from one part of its body to the
next, or carries from turn to turn, is kept in an array with a place for each of the points. Worth it where all points
have the same turns, and each is a few plain statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from typing import ClassVar, Final

from weft.analysis.cost import tasklet_weight
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Index, Value, const_index, index, op, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Container,
    Continue,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Program,
    Region,
    Schedule,
    Storage,
    Tasklet,
    Yield,
)  # fmt: skip
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, defined_values, used_values
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.loop_bodies import larger, quotient, smaller
from weft.support.records import record

_MOST: Final = 8  # points side by side: as many as hide the time a multiplication and an addition take
_LEAST: Final = 4  # fewer do not pay
_PARTS: Final = 8  # that few points are shared out into, for threads
_FEW_TURNS: Final = 8
_HEAVY: Final = 64  # operations of a turn that keep a processor busy by themselves


@record
class JamLines:
    """Run loops of several points of a map side by side."""

    name: ClassVar[str] = "jam-lines"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these loops."""
        if not any(isinstance(node, Map) and _turns(node) for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        body = rewrite_nodes(program.body, partial(_jammed, bench))
        return program if body is program.body else replace(program, body=body, containers=dict(bench.containers))


def _turns(node: Map) -> list[Loop]:
    return [inner for inner in node.body.nodes if isinstance(inner, Loop)]


def _jammed(bench: Bench, node: Node) -> tuple[Node, ...] | None:
    if not isinstance(node, Map) or not node.params or not any(map(_is_long, _turns(node))):
        return None
    names = ", ".join(param.name for param in node.params)
    try:
        parts = _cut(node)
    except _NotSideBySideError as error:
        bench.note(f"the points over {names} stay one after the other: {error}", node, done=False)
        return None
    bench.note(f"{_MOST} points over {names} run side by side", node, done=True)
    return _Groups(bench, node).nodes(parts)


def _is_long(loop: Loop) -> bool:
    turns = (loop.stop - loop.start).constant
    return turns is None or abs(turns) > _FEW_TURNS


# ---- what runs for all points of a group ----------------------------------------------------------------------------


@record(frozen=False)
class _Part:
    """Statements without control flow. `gives` are the values they leave in carries."""

    tasklets: list[Tasklet]
    gives: list[tuple[Value, Expr]] = field(default_factory=list[tuple[Value, Expr]])

    @property
    def defines(self) -> frozenset[Value]:
        return frozenset(value for tasklet in self.tasklets for value in defined_values(tasklet))

    @property
    def uses(self) -> frozenset[Value]:
        used = (value for tasklet in self.tasklets for value in used_values(tasklet))
        return frozenset((*used, *(value for _, expr in self.gives for value in values_in(expr)))) - self.defines


@record
class _Turns:
    """A loop, and what its body consists of."""

    loop: Loop
    body: list[_Part | _Turns]


class _NotSideBySideError(Exception):
    """What a map holds that cannot be done for several points at once, or had better not."""


def _cut(node: Map) -> list[_Part | _Turns]:
    parts = _cut_nodes(node.body.nodes)
    lanes = frozenset((node.params[-1],)).union(*(_own(part) for part in parts))
    for loop in _loops(parts):
        if lanes & (loop.start.values | loop.stop.values | loop.step.values):
            raise _NotSideBySideError(f"each has turns of its own over {loop.var.name}")
    return parts


def _cut_nodes(nodes: Iterable[Node]) -> list[_Part | _Turns]:
    parts: list[_Part | _Turns] = [_Part([])]
    for node in nodes:
        last = parts[-1]
        assert isinstance(last, _Part)
        match node:
            case Tasklet(writes=writes) if not any(memlet.conflict for memlet, _ in writes):
                last.tasklets.append(node)
            case Loop(carries=carries, body=Region(nodes=(*inside, Continue(values=values)))):
                targets = [carry.target for carry in carries if isinstance(carry.target, Value)]
                if len(targets) != len(carries):
                    raise _NotSideBySideError("an array is bound in each turn")
                last.gives += _pairs(targets, [carry.init for carry in carries])
                body = _cut_nodes(inside)
                end = body[-1]
                assert isinstance(end, _Part)
                end.gives += _pairs(targets, values)
                if sum(map(tasklet_weight, _tasklets(body))) > _HEAVY:
                    raise _NotSideBySideError("a turn is enough for a processor")
                parts += [_Turns(node, body), _Part([])]
            case _:
                raise _NotSideBySideError(
                    f"there is more than plain statements and loops: a {type(node).__name__.lower()}"
                )
    return parts


def _pairs(targets: Sequence[Value], items: Sequence[object]) -> list[tuple[Value, Expr]]:
    return [(target, item) for target, item in zip(targets, items, strict=True) if isinstance(item, Expr)]


def _tasklets(parts: Iterable[_Part | _Turns]) -> Iterator[Tasklet]:
    for part in parts:
        yield from part.tasklets if isinstance(part, _Part) else _tasklets(part.body)


def _loops(parts: Iterable[_Part | _Turns]) -> Iterator[Loop]:
    for part in parts:
        if isinstance(part, _Turns):
            yield part.loop
            yield from _loops(part.body)


def _own(part: _Part | _Turns) -> frozenset[Value]:
    """What is another number at every point."""
    if isinstance(part, _Part):
        return part.defines
    carried = (carry.target for carry in part.loop.carries if isinstance(carry.target, Value))
    return frozenset(carried).union(*(_own(inner) for inner in part.body))


def _all_parts(parts: Iterable[_Part | _Turns]) -> Iterator[_Part]:
    for part in parts:
        if isinstance(part, _Part):
            yield part
        else:
            yield from _all_parts(part.body)


# ---- groups of points -----------------------------------------------------------------------------------------------


class _Groups:
    """A map over groups of the points of a map, its last parameter shared out."""

    def __init__(self, bench: Bench, points: Map) -> None:
        self.bench = bench
        self.points = points
        self.first = bench.value("first", PY_INT)
        self.width = Value(bench.number(), "width", PY_INT, 0, _MOST, const_index(0), const_index(_MOST))
        self.kept: dict[Value, Container] = {}

    def nodes(self, parts: list[_Part | _Turns]) -> tuple[Node, ...]:
        """What takes the place of the map."""
        bench, points = self.bench, self.points
        *boxes, (start, stop) = points.ranges
        length = Value(bench.number(), "length", PY_INT, 1, _MOST)
        groups, group = bench.value("groups", PY_INT), bench.value("group", PY_INT)
        share = larger(const_index(_LEAST), quotient(stop - start, const_index(_PARTS)))
        number = quotient(stop - start + index(length) - 1, index(length))
        sizes = (
            Let(length, smaller(const_index(_MOST), share)),
            Let(groups, larger(const_index(0), number)),
        )
        low = start + index(length) * index(group)
        bounds = (
            Let(self.first, low),
            Let(self.width, smaller(index(length), stop - low)),
        )
        self._keep(parts)
        allocs = [Alloc(container=x.name, site=-1, id=bench.number(), span=points.span) for x in self.kept.values()]
        all_, some = self._inside(parts, const_index(_MOST)), self._inside(parts, index(self.width))
        choice = Branch(
            condition=op("equal", (self.width, const_index(_MOST)), NP_BOOL),
            then=Region((*all_, Yield())),
            orelse=Region((*with_fresh_values(some, bench.number, {}), Yield())),
            id=bench.number(),
            span=points.span,
        )
        body = Region((self._tasklet(bounds), *allocs, choice))
        made = replace(
            points,
            params=(*points.params[:-1], group),
            ranges=(*boxes, (const_index(0), index(groups))),
            body=body,
            warn=-1,
            id=bench.number(),
        )
        return (self._tasklet(sizes), made)

    def _keep(self, parts: list[_Part | _Turns]) -> None:
        """Places for what a part needs that another one knows, and for what is carried."""
        own = frozenset[Value]().union(*(_own(part) for part in parts))
        crossing = [value for part in _all_parts(parts) for value in part.uses & own]
        crossing += [target for part in _all_parts(parts) for target, _ in part.gives]
        for value in sorted(set(crossing), key=lambda value: value.id):
            shape = (const_index(_MOST),)
            self.kept[value] = self.bench.container(value.name, value.type.dtype, shape, Storage.STACK)

    def _inside(self, parts: list[_Part | _Turns], width: Index) -> list[Node]:
        nodes: list[Node] = []
        for part in parts:
            if isinstance(part, _Part):
                nodes += self._lanes(part, width)
            else:
                body = Region((*self._inside(part.body, width), Continue()))
                nodes.append(replace(part.loop, carries=(), body=body))
        return nodes

    def _lanes(self, part: _Part, width: Index) -> list[Node]:
        """A part at all points of a group."""
        if not part.tasklets and not part.gives:
            return []
        points, param = self.points, self.points.params[-1]
        lane = index(param) - index(self.first)
        needed = sorted((value for value in part.uses if value in self.kept), key=lambda value: value.id)
        reads = tuple((value, Memlet(self.kept[value].name, (lane,))) for value in needed)
        known = sorted(part.defines, key=lambda value: value.id)
        gives = [*part.gives, *((value, value) for value in known if value in self.kept)]
        writes = tuple((Memlet(self.kept[target].name, (lane,)), expr) for target, expr in gives)
        nodes: list[Node] = list(part.tasklets)
        if reads:
            nodes.insert(0, self._tasklet(reads=reads))
        if writes:
            nodes.append(self._tasklet(writes=writes))
        again = replace(param, id=self.bench.number())
        inside = with_fresh_values(nodes, self.bench.number, {param: again})
        ends = (index(self.first), index(self.first) + width)
        return [
            replace(
                points,
                params=(again,),
                ranges=(ends,),
                body=Region(tuple(inside)),
                schedule=Schedule.JAMMED,
                id=self.bench.number(),
            )
        ]

    def _tasklet(
        self,
        lets: tuple[Let, ...] = (),
        reads: tuple[tuple[Value, Memlet], ...] = (),
        writes: tuple[tuple[Memlet, Expr], ...] = (),
    ) -> Tasklet:
        return Tasklet(reads=reads, lets=lets, writes=writes, id=self.bench.number(), span=self.points.span)
