"""A run of operations as boxes and arrows.

in:   operations in order, with the guards between them
out:  a `Flow`: a box per operation and per state of a container, arrows for what moves

A container gets a new box when it is written after it was read, so that data always flows down. Inside of a map the
containers from outside stand at its entry and its exit instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from weft.driver.drawing.movements import Containers, Move, reads, writes
from weft.driver.drawing.scene import Box, Flow, Link, Style, Tie
from weft.driver.drawing.words import container_words, label_words
from weft.ir.exprs import Value
from weft.ir.nodes import (
    Alloc,
    Container,
    Elementwise,
    Guard,
    Map,
    MatMul,
    Node,
    NumpyCall,
    Reduce,
    Scan,
    Storage,
    Tasklet,
)
from weft.ir.printer import print_container, print_value
from weft.ir.traverse import allocated_by, defined_values, inner_regions, used_values, values_used_in

Operation: TypeAlias = Alloc | Elementwise | Reduce | Scan | MatMul | NumpyCall | Tasklet | Map
_STYLES = {
    Storage.ARGUMENT: Style.ARGUMENT,
    Storage.TRANSIENT: Style.TRANSIENT,
    Storage.STACK: Style.STACK,
    Storage.REF: Style.REF,
    Storage.ALIAS: Style.ALIAS,
}


def container_box(container: Container) -> Box:
    """A container by itself."""
    return Box(_STYLES[container.storage], container_words(container), print_container(container))


def _uses(node: Node) -> frozenset[Value]:
    """All values a node or anything inside of it uses."""
    return frozenset(used_values(node)).union(*(values_used_in(region) for region in inner_regions(node)))


class FlowBuilder:
    """Collects the boxes and arrows of one run of operations."""

    def __init__(self, containers: Containers, entry: Box | None = None, kept: frozenset[str] = frozenset()) -> None:
        """With an `entry` this is the body of a map; `kept` are the containers that get a box of their own there."""
        self.containers, self.kept = containers, kept
        self.boxes: list[Box] = [] if entry is None else [entry]
        self.in_map = entry is not None
        self.shown: set[str] = set()  # containers that have a box
        self._lines: dict[tuple[int, int, Tie, bool], list[str]] = {}
        self._current: dict[str, int] = {}
        self._read: set[int] = set()
        self._producers: dict[Value, int] = {}
        self._leaving: list[tuple[int, str]] = []

    def add(self, node: Operation, box: Box) -> int:
        """An operation, with what it moves."""
        number = self._box(box)
        for move in reads(node, self.containers):
            self._link(self._source(move.container), number, move.text)
        self._take_values(node, number)
        for move in writes(node, self.containers):
            self._write(move, number)
        if isinstance(node, Tasklet | NumpyCall):
            self._producers.update(dict.fromkeys(defined_values(node), number))
        return number

    def add_alloc(self, node: Alloc) -> None:
        """The box of fresh memory."""
        self._current[node.container] = self._container(node.container)

    def add_note(self, box: Box, before: int) -> None:
        """A note on what must hold before an operation."""
        self._link(self._box(box), before, tie=Tie.ORDER)

    def finish(self, exit_: Box | None = None) -> Flow:
        """All of it; the body of a map ends with its exit."""
        if exit_ is not None:
            self._connect(self._box(exit_))
        links = tuple(
            Link(source, target, label_words(lines), "\n".join(lines), tie, near_source)
            for (source, target, tie, near_source), lines in self._lines.items()
        )
        return Flow(tuple(self.boxes), links)

    # -- boxes and arrows

    def _box(self, box: Box) -> int:
        self.boxes.append(box)
        return len(self.boxes) - 1

    def _container(self, name: str) -> int:
        self.shown.add(name)
        return self._box(container_box(self.containers[name]))

    def _link(self, source: int, target: int, text: str = "", tie: Tie = Tie.DATA, near_source: bool = False) -> None:
        lines = self._lines.setdefault((source, target, tie, near_source), [])
        if text and text not in lines:
            lines.append(text)

    def _source(self, container: str) -> int:
        """The box a container is read from."""
        found = self._current.get(container)
        if found is None and self.in_map:
            return 0
        if found is None:
            found = self._current[container] = self._container(container)
        self._read.add(found)
        return found

    def _write(self, move: Move, source: int) -> None:
        if self.in_map and move.container not in self.kept:
            self._leaving.append((source, move.text))
            return
        before = self._current.get(move.container)
        if before is None or before in self._read:
            self._current[move.container] = self._container(move.container)
            if before is not None and not self._reaches(before, source):
                self._link(before, self._current[move.container], tie=Tie.ORDER)
        self._link(source, self._current[move.container], move.text, near_source=True)

    def _reaches(self, start: int, goal: int) -> bool:
        """Whether arrows lead from one box to another."""
        found = {start}
        pending = [start]
        while pending:
            current = pending.pop()
            below = [target for source, target, *_ in self._lines if source == current and target not in found]
            found.update(below)
            pending += below
        return goal in found

    def _take_values(self, node: Node, target: int) -> None:
        used = _uses(node)
        for value, source in self._producers.items():
            if value in used:
                self._link(source, target, print_value(value), tie=Tie.VALUE)

    def _connect(self, exit_: int) -> None:
        """Everything in a map hangs between its entry and its exit."""
        for source, text in self._leaving:
            self._link(source, exit_, text, near_source=True)
        sources = {source for source, *_ in self._lines}
        targets = {target for _, target, *_ in self._lines}
        for number in range(1, exit_):
            if number not in targets:
                self._link(0, number, tie=Tie.ORDER)
            if number not in sources:
                self._link(number, exit_, tie=Tie.ORDER)
        if exit_ == 1:
            self._link(0, 1, tie=Tie.ORDER)


def containers_kept(nodes: Sequence[Node], containers: Containers) -> frozenset[str]:
    """The containers of a map's body that are made there, or written there and read further down."""
    kept = {name for node in nodes for name in allocated_by(node)}
    written: set[str] = set()
    names: Callable[[list[Move]], set[str]] = lambda moves: {move.container for move in moves}  # noqa: E731
    for node in nodes:
        if isinstance(node, Guard):
            continue
        kept |= names(reads(node, containers)) & written
        written |= names(writes(node, containers))
    return frozenset(kept)
