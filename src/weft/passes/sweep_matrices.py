"""Products of a matrix and a vector become sweeps through the matrix; what shares a sweep comes together for it.

before:  matmul t = A @ y                              after:   matmul t = A @ y sweep
         x += t                                                 matmul s = v @ A sweep
         guard n == k else site 3                               x += t
         alloc s site 3; matmul s = v @ A                       u += s
         u += s

Such a product takes as long as it takes to read the matrix; two that stand one behind the other, one of the matrix and
one of its transpose, read it once. A map that computes the matrix row by row, `A += np.outer(u, v)`, stands in front of
them: it runs just before the sweep, a few rows at a time, which are still in the caches when they are multiplied.

The first one moves down to the second, past what has nothing to do with it; or else the second up to the first, past
what it does not need. What it does need goes in front of both. Its guards and its memory then go up to the site above:
a program that leaves there has done nothing yet of what stands below. Whether a sweep pays is seen when it runs: the
matrix must be too large for the caches (`codegen/support_sweeps.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar

from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.analysis.sweeps import is_sweep, matrix_vector, row_update, share_sweep
from weft.analysis.uses import written_by
from weft.ir.exprs import Value, values_in
from weft.ir.nodes import Alloc, Guard, Map, Node, Program, Region, Site
from weft.ir.traverse import all_nodes, inner_regions, touched_containers, values_used_in
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.open_sites import open_site, writes_of
from weft.support.abi import NOT_COMPILED
from weft.support.records import record


@record
class SweepMatrices:
    """Bring two products of a matrix together, and mark all that are to be sweeps."""

    name: ClassVar[str] = "sweep-matrices"

    def run(self, program: Program, session: Session) -> Program:
        """The program with sweeps."""
        bench = Bench(self.name, program, session)
        if not any(is_sweep(node, bench.legality.memory) for node in all_nodes(program.body)):
            return program
        return rewrite_regions(bench, lambda region, facts: _join(region, facts, bench))


def _join(region: Region, facts: Facts, bench: Bench) -> Region:
    nodes, memory = list(region.nodes), bench.legality.memory
    products = [node for node in nodes if is_sweep(node, memory)]
    paired: set[int] = set()
    for number, second in enumerate(products):
        for first in reversed(products[:number]):
            if {id(first), id(second)} & paired or not share_sweep(first, second, memory):
                continue
            arranged = _arranged(nodes, first, second, facts, bench)
            if arranged is None:
                text = "two products of a matrix stay apart: what stands between needs one of them"
                bench.note(text, second, done=False)
                continue
            nodes = arranged
            paired |= {id(first), id(second)}
            bench.note("two products share one sweep through their matrix", second, done=True)
    for product in products:
        nodes = _behind_its_map(nodes, product, facts, bench)
    marked = tuple(replace(node, sweep=True) if is_sweep(node, memory) else node for node in nodes)
    return region if marked == region.nodes else Region(marked)


def _behind_its_map(nodes: list[Node], product: Node, facts: Facts, bench: Bench) -> list[Node]:
    """The nodes with a product right behind the map that computes its matrix, if there is such a one."""
    memory, place = bench.legality.memory, _place(nodes, product)
    together, behind = (product,), nodes[place + 1 : place + 2]
    if behind and share_sweep(product, behind[0], memory):
        together = (product, behind[0])
    for update in reversed(nodes[:place]):
        if isinstance(update, Map) and row_update(update, together, memory) is not None:
            arranged = _arranged(nodes, update, product, facts, bench)
            if arranged is not None and len(together) > 1:
                arranged = _arranged(arranged, product, together[1], facts, bench)
            if arranged is None or not _follow(arranged, (update, *together)):
                bench.note("the matrix is swept after it is computed: something stands between", product, done=False)
                return nodes
            bench.note("a sweep through the matrix computes its rows and multiplies them", product, done=True)
            return arranged
        if _writes_matrix(update, product, bench):
            break
    return nodes


def _writes_matrix(node: Node, product: Node, bench: Bench) -> bool:
    """Whether a node may write the matrix of a product."""
    found, memory = matrix_vector(product), bench.legality.memory
    inner = [node, *(x for region in inner_regions(node) for x in all_nodes(region))]
    written = {name for x in inner for name in written_by(x)}
    return found is None or any(memory.may_overlap(name, found.matrix.container) for name in written)


def _place(nodes: Sequence[Node], wanted: Node) -> int:
    return next(place for place, node in enumerate(nodes) if node is wanted)


def _follow(nodes: Sequence[Node], wanted: Sequence[Node]) -> bool:
    """Whether some nodes stand one right behind the other."""
    place = _place(nodes, wanted[0])
    return all(node is other for node, other in zip(nodes[place:], wanted, strict=False))


def _arranged(nodes: list[Node], first: Node, second: Node, facts: Facts, bench: Bench) -> list[Node] | None:
    """The nodes with the second product right behind the first, or None."""
    start, stop = _place(nodes, first), _place(nodes, second)
    between, below = nodes[start + 1 : stop], nodes[stop + 1 :]
    for node in nodes[:start]:
        facts = facts.after(node)
    way = _Way(bench, facts)
    if all(way.may_pass(node, first) for node in between):
        return [*nodes[:start], *between, first, second, *below]
    needs = way.needs(between, second)
    if needs is None or not all(way.may_pass(node, first) for node in needs.moved):
        return None
    above = way.checked(nodes[:start], between, needs.checks) if needs.checks else nodes[:start]
    return None if above is None else [*above, *needs.moved, first, second, *needs.left, *below]


@record
class _Needs:
    """Of what stands between two products: guards and memory for the second, what computes for it, all else."""

    checks: list[Guard | Alloc] = field(default_factory=list[Guard | Alloc])
    moved: list[Node] = field(default_factory=list[Node])
    left: list[Node] = field(default_factory=list[Node])


class _Way:
    """What may move past what, with the facts above both products."""

    def __init__(self, bench: Bench, facts: Facts) -> None:
        self.bench = bench
        self.facts = facts
        self.writes = writes_of(bench.program, bench.legality.memory)

    def may_pass(self, node: Node, mover: Node) -> bool:
        """Whether a node that computes may move past another, up or down."""
        if isinstance(node, Site):
            return not self.writes.close(mover, open_site(node))
        return not effects_of(node).jumps and self.bench.legality.independent(node, mover, self.facts)

    def needs(self, between: Sequence[Node], second: Node) -> _Needs | None:
        """What the second product needs, and what it may move past; None where that may leave, or cannot be told."""
        found, wanted = _Needs(), list[Node]([second])
        for node in reversed(between):
            touched = frozenset[str]().union(*map(touched_containers, wanted))
            match node:
                case Guard(reason=reason) if not reason.startswith(NOT_COMPILED):
                    found.checks.insert(0, node)
                case Alloc(container=name) if name in touched or not self.all_may_pass(node, wanted):
                    found.checks.insert(0, node)
                case Alloc():
                    found.left.insert(0, node)
                case _ if effects_of(node).leaves or effects_of(node).jumps:
                    return None
                case _ if not self.is_needed(node, wanted):
                    found.left.insert(0, node)
                case Site():
                    return None
                case _:
                    found.moved.insert(0, node)
                    wanted.append(node)
        return found

    def is_needed(self, node: Node, wanted: Sequence[Node]) -> bool:
        """Whether some of the nodes below cannot do without this one above them."""
        used = values_used_in(Region(tuple(wanted)))
        return not self.bench.defines(node).isdisjoint(used) or not self.all_may_pass(node, wanted)

    def all_may_pass(self, node: Node, movers: Sequence[Node]) -> bool:
        """Whether all of some nodes may move past another."""
        return all(self.may_pass(node, mover) for mover in movers)

    def checked(self, above: list[Node], between: Sequence[Node], checks: Sequence[Guard | Alloc]) -> list[Node] | None:
        """The nodes above with guards and memory at the last site among them; None where these come too early."""
        places = [place for place, node in enumerate(above) if isinstance(node, Site)]
        if not places:
            return None
        place = places[-1] + 1
        while place < len(above) and isinstance(above[place], Guard):
            place += 1
        defined = frozenset[Value]().union(*(self.bench.defines(node) for node in (*above[place:], *between)))
        if any(not _values_of(check, self.bench).isdisjoint(defined) for check in checks):
            return None
        site = above[places[-1]]
        assert isinstance(site, Site)
        return [*above[:place], *(replace(check, site=site.number) for check in checks), *above[place:]]


def _values_of(check: Guard | Alloc, bench: Bench) -> frozenset[Value]:
    if isinstance(check, Guard):
        return frozenset(values_in(check.condition))
    return frozenset(value for extent in bench.containers[check.container].shape for value in extent.values)
