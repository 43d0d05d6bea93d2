"""From a place in what a call leaves behind to what its graph has there.

in:   a program, its function, and a `Place`: argument 'A', argument 'self'.x, the result[1]
out:  the containers, views and expressions that end up there; the source line of the last node that writes one of them
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import TypeAlias

from weft.analysis.memory import Memory
from weft.driver.comparison import RESULT, Place
from weft.ir.nodes import (
    Anew,
    Bundle,
    Choice,
    Constant,
    Elementwise,
    Listed,
    MatMul,
    Missing,
    Node,
    NumpyCall,
    Pack,
    Program,
    Reduce,
    Return,
    Scan,
    SlotObject,
    Storage,
    Tasklet,
    View,
)  # fmt: skip
from weft.ir.traverse import all_nodes, allocated_by, bundle_values, defined_values
from weft.support.abi import ArgKind, Slot, SlotKind
from weft.support.spans import Span

Target: TypeAlias = Bundle | str  # a string names a container


def find_targets(program: Program, function: FunctionType, place: Place) -> list[Target]:
    """What ends up at a place; nothing where the graph does not show it."""
    return list(_Finder(program, function).at(place))


def last_writer(program: Program, targets: Sequence[Target]) -> Span | None:
    """The place in the source of the last node, in program order, that writes one of the targets."""
    memory = Memory(program.containers)
    names = {root for target in targets for name in _container(target) for root in memory.roots(name)}
    values = {value for target in targets if not isinstance(target, str | View) for value in bundle_values(target)}
    found: Span | None = None
    for node in all_nodes(program.body):
        span: Span | None = getattr(node, "span", None)
        if span is None:
            continue
        written = any(not memory.roots(name).isdisjoint(names) for name in _writes(node))
        if written or any(value in values for value in defined_values(node)):
            found = span
    return found


def last_return(program: Program) -> Span | None:
    """The last `return` of a program."""
    spans = [node.span for node in all_nodes(program.body) if isinstance(node, Return) and node.span is not None]
    return spans[-1] if spans else None


def _container(target: Target) -> tuple[str, ...]:
    if isinstance(target, str):
        return (target,)
    return (target.container,) if isinstance(target, View) and target.container else ()


def _writes(node: Node) -> tuple[str, ...]:
    match node:
        case Tasklet(writes=writes):
            return tuple(memlet.container for memlet, _ in writes)
        case Elementwise() | Reduce() | Scan() | MatMul():
            return (node.output.container,)
        case NumpyCall(changes=changes):
            return (*allocated_by(node), *(view.container for view in changes))
        case _:
            return ()


class _Finder:
    def __init__(self, program: Program, function: FunctionType) -> None:
        self.program = program
        self.places: list[Place | None] = []
        for slot in program.slots:
            self.places.append(self.slot_place(slot, function))
        self.returns = [node for node in all_nodes(program.body) if isinstance(node, Return)]

    def slot_place(self, slot: Slot, function: FunctionType) -> Place | None:
        match slot.kind:
            case SlotKind.PARAM:
                return Place("argument", function.__code__.co_varnames[slot.index])
            case SlotKind.GLOBAL:
                return Place("outside", slot.name)
            case SlotKind.CELL:
                return Place("outside", function.__code__.co_freevars[slot.index])
            case SlotKind.ATTRIBUTE:
                parent = self.places[slot.index]
                return None if parent is None else parent.inside(f".{slot.name}")
            case SlotKind.ITEM:
                parent = self.places[slot.parent]
                return None if parent is None else parent.inside(f"[{slot.index}]")
            case SlotKind.CONVERTED:
                return self.places[slot.index]
            case SlotKind.MAPPING:
                parent = self.places[slot.parent]
                return None if parent is None else parent.inside(f"[{slot.name!r}]")

    def at(self, place: Place) -> Iterator[Target]:
        if place.kind == RESULT.kind:
            for node in self.returns:
                yield from self.inside(node.value, place.path)
            return
        if place in self.places:
            yield from self.slot_container(self.places.index(place))
        for number, target in enumerate(self.program.writebacks):
            owner = self.places[target.slot]
            if owner is None:
                continue
            start = owner.inside(f".{target.name}")
            depth = len(start.path)
            if (start.kind, start.name, start.path) == (place.kind, place.name, place.path[:depth]):
                for node in self.returns:
                    yield from self.inside(node.writebacks[number], place.path[depth:])

    def slot_container(self, slot: int) -> Iterator[str]:
        spec = self.program.args[slot]
        if spec.kind is not ArgKind.ARRAY:
            return
        wanted = spec.same_as if spec.same_as >= 0 else slot
        for container in self.program.containers.values():
            if container.storage is Storage.ARGUMENT and container.slot == wanted:
                yield container.name

    def inside(self, bundle: Bundle, path: tuple[str, ...]) -> Iterator[Target]:
        match bundle:
            case Pack(items=items):
                for number, item in enumerate(items):
                    if path and path[0] == f"[{number}]":
                        yield from self.inside(item, path[1:])
            case Choice(tag=tag, items=items):
                yield tag
                for item in items:
                    yield from self.inside(item, path)
            case SlotObject(slot=slot):
                owner = self.places[slot]
                if owner is not None:
                    yield from self.at(Place(owner.kind, owner.name, (*owner.path, *path)))
            case Listed(view=view) | Anew(view=view):
                yield view
            case Constant() | Missing():
                return
            case _:
                yield bundle
