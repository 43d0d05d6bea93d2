"""Why a loop stays one, in the user's own terms: `A[i] written at line 13 may be A[i - 1] read at line 13 in a later
iteration`.

in:   a loop, the facts where it stands, the legality core
out:  one sentence, None if its iterations are independent

Indices are written with the names of the program: what a value was read from or computed as stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Final

from weft.analysis.dependences import Dependence, Kind, Legality
from weft.analysis.effects import Access
from weft.analysis.facts import Facts
from weft.ir.exprs import Const, Expr, Index, Op, Value, index
from weft.ir.nodes import Branch, Loop, Memlet, Node, Region, Tasklet
from weft.ir.traverse import all_nodes
from weft.passes.loop_bodies import obstacle
from weft.support.records import record
from weft.support.spans import Span

_INFIX: Final = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "power": "**",
}  # fmt: skip
_DEEPEST: Final = 4


def why_serial(loop: Loop, facts: Facts, legality: Legality, named: frozenset[int]) -> str | None:
    """What keeps the iterations of a loop from being independent; None if nothing does. `named`: see `named_sites`."""
    if loop.carries:
        name, target = _carried_name(loop)
        return f"{name} is carried from one iteration to the next{_at(_update_of(loop, target))}"
    found = obstacle(loop, named)
    if found is not None:
        return found.text + _at(found.span)
    dependences = legality.carried(loop, facts, first=not loop.wish)  # the clearest is for those who wished
    return Words.of(loop).conflict(_clearest(dependences)) if dependences else None


def _carried_name(loop: Loop) -> tuple[str, Value | str]:
    """A name that is carried; of one that has several types, not what tells them apart."""
    targets = [carry.target for carry in loop.carries]
    names = [plain(target if isinstance(target, str) else target.name) for target in targets]
    for name, target in zip(names, targets, strict=True):
        if not (name.endswith("_is") and name.removesuffix("_is") in names):
            return name, target
    return names[0], targets[0]


def _clearest(dependences: list[Dependence]) -> Dependence:
    """The one that says most: of elements that are known, with lines; what is needed later before what is lost."""
    order = (Kind.FLOW, Kind.OUTPUT, Kind.ANTI)
    return min(
        dependences,
        key=lambda d: (d.source.whole + d.sink.whole, d.source.span is None, d.sink.span is None, order.index(d.kind)),
    )


def _update_of(loop: Loop, target: Value | str) -> Span | None:
    """Where a carry gets its next value."""
    if isinstance(target, str) or not loop.body.nodes:
        return loop.span
    position = [carry.target for carry in loop.carries].index(target)
    given: Expr | object = getattr(loop.body.nodes[-1], "values", (None,) * len(loop.carries))[position]
    for node in all_nodes(loop.body):
        match node:
            case Tasklet(lets=lets, reads=reads):
                if any(let.value == given for let in lets) or any(value == given for value, _ in reads):
                    return node.span
            case Branch(results=results) if any(result == given for result in results):
                return node.span
            case _:
                continue
    return loop.span


def _at(span: Span | None) -> str:
    return f" at line {span.line}" if span is not None else ""


def plain(name: str) -> str:
    """The name a program gives a container or value: without the number that makes it unique."""
    head, dot, tail = name.rpartition(".")
    return head if dot and tail.isdigit() else name


@record
class Words:
    """How values came about, so that they can be written."""

    reads: dict[Value, Memlet] = field(default_factory=dict[Value, Memlet])
    lets: dict[Value, Expr] = field(default_factory=dict[Value, Expr])

    @classmethod
    def of(cls, node: Node) -> Words:
        """Those of a node and of all inside it."""
        words = cls()
        for inner in all_nodes(Region((node,))):
            if isinstance(inner, Tasklet):
                words.reads.update(dict(inner.reads))
                words.lets.update({let.value: let.expr for let in inner.lets})
        return words

    def conflict(self, dependence: Dependence) -> str:
        """Two accesses that may meet."""
        first, second = dependence.source, dependence.sink
        return (
            f"{self.element(first)} {_verb(first)}{_at(first.span)} may be "
            f"{self.element(second)} {_verb(second)}{_at(second.span)} in a later iteration"
        )

    def element(self, access: Access) -> str:
        """An element, or all that is known of it."""
        if access.whole:
            return f"an element of {plain(access.container)}"
        own = {iterator.value for iterator in access.iterators if _is_nameless(iterator.value)}
        return f"{plain(access.container)}[{', '.join(self._coordinate(i, own) for i in access.index)}]"

    def _coordinate(self, polynomial: Index, own: set[Value]) -> str:
        """A coordinate; `:` where a whole axis is meant, which has no name."""
        return ":" if polynomial.values & own else self.index(polynomial)

    def index(self, polynomial: Index, depth: int = 0) -> str:
        """A polynomial."""
        text = ""
        ordered = sorted(polynomial.terms, key=lambda term: (not term[0], term[1] < 0))
        for monomial, coefficient in ordered:
            factors = [self.value(value, depth) for value in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            product = "*".join(factors)
            if not text:
                text = f"-{product}" if coefficient < 0 else product
            else:
                text += f" {'-' if coefficient < 0 else '+'} {product}"
        return text or "0"

    def value(self, value: Value, depth: int = 0) -> str:
        """A value: what it was read from, what it was computed as, or its name."""
        if depth >= _DEEPEST:
            return value.name
        memlet = self.reads.get(value)
        if memlet is not None:
            inside = ", ".join(self.index(coordinate, depth + 1) for coordinate in memlet.index)
            return f"{plain(memlet.container)}[{inside}]"
        expr = self.lets.get(value)
        return value.name if expr is None else self.expr(expr, value.name, depth + 1)

    def expr(self, expr: Expr, name: str, depth: int) -> str:
        """An expression, if it is a short one, otherwise the name of its value."""
        match expr:
            case Value():
                return self.value(expr, depth)
            case Index():
                return self.index(expr, depth) if len(expr.terms) == 1 else f"({self.index(expr, depth)})"
            case Const(value=value):
                return str(value)
            case Op(name="cast" | "positive", args=(inner,)):
                return self.expr(inner, name, depth)
            case Op(name="trunc", args=(inner,)):
                return f"int({self.expr(inner, name, depth)})"
            case Op(name="select", args=(_, wrapped, inner)) if wraps(wrapped, inner):
                return self.expr(inner, name, depth)
            case Op(name=operation, args=(left, right)) if operation in _INFIX:
                return f"({self.expr(left, name, depth)} {_INFIX[operation]} {self.expr(right, name, depth)})"
            case Op():
                return name


def _is_nameless(value: Value) -> bool:
    """Whether a variable runs over an axis of a statement on whole arrays."""
    return value.id < 0 or (value.name.startswith("p") and value.name[1:].isdigit())


def wraps(wrapped: Expr, inner: Expr) -> bool:
    """`n + i` beside `i`: how a negative index is counted from the end."""
    if not isinstance(inner, Index | Value) or not isinstance(wrapped, Index):
        return False
    return index(inner).values <= wrapped.values


def _verb(access: Access) -> str:
    return "written" if access.writes else "read"


def lines_of(nodes: Iterable[Node], besides: Node | None = None) -> str:
    """The lines nodes are from: "line 7", "lines 7 and 9"; nothing of those not known, or of the line of another."""
    spans = (getattr(node, "span", None) for node in nodes)
    own = getattr(besides, "span", None)
    lines = sorted({span.line for span in spans if span is not None} - {own.line if own is not None else 0})
    if not lines:
        return ""
    *others, last = map(str, lines)
    return f"lines {', '.join(others)} and {last}" if others else f"line {last}"
