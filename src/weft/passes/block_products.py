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

A map of nothing but such products, `out[i] = W @ x[i]`, is one product.

Legal where the loop writes neither vectors nor matrix, and runs to its end: products are only made earlier. Turns that
are independent otherwise, by the legality core, are a map.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import reduce
from typing import ClassVar, Final

from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
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
from weft.ir.traverse import all_nodes, site_left_through, values_defined_in
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import computed, is_less, larger, only_if, quotient, smaller, straight
from weft.passes.open_sites import OpenSite, open_site, rewrite_inside, writes_of
from weft.support.records import record

_TURNS: Final = 32  # of a block: the rest of a triangle is short, and the library has rows enough
_LEAST: Final = 16  # turns, terms and results of a product
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
        body = straight(loop, self.named) if loop.step.constant == 1 and not loop.carries else None
        if body is None or effects_of(loop).binds:
            return None
        for node in body:
            product = _product(node, loop, self.bench) if isinstance(node, MatMul) else None
            if product is not None and self.is_legal(product, body, facts):
                self.bench.note(f"products of several turns over {loop.var.name} are made at once", node, done=True)
                return _Blocks(product, body, self.bench).build(site, self.is_independent(loop, facts))
        return None

    def whole(self, points: Map, facts: Facts) -> Node | None:
        """A map that does nothing but store a product in a line of its own, as one product."""
        node = points.body.nodes[0] if len(points.body.nodes) == len(points.params) == 1 else None
        if not isinstance(node, MatMul):
            return None
        (var,), ((start, stop),) = points.params, points.ranges
        loop = Loop(var=var, start=start, stop=stop, step=const_index(1), carries=(), body=points.body)
        for vector in (0, 1):
            product = _Product(loop, node, self.bench.containers[node.output.container], vector, False, stop)
            if not _is_plain(node, loop) or node.output.shape[vector].constant != 1:
                continue
            if not _stays_or_begins_later(product):
                continue
            if all(_goes_with_turns(view, product) for view in (product.factors[0], node.output)):
                self.bench.note(f"products of all turns over {var.name} are one", node, done=True)
                output = product.of_turns(node.output, start, stop)
                vectors = product.of_turns(product.factors[0], start, stop)
                made = product.with_factors(vectors, product.factors[1], output, self.bench.number())
                if self.bench.legality.is_nonnegative((stop - start).substitute(facts.definitions), facts):
                    return made
                return only_if(is_less(start, stop), [made], points.span, self.bench)
        return None

    def is_legal(self, product: _Product, body: tuple[Node, ...], facts: Facts) -> bool:
        """Whether products may be made before their turns, in memory of their own."""
        bench, own = self.bench, product.result.name
        uses = container_uses(replace(bench.program, body=Region(body), containers=bench.containers))[own]
        allocs = [node for node in all_nodes(Region(body)) if isinstance(node, Alloc)]
        heap = {node.container for node in allocs if bench.containers[node.container].storage is Storage.TRANSIENT}
        if uses.escapes or uses.writers > 1 or heap != {own}:
            return False
        written = {access.container for access in effects_of(body).accesses if access.writes} - {own}
        factors = (product.node.lhs.container, product.node.rhs.container)
        if any(self.memory.may_overlap(name, factor, facts.apart) for name in written for factor in factors):
            return False
        beyond = product.reach - product.loop.stop  # of the matrix, in the last turn
        return not product.moves or bench.legality.is_nonnegative(beyond.substitute(facts.definitions), facts)

    def is_independent(self, loop: Loop, facts: Facts) -> bool:
        """Whether the turns meet in nothing but what they allocate."""
        return not self.bench.legality.carried(loop, facts, first=True)


@record
class _Product:
    """The product of a turn: `vector` is the axis of the result that is one long, `other` the other one.

    `moves`: the matrix begins at the turn's number, and with `reach` of them there is nothing left of it.
    """

    loop: Loop
    node: MatMul
    result: Container
    vector: int
    moves: bool
    reach: Index

    @property
    def other(self) -> int:
        """The axis of the result along which there are many."""
        return 1 - self.vector

    @property
    def factors(self) -> tuple[View, View]:
        """The vector and the matrix."""
        return (self.node.lhs, self.node.rhs) if self.vector == 0 else (self.node.rhs, self.node.lhs)

    def of_turns(self, view: View, first: Index, end: Index) -> View:
        """The vectors of some turns."""
        var = self.loop.var
        axes = tuple(
            Axis(axis.offset.substitute({var: first}), (*axis.terms, (self.vector, const_index(1))))
            if var in axis.offset.values
            else axis
            for axis in view.axes
        )
        return View(view.container, _put(view.shape, self.vector, end - first), axes)

    def with_factors(self, vector: View, matrix: View, output: View, number: int) -> MatMul:
        """Another product of such factors."""
        lhs, rhs = (vector, matrix) if self.vector == 0 else (matrix, vector)
        return replace(self.node, lhs=lhs, rhs=rhs, output=output, id=number)


