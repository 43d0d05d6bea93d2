"""Reductions, scans and products that compute what an array holds already are copies of it.

before:  reduce add S[] = A[:] axes (0); ...; reduce add T[] = A[:] axes (0); x = T[]
after:   reduce add S[] = A[:] axes (0); ...; x = S[]

Legal when nothing in between writes what they are computed from, or the first result: the legality core finds no such
element. A warning belongs to a line: where both may warn, they are of one line. The second result becomes a copy of
the first one, which `simplify` removes where nobody can tell them apart. Users write `x - x.mean()` beside `x.std()`,
or a histogram twice, with other weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.analysis.conditions import Constraint
from weft.analysis.dependences import Kind
from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.analysis.uses import read_by
from weft.ir.dtypes import PY_INT, ScalarType
from weft.ir.nodes import (
    Elementwise,
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
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.simplify import Simplify
from weft.support.records import record

_LOOK_BACK: Final = 16  # results that are compared with

_Result = Reduce | Scan | MatMul


@record
class CommonResults:
    """Use a result for all that ask for it."""

    name: ClassVar[str] = "common-results"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer reductions and products."""
        bench = Bench(self.name, program, session)
        made = rewrite_regions(bench, lambda region, facts: _shared(region, facts, bench))
        return program if made is program else Simplify(loop_sites=True).run(made, session)


def _shared(region: Region, facts: Facts, bench: Bench) -> Region:
    if sum(isinstance(node, Reduce | Scan | MatMul) for node in region.nodes) < 2:
        return region
    nodes: list[Node] = []
    known: list[tuple[int, _Result]] = []
    for node in region.nodes:
        made: Node = node
        if isinstance(node, Reduce | Scan | MatMul):
            first = _known(node, known[-_LOOK_BACK:], nodes, facts, bench)
            if first is None:
                known.append((len(nodes), node))
            else:
                made = _copy(first, node, bench)
                bench.note("the same was computed before", node, done=True)
        nodes.append(made)
        facts = facts.after(node)
    return region if tuple(nodes) == region.nodes else Region(tuple(nodes))


def _known(
    node: _Result, known: Sequence[tuple[int, _Result]], nodes: Sequence[Node], facts: Facts, bench: Bench
) -> _Result | None:
    """The latest node before one that has computed the same, if that still holds."""
    for place, first in reversed(known):
        if _is_same(first, node, facts, bench) and _holds_until(first, nodes[place + 1 :], facts, bench):
            return first
    return None


def _is_same(first: _Result, second: _Result, facts: Facts, bench: Bench) -> bool:
    """Whether two nodes compute the same, each for the whole of an array of its own."""
    old, new = (bench.containers[node.output.container] for node in (first, second))
    if old.storage is not Storage.TRANSIENT or new.storage is not Storage.TRANSIENT or old.dtype is not new.dtype:
        return False
    if first.output != full_view(old) or second.output != full_view(new) or not _warns_alike(first, second, bench):
        return False
    inputs = _inputs(first), _inputs(second)
    named = [view.container for view in inputs[0]] == [view.container for view in inputs[1]]
    pairs = [(first.output, second.output), *zip(*inputs, strict=False)]
    if not inputs[0] or not named or not all(_is_same_view(*pair, facts, bench) for pair in pairs):
        return False
    match first, second:
        case MatMul(adds=False), MatMul():
            moved = replace(second, output=first.output, lhs=first.lhs, rhs=first.rhs, warn=first.warn)
        case Reduce(), Reduce():
            moved = replace(second, output=first.output, input=first.input, warn=first.warn)
        case Scan(), Scan():
            moved = replace(second, output=first.output, input=first.input, warn=first.warn)
        case _:
            return False
    return moved == first


def _inputs(node: _Result) -> list[View]:
    given = (node.lhs, node.rhs) if isinstance(node, MatMul) else (node.input,)
    return [view for view in given if isinstance(view, View)]


def _is_same_view(first: View, second: View, facts: Facts, bench: Bench) -> bool:
    """Whether two views are of the same elements, or, of two results, of as many."""
    if len(first.shape) != len(second.shape) or first.axes != second.axes:
        return False
    holds = bench.legality.holds
    return all(
        a == b or holds(Constraint(a - b, equal=True), facts) for a, b in zip(first.shape, second.shape, strict=True)
    )


def _warns_alike(first: _Result, second: _Result, bench: Bench) -> bool:
    if second.warn < 0 or second.warn == first.warn:
        return True
    sites = bench.program.warn_sites
    return first.warn >= 0 and sites[first.warn] == sites[second.warn]


def _holds_until(first: _Result, between: Sequence[Node], facts: Facts, bench: Bench) -> bool:
    """Whether what a node has read, and its result, are still the same behind the nodes that follow it."""
    memory = bench.legality.memory
    written = {access.container for access in effects_of(between).writes}
    if any(memory.may_overlap(first.output.container, other, facts.apart) for other in written):
        return False
    if not any(memory.may_overlap(name, other, facts.apart) for name in set(read_by(first)) for other in written):
        return True
    return not any(found.kind is Kind.ANTI for found in bench.legality.between(first, between, facts))


def _copy(first: _Result, second: _Result, bench: Bench) -> Elementwise:
    shape = second.output.shape
    params = tuple(bench.value("p", PY_INT) for _ in shape)
    value = bench.value("known", ScalarType(bench.containers[first.output.container].dtype))
    source = View(first.output.container, shape, first.output.axes)
    return Elementwise(
        output=second.output,
        params=params,
        inputs=((value, source),),
        expr=value,
        id=bench.number(),
        span=second.span,
    )
