"""Loops of short maps are run by a team of threads: each does all the turns, and of every map the rows it owns.

before:  for t in 0:n { map (i, j) in [0:r, 0:c] parallel { write B[i, j] = A[i, j] + A[i + 1, j] }
                        map (i, j) in [0:r, 0:c] parallel { write A[i, j] = B[i, j] }
                        map (i) in [0:r] parallel { write A[i, 0] = 0.0 }; continue }
after:   for t in 0:n team [0:r] meets (0, 1) { map (i, j) ... owner i { ... }; map (i, j) ... owner i { ... }
                                                map (i) ... owner i { ... }; continue }

Threads that start and end with every map lose microseconds, and more where a border is done by one of them and read by
another. A team meets only where it must: where one thread may touch, one of the two writing, what another one touches
since they met last. The legality core is asked about every two nodes of the loop, at points that belong to different
rows, in any turns. The first and the last two rows have one owner each, so that borders made from the line next to
them need no meeting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import ClassVar, Final, TypeAlias

from weft.analysis.dependences import Owned, Rows
from weft.analysis.effects import Access, effects_of
from weft.analysis.exactness import Rules, free_operations
from weft.analysis.facts import Facts
from weft.ir.exprs import Index, Value, const_index, index
from weft.ir.nodes import (
    Alloc,
    Branch,
    Continue,
    Elements,
    Loop,
    Map,
    Node,
    Program,
    Reduce,
    Region,
    Schedule,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
)  # fmt: skip
from weft.ir.schedules import Team
from weft.ir.traverse import all_nodes, inner_regions, values_defined_in
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import has_loops
from weft.passes.schedule_maps import why_in_order
from weft.support.records import record

_MOST: Final = 40  # nodes of a loop: every two of them are compared
_FEW: Final = 8  # rows by which arrays may differ that are cut alike
_CANDIDATES: Final = 3  # owners that are tried for a map


@record
class TeamLoops:
    """Let teams run loops of maps."""

    name: ClassVar[str] = "team-loops"

    def run(self, program: Program, session: Session) -> Program:
        """The program with the teams' parts and meetings."""
        if not has_loops(program):
            return program
        bench = Bench(self.name, program, session)
        body = _region(program.body, session.facts, bench)
        return program if body is program.body else replace(program, body=body)


def _region(region: Region, facts: Facts, bench: Bench) -> Region:
    """The outermost loops that a team can run."""
    nodes = list[Node]()
    for node in region.nodes:
        nodes.append(_node(node, facts, bench))
        facts = facts.after(node)
    return Region(tuple(nodes)) if any(a is not b for a, b in zip(nodes, region.nodes, strict=True)) else region


def _node(node: Node, facts: Facts, bench: Bench) -> Node:
    if isinstance(node, Loop) and (made := _team(node, facts, bench)) is not None:
        return made
    match node:
        case Loop() | While():
            body = _region(node.body, facts.inside(node, bench.legality.memory)[0], bench)
            return node if body is node.body else replace(node, body=body)
        case Branch():
            inside = facts.inside(node, bench.legality.memory)
            then, orelse = _region(node.then, inside[0], bench), _region(node.orelse, inside[1], bench)
            return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
        case _:
            return node


def _team(loop: Loop, facts: Facts, bench: Bench) -> Loop | None:
    nodes = list(_inside(loop.body))
    if loop.carries or len(nodes) > _MOST or not all(_may_stand(node, bench) for node in nodes):
        return None
    if not _is_made_by_all(loop, bench):
        return None
    shared = [_rank(node) for node in nodes if isinstance(node, Map | Reduce) and _is_shared(node)]
    if not shared or max(shared) < max(_rank(node) for node in loop.body.nodes if not _is_shared_in(node)):
        return None
    inside, varying = facts.inside(loop, bench.legality.memory)[0], frozenset(values_defined_in(loop))
    plan = _Plan(loop, inside, bench, varying, _allocated(loop))
    return plan.loop() if plan.rows is not None else None


def _inside(region: Region) -> Iterator[Node]:
    """The nodes of a loop but those in maps."""
    for node in region.nodes:
        yield node
        if not isinstance(node, Map):
            for inner in inner_regions(node):
                yield from _inside(inner)