def _put(shape: tuple[Index, ...], axis: int, extent: Index) -> tuple[Index, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])


def _product(node: MatMul, loop: Loop, bench: Bench) -> _Product | None:
    """A product of a vector that is another one in every turn, and of a matrix that is not."""
    result, var = bench.containers[node.output.container], loop.var
    if not _is_plain(node, loop) or result.storage is not Storage.TRANSIENT or result.rank != 1:
        return None
    for vector in (0, 1):
        extent, length = node.output.shape[vector].constant, node.output.shape[1 - vector]
        whole = node.output.axes == (Axis(const_index(0), ((1 - vector, const_index(1)),)),)
        if extent != 1 or length.constant == 1 or not whole or result.shape != (length,):
            continue
        moves = var in length.values
        found = _Product(loop, node, result, vector, moves, length + index(var))
        if _goes_with_turns(found.factors[0], found) and _stays_or_begins_later(found):
            return found
    return None


def _is_plain(node: MatMul, loop: Loop) -> bool:
    """Whether a product is that of two matrices, which are where the turn alone says."""
    views = (node.output, node.lhs, node.rhs)
    if node.scale is not None or node.adds or node.sweep or any(view.rank != 2 for view in views):
        return False
    used = frozenset[Value]().union(*(_values(view) for view in views))
    return not used & values_defined_in(loop) - {loop.var}


def _values(view: View) -> frozenset[Value]:
    steps = (step for axis in view.axes for _, step in axis.terms)
    return frozenset[Value]().union(*(x.values for x in (*view.shape, *(axis.offset for axis in view.axes), *steps)))


def _goes_with_turns(view: View, product: _Product) -> bool:
    """Whether the vectors of turns are the lines of a matrix."""
    var = product.loop.var
    moving = [axis for axis in view.axes if var in axis.offset.values]
    if len(moving) != 1 or moving[0].terms or any(var in extent.values for extent in view.shape):
        return False
    return var not in (moving[0].offset - index(var)).values and not _names(view, product.vector)


def _names(view: View, axis: int) -> bool:
    return any(number == axis for given in view.axes for number, _ in given.terms)


def _stays_or_begins_later(product: _Product) -> bool:
    """Whether the matrix is the same in all turns, or begins one line further on in each and ends where it did."""
    view, var, other = product.factors[1], product.loop.var, product.other
    moving = [axis for axis in view.axes if var in axis.offset.values]
    inner = view.shape[product.vector]
    if not product.moves:
        return not moving and not any(var in extent.values for extent in view.shape)
    if var in product.reach.values or var in inner.values or len(moving) != 1:
        return False
    return moving[0].terms == ((other, const_index(1)),) and var not in (moving[0].offset - index(var)).values


# ---- the loop in blocks ---------------------------------------------------------------------------------------------


@record
class _InRows(Substitution):
    """A substitution by which an array is a part of a row of another one."""

    array: str = ""
    lines: str = ""
    row: Index = field(default_factory=lambda: const_index(0))
    column: Index = field(default_factory=lambda: const_index(0))

    def view(self, view: View) -> View:
        """A view."""
        made = Substitution.view(self, view)
        if view.container != self.array:
            return made
        (axis,) = made.axes
        return View(self.lines, made.shape, (Axis(self.row), replace(axis, offset=axis.offset + self.column)))

    def memlet(self, memlet: Memlet) -> Memlet:
        """A memlet."""
        made = Substitution.memlet(self, memlet)
        if memlet.container != self.array:
            return made
        return replace(made, container=self.lines, index=(self.row, made.index[0] + self.column))


