"""Copies that only move what was just computed.

before:  matmul T[:, :] = A[:, :] @ B[:, :]            after:   guard ...
         guard ...                                              matmul C[:, 0:%n.1] = A[:, :] @ B[:, :]
         elementwise C[:, 0:%n.1] = T[:, :]

before:  elementwise T[:] ...; elementwise U[:] = T[:]; elementwise U[0:1] ...
after:   elementwise T[:] ...; elementwise T[0:1] ...

A product, reduction or scan whose result is copied to its place, and seen nowhere else, is moved to the copy and writes
there itself: if nothing in between changes what it reads, and it reads nothing of the place. Element-wise producers are
left to `inline-producers`. A copy of a whole temporary is the temporary itself, if one of the two is not looked at any
more, or neither is written any more. What is left unused is for `dead-code`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.conditions import Constraint
from weft.analysis.dependences import Kind
from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.analysis.uses import Uses, container_uses, read_by
from weft.ir.exprs import Index
from weft.ir.nodes import (
    Alloc,
    Axis,
    Container,
    Elementwise,
    Layout,
    MatMul,
    Node,
    Program,
    Reduce,
    Region,
    Scan,
    Storage,
    View,
    full_view,
)  # fmt: skip
from weft.ir.substitution import Substitution
from weft.ir.traverse import allocated_by, touched_containers
from weft.passes.base import Bench, Session, rewrite_regions
from weft.support.records import record


@record
class DropCopies:
    """Let producers write where their result is copied to, and use one container for a temporary and its copy."""

    name: ClassVar[str] = "redundant-copies"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer copies."""
        bench = Bench(self.name, program, session)
        copies = _Copies(bench, container_uses(program))
        changed = rewrite_regions(bench, copies.region)
        if not copies.names:
            return changed
        return _renamed(changed, copies.names)


def _renamed(program: Program, names: dict[str, str]) -> Program:
    """The program with containers merged; refs and aliases of those that are gone follow."""
    chosen = Substitution(containers=names)
    containers: dict[str, Container] = {}
    for name, container in program.containers.items():
        if name not in names:
            aliases = tuple(dict.fromkeys(chosen.name(other) for other in container.may_alias))
            containers[name] = replace(container, base=chosen.name(container.base), may_alias=aliases)
    return replace(program, body=chosen.region(program.body), containers=containers)


@record
class _Copy:
    """An element-wise operation at a place of a region that copies `source`, a view from its first element on."""

    node: Elementwise
    place: int
    source: View


