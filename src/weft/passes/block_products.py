"""A matrix times a vector in every turn of a loop becomes a matrix times a matrix for some turns at once.

before:  for i in 0:n { alloc h; matmul h[:] = W[:, :] @ x[i, :]; ... h[p] ...; continue }
after:   if h is long enough {
           alloc H                                       # a row for each of some turns
           for block in 0:blocks { first, end = 32 * block, min(n, 32 * block + 32)
             matmul H[0:end - first, :] = W[:, :] @ x[first:end, :]
             map (i) in [first:end] { ... H[i - first, p] ... } }
         } else { the loop as it was }

The matrix goes through the caches once for all these turns. It may begin further on in every turn, as in the triangle
of a covariance, `a[:, i] @ a[:, i:]`: what all turns of a block have in common is one product, the rest of each its
own. So nothing is computed that the program does not compute: there is nothing else to warn of.

Sums may grow, too, as where each row needs those before, `L[i, :i] @ X[:i]`: the terms that the first turn of a block
has are one product, and each turn adds those since then. Solving with a triangle and factorizing go at the speed of
matrix products that way.

A map of nothing but such products, `out[i] = W @ x[i]`, is one product.

Legal where the loop runs to its end and, by the legality core, no turn of a block writes what an earlier product of the
block would then have read: products are only made earlier. Turns that are independent otherwise are a map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce
from typing import ClassVar, Final

from weft.analysis.effects import effects_of
from weft.analysis.facts import Constraint, Facts
from weft.analysis.uses import container_uses
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Index, Value, const_index, index, op
from weft.ir.nodes import (
    Alloc,
    Axis,
    Branch,
    Container,
    Continue,
    Let,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    Program,
    Region,
    Site,
    Storage,
    View,
    Yield,
)  # fmt: skip
from weft.ir.substitution import Substitution, with_fresh_values
from weft.ir.traverse import all_nodes, site_left_through
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import computed, is_less, larger, only_if, quotient, smaller, straight
from weft.passes.open_sites import OpenSite, open_site, rewrite_inside, writes_of
from weft.passes.turn_products import (
    TurnProduct,
    goes_with_turns,
    is_plain,
    put,
    stays_or_begins_later,
    turn_product,
)
from weft.support.records import record

_TURNS: Final = 32  # of a block: the rest of a triangle is short, and the library has rows enough
_LEAST: Final = 16  # turns, terms and results of a product
_TERMS: Final = 8 * _TURNS  # of a sum that grows, in the last turn: a block has none before it begins
_MOST_BYTES: Final = 1 << 20  # of a block's results: they stay in a near cache


@record
class BlockProducts:
    """Make one product of those of several turns."""

    name: ClassVar[str] = "block-products"

    def run(self, program: Program, session: Session) -> Program:
        """The program with larger products."""
        if not any(isinstance(node, MatMul) and not node.sweep for node in all_nodes(program.body)):
            return program
        bench = Bench(self.name, program, session)
        body = _Walk(bench).region(program.body, session.facts, None)
        return program if body is program.body else replace(program, body=body, containers=dict(bench.containers))


class _Walk:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.memory = bench.legality.memory
        self.writes = writes_of(bench.program, self.memory)
        left = (node for node in all_nodes(bench.program.body) if not isinstance(node, Alloc))
        self.named = frozenset(site for node in left if (site := site_left_through(node)) is not None)

    def region(self, region: Region, facts: Facts, site: OpenSite | None) -> Region:
        """A region with its loops in blocks; `site` is open at its head."""
        nodes: list[Node] = []
        for node in region.nodes:
            site = open_site(node) if isinstance(node, Site) else site
            made: Node | None = None
            if isinstance(node, Loop) and site is not None:
                made = self.blocks(node, facts, site)
            elif isinstance(node, Map):
                made = self.whole(node, facts)
            inside = facts.inside(node, self.memory)
            nodes.append(rewrite_inside(node, inside, site, self.writes, self.region) if made is None else made)
            facts = facts.after(node)
            if site is not None and self.writes.close(node, site):
                site = None
        return region if all(a is b for a, b in zip(nodes, region.nodes, strict=True)) else Region(tuple(nodes))

    def blocks(self, loop: Loop, facts: Facts, site: OpenSite) -> Branch | None:
        """A loop in blocks, beside itself; None where it stays as it is."""
        one_by_one = loop.step.constant in (1, -1) and not loop.carries
        body = straight(loop, self.named) if one_by_one else None
        if body is None or effects_of(loop).binds:
            return None
        found: list[TurnProduct] = []
        inside = facts.inside(loop, self.memory)[0]
        for node in body:
            if isinstance(node, MatMul):
                product = turn_product(node, loop, self.bench.containers[node.output.container], inside)
                if product is not None and self.is_legal(product, body, facts):
                    found.append(product)
            inside = inside.after(node)
        heap = {name for name in _allocated(body) if self.bench.containers[name].storage is Storage.TRANSIENT}
        if not found or heap != {product.result.name for product in found}:
            return None
        self.bench.note(f"products of several turns over {loop.var.name} are made at once", loop, done=True)
        return _Blocks(found, body, self.bench, facts).build(site, self.is_independent(loop, facts))

    def whole(self, points: Map, facts: Facts) -> Node | None:
        """A map that does nothing but store a product in a line of its own, as one product."""
        node = points.body.nodes[0] if len(points.body.nodes) == len(points.params) == 1 else None
        if not isinstance(node, MatMul):
            return None
        (var,), ((start, stop),) = points.params, points.ranges
        loop = Loop(var=var, start=start, stop=stop, step=const_index(1), carries=(), body=points.body)
        for vector in (0, 1):
            product = TurnProduct(loop, node, self.bench.containers[node.output.container], vector, False, stop)
            if not is_plain(node, loop) or node.output.shape[vector].constant != 1:
                continue
            if not stays_or_begins_later(product.factors[1], product):
                continue
            if all(goes_with_turns(view, product) for view in (product.factors[0], node.output)):
                self.bench.note(f"products of all turns over {var.name} are one", node, done=True)
                output = product.of_turns(node.output, start, stop)
                vectors = product.of_turns(product.factors[0], start, stop)
                made = product.with_factors(vectors, product.factors[1], output, self.bench.number())
                if self.bench.legality.is_nonnegative((stop - start).substitute(facts.definitions), facts):
                    return made
                return only_if(is_less(start, stop), [made], points.span, self.bench)
        return None

    def is_legal(self, product: TurnProduct, body: tuple[Node, ...], facts: Facts) -> bool:
        """Whether products may be made before their turns, in memory of their own."""
        bench, own = self.bench, product.result.name
        uses = container_uses(replace(bench.program, body=Region(body), containers=bench.containers))[own]
        if uses.escapes or uses.writers > 1:
            return False
        written = {access.container for access in effects_of(body).accesses if access.writes} - {own}
        factors = (product.node.lhs.container, product.node.rhs.container)
        meet = any(self.memory.may_overlap(name, factor, facts.apart) for name in written for factor in factors)
        if meet and not self.is_settled(product, body, facts):
            return False
        beyond = product.reach - _beyond(product.loop) + 1  # of the matrix, in the last turn
        return not product.moves or bench.legality.is_nonnegative(beyond.substitute(facts.definitions), facts)

    def is_settled(self, product: TurnProduct, body: tuple[Node, ...], facts: Facts) -> bool:
        """Whether what a product of a block reads is not written from the first turn of the block to its own."""
        bench, loop, up = self.bench, product.loop, product.loop.step.constant or 1
        first, turn = (bench.value(name, loop.var.type) for name in ("first", "i"))
        vector, matrix = product.in_common(index(first))
        early = product.with_factors(vector, matrix, product.node.output, bench.number())
        room = next(node for node in body if isinstance(node, Alloc) and node.container == product.result.name)
        order = (index(first) - loop.start, index(turn) - index(first), index(loop.var) - index(turn))
        inside = facts.inside(loop, self.memory)[0]
        inside = inside.also(tuple(Constraint((form * up).substitute(inside.definitions)) for form in order))
        nodes = with_fresh_values(body, bench.number, {loop.var: turn})
        return not bench.legality.between((room, early), nodes, inside, instances=True)

    def is_independent(self, loop: Loop, facts: Facts) -> bool:
        """Whether the turns meet in nothing but what they allocate."""
        return not self.bench.legality.carried(loop, facts, first=True)


# ---- the loop in blocks ---------------------------------------------------------------------------------------------


@record
class _InRows(Substitution):
    """A substitution by which arrays are parts of a row of others: by name, these, and whether parts begin later."""

    lines: Mapping[str, tuple[str, bool]] = field(default_factory=dict[str, tuple[str, bool]])
    row: Index = field(default_factory=lambda: const_index(0))

    def view(self, view: View) -> View:
        """A view."""
        made = Substitution.view(self, view)
        if view.container not in self.lines:
            return made
        (axis,) = made.axes
        name, moves = self.lines[view.container]
        offset = axis.offset + self.row if moves else axis.offset
        return View(name, made.shape, (Axis(self.row), replace(axis, offset=offset)))

    def memlet(self, memlet: Memlet) -> Memlet:
        """A memlet."""
        made = Substitution.memlet(self, memlet)
        if memlet.container not in self.lines:
            return made
        name, moves = self.lines[memlet.container]
        return replace(made, container=name, index=(self.row, made.index[0] + self.row if moves else made.index[0]))


class _Blocks:
    def __init__(self, products: Sequence[TurnProduct], body: tuple[Node, ...], bench: Bench, facts: Facts) -> None:
        self.loop = products[0].loop
        self.products = products
        self.body = body
        self.bench = bench
        self.up = self.loop.step.constant == 1
        self.first, self.end = (bench.value(name, PY_INT) for name in ("first", "end"))
        self.rows = {product.result.name: self.room(product) for product in products}
        self.edges = {product.result.name: self.edge(product, facts) for product in products if product.moves}

    def room(self, product: TurnProduct) -> Container:
        """A row for each of the turns of a block."""
        name = product.result.name.partition(".")[0]
        return self.bench.container(name, product.result.dtype, (const_index(_TURNS), self.widest(product)))

    def edge(self, product: TurnProduct, facts: Facts) -> Value:
        """Where the matrix of a block begins: where its turns end, if there is anything left of the matrix there."""
        left = product.reach - _beyond(self.loop)
        if self.bench.legality.is_nonnegative(left.substitute(facts.definitions), facts):
            return self.end
        return self.bench.value("edge", PY_INT)

    def edge_of(self, product: TurnProduct) -> Index:
        return index(self.edges[product.result.name])

    @property
    def turn(self) -> Index:
        """The turn with which a block begins."""
        return index(self.first) if self.up else index(self.end) - 1

    def widest(self, product: TurnProduct) -> Index:
        """The length of the longest result."""
        lowest = self.loop.start if self.up else self.loop.stop + 1
        return product.node.output.shape[product.other].substitute({self.loop.var: lowest})

    def build(self, site: OpenSite, is_independent: bool) -> Branch:
        """The loop in blocks where that pays, otherwise as it was."""
        bench, loop = self.bench, self.loop
        rooms = [
            Alloc(container=x.name, site=site.number, id=bench.number(), span=loop.span) for x in self.rows.values()
        ]
        count = replace(bench.value("blocks", PY_INT), low=0)
        block = replace(bench.value("block", PY_INT), floor=const_index(0), ceiling=index(count) - 1)
        number = larger(const_index(0), quotient(self.length + (_TURNS - 1), const_index(_TURNS)))
        done = index(block) * _TURNS
        if self.up:
            ends = (Let(self.first, loop.start + done), Let(self.end, smaller(loop.stop, loop.start + done + _TURNS)))
        else:
            low = larger(loop.stop + 1, loop.start - done - (_TURNS - 1))
            ends = (Let(self.first, low), Let(self.end, loop.start - done + 1))
        together = [self.together(product) for product in self.products]
        moving = [product for product in self.products if self.edges.get(product.result.name, self.end) != self.end]
        edges = [Let(self.edges[product.result.name], smaller(index(self.end), product.reach)) for product in moving]
        body = (*computed((*ends, *edges), loop, bench), *together, self.turns(is_independent), Continue())
        blocks = Loop(
            var=block, start=const_index(0), stop=index(count), step=const_index(1), carries=(), body=Region(body),
            id=bench.number(), span=loop.span,
        )  # fmt: skip
        return Branch(
            condition=self.worth(),
            then=Region((*computed((Let(count, number),), loop, bench), *rooms, blocks, Yield())),
            orelse=Region((loop, Yield())),
            id=bench.number(),
            span=loop.span,
        )

    @property
    def length(self) -> Index:
        """How many turns there are."""
        return self.loop.stop - self.loop.start if self.up else self.loop.start - self.loop.stop

    def worth(self) -> Expr:
        """Enough turns and large products, of which a block is not too large."""
        tests: dict[Expr, None] = {is_less(const_index(_LEAST - 1), self.length): None}
        for product in self.products:
            least = const_index((_TERMS if product.grows else _LEAST) - 1)
            terms = product.terms.substitute({self.loop.var: self.loop.stop - (self.loop.step.constant or 1)})
            widest = self.widest(product)
            most = _MOST_BYTES // (_TURNS * product.result.dtype.itemsize)
            tests[is_less(least, terms)] = None
            tests[is_less(const_index(_LEAST - 1), widest)] = None
            tests[is_less(widest, const_index(most))] = None
        return reduce(lambda one, other: op("logical_and", (one, other), NP_BOOL), tests)

    def together(self, product: TurnProduct) -> MatMul:
        """The product of all turns of a block; of a matrix that begins later and later, what all have in common."""
        first, end = index(self.first), index(self.end)
        vector, matrix = product.in_common(self.turn)
        begin = self.edge_of(product) - first if product.moves else const_index(0)
        if product.moves:
            matrix = Substitution({self.loop.var: self.edge_of(product)}).view(matrix)
        shape = put(product.node.output.shape, product.vector, end - first)
        shape = put(shape, product.other, matrix.shape[product.other])
        one = const_index(1)
        axes = (Axis(const_index(0), ((product.vector, one),)), Axis(begin, ((product.other, one),)))
        output = View(self.rows[product.result.name].name, shape, axes)
        return product.with_factors(product.of_turns(vector, first, end), matrix, output, self.bench.number())

    def turns(self, is_independent: bool) -> Loop | Map:
        """The turns of a block, with what each has of the products."""
        bench, loop = self.bench, self.loop
        first, end = index(self.first), index(self.end)
        var = replace(loop.var, id=bench.number(), low=None, high=None, floor=first, ceiling=end - 1)
        nodes = list(self.own_nodes())
        turn = with_fresh_values(tuple(nodes), bench.number, {loop.var: var})
        row = index(var) - first
        inside = _InRows(
            containers=self.renamed(nodes),
            lines={
                product.result.name: (self.rows[product.result.name].name, product.moves) for product in self.products
            },
            row=row,
        )
        made = tuple(inside.node(node) for node in turn)
        if is_independent:
            return Map(params=(var,), ranges=((first, end),), body=Region(made), id=bench.number(), span=loop.span)
        body = Region((*made, Continue()))
        start, stop = (first, end) if self.up else (end - 1, first - 1)
        return replace(loop, var=var, start=start, stop=stop, body=body, id=bench.number())

    def own_nodes(self) -> Iterator[Node]:
        """The body of a turn, without what is done for the block."""
        products = {product.result.name: product for product in self.products}
        for node in self.body:
            if isinstance(node, Alloc) and node.container in products:
                continue
            product = products.get(node.output.container) if isinstance(node, MatMul) else None
            if product is None:
                yield node
                continue
            if product.moves:
                yield self.before_it(product)
            if product.grows:
                yield self.since_then(product)

    def before_it(self, product: TurnProduct) -> MatMul:
        """What the product of a turn has before that of the block begins."""
        left = self.edge_of(product) - index(self.loop.var)
        vector, matrix = product.factors
        output = product.node.output
        return product.with_factors(
            vector,
            replace(matrix, shape=put(matrix.shape, product.other, left)),
            replace(output, shape=put(output.shape, product.other, left)),
            self.bench.number(),
        )

    def since_then(self, product: TurnProduct) -> MatMul:
        """The terms that the product of the block does not have, added to it."""
        vector, matrix = product.since(self.turn)
        output = product.node.output
        if product.moves:
            begin = self.edge_of(product) - index(self.loop.var)
            matrix, output = product.from_line(matrix, begin), product.from_line(output, begin)
        return replace(product.with_factors(vector, matrix, output, self.bench.number()), adds=True)

    def renamed(self, nodes: list[Node]) -> dict[str, str]:
        """Other names for arrays on the stack: the loop as it was has them, too."""
        found: dict[str, str] = {}
        for node in all_nodes(Region(tuple(nodes))):
            if isinstance(node, Alloc):
                old = self.bench.containers[node.container]
                name = old.name.partition(".")[0]
                found[old.name] = self.bench.container(name, old.dtype, old.shape, old.storage).name
        return found


def _beyond(loop: Loop) -> Index:
    """One more than the largest number of a turn."""
    return loop.stop if (loop.step.constant or 1) > 0 else loop.start + 1


def _allocated(body: Sequence[Node]) -> set[str]:
    return {node.container for node in all_nodes(Region(tuple(body))) if isinstance(node, Alloc)}