def _may_stand(node: Node, bench: Bench) -> bool:
    """Whether threads may run a node together: nothing leaves, and no bit depends on where it is cut."""
    match node:
        case Map():
            free = any(free_operations(inner, Rules()) for inner in all_nodes(node.body))
            return bool(node.params) and not free and why_in_order(node.body, bench.containers) is None
        case Reduce():
            return not node.joined and not any(free_operations(x, Rules()) for x in _computed(node))
        case Alloc(container=name):
            return bench.containers[name].storage is Storage.STACK
        case Loop(carries=carries):
            return node.step.constant is not None and all(isinstance(carry.target, Value) for carry in carries)
        case Branch(results=results):
            return all(isinstance(result, Value) for result in results)
        case Yield() | Continue():
            return not any(isinstance(item, View) for item in node.values)
        case Tasklet():
            return True
        case _:
            return False


def _is_made_by_all(loop: Loop, bench: Bench) -> bool:
    """Whether what is in arrays that every thread has for itself, those allocated in the loop, is made by every thread.

    Only reductions to one number are. On the stack these are done by all, so their results have to be for each.
    """
    own = _allocated(loop)
    for node in _inside(loop.body):
        match node:
            case Reduce(output=output):
                stacked = bench.containers[output.container].storage is Storage.STACK
                if stacked and (output.container not in own or _is_shared(node)):
                    return False
            case Loop() if _is_for_one(node):
                inside = own - _allocated(node)
                if any(access.container in inside for access in effects_of(node).writes):
                    return False
            case Map() | Tasklet() if any(access.container in own for access in effects_of(node).writes):
                return False
            case _:
                pass
    return True


def _allocated(loop: Loop) -> frozenset[str]:
    """The arrays that are allocated in a loop, but those of maps."""
    return frozenset(node.container for node in _inside(loop.body) if isinstance(node, Alloc))


@record
class _Part:
    """What some thread does of a node: a map, or the reads or writes of something else."""

    node: Node
    reads: bool
    writes: bool


_Key: TypeAlias = tuple[int, bool, bool]  # a part: number of its node, reads, writes
_Sides: TypeAlias = frozenset[tuple[int, "Index | None", bool]]  # what two parts touch, their rows, in the same turn


