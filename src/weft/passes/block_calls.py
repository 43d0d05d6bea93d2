"""Linear algebra in every turn of a loop is done for some turns at once, on all threads.

before:  for k in 0:n { alloc M; ... M[p] = ...; call solve(M[:, :], B[:, :]) -> (X) site 3; ... X[p] ...; continue }
after:   alloc Ms[length, ...], Xs[length, ...]                 # what a turn leaves, for each of some turns
         for block in 0:blocks { first, end = block * length, min(n, block * length + length)
           done = if length is two or more {
             for k in first:end { ... Ms[k - first, p] = ... }
             call solve(Ms[0:end - first, :, :], B[:, :]) -> (well) changes (Xs[0:end - first, :, :]) tried
             yield well
           } else { yield false }
           if done { for k in first:end { ... Xs[k - first, p] ... } }
           else { for k in first:end { the turn as it was } } }

Legal where what stands before the call only writes to memory of the turn, and reads nothing that a turn before may
still write behind its call: the legality core is asked. Nothing else leaves the loop, so the program computes what is
computed early; where some call raises or warns, warnings given since are taken back, and the block is done as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from typing import ClassVar, Final

from weft.analysis.effects import effects_of
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Index, Value, const, const_index, index, op
from weft.ir.nodes import (
    Alloc,
    Axis,
    Branch,
    CallResult,
    Carry,
    Container,
    Continue,
    Let,
    Loop,
    Memlet,
    Node,
    NumpyCall,
    Program,
    Region,
    Site,
    Storage,
    Tasklet,
    View,
    While,
    Yield,
    full_view,
)  # fmt: skip
from weft.ir.substitution import Substitution, with_fresh_values
from weft.ir.traverse import (
    all_nodes,
    allocated_by,
    touched_containers,
    values_defined_in,
    values_used_in,
    view_values,
)
from weft.library.linear_algebra import arrays_of, core_of, loop_of
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.passes.loop_bodies import computed, is_less, larger, later_turn, obstacle, quotient, smaller
from weft.passes.map_walk import MapWalk
from weft.passes.open_sites import OpenSite
from weft.support.records import record

_TURNS: Final = 64  # of a block, at most
_MOST_BYTES: Final = 2 << 20  # of what all of them leave
_LEAST: Final = 4  # turns of the loop


@record
class BlockCalls:
    """Call functions of linear algebra for several turns at once."""

    name: ClassVar[str] = "block-calls"

    def run(self, program: Program, session: Session) -> Program:
        """The program with such loops in blocks."""
        if not any(_is_core(node, program) for node in all_nodes(program.body)):
            return program
        return MapWalk(Bench(self.name, program, session), _in_blocks).program()


def _is_core(node: Node, program: Program) -> bool:
    """A call of a function of linear algebra that can do without Python."""
    if not isinstance(node, NumpyCall) or node.tried or node.sizes or any(result.order for result in node.results):
        return False
    core = core_of(node, program.constants)
    given = [program.containers[view.container].dtype for view in arrays_of(node)]
    targets = [result.target for result in node.results]
    results = [program.containers[x].dtype if isinstance(x, str) else x.type.dtype for x in targets]
    if core is None or any(isinstance(x, Value) and x.type.python for x in targets):
        return False
    return loop_of(core, given, results) is not None


def _in_blocks(node: Node, walk: MapWalk, site: OpenSite | None) -> list[Node] | None:
    if not isinstance(node, Loop) or site is None or node.step.constant != 1:
        return None
    turn = _turn_of(node, walk.bench)
    reason = turn.obstacle(walk) if turn is not None else ""
    if turn is None or reason:
        if reason:
            walk.bench.note(f"calls over {node.var.name} are made turn by turn: {reason}", node, done=False)
        return None
    walk.bench.note(f"calls of several turns over {node.var.name} are made at once", node, done=True)
    return list(_Blocks(turn, walk.bench).build(site))


def _turn_of(loop: Loop, bench: Bench) -> _Turn | None:
    """The body of a loop as what stands before and behind its only call."""
    if not any(_is_core(node, bench.program) for node in loop.body.nodes):
        return None
    *nodes, last = rewrite_nodes(loop.body, lambda node: () if isinstance(node, Site) else None).nodes
    calls = [node for node in all_nodes(Region(tuple(nodes))) if isinstance(node, NumpyCall)]
    if len(calls) != 1 or not isinstance(last, Continue) or not _is_core(calls[0], bench.program):
        return None
    place = nodes.index(calls[0])
    return _Turn(loop, calls[0], tuple(nodes[:place]), tuple(nodes[place + 1 :]), last, bench)


@record
class _Turn:
    """A turn: nodes before and behind a call."""

    loop: Loop
    call: NumpyCall
    before: tuple[Node, ...]
    behind: tuple[Node, ...]
    last: Continue
    bench: Bench

    @property
    def made(self) -> frozenset[str]:
        """The memory that is the turn's own until the call."""
        return frozenset(name for node in self.before for name in allocated_by(node))

    @property
    def kept(self) -> list[Container]:
        """What of it the call or the rest of the turn looks at, and the arrays that the call gives."""
        used = frozenset[str]().union(*map(touched_containers, (self.call, *self.behind)))
        return [self.bench.containers[name] for name in sorted(used) if name in self.made | {*allocated_by(self.call)}]

    def obstacle(self, walk: MapWalk) -> str:
        """Why the turns of a block may not come to the call before the first of them goes on; "" if they may."""
        return self._way_out() or self._memory() or self._stacks() or self._crossing(walk)

    def _way_out(self) -> str:
        """Nothing else leaves the loop, and all that stands before the call comes to its end."""
        plain = replace(self.loop, body=Region((*self.before, *self.behind, self.last)))
        carried = {carry.target for carry in self.loop.carries if isinstance(carry.target, Value)}
        if not carried.isdisjoint(values_used_in(Region((*self.before, self.call)))):
            return "what one turn carries to the next is needed before the call"
        if any(isinstance(node, While) for node in all_nodes(Region(self.before))):
            return "a loop before the call may not end"
        found = obstacle(plain, frozenset())
        return found.text if found else "arrays are bound at run time" if effects_of(plain).binds else ""

    def _memory(self) -> str:
        """Memory is allocated by the turn itself, as much in every turn; only such is written before the call."""
        containers, inside = self.bench.containers, values_defined_in(self.loop)
        nodes = (*self.before, *self.behind)
        top = frozenset(name for node in (*nodes, self.call) for name in allocated_by(node))
        allocs = {node.container for node in all_nodes(Region(nodes)) if isinstance(node, Alloc)} - top
        if any(containers[name].storage is not Storage.STACK for name in allocs):
            return "an inner loop allocates memory"
        if any(extent.values & inside for name in top for extent in containers[name].shape):
            return "an array has another shape in each turn"
        memory = self.bench.legality.memory
        if any(c.storage is Storage.ALIAS and memory.roots(c.name) & top for c in containers.values()):
            return "an array of the turn has two shapes"
        own = frozenset(name for node in all_nodes(Region(self.before)) for name in allocated_by(node))
        shared = sorted({access.container for access in effects_of(self.before).writes} - own)
        return f"{shared[0]} is written before the call" if shared else ""

    def _stacks(self) -> str:
        """The call looks at memory of the turn, or at what no turn writes; the rest needs nothing else of before."""
        memory, var = self.bench.legality.memory, self.loop.var
        written = {access.container for access in effects_of(self.loop).writes} - self.made
        inside = values_defined_in(self.loop)
        for view in arrays_of(self.call):
            own, moving = view.container in self.made, inside.intersection(view_values(view))
            if not own and any(memory.may_overlap(view.container, name) for name in written):
                return f"{view.container} is an argument of the call, and written"
            moves = all(_step(axis, var) is not None for axis in view.axes)
            if moving - {var} or any(var in extent.values for extent in view.shape) or not moves or (own and moving):
                return "arguments of the calls are no stack"
        return "" if self.needed() is not None else "what is computed before the call is needed behind it"

    def _crossing(self, walk: MapWalk) -> str:
        """What stands before the call does not touch, in a later turn, what stands behind it in an earlier one."""
        allocs = tuple(node for node in self.before if isinstance(node, Alloc))
        later = later_turn(self.loop, self.before, self.bench)
        known = later.facts(walk.facts, self.bench, 1)
        found = self.bench.legality.between((*allocs, *self.behind), later.nodes, known, instances=True)
        return "what stands before the call needs what turns before do behind theirs" if found else ""

    def needed(self) -> list[Tasklet] | None:
        """What is computed again behind the call; None where that may be something else by then."""
        wanted, found = set(values_used_in(Region((*self.behind, self.last)))), list[Tasklet]()
        written = {access.container for access in effects_of(self.loop).writes}
        memory = self.bench.legality.memory
        for node in reversed(self.before):
            if wanted.isdisjoint(values_defined_in(node)):
                continue
            if not isinstance(node, Tasklet) or node.writes or any(let.warn >= 0 for let in node.lets):
                return None
            if any(memory.may_overlap(read, name) for read in touched_containers(node) for name in written):
                return None
            found.insert(0, node)
            wanted |= values_used_in(Region((node,)))
        return found


