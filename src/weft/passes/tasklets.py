"""Straight-line code: what fusion passes do with tasklets.

`explicit` gives every let the warning site it reports at, so that code can move from one map to another.
`numbered` goes through tasklets in order and computes nothing twice: equal reads with no write between them, equal
lets, reads of what has just been written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace

from weft.ir.exprs import Const, Expr, Index, Op, Value
from weft.ir.nodes import Elements, Let, Map, Memlet, Node, Region, Tasklet
from weft.ir.ops import OPS, ORDERS
from weft.ir.substitution import Substitution
from weft.passes.base import Bench, rewrite_nodes
from weft.support.records import record


def can_warn(expr: Expr) -> bool:
    """Whether some operation in it can give a RuntimeWarning, as far as its name and the kind of its operands tell."""
    if not isinstance(expr, Op):
        return False
    warns = OPS[expr.name].warns or (expr.name in ORDERS and expr.args[0].type.dtype.kind == "c")
    return bool(warns) or any(can_warn(argument) for argument in expr.args)


def explicit(node: Map, bench: Bench) -> Map:
    """The same map without a warning site of its own: its lets have them, and its writes are plain."""
    body = rewrite_nodes(node.body, lambda inner: _explicit_node(inner, node.warn, bench))
    return node if body is node.body and node.warn < 0 else replace(node, body=body, warn=-1)


def _explicit_node(node: Node, site: int, bench: Bench) -> tuple[Node, ...] | None:
    if isinstance(node, Map):
        return None if node.warn < 0 else (explicit(node, bench),)
    if not isinstance(node, Tasklet):
        return None
    lets = [Let(let.value, let.expr, _site(let, site)) for let in node.lets]
    writes: list[tuple[Memlet, Expr]] = []
    for memlet, expr in node.writes:
        if isinstance(expr, Op):
            value = bench.value("w", expr.type)
            lets.append(Let(value, expr, site if can_warn(expr) else -1))
            writes.append((memlet, value))
        else:
            writes.append((memlet, expr))
    return (replace(node, lets=tuple(lets), writes=tuple(writes)),)


def _site(let: Let, site: int) -> int:
    return let.warn if let.warn >= 0 or not can_warn(let.expr) else site


# ---- nothing twice --------------------------------------------------------------------------------------------------

MayOverlap = Callable[[str, str], bool]


@record(frozen=False)
class _Numbering:
    may_overlap: MayOverlap
    integers: bool = True  # whether integers may be replaced: the bounds of loop variables further down may name them
    elements: dict[tuple[str, tuple[Index, ...]], Expr] = field(
        default_factory=dict[tuple[str, tuple[Index, ...]], Expr]
    )
    results: dict[tuple[Expr, int], Value] = field(default_factory=dict[tuple[Expr, int], Value])
    bindings: dict[Value, Expr] = field(default_factory=dict[Value, Expr])

    def tasklet(self, node: Tasklet) -> Tasklet | None:
        """The tasklet without what is known already; None if nothing is left."""
        names = Substitution(self.bindings)
        reads: list[tuple[Value, Memlet]] = []
        for value, memlet in node.reads:
            moved = names.memlet(memlet)
            known = self.elements.get((moved.container, moved.index))
            if known is not None and self.bind(value, known):
                continue
            self.elements.setdefault((moved.container, moved.index), value)
            reads.append((value, moved))
        lets = [let for let in node.lets if not self.let(let)]
        names = Substitution(self.bindings)
        kept = tuple(Let(let.value, names.expr(let.expr), let.warn) for let in lets)
        writes = tuple((names.memlet(memlet), names.expr(expr)) for memlet, expr in node.writes)
        for memlet, expr in writes:
            self.write(memlet, expr)
        if not reads and not kept and not writes:
            return None
        return replace(node, reads=tuple(reads), lets=kept, writes=writes)

    def let(self, let: Let) -> bool:
        """Whether the value is known already."""
        expr = Substitution(self.bindings).expr(let.expr)
        if isinstance(expr, Value | Index | Const) and expr.type == let.value.type and self.bind(let.value, expr):
            return True
        known = self.results.get((expr, let.warn))
        if known is not None and known.type == let.value.type and self.bind(let.value, known):
            return True
        self.results.setdefault((expr, let.warn), let.value)
        return False

    def bind(self, value: Value, known: Expr) -> bool:
        if known.type != value.type:
            return False
        if not self.integers and value.type.dtype.kind in "iu":
            return False
        if isinstance(known, Const) and value.type.dtype.kind in "iub":
            return False  # it may stand in an index, which has no place for a literal of NumPy's
        if isinstance(known, Value) and value.low != known.low and value.type.dtype.kind in "iu":
            return False  # its bounds may be what proves an index
        self.bindings[value] = known
        return True

    def write(self, memlet: Memlet, expr: Expr) -> None:
        gone = [key for key in self.elements if self.may_overlap(key[0], memlet.container)]
        for key in gone:
            del self.elements[key]
        if not memlet.conflict and isinstance(expr, Value | Const):
            self.elements[(memlet.container, memlet.index)] = expr


def numbered(region: Region, may_overlap: MayOverlap) -> Region:
    """The region with its tasklets numbered. A node that is no tasklet ends what is known of memory."""
    state = _Numbering(may_overlap, all(isinstance(node, Tasklet) for node in region.nodes))
    nodes: list[Node] = []
    changed = False
    for node in region.nodes:
        if isinstance(node, Tasklet):
            before = len(state.bindings)
            result = state.tasklet(node)
            same = result == node
            changed |= not same or len(state.bindings) != before
            if result is not None:
                nodes.append(node if same else result)
            continue
        state.elements.clear()
        moved = Substitution(state.bindings).node(node) if state.bindings else node
        nodes.append(moved)
    return Region(tuple(nodes)) if changed else region


def merged(tasklets: Iterable[Tasklet], may_overlap: MayOverlap) -> list[Tasklet]:
    """Neighbours as one tasklet where the later one reads neither what the earlier writes nor at its values."""
    result: list[Tasklet] = []
    for tasklet in tasklets:
        if result and _can_join(result[-1], tasklet, may_overlap):
            last = result[-1]
            result[-1] = replace(
                last,
                reads=last.reads + tasklet.reads,
                lets=last.lets + tasklet.lets,
                writes=last.writes + tasklet.writes,
                span=tasklet.span or last.span,
            )
        else:
            result.append(tasklet)
    return result


def _can_join(first: Tasklet, second: Tasklet, may_overlap: MayOverlap) -> bool:
    defined = {value for value, _ in first.reads} | {let.value for let in first.lets}
    for _, memlet in second.reads:
        if any(coordinate.values & defined for coordinate in memlet.index):
            return False
        if any(may_overlap(written.container, memlet.container) for written, _ in first.writes):
            return False
    return True


def tidy_elements(source: Elements, bench: Bench) -> Elements:
    """The same for a computed array."""
    overlap = bench.legality.may_share
    state = _Numbering(overlap)
    kept = [left for tasklet in source.body if (left := state.tasklet(tasklet)) is not None]
    expr = Substitution(state.bindings).expr(source.expr)
    return replace(source, body=tuple(merged(kept, overlap)), expr=expr)


def tidy(node: Map, bench: Bench) -> Map:
    """A map whose body computes nothing twice, in as few tasklets as its reads and writes allow."""
    overlap = bench.legality.may_share
    region = numbered(node.body, overlap)
    nodes: list[Node] = []
    run: list[Tasklet] = []
    for inner in region.nodes:
        if isinstance(inner, Tasklet):
            run.append(inner)
            continue
        nodes += merged(run, overlap)
        run = []
        nodes.append(inner)
    nodes += merged(run, overlap)
    body = Region(tuple(nodes))
    return node if body == node.body else replace(node, body=body)


def only_reads(tasklet: Tasklet) -> bool:
    """Whether it may as well run more than once."""
    return not tasklet.writes and all(let.warn < 0 for let in tasklet.lets)


def is_plain(node: Node) -> bool:
    """A map of nothing but tasklets."""
    return isinstance(node, Map) and all(isinstance(inner, Tasklet) for inner in node.body.nodes)
