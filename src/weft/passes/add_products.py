"""Loops that add products to the elements of a matrix, in whatever order they are nested, are one matrix product.

before:  map (i) { for k { a = A[i, k]; map (j) { b = B[k, j]; c = C[i, j]; write C[i, j] = c + x * a * b } } }
after:   if l >= 8 and m >= 8 and n >= 8 -> (safe) { safe = no sum of C and such terms overflows } else { no }
         if safe { matmul add C = A @ B times x } else { map (i) { ... } }

What a loop adds up in the elements of an array is a sum, whose order is free; neither factor may lie in the memory that
is added to. What a turn computes in memory of its own, `alpha * A[:, k]`, is looked through: the product needs neither.
Where more is done in the outermost map, as in `C[i] *= beta; for k: C[i] += alpha * A[i, k] * B[k]`, what
stands before and behind becomes a map of its own: the points of a map do not meet. When the library may make the
product, `matrix_products.py` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar, Final

from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Expr, Index, Op, Value, const_index, index
from weft.ir.nodes import (
    Alloc,
    Axis,
    Branch,
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
    Tasklet,
    View,
    While,
)  # fmt: skip
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, allocated_by, values_defined_in, values_used_in
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import has_loops, is_less, is_plain_if
from weft.passes.matrix_products import Code, Factors, Terms, factors_of, guarded, product_of
from weft.support.records import record

_AXES: Final = 3  # of a product that is no batch


@record
class AddProducts:
    """Give loops that add up products to the library."""

    name: ClassVar[str] = "add-products"

    def run(self, program: Program, session: Session) -> Program:
        """The program with matrix products in place of loops."""
        if not has_loops(program):
            return program
        bench = Bench(self.name, program, session)
        body = _Walk(bench).region(program.body)
        return program if body is program.body else replace(program, body=body, containers=dict(bench.containers))


@record
class _Walk:
    bench: Bench

    def region(self, region: Region) -> Region:
        """A region; in maps only what can leave them is looked at."""
        nodes: list[Node] = []
        for node in region.nodes:
            made = self.product(node) if isinstance(node, Loop | Map) else None
            nodes += [self.inside(node)] if made is None else made
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    def inside(self, node: Node) -> Node:
        match node:
            case Loop() | While():
                body = self.region(node.body)
                return node if body is node.body else replace(node, body=body)
            case Branch():
                then, orelse = self.region(node.then), self.region(node.orelse)
                return node if then is node.then and orelse is node.orelse else replace(node, then=then, orelse=orelse)
            case _:
                return node

    def product(self, node: Loop | Map) -> list[Node] | None:
        """What becomes of a nest, or of a map with a nest in it."""
        if not any(isinstance(inner, Loop) for inner in all_nodes(Region((node,)))):
            return None
        found = self.matrices(node)
        if found is not None:
            self.bench.note("the loops that add up products are a matrix product", node, done=True)
            return guarded(found, [node], node.span, self.bench)
        return self.split(node) if isinstance(node, Map) else None

    def split(self, node: Map) -> list[Node] | None:
        """The nest in a map, what stands before it and what stands behind it, each for all points of the map."""
        for place, inner in enumerate(node.body.nodes):
            before, behind = node.body.nodes[:place], node.body.nodes[place + 1 :]
            if len(node.body.nodes) == 1 or not isinstance(inner, Loop | Map) or not _apart((before, (inner,), behind)):
                continue
            nest = self.product(self.part(node, (inner,)))
            if nest is not None:
                parts = [[self.part(node, nodes)] if nodes else [] for nodes in (before, behind)]
                return [*parts[0], *nest, *parts[1]]
        return None

    def part(self, node: Map, nodes: Sequence[Node]) -> Map:
        """Some nodes of a map for all its points, with values of its own: each is defined once in a program."""
        made = replace(node, body=Region(tuple(nodes)), id=self.bench.number())
        (fresh,) = with_fresh_values([made], self.bench.number, {})
        assert isinstance(fresh, Map)
        return fresh

    def matrices(self, node: Loop | Map) -> MatMul | None:
        """The product that a nest adds."""
        nest = _nest(node)
        if nest is None:
            return None
        factors = _added(nest, self.bench)
        terms = None if factors is None else self.terms(nest, factors)
        product = None if terms is None else product_of(terms, self.bench)
        return None if product is None else replace(product, adds=True)

    def terms(self, nest: _Nest, factors: Factors) -> Terms | None:
        """The terms with their parameters counted from 0: those of the elements in the order of the axes, the other."""
        kept = [param for coordinate in nest.target.index for param in nest.ranges if param in coordinate.values]
        summed = [param for param in nest.ranges if param not in kept]
        if len(summed) != 1 or len(set(kept)) < len(kept):
            return None
        order = (*kept, summed[0])
        shape = tuple(nest.ranges[param][1] - nest.ranges[param][0] for param in order)
        fresh = tuple(
            replace(self.bench.value(param.name, PY_INT), floor=const_index(0), ceiling=extent - 1, low=0)
            for param, extent in zip(order, shape, strict=True)
        )
        at = {old: nest.ranges[old][0] + index(new) for old, new in zip(order, fresh, strict=True)}
        axes: list[Axis] = []
        for coordinate in nest.target.index:
            places = [number for number, param in enumerate(kept) if param in coordinate.values]
            steps = tuple((number, const_index(_step(coordinate, kept[number]))) for number in places)
            if len(steps) > 1 or any(step.constant == 0 for _, step in steps):
                return None
            offset = coordinate.substitute(at)
            for number, step in steps:
                offset = offset - step * index(fresh[number])
            axes.append(Axis(offset, steps))
        memlets = [_moved(memlet, at) for memlet in factors.memlets]
        output = View(nest.target.container, shape[:-1], tuple(axes))
        return Terms(fresh, shape, replace(factors, memlets=memlets), output)


def _apart(parts: Sequence[Sequence[Node]]) -> bool:
    """Whether no part computes a number for a later one, and none has memory of its own."""
    defined: set[Value] = set()
    for part in parts:
        region = Region(tuple(part))
        if not defined.isdisjoint(values_used_in(region)):
            return False
        if any(tuple(allocated_by(node)) for node in all_nodes(region)):
            return False
        defined.update(*(values_defined_in(node) for node in part))
    return True


def _step(coordinate: Index, param: Value) -> int:
    """The number by which a parameter is multiplied; 0 where it is no number."""
    return sum(n for monomial, n in coordinate.terms if monomial == (param,)) if _is_linear(coordinate, param) else 0


def _is_linear(coordinate: Index, param: Value) -> bool:
    return all(monomial == (param,) for monomial, _ in coordinate.terms if param in monomial)


def _moved(memlet: Memlet, at: dict[Value, Index]) -> Memlet:
    return replace(memlet, index=tuple(coordinate.substitute(at) for coordinate in memlet.index))


# ---- nests ----------------------------------------------------------------------------------------------------------


@record
class _Nest:
    """Loops and maps around code that writes one element at each of their points."""

    ranges: dict[Value, tuple[Index, Index]]
    code: Code
    target: Memlet
    expr: Expr


@record(frozen=False)
class _Gathered:
    """What is found on the way into a nest; `makers` write memory that a turn allocates, for what stands below."""

    ranges: dict[Value, tuple[Index, Index]] = field(default_factory=dict[Value, tuple[Index, Index]])
    conditions: list[Expr] = field(default_factory=list[Expr])
    reads: dict[Value, Memlet] = field(default_factory=dict[Value, Memlet])
    lets: dict[Value, Expr] = field(default_factory=dict[Value, Expr])
    allocated: set[str] = field(default_factory=set[str])
    makers: dict[str, tuple[Map, Tasklet]] = field(default_factory=dict[str, tuple[Map, Tasklet]])

    def enter(self, node: Loop | Map | Branch) -> Node | None:
        """Take a part of the nest into account; what is inside of it, or None where it does something else."""
        if isinstance(node, Branch):
            self.conditions.append(node.condition)
        self.ranges.update(_ranges(node))
        *above, last = _body(node) or (None,)
        return last if all(self.take(part) for part in above) else None

    def take(self, node: Node | None) -> bool:
        """What stands above the inside of a part: it may only compute."""
        match node:
            case Tasklet(reads=reads, lets=lets, writes=()):
                self.compute(reads, lets)
            case Alloc(container=name):
                self.allocated.add(name)
            case Map(body=Region((Tasklet(writes=((target, _),)) as inner,))) if self.is_made_once(target):
                self.makers[target.container] = node, inner
            case _:
                return False
        return True

    def is_made_once(self, target: Memlet) -> bool:
        return target.container in self.allocated and target.container not in self.makers and not target.conflict

    def compute(self, reads: Sequence[tuple[Value, Memlet]], lets: Sequence[Let]) -> None:
        self.reads.update(reads)
        self.lets.update((let.value, let.expr) for let in lets)

    def look_through(self) -> bool:
        """In place of elements of the memory of a turn, what they are made of; each maker has one reader."""
        for value, memlet in tuple(self.reads.items()):
            if memlet.container not in self.makers:
                continue
            maker, inner = self.makers.pop(memlet.container)
            target, made = inner.writes[0]
            at = _inverse(maker, target, memlet)
            if at is None:
                return False
            del self.reads[value]
            self.compute([(read, _moved(place, at)) for read, place in inner.reads], inner.lets)
            self.lets[value] = made
        return not self.makers and self.allocated.isdisjoint(memlet.container for memlet in self.reads.values())


def _inverse(maker: Map, target: Memlet, memlet: Memlet) -> dict[Value, Index] | None:
    """The point of a map that makes an element; None where it may not be told."""
    at: dict[Value, Index] = {}
    for made, wanted in zip(target.index, memlet.index, strict=True):
        param = next((param for param in maker.params if made == index(param)), None)
        if param is not None and param not in at:
            at[param] = wanted
        elif made != wanted:
            return None
    return at if len(at) == len(maker.params) else None


def _nest(node: Loop | Map) -> _Nest | None:
    """A nest of which each part has one inside, and computes only, but for the innermost, which writes last."""
    found = _Gathered()
    inner: Node | None = node
    while isinstance(inner, Loop | Map | Branch):
        inner = found.enter(inner)
    if not isinstance(inner, Tasklet) or len(inner.writes) != 1:
        return None
    found.compute(inner.reads, inner.lets)
    target, expr = inner.writes[0]
    own, ranges = values_defined_in(node), found.ranges
    if target.container in found.allocated or not found.look_through():
        return None
    if any(bound.values & own for bounds in ranges.values() for bound in bounds):
        return None
    if not all(_holds(condition, ranges) for condition in found.conditions):
        return None
    memlets = (target, *found.reads.values())
    if any(coordinate.values & own - ranges.keys() for memlet in memlets for coordinate in memlet.index):
        return None
    return _Nest(ranges, Code(found.reads, found.lets, own), target, expr)


def _body(node: Loop | Map | Branch) -> tuple[Node, ...]:
    """What a part of a nest does, in turns that all run to their end; its sites serve only its memory, and guards."""
    match node:
        case Map(body=body):
            return body.nodes
        case Loop(carries=(), step=step, body=Region((*nodes, Continue()))) if step.constant == 1:
            return tuple(node for node in nodes if not isinstance(node, Site))
        case Branch() if is_plain_if(node):
            return node.then.nodes[:-1]
        case _:
            return ()


def _ranges(node: Node) -> dict[Value, tuple[Index, Index]]:
    match node:
        case Map(params=params, ranges=ranges):
            return dict(zip(params, ranges, strict=True))
        case Loop(var=var, start=start, stop=stop):
            return {var: (start, stop)}
        case _:
            return {}


def _holds(condition: Expr, ranges: dict[Value, tuple[Index, Index]]) -> bool:
    """Whether a condition only says that ranges are not empty. With three of them, all are long if a product pays."""
    if isinstance(condition, Op) and condition.name == "logical_and":
        return all(_holds(part, ranges) for part in condition.args)
    return len(ranges) == _AXES and any(condition is is_less(*bounds) for bounds in ranges.values())


def _added(nest: _Nest, bench: Bench) -> Factors | None:
    """What is added to the element that is written, as factors; None if it is not that, or other things are done."""
    code = nest.code
    total, passed = nest.expr, set[Value]()
    while isinstance(total, Value) and total in code.lets:
        passed.add(total)
        total = code.lets[total]
    if not isinstance(total, Op) or total.name not in ("add", "subtract") or nest.target.conflict:
        return None
    places = [place for place, arg in enumerate(total.args) if code.reads.get(_value(arg)) == nest.target]
    if not places or (places[0] == 1 and total.name == "subtract"):
        return None
    factors = factors_of(total.args[1 - places[0]], code, bench.containers[nest.target.container].dtype)
    if factors is None or {*passed, *factors.passed, _value(total.args[places[0]])} != {*code.reads, *code.lets}:
        return None
    return replace(factors, negative=factors.negative != (total.name == "subtract"))


def _value(expr: Expr) -> Value:
    return expr if isinstance(expr, Value) else Value(-1, "", PY_INT)
