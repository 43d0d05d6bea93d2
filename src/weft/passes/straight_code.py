"""The body of a loop as straight-line code: what is read, what is computed from it, what is written, by value.

in:   nodes: tasklets, branches that only compute, scalars summed up on the stack
out:  `Code`, from which `slice_of` takes what one value needs, as tasklets

A branch that only computes becomes a choice between the results of both its sides. Its sides are then computed always,
so what they read must exist whatever the condition, and whoever uses a value of theirs must see that it never warns
(`Code.supposed`). An operation that does is computed of harmless numbers where its side is not taken (`calmed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace

from weft.analysis.dependences import Legality
from weft.analysis.facts import Facts
from weft.ir.exprs import Expr, Index, Value, op, values_in
from weft.ir.nodes import Alloc, Branch, Let, Memlet, Node, Reduce, Region, Storage, Tasklet, Yield
from weft.passes.base import Bench
from weft.passes.harmless import harmless
from weft.passes.tasklets import can_warn
from weft.support.records import record
from weft.support.spans import Span


@record
class Write:
    """An element written."""

    memlet: Memlet
    expr: Expr
    span: Span | None


@record(frozen=False)
class Code:
    """Definitions in order, and the writes after them."""

    order: list[Value] = field(default_factory=list[Value])
    reads: dict[Value, Memlet] = field(default_factory=dict[Value, Memlet])
    lets: dict[Value, Let] = field(default_factory=dict[Value, Let])
    spans: dict[Value, Span | None] = field(default_factory=dict["Value", "Span | None"])
    writes: list[Write] = field(default_factory=list[Write])
    reduces: dict[str, Reduce] = field(default_factory=dict[str, Reduce])
    allocated: set[str] = field(default_factory=set[str])
    supposed: set[Value] = field(default_factory=set[Value])  # computed only because a branch became a choice
    varying: set[Value] = field(default_factory=set[Value])  # elements, and what is computed of them
    conditions: dict[Value, list[tuple[Expr, bool]]] = field(default_factory=dict["Value", "list[tuple[Expr, bool]]"])
    changing: set[str] = field(default_factory=set[str])  # containers that are read, and may be written

    def calmed(self, value: Value) -> Let:
        """A definition that warns only where all branches around it are taken, if it is known how; else as it is."""
        let = self.lets[value]
        around = self.conditions.get(value, ())
        if not around or let.warn < 0 or not can_warn(let.expr):
            return let
        expr: Expr | None = let.expr
        for condition, truth in around:
            expr = harmless(expr, condition, truth=truth) if expr is not None else None
        return let if expr is None else Let(value, expr, let.warn)

    def uses(self, value: Value) -> frozenset[Value]:
        """The values a definition needs at once."""
        if value in self.lets:
            return values_in(self.calmed(value).expr)
        memlet = self.reads.get(value)
        return frozenset[Value]() if memlet is None else _coordinates(memlet)

    def needs(self, values: Iterable[Value]) -> set[Value]:
        """All definitions of this code that some values need."""
        needed: set[Value] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            if value in needed or (value not in self.lets and value not in self.reads):
                continue
            needed.add(value)
            pending += self.uses(value)
        return needed

    def origins(self, expr: Expr) -> set[Value]:
        """All values an expression depends on, those that come from elsewhere too."""
        found = set(values_in(expr))
        for value in self.needs(found):
            found |= {value, *self.uses(value)}
        return found

    def defined(self, expr: Expr, stop: Value | None = None) -> tuple[Expr, frozenset[Value], int]:
        """What a value is defined as in the end, the definitions passed on the way, and where it warns."""
        passed: set[Value] = set()
        warn = -1
        while (value := bare_value(expr)) is not None and value in self.lets and value != stop:
            let = self.lets[value]
            passed.add(value)
            warn = max(warn, let.warn)
            expr = let.expr
        return expr, frozenset(passed), warn

    def slice_of(self, values: Iterable[Value]) -> list[Tasklet]:
        """Tasklets that define some values and what they need, in as few as the reads allow."""
        needed = self.needs(values)
        tasklets: list[Tasklet] = []
        inside: set[Value] = set()
        for value in self.order:
            if value not in needed:
                continue
            memlet = self.reads.get(value)
            if not tasklets or (memlet is not None and _coordinates(memlet) & inside):
                tasklets.append(Tasklet(span=self.spans[value]))
                inside = set()
            last = tasklets[-1]
            if memlet is not None:
                tasklets[-1] = replace(last, reads=(*last.reads, (value, memlet)))
            else:
                tasklets[-1] = replace(last, lets=(*last.lets, self.calmed(value)))
            inside.add(value)
        return tasklets


def _coordinates(memlet: Memlet) -> frozenset[Value]:
    return frozenset[Value]().union(*(coordinate.values for coordinate in memlet.index))


def bare_value(expr: Expr) -> Value | None:
    """The value an expression is, also as a polynomial of nothing else."""
    match expr:
        case Value():
            return expr
        case Index(terms=(((Value() as value,), 1),)):
            return value
        case _:
            return None


def straight_code(nodes: Sequence[Node], facts: Facts, bench: Bench) -> Code | None:
    """The nodes as code; None where they are more than that. `facts` are those at their head."""
    code = Code()
    reader = _Reader(code, bench)
    if not all(reader.node(node, facts) for node in nodes) or code.allocated != code.reduces.keys():
        return None
    code.changing.update(m.container for m in code.reads.values() if reader.may_have_changed(m.container))
    return code


@record
class _Reader:
    code: Code
    bench: Bench

    def node(self, node: Node, facts: Facts) -> bool:
        match node:
            case Tasklet():
                self.tasklet(node)
                return True
            case Branch():
                return self.branch(node, facts)
            case Alloc(container=name):
                self.code.allocated.add(name)
                return self.bench.containers[name].storage is Storage.STACK
            case Reduce(output=output):
                on_stack = self.bench.containers[output.container].storage is Storage.STACK
                if not on_stack or output.rank or output.container in self.code.reduces:
                    return False
                self.code.reduces[output.container] = node
                return True
            case _:
                return False

    def tasklet(self, node: Tasklet) -> None:
        code = self.code
        for value, memlet in node.reads:
            code.reads[value] = memlet
            code.varying.add(value)
            self.defined(value, node.span)
        for let in node.lets:
            code.lets[let.value] = let
            if not code.varying.isdisjoint(values_in(let.expr)):
                code.varying.add(let.value)
            self.defined(let.value, node.span)
        code.writes += [Write(memlet, expr, node.span) for memlet, expr in node.writes]

    def defined(self, value: Value, span: Span | None) -> None:
        self.code.order.append(value)
        self.code.spans[value] = span

    def branch(self, node: Branch, facts: Facts) -> bool:
        if any(isinstance(result, str) for result in node.results):
            return False
        sides: list[tuple[Expr, ...]] = []
        for region, truth in ((node.then, True), (node.orelse, False)):
            given = self.side(region, facts, node.condition, truth=truth)
            if given is None:
                return False
            sides.append(given)
        for result, *pair in zip(node.results, *sides, strict=True):
            assert isinstance(result, Value)
            self.code.lets[result] = Let(result, op("select", (node.condition, *pair), result.type))
            self.code.varying.add(result)
            self.defined(result, node.span)
        return True

    def side(self, region: Region, facts: Facts, condition: Expr, *, truth: bool) -> tuple[Expr, ...] | None:
        """What a side of a branch gives, its definitions added; None where it does more than compute."""
        *inside, last = region.nodes or (None,)
        if not isinstance(last, Yield) or not all(isinstance(value, Expr) for value in last.values):
            return None
        before = len(self.code.order)
        for node in inside:
            if isinstance(node, Tasklet):
                if node.writes or not all(self.exists(memlet, facts) for _, memlet in node.reads):
                    return None
                self.tasklet(node)
            elif not isinstance(node, Branch) or not self.branch(node, facts):
                return None
        self.code.supposed.update(self.code.order[before:])
        for value in self.code.order[before:]:
            if value in self.code.varying:  # what is the same in all turns is better computed once
                self.code.conditions.setdefault(value, []).append((condition, truth))
        self._same_reads(before)
        return tuple(value for value in last.values if isinstance(value, Expr))

    def exists(self, memlet: Memlet, facts: Facts) -> bool:
        """Whether an element is there whatever the condition: it was read before, or is within the extents."""
        return memlet in self.code.reads.values() or is_inside(memlet, facts, self.bench)

    def _same_reads(self, since: int) -> None:
        """What was read before a branch is not read again in it."""
        code = self.code
        known = {code.reads[value]: value for value in reversed(code.order[:since]) if value in code.reads}
        for value in code.order[since:]:
            memlet = code.reads.get(value)
            if memlet is None or self.may_have_changed(memlet.container):
                continue
            if memlet in known and known[memlet].type == value.type:
                del code.reads[value]
                code.lets[value] = Let(value, known[memlet])

    def may_have_changed(self, container: str) -> bool:
        memory = self.bench.legality.memory
        return any(memory.may_overlap(container, write.memlet.container) for write in self.code.writes)


def is_inside(memlet: Memlet, facts: Facts, bench: Bench) -> bool:
    """Whether an element provably exists."""
    legality: Legality = bench.legality
    shape = bench.containers[memlet.container].shape
    return all(
        legality.is_nonnegative(coordinate.substitute(facts.definitions), facts)
        and legality.is_nonnegative((extent - coordinate - 1).substitute(facts.definitions), facts)
        for coordinate, extent in zip(memlet.index, shape, strict=True)
    )


def values_of(exprs: Iterable[Expr]) -> Iterator[Value]:
    """The values in some expressions."""
    for expr in exprs:
        yield from values_in(expr)