class _Blocks:
    def __init__(self, product: _Product, body: tuple[Node, ...], bench: Bench) -> None:
        self.product = product
        self.body = body
        self.bench = bench
        loop, node = product.loop, product.node
        self.widest = node.output.shape[product.other].substitute({loop.var: loop.start})
        name = product.result.name.partition(".")[0]
        self.rows = bench.container(name, product.result.dtype, (const_index(_TURNS), self.widest))
        self.first, self.end = (bench.value(name, PY_INT) for name in ("first", "end"))

    def build(self, site: OpenSite, is_independent: bool) -> Branch:
        """The loop in blocks where that pays, otherwise as it was."""
        bench, loop = self.bench, self.product.loop
        room = Alloc(container=self.rows.name, site=site.number, id=bench.number(), span=loop.span)
        count = replace(bench.value("blocks", PY_INT), low=0)
        block = replace(bench.value("block", PY_INT), floor=const_index(0), ceiling=index(count) - 1)
        number = larger(const_index(0), quotient(loop.stop - loop.start + (_TURNS - 1), const_index(_TURNS)))
        low = loop.start + index(block) * _TURNS
        ends = (Let(self.first, low), Let(self.end, smaller(loop.stop, low + _TURNS)))
        body = (*computed(ends, loop, bench), self.together(), self.turns(is_independent), Continue())
        blocks = Loop(
            var=block, start=const_index(0), stop=index(count), step=const_index(1), carries=(), body=Region(body),
            id=bench.number(), span=loop.span,
        )  # fmt: skip
        return Branch(
            condition=self.worth(),
            then=Region((*computed((Let(count, number),), loop, bench), room, blocks, Yield())),
            orelse=Region((loop, Yield())),
            id=bench.number(),
            span=loop.span,
        )

    def worth(self) -> Expr:
        """Enough turns and large products, of which a block is not too large."""
        loop, least = self.product.loop, const_index(_LEAST - 1)
        terms = self.product.factors[0].shape[self.product.other]
        most = _MOST_BYTES // (_TURNS * self.rows.dtype.itemsize)
        tests = (
            is_less(least, loop.stop - loop.start), is_less(least, terms), is_less(least, self.widest),
            is_less(self.widest, const_index(most)),
        )  # fmt: skip
        return reduce(lambda one, other: op("logical_and", (one, other), NP_BOOL), tests)

    def together(self) -> MatMul:
        """The product of all turns of a block; of a matrix that begins later and later, what all have in common."""
        product, first, end = self.product, index(self.first), index(self.end)
        matrix = product.factors[1]
        begin = end - first if product.moves else const_index(0)
        if product.moves:
            matrix = Substitution({product.loop.var: end}).view(matrix)
        shape = _put(product.node.output.shape, product.vector, end - first)
        shape = _put(shape, product.other, matrix.shape[product.other])
        one = const_index(1)
        axes = (Axis(const_index(0), ((product.vector, one),)), Axis(begin, ((product.other, one),)))
        output = View(self.rows.name, shape, axes)
        return product.with_factors(
            product.of_turns(product.factors[0], first, end), matrix, output, self.bench.number()
        )

    def turns(self, is_independent: bool) -> Loop | Map:
        """The turns of a block, with what each has of the product."""
        product, bench, loop = self.product, self.bench, self.product.loop
        first, end = index(self.first), index(self.end)
        var = replace(loop.var, id=bench.number(), low=None, high=None, floor=first, ceiling=end - 1)
        nodes = list(self.own_nodes())
        turn = with_fresh_values(tuple(nodes), bench.number, {loop.var: var})
        row = index(var) - first
        column = row if product.moves else const_index(0)
        inside = _InRows(
            containers=self.renamed(nodes), array=product.result.name, lines=self.rows.name, row=row, column=column
        )
        made = tuple(inside.node(node) for node in turn)
        if is_independent:
            return Map(params=(var,), ranges=((first, end),), body=Region(made), id=bench.number(), span=loop.span)
        body = Region((*made, Continue()))
        return replace(loop, var=var, start=first, stop=end, body=body, id=bench.number())

    def own_nodes(self) -> Iterator[Node]:
        """The body of a turn, without what is done for the block."""
        product = self.product
        for node in self.body:
            if isinstance(node, Alloc) and node.container == product.result.name:
                continue
            if node is product.node:
                if product.moves:
                    yield self.rest_of(product)
                continue
            yield node

    def rest_of(self, product: _Product) -> MatMul:
        """What the product of a turn has before that of the block begins."""
        left = index(self.end) - index(product.loop.var)
        vector, matrix = product.factors
        output = product.node.output
        return product.with_factors(
            vector,
            replace(matrix, shape=_put(matrix.shape, product.other, left)),
            replace(output, shape=_put(output.shape, product.other, left)),
            self.bench.number(),
        )

    def renamed(self, nodes: list[Node]) -> dict[str, str]:
        """Other names for arrays on the stack: the loop as it was has them, too."""
        found: dict[str, str] = {}
        for node in all_nodes(Region(tuple(nodes))):
            if isinstance(node, Alloc):
                old = self.bench.containers[node.container]
                name = old.name.partition(".")[0]
                found[old.name] = self.bench.container(name, old.dtype, old.shape, old.storage).name
        return found
