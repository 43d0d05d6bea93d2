"""What a pass is, what it has at hand, and how one rewrites every region of a program.

A pass proves what it does: it asks `bench.legality`, and notes what it did and what it left alone, with the reason
(`Record`, for `explain`). With nothing to do it returns the very program it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from itertools import count
from typing import ClassVar, Protocol

from weft.analysis.dependences import ALL_KINDS, Kind, Legality
from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.analysis.integer_sets import Solver
from weft.ir.dtypes import DType, ScalarType
from weft.ir.exprs import Index, Value
from weft.ir.nodes import Branch, Container, Layout, Loop, Map, Node, Program, Region, Storage, While
from weft.ir.traverse import largest_id, values_defined_in
from weft.support.records import record
from weft.support.spans import Span


@record
class Record:
    """What a pass did at a place, or why it did nothing. `wish`: the user asked for it, and is told."""

    step: str
    done: bool
    text: str
    span: Span | None = None
    wish: bool = False


@record(frozen=False)
class Session:
    """One compile: the answers of the legality core, and what the passes have to say.

    `kinds` are the classes of dependences the core knows; tests take one away to see that it is missed. `facts` hold at
    the head of the program, and remember what follows from them.
    """

    solver: Solver = field(default_factory=Solver)
    records: list[Record] = field(default_factory=list[Record])
    kinds: frozenset[Kind] = ALL_KINDS
    facts: Facts = field(default_factory=Facts)


class Pass(Protocol):
    """A transformation with its options as fields."""

    name: ClassVar[str]

    def run(self, program: Program, session: Session) -> Program:
        """The transformed program; the very same object if nothing changed."""
        ...


class Bench:
    """What a pass works with on one program: questions, fresh names and values, containers added, records."""

    def __init__(self, step: str, program: Program, session: Session) -> None:
        self.step = step
        self.program = program
        self.session = session
        self.containers: dict[str, Container] = dict(program.containers)
        self.legality = Legality(program, session.solver, session.kinds, self.containers)
        self._numbers: Iterator[int] | None = None

    def number(self) -> int:
        """A number no value or node has yet."""
        if self._numbers is None:
            self._numbers = count(largest_id(self.program) + 1)
        return next(self._numbers)

    def value(self, name: str, type_: ScalarType) -> Value:
        """A fresh value."""
        return Value(self.number(), name, type_)

    def container(
        self, name: str, dtype: DType, shape: tuple[Index, ...], storage: Storage = Storage.TRANSIENT
    ) -> Container:
        """A fresh container, C order."""
        unique = f"{name}.{self.number()}"
        self.containers[unique] = Container(unique, dtype, shape, storage, Layout.C)
        return self.containers[unique]

    def defines(self, node: Node) -> frozenset[Value]:
        """The values a node defines, the extents of the refs it binds among them."""
        return values_defined_in(node) | self.legality.extents_of(effects_of(node).binds)

    def note(self, text: str, node: Node | None = None, *, done: bool) -> None:
        """Say what was done, or why not."""
        self.session.records.append(Record(self.step, done, text, getattr(node, "span", None)))


RegionRule = Callable[[Region, Facts], Region]


def rewrite_regions(bench: Bench, rule: RegionRule) -> Program:
    """Apply a rule to every region, innermost first, with the facts that hold at its head."""
    program = bench.program
    body = _rewrite_region(program.body, bench.session.facts, bench, rule)
    if body is program.body and bench.containers == program.containers:
        return program
    return replace(program, body=body, containers=dict(bench.containers))


def _rewrite_region(region: Region, facts: Facts, bench: Bench, rule: RegionRule) -> Region:
    nodes: list[Node] = []
    changed = False
    current = facts
    for node in region.nodes:
        inner = _rewrite_scope(node, current, bench, rule)
        changed |= inner is not node
        nodes.append(inner)
        current = current.after(inner)
    return rule(Region(tuple(nodes)) if changed else region, facts)


def _rewrite_scope(node: Node, facts: Facts, bench: Bench, rule: RegionRule) -> Node:
    inside = facts.inside(node, bench.legality.memory)
    match node:
        case Map() | Loop() | While():
            body = _rewrite_region(node.body, inside[0], bench, rule)
            return node if body is node.body else replace(node, body=body)
        case Branch():
            then = _rewrite_region(node.then, inside[0], bench, rule)
            orelse = _rewrite_region(node.orelse, inside[1], bench, rule)
            return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
        case _:
            return node


def rewrite_nodes(region: Region, rule: Callable[[Node], tuple[Node, ...] | None]) -> Region:
    """Replace nodes, innermost regions first; `rule` gives the replacement, or None for "not mine"."""
    nodes: list[Node] = []
    changed = False
    for node in region.nodes:
        inner = _rewrite_inside(node, rule)
        replacement = rule(inner)
        changed |= inner is not node or replacement is not None
        nodes += (inner,) if replacement is None else replacement
    return Region(tuple(nodes)) if changed else region


def _rewrite_inside(node: Node, rule: Callable[[Node], tuple[Node, ...] | None]) -> Node:
    match node:
        case Map() | Loop() | While():
            body = rewrite_nodes(node.body, rule)
            return node if body is node.body else replace(node, body=body)
        case Branch():
            then, orelse = rewrite_nodes(node.then, rule), rewrite_nodes(node.orelse, rule)
            return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
        case _:
            return node
