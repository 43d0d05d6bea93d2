"""Loops over points that become fewer run strip by strip, each strip through all turns.

before:  for t in 0:n carry (Z = z0[:], P = p0[:]) { map (k) in [0:m] { write Y[k] = f(Z[k]); write gone[k] = ... }
             alloc X, Q: as many as are not gone; ...; write out[P[k]] = t for those that are; continue X[:], Q[:] }
after:   reduce logical_and fine = "p0[k] is inside of out, and p0[k] < p0[k + 1]"
         if fine {
             map (s) in [0:strips] { low, length = ...; copy z0[low:low + length] to Z, p0[low:low + length] to P
                 for t in 0:n carry (m = length) { if m == 0 { break }; ...; copy X to Z, Q to P; continue left } }
         } else { the loop as it was }

Legal where turns do nothing with the points but what each could do alone (`survivors.py`), positions that they write to
increase, so that no two strips meet there, and nobody looks at what is left after the loop. Everything that turns would
check is checked of all points at once: where anything is not so, the loop runs as it was, and says what Python says
where Python would. Worth it always: what a strip needs stays in the nearest caches, threads start once for all turns,
and a strip without points is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.compactions import Apart
from weft.analysis.memory import made_in_loops
from weft.ir.dtypes import NP_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, Index, Value, const, const_index, index, op
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Carry,
    Container,
    Continue,
    Elements,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Program,
    Reduce,
    Region,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
    full_view,
)  # fmt: skip
from weft.ir.substitution import Substitution, fresh_values
from weft.ir.traverse import all_nodes, memlets_of, node_views, touched_containers, values_used_in, writes_last
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.loop_bodies import is_less, larger, quotient, smaller
from weft.passes.survivors import Columns, Survivors, survivors
from weft.support.records import record

_FLAGS: Final = (ScalarType(DType.INT32), ScalarType(DType.INT64))
_LENGTHS: Final = (1024, 512, 256, 128, 64)  # points of a strip
_MOST_BYTES: Final = 98304  # of all that it needs


@record
class StripSurvivors:
    """Run loops that masks make shorter in strips."""

    name: ClassVar[str] = "strip-survivors"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these loops in strips."""
        if not any(isinstance(node, Loop | While) and node.carries for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        apart = made_in_loops(program.body)
        return rewrite_regions(bench, lambda region, _: _rewritten(region, bench, apart))


def _rewritten(region: Region, bench: Bench, apart: Apart) -> Region:
    nodes: list[Node] = []
    for place, node in enumerate(region.nodes):
        found = survivors(node, bench.legality, apart) if isinstance(node, Loop | While) else ""
        reason = found if isinstance(found, str) else _seen(found, region.nodes, place, bench)
        if isinstance(found, str) or reason:
            if reason:
                bench.note(f"the loop does not run strip by strip: {reason}", node, done=False)
            nodes.append(node)
            continue
        strips = _Strips(found, bench)
        if not strips.length:
            bench.note("the loop does not run strip by strip: its points need too much memory", node, done=False)
            nodes.append(node)
            continue
        bench.note("the loop runs strip by strip, each until no point of it is left", node, done=True)
        nodes += strips.build()
    return region if len(nodes) == len(region.nodes) else Region(tuple(nodes))


def _seen(found: Survivors, nodes: Sequence[Node], place: int, bench: Bench) -> str:
    """Whether anybody looks at what turns leave behind: at what is left, or at arrays they have changed."""
    later = frozenset[str]().union(*(touched_containers(node) for node in nodes[place + 1 :]))
    for name in found.inits:
        if name in later:
            return f"{_plain(name)} is used after it"
    used = values_used_in(Region(tuple(nodes[place + 1 :])))
    for carry, _ in found.others:
        if isinstance(carry.target, Value) and carry.target in used:
            return f"{carry.target.name} is used after it"
    made = {node.container for node in nodes[:place] if isinstance(node, Alloc)}
    seen = frozenset[str]().union(*map(bench.legality.memory.roots, later))
    for name in found.changed:
        roots = bench.legality.memory.roots(found.inits[name].container)
        own = all(bench.containers[root].storage is Storage.TRANSIENT for root in roots)
        if not own or not roots <= made - seen:
            return f"{_plain(name)} changes an array that is used after it"
    return ""


@record
class _WideFlags(Substitution):
    """A substitution by which masks have elements as wide as numbers: a vector holds as many of either."""

    flags: frozenset[str] = frozenset()
    type: ScalarType = _FLAGS[1]
    bench: Bench | None = None

    def tasklet(self, node: Tasklet) -> Tasklet:
        """A tasklet that reads and writes flags as numbers."""
        made = Substitution.tasklet(self, node)
        if not {memlet.container for memlet in memlets_of([node])} & self.flags or self.bench is None:
            return made
        reads: list[tuple[Value, Memlet]] = []
        lets: list[Let] = []
        for (value, memlet), (_, old) in zip(made.reads, node.reads, strict=True):
            if old.container in self.flags:
                number = self.bench.value(value.name, self.type)
                lets.append(Let(value, op("not_equal", (number, const(0, self.type)), NP_BOOL)))
                reads.append((number, memlet))
            else:
                reads.append((value, memlet))
        writes = tuple(
            (memlet, op("cast", (expr,), self.type) if old.container in self.flags else expr)
            for (memlet, expr), (old, _) in zip(made.writes, node.writes, strict=True)
        )
        return replace(made, reads=tuple(reads), lets=(*lets, *made.lets), writes=writes)


class _Strips:
    """The strips of a loop."""

    def __init__(self, found: Survivors, bench: Bench) -> None:
        self.found, self.bench = found, bench
        self.span = found.loop.span
        self.points, self.strip, self.first = (bench.value(name, PY_INT) for name in ("points", "strip", "first"))
        arrays = [bench.containers[name] for name in (*found.inits, *found.arrays)]
        each = sum(container.dtype.itemsize for container in arrays)
        self.length = max((n for n in _LENGTHS if n * each <= _MOST_BYTES), default=0)

    @property
    def flags(self) -> frozenset[str]:
        """Masks that maps write and tasklets read, in this turn."""
        found, containers = self.found, self.bench.containers
        masks = {name for name in found.arrays if containers[name].dtype is DType.BOOL and name not in found.sources}
        views = {view.container for node in found.nodes for view in node_views(node)}
        return frozenset(masks - views - {*found.sources.values(), *found.left})

    @property
    def flag(self) -> ScalarType:
        """What a mask is kept in: as wide as the narrowest floats of a point."""
        floats = [x.dtype for name in (*self.found.inits, *self.found.arrays) for x in (self.bench.containers[name],)]
        narrow = any(x in (DType.FLOAT32, DType.COMPLEX64) for x in floats)
        return _FLAGS[not narrow]

    def build(self) -> list[Node]:
        """What stands for the loop."""
        found, bench = self.found, self.bench
        extents = [init.shape[0] for init in found.inits.values()]
        conditions: list[Expr] = [
            op("equal", (extents[0], extent), NP_BOOL) for extent in extents[1:] if extent is not extents[0]
        ]
        same = _all(conditions)
        counted = op("select", (same, extents[0], const_index(0)), PY_INT) if conditions else extents[0]
        nodes: list[Node] = [self.tasklet((Let(replace(self.points, low=0), counted),))]
        self.points = replace(self.points, low=0)
        for elements in (*map(self.check, found.checks), *map(self.order, found.orders)):
            holds = self.reduce(elements, nodes)
            conditions.append(holds)
        strips = (*self.strips(), Yield())
        if not conditions:
            return [*nodes, *strips[:-1]]
        orelse = Region((found.loop, Yield()))
        choice = Branch(
            condition=_all(conditions), then=Region(strips), orelse=orelse, id=bench.number(), span=self.span
        )
        return [*nodes, choice]

    # -- what is asked of all points

    def reduce(self, elements: Elements, nodes: list[Node]) -> Value:
        """Whether something holds for all of them."""
        bench = self.bench
        container = bench.container("fine", NP_BOOL.dtype, (), Storage.STACK)
        fine = bench.value("fine", NP_BOOL)
        nodes += [
            Alloc(container=container.name, site=-1, id=bench.number(), span=self.span),
            Reduce(
                op="logical_and",
                output=full_view(container),
                input=elements,
                axes=(0,),
                initial=const(True, NP_BOOL),
                id=bench.number(),
                span=self.span,
            ),
            Tasklet(reads=((fine, Memlet(container.name, ())),), id=bench.number(), span=self.span),
        ]
        return fine

    def check(self, elements: Elements) -> Elements:
        """What turns check, of the points there are before the first one."""
        (param,) = elements.params
        fresh: dict[Value, Expr] = {param: self.bench.value(param.name, PY_INT)}
        tasklets = Substitution(fresh_values(elements.body, self.bench.number, fresh))
        made = tasklets.elements(elements)
        body = tuple(
            replace(tasklet, reads=tuple((value, self.before(memlet)) for value, memlet in tasklet.reads))
            for tasklet in made.body
        )
        return replace(made, shape=(index(self.points),), body=body)

    def before(self, memlet: Memlet) -> Memlet:
        """An element of an array carried, before the first turn."""
        return self.found.inits[memlet.container].at(memlet.index)

    def order(self, columns: Columns) -> Elements:
        """Whether positions increase from point to point, the first column first, from nothing negative on."""
        bench, param = self.bench, self.bench.value("k", PY_INT)
        reads: list[tuple[Value, Memlet]] = []
        pairs: list[tuple[Value, Value]] = []
        last = smaller(index(param) + 1, index(self.points) - 1)
        after = bench.value("after", PY_INT)
        for name in columns:
            view = self.found.inits[name]
            type_ = replace(NP_BOOL, dtype=bench.containers[name].dtype)
            pair = bench.value("here", type_), bench.value("next", type_)
            reads += [(pair[0], view.at((index(param),))), (pair[1], view.at((index(after),)))]
            pairs.append(pair)
        increases: Expr = op("equal", (index(param), index(after)), NP_BOOL)  # of the last point
        rising: Expr = const(False, NP_BOOL)
        for here, beyond in reversed(pairs):
            tie = op("logical_and", (op("equal", (here, beyond), NP_BOOL), rising), NP_BOOL)
            rising = op("logical_or", (op("less", (here, beyond), NP_BOOL), tie), NP_BOOL)
        increases = op("logical_or", (increases, rising), NP_BOOL)
        for here, _ in pairs:
            zero = const(0, here.type)
            increases = op("logical_and", (increases, op("greater_equal", (here, zero), NP_BOOL)), NP_BOOL)
        ahead = Tasklet(lets=(Let(after, last),), id=bench.number(), span=self.span)
        body = Tasklet(reads=tuple(reads), id=bench.number(), span=self.span)
        return Elements((param,), (index(self.points),), (ahead, body), increases)

    # -- the strips

    def strips(self) -> tuple[Node, ...]:
        """The map over strips, and what it needs."""
        bench, found = self.bench, self.found
        strips = replace(bench.value("strips", PY_INT), low=0)
        count = replace(bench.value("count", PY_INT), low=0, high=self.length)
        number = quotient(index(self.points) + (self.length - 1), const_index(self.length))
        low = index(self.strip) * self.length
        ends = (
            Let(self.first, low),
            Let(count, larger(const_index(0), smaller(const_index(self.length), index(self.points) - low))),
        )
        names, allocs = self.memory()
        turns = self.turns(names, count)
        body = (self.tasklet(ends), *allocs, self.copies(found.inits, names, index(count)), turns)
        made = Map(
            params=(self.strip,),
            ranges=((const_index(0), index(strips)),),
            body=Region(body),
            id=bench.number(),
            span=self.span,
        )
        return self.tasklet((Let(strips, number),)), made

    def memory(self) -> tuple[dict[str, str], list[Node]]:
        """Arrays of a strip for those of the loop."""
        bench, found = self.bench, self.found
        names: dict[str, str] = {}
        for name, left in zip(found.inits, found.left, strict=True):
            made = self.array(bench.containers[name], (const_index(self.length),))
            names.update(dict.fromkeys(self.together(name, left), made.name))
        for name in found.arrays:
            if name not in names:
                container = bench.containers[name]
                wide = replace(container, dtype=self.flag.dtype) if name in self.flags else container
                names[name] = self.array(wide, (const_index(self.length),)).name
        for name in found.numbers:
            names[name] = self.array(bench.containers[name], ()).name
        allocs = [
            Alloc(container=name, site=-1, id=bench.number(), span=self.span) for name in dict.fromkeys(names.values())
        ]
        return names, [*allocs]

    def array(self, container: Container, shape: tuple[Index, ...]) -> Container:
        return self.bench.container(_plain(container.name), container.dtype, shape, Storage.STACK)

    def together(self, name: str, left: str) -> list[str]:
        """An array carried, and what may be in its memory: what is left of it, and what that is collected from."""
        nodes, source = self.found.nodes, self.found.sources.get(left, "")
        here, there, collecting = self.uses(name), self.uses(source), self.uses(left)[0]
        last = bool(there) and there[-1] == collecting and _reads(nodes[collecting], source) == 1
        if source == name:
            return [name, left] if last else [name]
        if max(here, default=-1) >= collecting:
            return [name]
        computing = nodes[there[0]] if last and source not in self.found.inits else None
        over = isinstance(computing, Map) and writes_last(computing.body) and max(here, default=-1) <= there[0]
        return [name, left, source] if over else [name, left]

    def uses(self, name: str) -> list[int]:
        """The nodes of a turn that touch an array."""
        return [place for place, node in enumerate(self.found.nodes) if name in touched_containers(node)]

    def copies(self, views: Mapping[str, View], names: Mapping[str, str], count: Index) -> Map:
        """The arrays of the strip are filled from those before the first turn."""
        param, bench = self.bench.value("p", PY_INT), self.bench
        reads: list[tuple[Value, Memlet]] = []
        writes: list[tuple[Memlet, Expr]] = []
        for name, view in views.items():
            value = bench.value(_plain(name), replace(NP_BOOL, dtype=bench.containers[name].dtype))
            reads.append((value, view.at((index(self.first) + index(param),))))
            writes.append((Memlet(names[name], (index(param),)), value))
        tasklet = Tasklet(reads=tuple(reads), writes=tuple(writes), id=bench.number(), span=self.span)
        return self.over((param,), count, (tasklet,))

    def turns(self, names: Mapping[str, str], count: Value) -> Loop | While:
        """The loop, on the points of the strip."""
        bench, found, loop = self.bench, self.found, self.found.loop
        points = replace(bench.value("left", PY_INT), low=0, high=self.length)
        values = {**self.lengths(points), **dict.fromkeys(found.holding, const(True, NP_BOOL))}
        if isinstance(loop, Loop):
            values[loop.var] = bench.value(loop.var.name, loop.var.type)
        for target in (carry.target for carry, _ in found.others if isinstance(carry.target, Value)):
            values[target] = replace(target, id=bench.number())
        change = _WideFlags(
            fresh_values(found.nodes, bench.number, values), names, flags=self.flags, type=self.flag, bench=bench
        )
        nodes = [change.node(node) for node in found.nodes]
        count_left = change.index(found.count)
        back = {name: left for name, left in zip(found.inits, found.left, strict=True) if names[name] != names[left]}
        if back:
            nodes.append(self.back(back, names, count_left))
        targets = [change.defined(carry.target) for carry, _ in found.others if isinstance(carry.target, Value)]
        here = (index(points), *targets)
        ends = Region((Break(here),))
        nodes = [replace(node, then=ends) if isinstance(node, Branch) else node for node in nodes]
        body = Region(
            (
                self.leave(points, ends),
                *nodes,
                Continue((count_left, *(change.expr(value) for _, value in found.others))),
            )
        )
        carries = (Carry(points, index(count)), *map(Carry, targets, (carry.init for carry, _ in found.others)))
        if isinstance(loop, While):
            return replace(loop, carries=carries, body=body, id=bench.number())
        var = change.defined(loop.var)
        return replace(loop, var=var, carries=carries, body=body, id=bench.number())

    def lengths(self, points: Value) -> dict[Value, Expr]:
        """What stands for the numbers of points of a turn."""
        whole = {extent for name in self.found.inits for extent in self.bench.containers[name].shape[0].values}
        counts = {value for length in self.found.lengths.values() for value in length.values} - whole
        fresh = {value: replace(value, id=self.bench.number()) for value in counts}
        known = {**{value: index(own) for value, own in fresh.items()}, **dict.fromkeys(whole, index(points))}
        others = {value: length.substitute(known) for value, length in self.found.lengths.items()}
        return {**others, **fresh}

    def leave(self, points: Value, ends: Region) -> Branch:
        """The end, where no point is left."""
        return Branch(
            condition=is_less(index(points), const_index(1)),
            then=ends,
            orelse=Region((Yield(),)),
            id=self.bench.number(),
            span=self.span,
        )

    def back(self, arrays: Mapping[str, str], names: Mapping[str, str], count: Index) -> Map:
        """What is left moves to where the next turn looks for it."""
        param, bench = self.bench.value("p", PY_INT), self.bench
        reads: list[tuple[Value, Memlet]] = []
        writes: list[tuple[Memlet, Expr]] = []
        for name, left in arrays.items():
            value = bench.value(_plain(name), replace(NP_BOOL, dtype=bench.containers[name].dtype))
            reads.append((value, Memlet(names[left], (index(param),))))
            writes.append((Memlet(names[name], (index(param),)), value))
        tasklet = Tasklet(reads=tuple(reads), writes=tuple(writes), id=bench.number(), span=self.span)
        return self.over((param,), count, (tasklet,))

    # -- small things

    def tasklet(self, lets: tuple[Let, ...]) -> Tasklet:
        return Tasklet(lets=lets, id=self.bench.number(), span=self.span)

    def over(self, params: tuple[Value], count: Index, body: tuple[Node, ...]) -> Map:
        return Map(
            params=params,
            ranges=((const_index(0), count),),
            body=Region(body),
            id=self.bench.number(),
            span=self.span,
        )


def _all(conditions: Sequence[Expr]) -> Expr:
    result: Expr = const(True, NP_BOOL)
    for number, condition in enumerate(conditions):
        result = condition if number == 0 else op("logical_and", (result, condition), NP_BOOL)
    return result


def _reads(node: Node, name: str) -> int:
    """How often a loop that collects reads an element of an array."""
    inner = memlets_of(node.body.nodes) if isinstance(node, Loop) else []
    return sum(memlet.container == name for memlet in inner)


def _plain(name: str) -> str:
    return name.partition(".")[0]
