"""What a loop does at one point of the maps it holds, where each point keeps to itself.

in:   the nodes of a loop's body: maps over one domain, branches that hold such maps, temporaries, refs to them
out:  tasklets and branches for a single point: an element of a temporary or of a ref is a number

    alloc T; map (i) { write T[i] = f(X[i]) }; if c -> (Y) { map (i) { ...T[i]... } yield U } else { yield T }
    becomes   t = f(x); if c -> (y) { ...t...; yield u } else { yield t }

Nothing is said here about order: whether points may run on their own is for those who ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from weft.analysis.ranges import is_nonnegative
from weft.ir.dtypes import ScalarType
from weft.ir.exprs import Expr, Index, Value, index
from weft.ir.nodes import Alloc, Branch, Map, Memlet, Node, Region, Site, Tasklet, View, Yield
from weft.ir.substitution import Substitution
from weft.ir.traverse import all_nodes
from weft.passes.base import Bench
from weft.passes.tasklets import can_warn, explicit
from weft.support.records import record

Held = dict[str, Expr]
"""What an element of a temporary or a ref is at the point, by its name."""


class NotPointwiseError(Exception):
    """A point needs something of another one, or of what is no element of an array."""


def domain_of(region: Region) -> Map | None:
    """The first map of a region: the others must have its ranges."""
    return next((node for node in all_nodes(region) if isinstance(node, Map)), None)


@record
class Point:
    """One point of a domain.

    `temporaries` are the arrays and refs that exist for one turn only, `written` the other arrays that the loop writes,
    `bound` the temporaries that a ref has been bound to: they must not change any more.
    """

    params: tuple[Value, ...]
    ranges: tuple[tuple[Index, Index], ...]
    temporaries: frozenset[str]
    written: frozenset[str]
    bench: Bench
    bound: set[str] = field(default_factory=set[str])

    @property
    def place(self) -> tuple[Index, ...]:
        """Its coordinates."""
        return tuple(index(param) for param in self.params)

    def nodes(self, nodes: Sequence[Node], held: Held) -> list[Node]:
        """The nodes of a region at the point; `held` grows by what they leave."""
        found: list[Node] = []
        for node in nodes:
            match node:
                case Site() | Alloc():
                    continue
                case Tasklet(writes=()) if self._is_the_same_for_all(node):
                    found.append(node)
                case Map():
                    found += self._map(node, held)
                case Branch():
                    found.append(self._branch(node, held))
                case _:
                    raise NotPointwiseError
        return found

    def _is_the_same_for_all(self, node: Tasklet) -> bool:
        """Whether every point may do a tasklet that stands outside of maps, and one of them will if it can warn."""
        overlap = self.bench.legality.memory.may_overlap
        kept = self.temporaries | self.written
        if any(overlap(memlet.container, name) for _, memlet in node.reads for name in kept):
            return False
        has_points = all(is_nonnegative(stop - start - 1) for start, stop in self.ranges)
        return has_points or not any(can_warn(let.expr) for let in node.lets)

    def element(self, view: View, held: Held, nodes: list[Node]) -> Expr:
        """The element of a view at the point; one that lies in memory is read by a further node."""
        if not view.container or view.rank != len(self.params):
            raise NotPointwiseError
        memlet = view.at(self.place)
        if view.container in self.temporaries:
            self.bound.add(view.container)
            return self._held(memlet, held)
        overlap = self.bench.legality.memory.may_overlap
        if any(overlap(view.container, name) for name in self.written):
            raise NotPointwiseError  # it may be another number by the time it is needed
        value = self.bench.value(view.container.partition(".")[0], self.type_of(view.container))
        nodes.append(Tasklet(reads=((value, memlet),), id=self.bench.number()))
        return value

    def type_of(self, name: str) -> ScalarType:
        """The type of an element."""
        return ScalarType(self.bench.containers[name].dtype)

    def _held(self, memlet: Memlet, held: Held) -> Expr:
        number = held.get(memlet.container)
        if number is None or memlet.index != self.place:
            raise NotPointwiseError
        return number

    def _map(self, node: Map, held: Held) -> list[Node]:
        if node.ranges != self.ranges:
            raise NotPointwiseError
        renamed = Substitution(dict(zip(node.params, self.place, strict=True)))
        found: list[Node] = []
        for inner in explicit(node, self.bench).body.nodes:
            tasklet = renamed.node(inner)
            if not isinstance(tasklet, Tasklet):
                raise NotPointwiseError
            found.append(self._tasklet(tasklet, held))
        return found

    def _tasklet(self, node: Tasklet, held: Held) -> Tasklet:
        kept = [(value, memlet) for value, memlet in node.reads if memlet.container in self.temporaries]
        numbers = {value: self._held(memlet, held) for value, memlet in kept}
        chosen = Substitution(numbers)
        plain = chosen.tasklet(Tasklet(lets=node.lets, writes=node.writes))
        for memlet, number in plain.writes:
            if memlet.container in self.temporaries:
                if memlet.conflict or memlet.index != self.place or memlet.container in self.bound:
                    raise NotPointwiseError
                held[memlet.container] = number
        return Tasklet(
            reads=tuple(pair for pair in node.reads if pair[0] not in numbers),
            lets=plain.lets,
            writes=tuple(pair for pair in plain.writes if pair[0].container not in self.temporaries),
            id=node.id,
            span=node.span,
        )

    def _branch(self, node: Branch, held: Held) -> Branch:
        results = tuple(
            result if isinstance(result, Value) else self.bench.value(result.partition(".")[0], self.type_of(result))
            for result in node.results
        )
        then, orelse = (self._arm(arm, held) for arm in (node.then, node.orelse))
        for name, number in zip(node.results, results, strict=True):
            if isinstance(name, str):
                held[name] = number
        return Branch(condition=node.condition, then=then, orelse=orelse, results=results, id=node.id, span=node.span)

    def _arm(self, arm: Region, outside: Held) -> Region:
        *inside, last = arm.nodes or (None,)
        if not isinstance(last, Yield):
            raise NotPointwiseError
        held = dict(outside)
        nodes = self.nodes(inside, held)
        if any(held[name] is not number for name, number in outside.items()):
            raise NotPointwiseError  # what an arm leaves in an array from outside would have to be chosen after it
        given = [item if not isinstance(item, View) else self.element(item, held, nodes) for item in last.values]
        return Region((*nodes, Yield(tuple(given))))