@record(frozen=False)
class _Plan:
    """A loop, who does what in it, and where they meet."""

    whole: Loop
    facts: Facts
    bench: Bench
    varying: frozenset[Value]
    private: frozenset[str]  # arrays that every thread has for itself
    owners: dict[int, Index | None] = field(default_factory=dict[int, "Index | None"])  # by number of the map
    meets: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])  # number of the loop, place
    met: dict[_Sides, bool] = field(default_factory=dict["_Sides", bool])
    touched: dict[_Key, tuple[Access, ...]] = field(default_factory=dict["_Key", "tuple[Access, ...]"])
    rows: Rows | None = None
    possible: bool = True

    def __post_init__(self) -> None:
        """Choose rows and owners."""
        maps = [node for node in _inside(self.whole.body) if isinstance(node, Map)]
        self.rows = self._rows()
        if self.rows is None:
            return
        candidates = {id(node): self._candidates(node, self.rows) for node in maps}
        for node in maps:
            self.owners[id(node)] = next(iter(candidates[id(node)]), self._default(node))
        for node in maps:
            if len(candidates[id(node)]) > 1:
                self.owners[id(node)] = min(candidates[id(node)], key=lambda owner: self._conflicts(node, owner, maps))

    def _shared(self) -> list[Map | Reduce]:
        return [x for x in _inside(self.whole.body) if isinstance(x, Map | Reduce) and _is_shared(x)]

    def _rows(self) -> Rows | None:
        """Those of the array that the largest node shared by threads writes."""
        for node in sorted(self._shared(), key=lambda x: (isinstance(x, Map), _rank(x)), reverse=True):
            for access in effects_of(node).writes:
                shape = self.bench.containers[access.container].shape
                if shape and self.varying.isdisjoint(shape[0].values):
                    return const_index(0), shape[0]
        return None

    def _candidates(self, node: Map, rows: Rows) -> list[Index]:
        """Rows that the points of a map may belong to: where it touches arrays that are as long, on their first axis.

        Where the points change from turn to turn, equal parts are better than rows. One row for all points is for what
        is little beside the rest.
        """
        small = _rank(node) < max(_rank(x) for x in self._shared())
        accesses = sorted(effects_of(node).accesses, key=lambda access: not access.writes)
        changing = any(not self.varying.isdisjoint(end.values) for end in node.ranges[0])
        inner, found = values_defined_in(node), list[Index]()
        for access in accesses:
            shape = self.bench.containers[access.container].shape
            if access.whole or not shape or not self._is_as_long(shape[0], rows[1]):
                continue
            row = access.index[0]
            along = not changing and inner.isdisjoint((row - index(node.params[0])).values)
            if (along or (small and inner.isdisjoint(row.values))) and row not in found:
                found.append(row)
        return found[:_CANDIDATES]

    def _is_as_long(self, one: Index, other: Index) -> bool:
        """Whether two extents differ by a few at most."""
        differences = (one - other, other - one)
        return all(self.bench.legality.is_nonnegative(x + _FEW, self.facts) for x in differences)

    def _default(self, node: Map) -> Index | None:
        """A parallel map without rows is cut in equal parts; any other is for the first thread."""
        assert self.rows is not None
        return None if node.schedule is Schedule.PARALLEL else self.rows[0]

    def _conflicts(self, node: Map, owner: Index, maps: Sequence[Map]) -> int:
        self.owners[id(node)] = owner
        part = _Part(node, reads=True, writes=True)
        return sum(self.meet(part, _Part(other, reads=True, writes=True)) for other in maps)

    # ---- questions ----

    def owner(self, part: _Part) -> Index | None:
        """The row that a part belongs to; None for what is in any or all threads."""
        assert self.rows is not None
        match part.node:
            case Map():
                return self.owners[id(part.node)]
            case Reduce():
                return None if _is_shared(part.node) or part.node.output.container in self.private else self.rows[0]
            case _:
                return self.rows[0] if part.writes else None

    def meet(self, first: _Part, second: _Part, *, same: bool = False) -> bool:
        """Whether two threads may get in each other's way in two parts, each doing either.

        In the `same` turn of all loops around, what these compute is the same for both; else all of it may differ.
        """
        assert self.rows is not None
        sides = [Owned(self._accesses(part), self.owner(part)) for part in (first, second)]
        key = frozenset((id(side.accesses), side.owner, same) for side in sides)
        if key not in self.met:
            own = values_defined_in(first.node) | values_defined_in(second.node)
            varying = frozenset(own) if same else self.varying
            self.met[key] = self.bench.legality.may_meet_across(sides[0], sides[1], self.facts, self.rows, varying)
        return self.met[key]

    def _accesses(self, part: _Part) -> tuple[Access, ...]:
        key = (id(part.node), part.reads, part.writes)
        if key not in self.touched:
            accesses = effects_of(part.node, self.facts.definitions).accesses
            wanted = (access for access in accesses if (part.writes if access.writes else part.reads))
            private = self.private | effects_of(part.node).allocates
            self.touched[key] = tuple(access for access in wanted if access.container not in private)
        return self.touched[key]

    # ---- meetings ----

    def loop(self) -> Loop | None:
        """The loop as a team runs it; None where it cannot, or would never meet."""
        self._turns(self.whole)
        if not self.possible or not self.meets:
            return None
        made = self._made(self.whole)
        count = len(self.meets)
        self.bench.note(
            f"threads run all turns together and meet {count} time{'s' * (count > 1)} in each", made, done=True
        )
        return made

    def _turns(self, loop: Loop) -> set[_Part]:
        """What was done since the last meeting when a loop is done."""
        open_parts = set[_Part]()
        while True:
            before = len(self.meets)
            after = self._walk(loop, set(open_parts))
            if after <= open_parts and before == len(self.meets):
                return after
            open_parts |= after

    def _walk(self, loop: Loop, before: set[_Part]) -> set[_Part]:
        """One turn, behind what was done `before` it in others."""
        here = set[_Part]()
        for place, node in enumerate(loop.body.nodes):
            inner = _inner_loop(node)
            behind = self._turns(inner) if inner else set(self._parts(node))
            heads = self._heads(inner) if inner else behind
            if (id(loop), place) in self.meets or self._any(before, heads) or self._any(here, heads, same=not inner):
                self.meets.add((id(loop), place))
                before, here = set[_Part](), set[_Part]()
            if inner:
                before = before | behind
            else:
                here = here | behind
        return before | here

    def _any(self, first: set[_Part], second: set[_Part], *, same: bool = False) -> bool:
        return any(self.meet(a, b, same=same) for a in first for b in second)

    def _heads(self, loop: Loop) -> set[_Part]:
        """What a loop may do before the team meets in it."""
        found = set[_Part]()
        for place, node in enumerate(loop.body.nodes):
            if (id(loop), place) in self.meets:
                break
            inner = _inner_loop(node)
            found |= self._heads(inner) if inner else set(self._parts(node))
        return found

    def _parts(self, node: Node) -> Iterator[_Part]:
        """What is done of a node that is no loop. In a branch nobody waits for anybody."""
        match node:
            case Map():
                yield _Part(node, reads=True, writes=True)
            case Reduce() | Loop():
                yield _Part(node, reads=True, writes=True)
            case Tasklet():
                parts = _Part(node, reads=True, writes=False), _Part(node, reads=False, writes=True)
                self.possible &= not self.meet(*parts, same=True)
                yield from parts
            case Branch(then=then, orelse=orelse):
                for arm in (then, orelse):
                    inside = [part for inner in arm.nodes for part in self._parts(inner)]
                    self.possible &= not any(isinstance(inner, Loop) for inner in arm.nodes)
                    pairs = ((a, b) for n, a in enumerate(inside) for b in inside[n + 1 :])
                    self.possible &= not any(self.meet(*pair, same=True) for pair in pairs)
                    yield from inside
            case _:
                return

    # ---- the loop ----

    def _made(self, loop: Loop) -> Loop:
        assert self.rows is not None
        meets = tuple(place for place in range(len(loop.body.nodes)) if (id(loop), place) in self.meets)
        body = Region(tuple(map(self._with_owner, loop.body.nodes)))
        return replace(loop, body=body, team=Team(self.rows, meets))

    def _with_owner(self, node: Node) -> Node:
        match node:
            case Map():
                return replace(node, owner=self.owners[id(node)])
            case Loop() if not _is_for_one(node):
                return self._made(node)
            case Branch():
                arms = (Region(tuple(map(self._with_owner, arm.nodes))) for arm in (node.then, node.orelse))
                return replace(node, then=next(arms), orelse=next(arms))
            case _:
                return node


