"""Loops that collect: for each turn in which a condition holds, the next elements of some arrays are written.

in:   a loop
out:  its parts, if turns need nothing of each other but their number: a `Compaction`

    for k in range(n): x = A[k]; if m[k]: T[at] = x; at += 1

Turns may then run in any order, once it is known in how many before them the condition held; and what a turn writes
where it fails may be written over by the next one in which it holds. Where elements only move to the front of their own
array, `A[at] = A[k]`, turns run in order, or as many of them at once as are read before any is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from weft.analysis.memory import Memory
from weft.ir.dtypes import PY_INT, DType
from weft.ir.exprs import Const, Expr, Index, Op, Value, index, values_in
from weft.ir.nodes import Branch, Continue, Loop, Memlet, Node, Tasklet, View, Yield
from weft.ir.traverse import values_defined_in
from weft.support.records import record

Apart = frozenset[frozenset[str]]


@record
class Compaction:
    """In every turn `before` reads; where the condition holds, `body` writes at `number`, which grows by one.

    Elements of the arrays `within` move in their own array.
    """

    number: Value
    before: tuple[Tasklet, ...]
    condition: Expr
    body: tuple[Tasklet, ...]
    within: frozenset[str] = frozenset()

    def test(self) -> tuple[Tasklet, ...]:
        """What of `before` the condition needs."""
        needed = set(values_in(self.condition))
        found: list[Tasklet] = []
        for tasklet in reversed(self.before):
            lets = tuple(let for let in tasklet.lets if let.value in _closed(needed, tasklet))
            reads = tuple(read for read in tasklet.reads if read[0] in needed)
            for _, memlet in reads:
                needed.update(*(coordinate.values for coordinate in memlet.index))
            if lets or reads:
                found.append(replace(tasklet, reads=reads, lets=lets))
        return tuple(reversed(found))

    def asks(self, loop: Loop) -> object:
        """The condition as a term that says the same for all loops that ask for the same: their variable is None."""
        reads = {value: memlet for tasklet in self.before for value, memlet in tasklet.reads}
        lets = {let.value: let.expr for tasklet in self.before for let in tasklet.lets}

        def term(expr: Expr) -> object:
            match expr:
                case Value() if expr in reads:
                    return reads[expr].container, tuple(map(term, reads[expr].index))
                case Value():
                    return term(lets[expr]) if expr in lets else None if expr == loop.var else expr
                case Op():
                    return expr.name, expr.type, tuple(map(term, expr.args))
                case Index():
                    return tuple((tuple(map(term, monomial)), factor) for monomial, factor in expr.terms)
                case _:
                    return expr

        return term(self.condition)

    def sources(self) -> tuple[tuple[Memlet, Memlet | Index], ...] | None:
        """What the body writes, each with the element or the number of the turn it comes from; None if it computes."""
        read = {value: memlet for tasklet in self.before for value, memlet in tasklet.reads}
        inside = {*read, *(let.value for tasklet in self.before for let in tasklet.lets)}
        found: list[tuple[Memlet, Memlet | Index]] = []
        for target, expr in (write for tasklet in self.body for write in tasklet.writes):
            source = read.get(expr) if isinstance(expr, Value) else _turn(expr)
            coordinates = (source,) if isinstance(source, Index) else source.index if source else ()
            if source is None or _depends(coordinates, inside):
                return None
            found.append((target, source))
        return tuple(found)

    def moves(self) -> tuple[Tasklet, ...] | None:
        """What the body does as tasklets of one read and one write each; None if it does anything else."""
        found: list[Tasklet] = []
        for target, source in self.sources() or ():
            if isinstance(source, Index):
                return None
            value = next(value for tasklet in self.before for value, memlet in tasklet.reads if memlet == source)
            found.append(Tasklet(reads=((value, source),), writes=((target, value),)))
        return tuple(found) or None


def _turn(expr: Expr) -> Index | None:
    """What is written where it is a number of the loop itself, as an int64."""
    match expr:
        case Op(name="cast", type=type_, args=(Index() as number,)) if type_.dtype is DType.INT64:
            return number
        case _:
            return None


def _depends(position: tuple[Index, ...], values: set[Value]) -> bool:
    return any(coordinate.values & values for coordinate in position)


def _closed(needed: set[Value], tasklet: Tasklet) -> set[Value]:
    """`needed`, with what its values that are lets of the tasklet are made of."""
    for let in reversed(tasklet.lets):
        if let.value in needed:
            needed |= values_in(let.expr)
    return needed


def collects(loop: Loop) -> bool:
    """Whether it has the form of a loop that collects; what it reads and writes is another question."""
    return _parts(loop) is not None


def compaction(loop: Loop, memory: Memory, apart: Apart = frozenset()) -> Compaction | None:
    """The parts of a loop that collects; None for any other. `apart`: pairs of containers known to share no memory."""
    found = _parts(loop)
    if found is None or not _is_silent((*found.before, *found.body)):
        return None
    writes = [memlet for tasklet in found.body for memlet, _ in tasklet.writes]
    inside = values_defined_in(loop) - {found.number}
    own = [_follows(memlet.index, found.number, inside) and not memlet.conflict for memlet in writes]
    if not writes or not all(own):
        return None
    reads = [memlet for tasklet in found.before for _, memlet in tasklet.reads]
    within: set[str] = set()
    for place, memlet in enumerate(writes):
        if any(memory.may_overlap(memlet.container, other.container, apart) for other in writes[place + 1 :]):
            return None
        met = [read for read in reads if memory.may_overlap(memlet.container, read.container, apart)]
        if met:
            within.add(memlet.container)
            if met != [Memlet(memlet.container, (index(loop.var),))] or memlet.index != (index(found.number),):
                return None
    if not within:
        return found
    sources = [tasklet.reads[0][1].container for tasklet in found.moves() or ()]
    alone = all(sources.count(name) == 1 for name in within)  # of a block, one array is moved after the other
    return replace(found, within=frozenset(within)) if alone and starts_at_zero(loop) else None


def starts_at_zero(loop: Loop) -> bool:
    """Whether the turns of a loop that collects, and its number, start at zero: none is written before it is read."""
    init = loop.carries[0].init
    start = init.constant if isinstance(init, Index) else init.value if isinstance(init, Const) else None
    return loop.start.constant == 0 and start == 0


def _parts(loop: Loop) -> Compaction | None:
    match loop.carries, loop.body.nodes:
        case (carry,), (*before, Branch(results=(after,)) as branch, Continue(values=(again,))):
            number = carry.target
        case _:
            return None
    if loop.step.constant != 1 or not isinstance(number, Value) or number.type != PY_INT or isinstance(again, View):
        return None
    *body, yes = branch.then.nodes
    match yes, branch.orelse.nodes:
        case Yield(values=(grown,)), (Yield(values=(same,)),) if not isinstance(grown, View) and same == index(number):
            counts = grown == index(number) + 1 and again in (after, _polynomial(after))
        case _:
            return None
    first, then = _tasklets(before), _tasklets(body)
    if not counts or first is None or then is None:
        return None
    if any(tasklet.writes for tasklet in first) or any(tasklet.reads for tasklet in then):
        return None
    if any(number in _used(tasklet) for tasklet in first) or number in values_in(branch.condition):
        return None
    return Compaction(number, first, branch.condition, then)


def _polynomial(after: Value | str) -> Index | None:
    return index(after) if isinstance(after, Value) else None


def _tasklets(nodes: Iterable[Node]) -> tuple[Tasklet, ...] | None:
    found = tuple(nodes)
    tasklets = tuple(node for node in found if isinstance(node, Tasklet))
    return tasklets if len(tasklets) == len(found) else None


def _used(tasklet: Tasklet) -> set[Value]:
    coordinates = [coordinate.values for _, memlet in tasklet.reads for coordinate in memlet.index]
    return set[Value]().union(*coordinates, *(values_in(let.expr) for let in tasklet.lets))


def _is_silent(tasklets: Iterable[Tasklet]) -> bool:
    """Whether nothing warns: what is computed for turns in which the condition fails must not be noticed."""
    return all(let.warn < 0 for tasklet in tasklets for let in tasklet.lets)


def _follows(position: tuple[Index, ...], number: Value, inside: frozenset[Value]) -> bool:
    """Whether each number has an element of its own, which nothing else in the loop decides."""
    rests = [coordinate - index(number) if number in coordinate.values else None for coordinate in position]
    moved = [rest for rest in rests if rest is not None and number not in rest.values]
    values = frozenset[Value]().union(*(coordinate.values for coordinate in position))
    return bool(moved) and not values & inside