def _step(axis: Axis, var: Value) -> Index | None:
    """By how much an axis moves from turn to turn; None where that is another distance in each."""
    step = axis.offset.substitute({var: index(var) + 1}) - axis.offset
    fixed = not any(var in term.values for _, term in axis.terms)
    return step if fixed and var not in step.values else None


def _carried(loop: Loop) -> tuple[Expr, ...]:
    return tuple(carry.target for carry in loop.carries if isinstance(carry.target, Value))


# ---- the loop in blocks ---------------------------------------------------------------------------------------------


@record
class _InRows(Substitution):
    """A substitution by which some arrays are rows of others."""

    rows: Mapping[str | Value, str] = field(default_factory=dict["str | Value", str])
    row: Index = field(default_factory=lambda: const_index(0))

    def view(self, view: View) -> View:
        """A view."""
        made = Substitution.view(self, view)
        if view.container not in self.rows:
            return made
        return View(self.rows[view.container], made.shape, (Axis(self.row), *made.axes))

    def memlet(self, memlet: Memlet) -> Memlet:
        """A memlet."""
        made = Substitution.memlet(self, memlet)
        if memlet.container not in self.rows:
            return made
        return replace(made, container=self.rows[memlet.container], index=(self.row, *made.index))


class _Blocks:
    def __init__(self, turn: _Turn, bench: Bench) -> None:
        self.turn, self.bench = turn, bench
        self.length = replace(bench.value("length", PY_INT), low=0)
        self.first, self.end = (bench.value(name, PY_INT) for name in ("first", "end"))
        self.rooms = {container.name: self.room(container.name, container) for container in turn.kept}
        self.numbers = {
            result.target: self.room(result.target.name, result.target)
            for result in turn.call.results
            if isinstance(result.target, Value)
        }

    def room(self, name: str, of: Container | Value) -> Container:
        """An array with a row for each turn of a block."""
        shape, dtype = ((), of.type.dtype) if isinstance(of, Value) else (of.shape, of.dtype)
        return self.bench.container(name.partition(".")[0], dtype, (index(self.length), *shape))

    def build(self, site: OpenSite) -> Iterator[Node]:
        """Memory for some turns, and the loop over blocks of them."""
        bench, loop, trips = self.bench, self.turn.loop, self.turn.loop.stop - self.turn.loop.start
        several, turns = (bench.value(name, PY_INT) for name in ("several", "turns"))
        pays = op(
            "logical_and", (is_less(const_index(1), index(several)), is_less(const_index(_LEAST - 1), trips)), NP_BOOL
        )
        lets = (
            Let(
                several,
                smaller(
                    const_index(_TURNS), op("floor_divide", (const_index(_MOST_BYTES), self.bytes_of_turn()), PY_INT)
                ),
            ),
            Let(self.length, op("select", (pays, index(several), const_index(0)), PY_INT)),
            Let(turns, op("select", (pays, index(several), larger(const_index(1), trips)), PY_INT)),
        )
        yield from computed(lets, loop, bench)
        for name in (*self.rows.values(), *self.temporary.values()):
            yield Alloc(container=name, site=site.number, id=bench.number(), span=loop.span)
        count = replace(bench.value("blocks", PY_INT), low=0)
        number = larger(const_index(0), quotient(trips + index(turns) - 1, index(turns)))
        yield from computed((Let(count, number),), loop, bench)
        block = replace(bench.value("block", PY_INT), floor=const_index(0), ceiling=index(count) - 1)
        low = loop.start + index(block) * index(turns)
        ends = (Let(self.first, low), Let(self.end, smaller(loop.stop, low + index(turns))))
        done = bench.value("done", NP_BOOL)
        rest = self.rest(done)
        results = tuple(result for result in rest.results if isinstance(result, Value))
        body = Region((*computed(ends, loop, bench), self.trial(done), rest, Continue(results)))
        yield replace(loop, var=block, start=const_index(0), stop=index(count), body=body, id=bench.number())

    @property
    def rows(self) -> dict[str | Value, str]:
        """The arrays whose rows stand for arrays and numbers of the turns."""
        return {key: room.name for key, room in (*self.rooms.items(), *self.numbers.items())}

    def bytes_of_turn(self) -> Expr:
        """What a turn leaves, 1 at least."""
        total = const_index(0)
        for name in self.rows.values():
            room = self.bench.containers[name]
            total = total + reduce(lambda size, extent: size * extent, room.shape[1:], const_index(room.dtype.itemsize))
        return larger(const_index(1), total)

    @cached_property
    def temporary(self) -> dict[str, str]:
        """Other memory of the turns, which one after the other uses, by its name in a turn."""
        top = (node for node in (*self.turn.before, *self.turn.behind) if isinstance(node, Alloc))
        arrays = (self.bench.containers[node.container] for node in top if node.container not in self.rooms)
        return {
            c.name: self.bench.container(c.name.partition(".")[0], c.dtype, c.shape).name
            for c in arrays
            if c.storage is Storage.TRANSIENT
        }

    def trial(self, done: Value) -> Branch:
        """What comes before the calls, and the calls, for all turns of a block; whether all went well."""
        well = self.bench.value("well", NP_BOOL)
        changes = tuple(map(self.all_of, self.turn.call.results))
        given = [self.stacked(bundle) if isinstance(bundle, View) else bundle for bundle in self.turn.call.args]
        call = replace(
            self.turn.call, args=tuple(given), results=(CallResult(well),), changes=changes, site=-1, tried=True,
            id=self.bench.number(),
        )  # fmt: skip
        return Branch(
            condition=is_less(const_index(0), index(self.length)),
            then=Region((self.turns((*self.turn.before, Continue())), call, Yield((well,)))),
            orelse=Region((Yield((const(False, NP_BOOL),)),)),
            results=(done,),
            id=self.bench.number(),
            span=self.turn.loop.span,
        )

    def all_of(self, result: CallResult) -> View:
        """A result in all turns of a block."""
        key = result.target
        room = self.rooms[key] if isinstance(key, str) else self.numbers[key]
        whole = full_view(room)
        return replace(whole, shape=(index(self.end) - index(self.first), *whole.shape[1:]))

    def stacked(self, view: View) -> View:
        """What a view is in all turns of a block, one behind the other."""
        var, count = self.turn.loop.var, index(self.end) - index(self.first)
        axes = [replace(axis, terms=tuple((at + 1, step) for at, step in axis.terms)) for axis in view.axes]
        along = (0, const_index(1))
        if view.container in self.rows:
            return View(self.rows[view.container], (count, *view.shape), (Axis(const_index(0), (along,)), *axes))
        moved: list[Axis] = []
        for axis in axes:
            step = _step(axis, var)
            assert step is not None
            offset = axis.offset.substitute({var: index(self.first)})
            moved.append(Axis(offset, axis.terms if step.constant == 0 else ((0, step), *axis.terms)))
        return View(view.container, (count, *view.shape), tuple(moved))

    def rest(self, done: Value) -> Branch:
        """What comes behind the calls, or all of the turns where something went wrong."""
        row = index(self.turn.loop.var) - index(self.first)
        reads = tuple((value, Memlet(room.name, (row,))) for value, room in self.numbers.items())
        taken = (Tasklet(reads=reads, id=self.bench.number(), span=self.turn.call.span),) if reads else ()
        behind = self.turns((*(self.turn.needed() or ()), *taken, *self.turn.behind, self.turn.last))
        whole = replace(self.turn.loop, start=index(self.first), stop=index(self.end))
        as_it_was = self.carrying(whole, self.anew())
        return Branch(
            condition=done,
            then=Region((behind, Yield(_carried(behind)))),
            orelse=Region((as_it_was, Yield(_carried(as_it_was)))),
            results=tuple(self.anew().values()),
            id=self.bench.number(),
            span=self.turn.loop.span,
        )

    def turns(self, nodes: Sequence[Node]) -> Loop:
        """Some nodes of all turns of a block, with rows in place of what the turns have for themselves."""
        bench, loop, (first, end) = self.bench, self.turn.loop, (index(self.first), index(self.end))
        var = replace(loop.var, id=bench.number(), low=None, high=None, floor=first, ceiling=end - 1)
        gone = {*self.rows, *self.temporary}
        left = [node for node in nodes if not isinstance(node, Alloc) or node.container not in gone]
        inside = _InRows(containers={**self.temporary, **self.apart(left)}, rows=self.rows, row=index(loop.var) - first)
        anew = self.anew() if left[-1] is self.turn.last else {}
        made = with_fresh_values([inside.node(node) for node in left], bench.number, {loop.var: var, **anew})
        turns = replace(loop, var=var, start=first, stop=end, body=Region(tuple(made)), id=bench.number())
        return self.carrying(turns, anew)

    def anew(self) -> dict[Value, Value]:
        """Other numbers for what the loop carries."""
        targets = (carry.target for carry in self.turn.loop.carries)
        number = self.bench.number
        return {target: replace(target, id=number()) for target in targets if isinstance(target, Value)}

    def carrying(self, turns: Loop, anew: Mapping[Value, Value]) -> Loop:
        """A loop over turns of a block that carries on from what the blocks before have come to."""
        body = Substitution(anew).region(turns.body)
        return replace(turns, carries=tuple(Carry(new, old) for old, new in anew.items()), body=body)

    def apart(self, nodes: Sequence[Node]) -> dict[str, str]:
        """Other names for arrays on the stack: the turns as they were have them, too."""
        found: dict[str, str] = {}
        for node in all_nodes(Region(tuple(nodes))):
            if isinstance(node, Alloc):
                old = self.bench.containers[node.container]
                found[old.name] = self.bench.container(
                    old.name.partition(".")[0], old.dtype, old.shape, old.storage
                ).name
        return found
