"""How large the integers in a nest of loops can become, found in front of it.

in:   a loop, the facts where it stands
out:  `Sizes.of(value)`: an expression in floats that no absolute value exceeds; `Sizes.nodes`: what computes it

Numbers that feed on themselves, through what loops carry, branches and arrays that the nest writes, are one group:
none of them exceeds what comes in from outside and, for each operation that adds to one of them, the largest number of
its turns times the most that it adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from weft.analysis.facts import Facts
from weft.ir.dtypes import NP_BOOL, PY_FLOAT, DType, ScalarType
from weft.ir.exprs import Const, Expr, Index, Op, Value, const, const_index, index, op, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Continue,
    Elements,
    Let,
    Loop,
    Memlet,
    Node,
    Reduce,
    Region,
    Site,
    Storage,
    Tasklet,
    View,
    Yield,
    full_view,
)  # fmt: skip
from weft.ir.ops import OVERFLOWING
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import values_defined_in
from weft.passes.base import Bench
from weft.passes.loop_bodies import computed, counted, turn_of
from weft.passes.straight_code import is_inside
from weft.support.records import record

NUMBER: Final = PY_FLOAT  # the type of sizes
_MARGIN: Final = 0.99  # sizes are computed in floats
_INFINITE: Final = const(float("inf"), NUMBER)
_ZERO: Final = const(0.0, NUMBER)
_WRAPPING: Final = OVERFLOWING | {"square"}
_ELEMENTS_A_TURN: Final = 4.0  # of an array that is looked at as a whole
_FEW: Final = 4096.0  # elements that are looked at in any case


@record
class _Given:
    """A way in which a number comes about, and the loops around."""

    expr: Expr
    loops: tuple[Loop, ...]


@record
class _Part:
    """What a number is at most: one of its group and `more`, or `other`; None where it is not that."""

    more: Expr | None
    other: Expr | None


class _Unknown(Exception):  # noqa: N818 - no error
    """A number of which nothing is known."""


class Sizes:
    """The largest absolute values of the numbers in a loop."""

    def __init__(self, loop: Loop, facts: Facts, bench: Bench) -> None:
        self.loop = loop
        self.facts = facts
        self.bench = bench
        self.nodes: list[Node] = []
        self.own = values_defined_in(loop)
        self.given: dict[Value | str, list[_Given]] = {}
        self.reads: dict[Value, tuple[Memlet, tuple[Loop, ...]]] = {}
        self.vars: dict[Value, Loop] = {}
        self.written: set[str] = set()
        self.sources: dict[Value | str, frozenset[Value | str]] = {}
        self.known: dict[Value | str, Expr] = {}
        self.looks: dict[Memlet | str, Expr] = {}
        self.limits: dict[Expr, None] = {}  # under which all of this is so: nothing wraps around
        self.plain = True  # whether the nest holds nothing but what is understood here
        for carry in loop.carries:
            self.give(carry.target, carry.init, ())
        self.collect((loop,), loop.body)
        overlaps = bench.legality.memory.may_overlap
        for memlet, _ in self.reads.values():
            near = [name for name in self.written if overlaps(memlet.container, name)]
            self.plain &= near in ([], [memlet.container])

    def of(self, value: Value) -> Expr | None:
        """The size of a number; None where it is not known."""
        if not self.plain:
            return None
        try:
            return self.size(value)
        except _Unknown:
            return None

    # -- what there is

    def collect(self, loops: tuple[Loop, ...], region: Region) -> None:
        self.vars[loops[-1].var] = loops[-1]
        for node in region.nodes:
            match node:
                case Tasklet():
                    self.tasklet(node, loops)
                case Loop():
                    for carry in node.carries:
                        self.give(carry.target, carry.init, loops)
                    self.collect((*loops, node), node.body)
                case Branch():
                    for arm in (node.then, node.orelse):
                        self.collect(loops, arm)
                        self.end(node, arm)
                case Continue(values=values):
                    for carry, item in zip(loops[-1].carries, values, strict=True):
                        self.give(carry.target, item, loops)
                case Site() | Yield():
                    pass
                case _:
                    self.plain = False

    def end(self, branch: Branch, arm: Region) -> None:
        last = arm.nodes[-1] if arm.nodes else None
        if isinstance(last, Yield):
            for result, item in zip(branch.results, last.values, strict=True):
                self.give(result, item, ())
        else:
            self.plain &= isinstance(last, Continue)

    def tasklet(self, node: Tasklet, loops: tuple[Loop, ...]) -> None:
        for value, memlet in node.reads:
            self.reads[value] = memlet, loops
        for let in node.lets:
            self.give(let.value, let.expr, loops)
        for memlet, expr in node.writes:
            self.written.add(memlet.container)
            self.give(memlet.container, expr, loops)

    def give(self, target: Value | str, item: Expr | View, loops: tuple[Loop, ...]) -> None:
        if isinstance(item, View):
            self.plain = False
        else:
            self.given.setdefault(target, []).append(_Given(item, loops))

    # -- sizes

    def needs(self, key: Value | str) -> Iterator[Value | str]:
        """What a number, or an element of an array, comes from at once."""
        if isinstance(key, Value) and key in self.reads:
            name = self.reads[key][0].container
            yield from (name,) if name in self.written else ()
        for given in self.given.get(key, ()):
            yield from (value for value in values_in(given.expr) if value in self.given or value in self.reads)

    def behind(self, key: Value | str) -> frozenset[Value | str]:
        """All that something comes from."""
        if key not in self.sources:
            found: set[Value | str] = set()
            pending = list(self.needs(key))
            while pending:
                other = pending.pop()
                if other not in found:
                    found.add(other)
                    pending += self.needs(other)
            self.sources[key] = frozenset(found)
        return self.sources[key]

    def size(self, key: Value | str) -> Expr:
        """What no absolute value of it exceeds."""
        if key not in self.known:
            group = frozenset(other for other in self.behind(key) if key in self.behind(other))
            wrapping: set[DType] = set()
            size = self.named(self.group_size(group or frozenset((key,)), wrapping))
            for dtype in wrapping:
                self.limits[_fits(size, dtype)] = None
            for member in group or (key,):
                self.known[member] = size
        return self.known[key]

    def group_size(self, group: frozenset[Value | str], wrapping: set[DType]) -> Expr:
        """The size of numbers that feed on each other, or of one that feeds on none; the types they may wrap in."""
        first, added = _ZERO, _ZERO
        for key in sorted(group, key=lambda one: one if isinstance(one, str) else f"%{one.id}"):
            if isinstance(key, str):
                around = max((given.loops for given in self.given.get(key, ())), key=len, default=(self.loop,))
                first = _larger(first, self.whole(key, around))
            elif key in self.vars:
                loop = self.vars[key]
                first = _larger(first, _larger(self.index(loop.start), self.index(loop.stop)))
            elif key in self.reads:
                memlet, loops = self.reads[key]
                if memlet.container not in group:
                    first = _larger(first, self.element(memlet, loops))
            elif key not in self.given:
                first = _larger(first, _absolute(key))
            for given in self.given.get(key, ()):
                part = self.part(given.expr, group, wrapping)
                if part.other is not None:
                    first = _larger(first, part.other)
                if part.more is not None and part.more != _ZERO:
                    added = _sum(added, _product(self.turns(given.loops), part.more))
        return _sum(first, added)

    def part(self, expr: Expr, group: frozenset[Value | str], wrapping: set[DType]) -> _Part:
        """An expression in terms of a group of numbers."""
        if isinstance(expr, Op) and expr.name in _WRAPPING:
            _check_sign(expr)
            wrapping |= {expr.type.dtype} if not expr.type.python else set()
        if expr in group:
            return _Part(_ZERO, None)
        if not values_in(expr) & group:
            return _Part(None, self.plain_size(expr))
        match expr:
            case Index():
                return self.index_part(expr, group)
            case Op(name="add" | "subtract", args=(left, right)):
                parts = self.part(left, group, wrapping), self.part(right, group, wrapping)
                if parts[0].more is not None and parts[1].more is not None:
                    raise _Unknown
                inside, beside = parts if parts[0].more is not None else parts[::-1]
                assert inside.more is not None
                assert beside.other is not None
                other = None if inside.other is None else _sum(inside.other, beside.other)
                return _Part(_sum(inside.more, beside.other), other)
            case Op(name="select", args=(_, *sides)) | Op(name="minimum" | "maximum", args=sides):
                return _either([self.part(side, group, wrapping) for side in sides])
            case Op(name="negative" | "absolute", args=(only,)):
                return self.part(only, group, wrapping)
            case Op(name="cast", args=(only,)) if _keeps(only, expr):
                return self.part(only, group, wrapping)
            case _:
                raise _Unknown

    def index_part(self, expr: Index, group: frozenset[Value | str]) -> _Part:
        inside = [(monomial, factor) for monomial, factor in expr.terms if group & frozenset(monomial)]
        if len(inside) != 1 or len(inside[0][0]) != 1 or abs(inside[0][1]) != 1:
            raise _Unknown
        ((monomial, factor),) = inside
        return _Part(self.index(expr - index(monomial[0]) * factor), None)

    def plain_size(self, expr: Expr) -> Expr:
        """The size of an expression of numbers of known size."""
        if expr.type.dtype.kind == "b":
            return const(1.0, NUMBER)
        if expr.type.dtype.kind not in "iu":
            raise _Unknown
        match expr:
            case Const(value=value):
                return const(float(abs(value)), NUMBER)
            case Index():
                return self.index(expr)
            case Value():
                return self.size(expr)
            case Op():
                return self.result(expr)

    def result(self, expr: Op) -> Expr:
        """The size of the result of an operation on integers."""
        size = self.result_size(expr)
        if expr.name in _WRAPPING and not expr.type.python:
            _check_sign(expr)
            self.limits[_fits(size, expr.type.dtype)] = None
        return size

    def result_size(self, expr: Op) -> Expr:
        match expr:
            case Op(name="add" | "subtract", args=(left, right)):
                return _sum(self.plain_size(left), self.plain_size(right))
            case Op(name="multiply", args=(left, right)):
                return _product(self.plain_size(left), self.plain_size(right))
            case Op(name="square", args=(only,)):
                return _product(self.plain_size(only), self.plain_size(only))
            case Op(name="negative" | "absolute", args=(only,)) | Op(name="floor_divide", args=(only, _)):
                return self.plain_size(only)
            case Op(name="remainder", args=(_, only)):
                return self.plain_size(only)
            case Op(name="select", args=(_, left, right)) | Op(name="minimum" | "maximum", args=(left, right)):
                return _larger(self.plain_size(left), self.plain_size(right))
            case Op(name="cast", args=(only,)) if _keeps(only, expr):
                return self.plain_size(only)
            case _:
                raise _Unknown

    def index(self, expr: Index) -> Expr:
        """The size of a polynomial."""
        if not expr.values & self.own:
            return _absolute(expr)
        size = _ZERO
        for monomial, factor in expr.terms:
            term: Expr = const(float(abs(factor)), NUMBER)
            for value in monomial:
                term = _product(term, self.size(value))
            size = _sum(size, term)
        return size

    def turns(self, loops: Iterable[Loop]) -> Expr:
        """How often at most what stands in loops is done."""
        product: Expr = const(1.0, NUMBER)
        for loop in loops:
            product = _product(product, _sum(self.index(loop.stop - loop.start), const(1.0, NUMBER)))
        return product

    # -- elements

    def named(self, size: Expr) -> Expr:
        """A size as a value of its own."""
        if not isinstance(size, Op):
            return size
        value = self.bench.value("size", NUMBER)
        self.nodes.append(Tasklet(lets=(Let(value, size),), id=self.bench.number(), span=self.loop.span))
        return value

    def element(self, memlet: Memlet, loops: tuple[Loop, ...]) -> Expr:
        """The size of the elements that the nest reads at a place."""
        over = [loop for loop in loops if any(loop.var in coordinate.values for coordinate in memlet.index)]
        moving = {loop.var for loop in over}
        fixed = all(self.own.isdisjoint(loop.start.values | loop.stop.values) and loop.step.constant for loop in over)
        facts = self.facts
        for loop in over:
            facts = facts.in_range(loop.var, loop.start, loop.stop, loop.step)
        if any((coordinate.values - moving) & self.own for coordinate in memlet.index) or not fixed:
            return self.whole(memlet.container, loops)
        if not is_inside(memlet, facts, self.bench):
            return self.whole(memlet.container, loops)
        if memlet not in self.looks:
            counts = [counted(loop, self.facts, self.bench) for loop in over]
            assert None not in counts
            found = [count for count in counts if count is not None]
            for count in found:
                self.nodes += computed(count.lets, self.loop, self.bench)
            turns = [turn_of(loop, count.trips, self.bench) for loop, count in zip(over, found, strict=True)]
            at: dict[Value, Expr] = {
                loop.var: count.at(turn) for loop, count, turn in zip(over, found, turns, strict=True)
            }
            shape = [count.trips for count in found]
            nodes, self.looks[memlet] = _largest(self.loop, self.bench, memlet, turns or None, shape, at)
            self.nodes += nodes
        return self.looks[memlet]

    def whole(self, name: str, loops: tuple[Loop, ...]) -> Expr:
        """The size of all elements of an array, infinite if those are many more than turns."""
        if name not in self.looks:
            bench, container = self.bench, self.bench.containers[name]
            if container.dtype.kind not in "iub" or any(extent.values & self.own for extent in container.shape):
                raise _Unknown
            params = [turn_of(self.loop, extent, bench) for extent in container.shape]
            memlet = Memlet(name, tuple(map(index, params)))
            nodes, most = _largest(self.loop, self.bench, memlet, params or None, list(container.shape), {})
            count: Expr = const(1.0, NUMBER)
            for extent in container.shape:
                count = _product(count, _absolute(extent))
            allowed = _sum(_product(self.turns(loops), const(_ELEMENTS_A_TURN, NUMBER)), const(_FEW, NUMBER))
            result = bench.value("size", NUMBER)
            self.nodes.append(
                Branch(
                    condition=op("less_equal", (count, allowed), NP_BOOL),
                    then=Region((*nodes, Yield((most,)))), orelse=Region((Yield((_INFINITE,)),)), results=(result,),
                    id=bench.number(), span=self.loop.span,
                )
            )  # fmt: skip
            self.looks[name] = result
        return self.looks[name]


def _largest(
    place: Loop, bench: Bench, memlet: Memlet, params: list[Value] | None, shape: list[Index], at: dict[Value, Expr]
) -> tuple[list[Node], Value]:
    """What finds the largest absolute value of elements, and that."""
    span, dtype = place.span, bench.containers[memlet.container].dtype
    if dtype.kind not in "iub":
        raise _Unknown
    if params is None:
        shape = [const_index(1)]
        params = [turn_of(place, shape[0], bench)]
    element = bench.value("x", ScalarType(dtype))
    source = Elements(
        tuple(params), tuple(shape), (Tasklet(reads=((element, memlet),), id=bench.number(), span=span),),
        _absolute(element),
    )  # fmt: skip
    container = bench.container("most", NUMBER.dtype, (), Storage.STACK)
    reduce = Reduce(
        op="maximum", output=full_view(container), input=source, axes=tuple(range(len(params))), initial=_ZERO,
        id=bench.number(), span=span,
    )  # fmt: skip
    most = bench.value("most", NUMBER)
    return [
        Alloc(container=container.name, site=-1, id=bench.number(), span=span),
        *with_fresh_values([reduce], bench.number, {**at, **{param: param for param in params}}),
        Tasklet(reads=((most, Memlet(container.name, ())),), id=bench.number(), span=span),
    ], most


def _fits(size: Expr, dtype: DType) -> Expr:
    """Whether what is computed in a type fits into it."""
    return op("less", (size, const(_MARGIN * dtype.bounds[1], NUMBER)), NP_BOOL)


def _check_sign(expr: Op) -> None:
    """Of numbers without sign, differences wrap around however small they are."""
    if expr.type.dtype.kind == "u" and expr.name not in ("add", "multiply", "square"):
        raise _Unknown


# ---- floats ---------------------------------------------------------------------------------------------------------


def _absolute(expr: Expr) -> Expr:
    return op("absolute", (op("cast", (expr,), NUMBER),), NUMBER)


def _sum(left: Expr, right: Expr) -> Expr:
    return right if left == _ZERO else left if right == _ZERO else op("add", (left, right), NUMBER)


def _product(left: Expr, right: Expr) -> Expr:
    one = const(1.0, NUMBER)
    return right if left == one else left if right == one else op("multiply", (left, right), NUMBER)


def _larger(left: Expr, right: Expr) -> Expr:
    return right if left in (_ZERO, right) else left if right == _ZERO else op("maximum", (left, right), NUMBER)


def _either(parts: Iterable[_Part]) -> _Part:
    more: Expr | None = None
    other: Expr | None = None
    for part in parts:
        if part.more is not None:
            more = part.more if more is None else _larger(more, part.more)
        if part.other is not None:
            other = part.other if other is None else _larger(other, part.other)
    return _Part(more, other)


def _keeps(source: Expr, target: Expr) -> bool:
    """Whether a conversion of integers keeps all of them."""
    if source.type.dtype.kind == "b":
        return True
    if source.type.dtype.kind not in "iu":
        return False
    (low, high), (least, most) = source.type.dtype.bounds, target.type.dtype.bounds
    return least <= low and high <= most