class _FactsAt:
    """The facts in front of each node of a region, as far as they have been asked for."""

    def __init__(self, facts: Facts, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.known = [facts]

    def before(self, place: int) -> Facts:
        while len(self.known) <= place:
            self.known.append(self.known[-1].after(self.nodes[len(self.known) - 1]))
        return self.known[place]

    def removed(self, place: int) -> None:
        """A node that adds no facts is gone."""
        if place + 1 < len(self.known):
            del self.known[place + 1]


class _Copies:
    def __init__(self, bench: Bench, uses: dict[str, Uses]) -> None:
        self.bench = bench
        self.uses = uses
        self.names: dict[str, str] = {}

    def region(self, region: Region, facts: Facts) -> Region:
        nodes = list(region.nodes)
        known = _FactsAt(facts, nodes)
        place = 0
        while place < len(nodes):
            copy = _copy(nodes[place], place)
            if copy is not None and (self.forward(nodes, copy, known) or self.merge(nodes, copy)):
                place -= 1  # a node is gone
            place += 1
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    # -- producers

    def forward(self, nodes: list[Node], copy: _Copy, known: _FactsAt) -> bool:
        """Let the producer of a temporary write to the place it is copied to."""
        container, use = self.bench.containers[copy.source.container], self.uses.get(copy.source.container)
        private = use is not None and use.writers == use.readers == 1 and not use.escapes
        if container.storage is not Storage.TRANSIENT or not private:
            return False
        found = _producer(nodes, copy)
        if found is None:
            return False
        place, producer = found
        output = self.composed(producer.output, copy, container, known.before(copy.place))
        words = f"{copy.source.container.partition('.')[0]} keeps a temporary"
        if output is None or (isinstance(producer, MatMul) and not self.is_fast(output)):
            self.bench.note(f"{words}: it is copied in another shape or order", copy.node, done=False)
            return False
        reason = self.obstacle(producer, nodes[place + 1 : copy.place], copy, known.before(place))
        if reason:
            self.bench.note(f"{words}: {reason}", copy.node, done=False)
            return False
        nodes[copy.place] = replace(producer, output=output)
        del nodes[place]
        known.removed(place)
        self.bench.note(f"written to {copy.node.output.container.partition('.')[0]} directly", copy.node, done=True)
        return True

    def obstacle(self, producer: Reduce | Scan | MatMul, between: Sequence[Node], copy: _Copy, facts: Facts) -> str:
        """What keeps the producer from being done where its result is copied, into the target."""
        if self.overwritten(producer, between, facts):
            return "what it is computed from is changed before it is copied"
        if self.overwritten(producer, (copy.node,), facts):
            return f"it is computed from {copy.node.output.container.partition('.')[0]}"
        return ""

    def overwritten(self, producer: Reduce | Scan | MatMul, nodes: Sequence[Node], facts: Facts) -> bool:
        """Whether nodes may write what the producer reads."""
        legality = self.bench.legality
        read, written = set(read_by(producer)), {access.container for access in effects_of(nodes).writes}
        if not any(legality.memory.may_overlap(name, other, facts.apart) for name in read for other in written):
            return False
        return any(dependence.kind is Kind.ANTI for dependence in legality.between(producer, nodes, facts))

    def composed(self, output: View, copy: _Copy, container: Container, facts: Facts) -> View | None:
        """The elements of the target that the producer's output ends up in; None if it is not the whole temporary."""
        axes: list[int] = []
        for axis in output.axes:
            match axis:
                case Axis(offset=offset, terms=((number, step),)) if offset.constant == 0 and step.constant == 1:
                    axes.append(number)
                case _:
                    return None
        others = set(range(output.rank)) - set(axes)
        shape = tuple(output.shape[number] for number in axes)
        if len(set(axes)) < len(axes) or any(output.shape[number].constant != 1 for number in others):
            return None
        target = copy.node.output
        if not self.equal(shape, container.shape, facts) or not self.equal(target.shape, container.shape, facts):
            return None
        moved = tuple(Axis(axis.offset, tuple((axes[n], step) for n, step in axis.terms)) for axis in target.axes)
        return View(target.container, output.shape, moved)

    def equal(self, left: Sequence[Index], right: Sequence[Index], facts: Facts) -> bool:
        holds = self.bench.legality.holds
        return len(left) == len(right) and all(
            a is b or holds(Constraint(a - b, equal=True), facts) for a, b in zip(left, right, strict=True)
        )

    def is_fast(self, output: View) -> bool:
        """Whether the library can write there: a vector upwards, a matrix with neighbours along one of its axes."""
        rows, columns = output.shape[-2:]
        if rows.constant == 1 or columns.constant == 1:
            return all((step.constant or 0) > 0 for axis in output.axes for _, step in axis.terms)
        container = self.bench.containers[output.container]
        if container.storage is Storage.REF or container.layout is Layout.STRIDED:
            return False
        fastest = output.axes[0 if container.layout is Layout.F else -1]
        return any(number >= output.rank - 2 and step.constant == 1 for number, step in fastest.terms)

    # -- whole copies

    def merge(self, nodes: list[Node], copy: _Copy) -> bool:
        """Use one container for a temporary and its copy."""
        source, target = copy.source.container, copy.node.output.container
        old, new = self.bench.containers[source], self.bench.containers[target]
        merged = {*self.names, *self.names.values()}
        if source in merged or target in merged:  # one at a time: the next round looks at what has become of them
            return False
        whole = copy.source == full_view(old) and copy.node.output == full_view(new)
        alike = old.shape == new.shape and old.dtype is new.dtype and old.layout is new.layout
        if not whole or not alike or new.storage is not Storage.TRANSIENT:
            return False
        if not _is_fresh(nodes[: copy.place], target):
            return False
        rest = nodes[copy.place + 1 :]
        if not (self.dies(nodes, rest, source) or self.stay_equal(rest, source, target)):
            self.bench.note(f"{target.partition('.')[0]} is a copy of what changes later", copy.node, done=False)
            return False
        self.names[target] = source
        nodes[copy.place : copy.place + 1] = []
        position = next(n for n, node in enumerate(nodes) if isinstance(node, Alloc) and node.container == target)
        nodes[position : position + 1] = []
        self.bench.note(f"{target.partition('.')[0]} is not copied", copy.node, done=True)
        return True

    def dies(self, nodes: Sequence[Node], rest: Sequence[Node], source: str) -> bool:
        """The original is a temporary of this region that nobody looks at any more."""
        own = any(source in allocated_by(node) for node in nodes)
        private = not self.uses[source].escapes and self.bench.containers[source].storage is Storage.TRANSIENT
        return own and private and not any(source in touched_containers(node) for node in rest)

    def stay_equal(self, rest: Sequence[Node], source: str, target: str) -> bool:
        """Neither is written any more, and the copy is never seen from outside."""
        memory = self.bench.legality.memory
        if self.uses[target].escapes:
            return False
        written = {access.container for access in effects_of(rest).writes}
        return not any(memory.may_overlap(name, other) for name in (source, target) for other in written)


def _copy(node: Node, place: int) -> _Copy | None:
    match node:
        case Elementwise(inputs=((value, source),), expr=expr) if expr is value or expr == value:
            plain = all(_is_axis(axis, number) for number, axis in enumerate(source.axes))
            return _Copy(node, place, source) if plain and source.rank == len(source.axes) else None
        case _:
            return None


def _is_axis(axis: Axis, number: int) -> bool:
    match axis.terms:
        case ((only, step),):
            return only == number and step.constant == 1 and axis.offset.constant == 0
        case _:
            return False


def _producer(nodes: Sequence[Node], copy: _Copy) -> tuple[int, Reduce | Scan | MatMul] | None:
    name = copy.source.container
    for place in reversed(range(copy.place)):
        node = nodes[place]
        match node:
            case Reduce() | Scan() | MatMul(adds=False) if node.output.container == name:
                return place, node
            case _:
                if name in touched_containers(node):
                    return None
    return None


def _is_fresh(before: Sequence[Node], name: str) -> bool:
    """Whether the only thing done to a container so far is to allocate it, in this region."""
    touching = [node for node in before if name in touched_containers(node)]
    return len(touching) == 1 and isinstance(touching[0], Alloc)