def _computed(node: Reduce) -> tuple[Tasklet, ...]:
    return node.input.body if isinstance(node.input, Elements) else ()


def _is_shared(node: Map | Reduce) -> bool:
    """Whether threads share a node: of a reduction, the results."""
    if node.schedule is not Schedule.PARALLEL:
        return False
    return isinstance(node, Map) or len(node.axes) < len(node.input.shape)


def _is_shared_in(node: Node) -> bool:
    """Whether threads share some of a node."""
    return any(isinstance(x, Map | Reduce) and _is_shared(x) for x in _inside(Region((node,))))


def _inner_loop(node: Node) -> Loop | None:
    """A loop that the team runs inside of another."""
    return node if isinstance(node, Loop) and not _is_for_one(node) else None


def _is_for_one(loop: Loop) -> bool:
    """Whether the first thread runs a loop for all: it writes to memory, and nothing in it is shared."""
    nodes = list(_inside(loop.body))
    writes = any(isinstance(node, Map | Reduce) or (isinstance(node, Tasklet) and node.writes) for node in nodes)
    return writes and not _is_shared_in(loop) and not loop.carries


def _rank(node: Node) -> int:
    """How many loops are in each other."""
    inside = max((_rank(x) for region in inner_regions(node) for x in region.nodes), default=0)
    match node:
        case Map(params=params):
            return inside + len(params)
        case Reduce(input=source):
            return inside + source.rank
        case _:
            return inside + isinstance(node, Loop | While)
