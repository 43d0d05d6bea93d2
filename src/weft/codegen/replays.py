"""Whether a nest can be run a second time, to find out which of its operations raised a flag of the processor.

in:   a nest
out:  the containers that its second run writes again, or None where it would not read what the first one read

The second run leaves out what it can of the writes. It may not meet a container that the first run has changed: what is
written must share no memory with what is read, but for arrays of the nest's own and elements that each iteration writes
before it reads them, and for what no operation that may warn depends on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from weft.analysis.memory import Memory
from weft.ir.exprs import Index, Value, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Elements,
    Elementwise,
    Guard,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Region,
    Return,
    Scan,
    Storage,
    Tasklet,
    View,
    While,
)  # fmt: skip
from weft.ir.traverse import bound_items, inner_regions, node_views, values_defined_in
from weft.support.records import record

Element = tuple[str, tuple[Index, ...]]


def replay_writes(program: Program, nest: Map | Loop) -> frozenset[str] | None:
    """The containers a second run of the nest must write again; None where there can be no second run."""
    accesses = _Accesses(Memory(program.containers))
    accesses.node(nest, set())
    found = accesses.rewritten()
    if found is None and isinstance(nest, Map) and _is_checked_apart(nest, accesses):
        return frozenset()
    return found


def _is_checked_apart(nest: Map, accesses: _Accesses) -> bool:
    """Whether the operations of a plain map that may warn depend on nothing the map overwrites.

    `a[:] = np.minimum(a, b + c)`: only the sum is looked at again, what becomes of it does not matter.
    """
    tasklets = [node for node in nest.body.nodes if isinstance(node, Tasklet)]
    if len(tasklets) != len(nest.body.nodes) or nest.warn >= 0 or accesses.combined:
        return False
    needed: set[Value] = set()
    for tasklet in reversed(tasklets):
        for let in reversed(tasklet.lets):
            if let.warn >= 0 or let.value in needed:
                needed |= values_in(let.expr)
        for value, memlet in reversed(tasklet.reads):
            if value in needed:
                needed.update(*(index.values for index in memlet.index))
    read = {memlet.container for node in tasklets for value, memlet in node.reads if value in needed}
    return accesses.roots(accesses.written).isdisjoint(accesses.roots(read))


@record(frozen=False)
class _Accesses:
    memory: Memory
    own: set[str] = field(default_factory=set[str])  # allocated inside
    read: set[str] = field(default_factory=set[str])
    reread: set[str] = field(default_factory=set[str])  # read where the iteration has written before
    written: set[str] = field(default_factory=set[str])
    whole: set[str] = field(default_factory=set[str])  # outputs of reductions and products, which need them
    combined: set[str] = field(default_factory=set[str])  # written with a conflict resolution

    def region(self, region: Region, before: set[Element]) -> None:
        here = set(before)
        for node in region.nodes:
            self.node(node, here)

    def node(self, node: Node, before: set[Element]) -> None:
        """`before` are the elements certainly written by then, in this very iteration."""
        match node:
            case Tasklet():
                self.tasklet(node, before)
            case Alloc(container=name):
                self.own.add(name)
            case Elementwise(inputs=inputs, output=output):
                self.read.update(view.container for _, view in inputs)
                self.written.add(output.container)
            case Reduce() | Scan() | MatMul():
                self.combination(node)
            case Map() | Loop() | While() | Branch():
                self.read.update(item.container for item in bound_items(node) if isinstance(item, View))
                for inner in inner_regions(node):
                    self.region(inner, before)
            case _:
                self.read.update(item.container for item in bound_items(node) if isinstance(item, View))

    def tasklet(self, node: Tasklet, before: set[Element]) -> None:
        for _, memlet in node.reads:
            known = (memlet.container, memlet.index) in before
            (self.reread if known else self.read).add(memlet.container)
        for memlet, _ in node.writes:
            self.written.add(memlet.container)
            if memlet.conflict:
                self.combined.add(memlet.container)
            else:
                before.add((memlet.container, memlet.index))

    def combination(self, node: Reduce | Scan | MatMul) -> None:
        for source in node_views(node)[1:] if isinstance(node, MatMul) else (node.input,):
            if isinstance(source, Elements):
                for tasklet in source.body:
                    self.tasklet(tasklet, set())
            else:
                self.read.add(source.container)
        self.written.add(node.output.container)
        self.whole.add(node.output.container)

    def roots(self, names: Iterable[str]) -> frozenset[str]:
        found = (self.memory.roots(name) for name in names if name)
        return frozenset(frozenset[str]().union(*found) - self.own)

    def rewritten(self) -> frozenset[str] | None:
        if not self.roots(self.written).isdisjoint(self.roots(self.read)):
            return None
        own = {name for name in self.written if self.memory.roots(name) <= self.own}
        needed = self.roots(self.reread) | self.roots(self.whole)
        kept = {name for name in self.written if not needed.isdisjoint(self.memory.roots(name))}
        if not (kept & self.combined) <= own:
            return None  # what is there has been combined with once already
        return frozenset(kept | own)


# ---- in place -------------------------------------------------------------------------------------------------------


@record
class Saved:
    """What is kept of the contents a plain map overwrites: the elements each point writes, in order.

    `rewritten` are the containers that checking a point must write again, because it reads what it wrote.
    """

    elements: tuple[Memlet, ...]
    rewritten: frozenset[str]


def saved_elements(program: Program, nest: Map) -> Saved | None:
    """The elements that a point of a plain map writes; None if their places are not known before it runs.

    Points of a map do not meet: with the old contents of what some of them have written put back, they can run again.
    """
    tasklets = [node for node in nest.body.nodes if isinstance(node, Tasklet)]
    if not nest.params or len(tasklets) != len(nest.body.nodes):
        return None
    inside = frozenset[Value]().union(*(values_defined_in(node) for node in tasklets))
    writes = [memlet for node in tasklets for memlet, _ in node.writes]
    known = all(inside.isdisjoint(index.values) for memlet in writes for index in memlet.index)
    if not known or any(memlet.conflict for memlet in writes):
        return None
    memory = Memory(program.containers)
    written: set[str] = set()
    for node in tasklets:
        if any(not written.isdisjoint(memory.roots(memlet.container)) for _, memlet in node.reads):
            return Saved(tuple(writes), frozenset(memlet.container for memlet in writes))
        written.update(*(memory.roots(memlet.container) for memlet, _ in node.writes))
    return Saved(tuple(writes), frozenset())


# ---- ways out -------------------------------------------------------------------------------------------------------


def is_closed(program: Program, nest: Map | Loop) -> bool:
    """Whether the program cannot be left from inside a nest, and no memory is asked for there."""
    return not any(_leaves(program, node, depth) for inner in inner_regions(nest) for node, depth in _nodes(inner, 0))


def _nodes(region: Region, depth: int) -> Iterator[tuple[Node, int]]:
    """The nodes inside, each with the number of loops around it."""
    for node in region.nodes:
        yield node, depth
        for inner in inner_regions(node):
            yield from _nodes(inner, depth + isinstance(node, Loop | While))


def _leaves(program: Program, node: Node, depth: int) -> bool:
    match node:
        case Guard() | Return() | NumpyCall():
            return True
        case Alloc(container=name):
            return program.containers[name].storage is not Storage.STACK
        case Break():
            return node.depth > depth
        case _:
            return False
