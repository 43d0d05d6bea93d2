"""Reductions out of what a loop adds up.

in:   a loop (`Place`), its code, what grows in it (`Target`)
out:  nodes: memory on the stack for the total, the reduction, and the value or element after the loop

Around a reduction whose result is what a loop adds up, both become one reduction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.analysis.facts import Facts
from weft.ir.dtypes import NP_BOOL
from weft.ir.exprs import Expr, Value, op, values_in
from weft.ir.neutral import neutral
from weft.ir.nodes import (
    Alloc,
    Carry,
    Elements,
    Let,
    Loop,
    Memlet,
    Node,
    Reduce,
    Storage,
    Tasklet,
    View,
    full_view,
)  # fmt: skip
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import values_defined_in
from weft.passes.accumulations import Step, combined, raised
from weft.passes.base import Bench
from weft.passes.loop_bodies import Count, computed, counted, ends, is_less, turn_of
from weft.passes.straight_code import Code, Write, bare_value
from weft.passes.tasklets import can_warn
from weft.support.records import record


@record
class Place:
    """A loop, the facts where it stands and in its body."""

    loop: Loop
    facts: Facts
    inside: Facts
    bench: Bench

    @property
    def name(self) -> str:
        """Of its variable."""
        return self.loop.var.name

    def note(self, text: str, *, done: bool) -> None:
        """Say what was done, or why not."""
        self.bench.note(text, self.loop, done=done)


@record
class Target:
    """Something that grows: a carry, or an element that is written. `start` is it as an iteration begins.

    `flags` are carries that are set where this one changes, and what they are set to.
    """

    start: Value
    step: Step
    carry: Carry | None = None
    write: Write | None = None
    flags: tuple[tuple[Carry, Step], ...] = ()

    @property
    def private(self) -> frozenset[Value]:
        """The definitions that serve only this, and its flags."""
        return self.step.private.union(*(step.private for _, step in self.flags))

    @property
    def described(self) -> str:
        """For the user."""
        return self.start.name if self.write is None else f"an element of {self.write.memlet.container}"


@record
class Fixed:
    """A carry that every iteration gives the same value, under a condition that is the same in all of them."""

    carry: Carry
    end: Expr
    condition: Expr | None = None
    private: frozenset[Value] = frozenset()


def covers(code: Code, targets: Sequence[Target], loop: Loop) -> bool:
    """Whether reductions of the targets do all that the code does: results inside are used, warnings given."""
    used: set[str] = set()
    needed: set[Value] = set()
    for target in targets:
        inner = _inner(code, target.step)
        if inner is not None:
            if not _joins(inner, target.step, loop):
                return False
            used.add(inner.output.container)
            needed |= code.needs(_used_in(inner))
        else:
            needed |= code.needs(values_in(target.step.element))
        needed |= target.private
    reads = (code.reads[value].container for value in needed if value in code.reads)
    dropped = (let for value, let in code.lets.items() if value not in needed)
    return (
        used == code.reduces.keys()
        and used.isdisjoint(reads)
        and not any(let.warn >= 0 and can_warn(let.expr) for let in dropped)
    )


def _inner(code: Code, step: Step) -> Reduce | None:
    """The reduction whose result is what a step adds."""
    total = bare_value(step.element)
    if total is None or total not in code.reads:
        return None
    return code.reduces.get(code.reads[total].container)


def _joins(inner: Reduce, step: Step, loop: Loop) -> bool:
    """Whether a reduction inside a loop and the step of the loop are one reduction over a box."""
    if inner.op != step.op or not isinstance(inner.input, Elements):
        return False
    defined = values_defined_in(loop)
    return not any(extent.values & defined for extent in inner.input.shape)


def _used_in(inner: Reduce) -> Iterable[Value]:
    assert isinstance(inner.input, Elements)
    for tasklet in inner.input.body:
        for _, memlet in tasklet.reads:
            for coordinate in memlet.index:
                yield from coordinate.values
        for let in tasklet.lets:
            yield from values_in(let.expr)
    yield from values_in(inner.input.expr)


def build_reductions(place: Place, code: Code, targets: Sequence[Target]) -> list[Node]:
    """The reductions, and what the targets are after them."""
    count = counted(place.loop, place.facts, place.bench)
    assert count is not None
    nodes = computed(count.lets, place.loop, place.bench)
    for target in targets:
        nodes += _build(place, code, target, count)
        place.note(f"{target.described} is a reduction over {place.name}", done=True)
    return nodes


def _build(place: Place, code: Code, target: Target, count: Count) -> list[Node]:
    step, bench, span = target.step, place.bench, place.loop.span
    type_ = NP_BOOL if step.combine == "set" else target.start.type
    container = bench.container("total", type_.dtype, (), Storage.STACK)
    turn = turn_of(place.loop, count.trips, bench)
    source = _elements(code, step, turn, count)
    reduce = Reduce(
        op=step.op, output=full_view(container), input=source, axes=tuple(range(source.rank)),
        initial=neutral(step.op, type_), warn=step.warn, id=bench.number(), span=span,
    )  # fmt: skip
    alloc = Alloc(container=container.name, site=-1, id=bench.number(), span=span)
    # Fresh values: several reductions may compute the same things.
    made = with_fresh_values([reduce], bench.number, {place.loop.var: count.at(turn), turn: turn})
    return [alloc, *made, _finish(place, target, bench.value("total", type_), container.name)]


def _elements(code: Code, step: Step, turn: Value, count: Count) -> Elements:
    """What is added up; around a reduction, all that it adds up."""
    inner = _inner(code, step)
    if inner is None:
        return Elements((turn,), (count.trips,), tuple(code.slice_of(values_in(step.element))), step.element)
    source = inner.input
    assert isinstance(source, Elements)
    body = code.slice_of(_used_in(inner))
    return Elements((turn, *source.params), (count.trips, *source.shape), (*body, *source.body), source.expr)


def _finish(place: Place, target: Target, total: Value, container: str) -> Tasklet:
    """The value, or the element, after the loop."""
    reads = ((total, Memlet(container, ())),)
    step, bench, type_ = target.step, place.bench, target.start.type
    if target.carry is not None:
        init: Expr | View = target.carry.init
        assert not isinstance(init, View)
        let = Let(target.start, combined(step, init, total, type_), step.warn)
        lets = (let, *(_flagged(flag, given, step, init, total) for flag, given in target.flags))
        return Tasklet(reads=reads, lets=lets, id=bench.number(), span=place.loop.span)
    assert target.write is not None
    memlet = target.write.memlet
    before, after = (bench.value(target.start.name, type_) for _ in range(2))
    return Tasklet(
        reads=((before, memlet), *reads),
        lets=(Let(after, combined(step, before, total, type_), step.warn),),
        writes=((memlet, after),),
        id=bench.number(),
        span=target.write.span,
    )


def _flagged(flag: Carry, given: Step, leader: Step, before: Expr, total: Value) -> Let:
    """A flag after the loop: set if the extreme it follows has changed at all."""
    target, init = flag.target, flag.init
    assert isinstance(target, Value)
    assert not isinstance(init, View)
    assert given.chosen is not None
    changed = op(leader.combine, (total, raised(before, total.type)), NP_BOOL)
    return Let(target, op("select", (changed, given.chosen, raised(init, target.type)), target.type))


def ended(place: Place, fixed: Sequence[Fixed]) -> list[Node]:
    """Carries that every iteration gives the same value: that, if there was one."""
    lets: list[Let] = []
    some: Expr = is_less(*ends(place.loop))
    for one in fixed:
        assert isinstance(one.carry.target, Value)
        assert not isinstance(one.carry.init, View)
        taken = some if one.condition is None else op("logical_and", (some, one.condition), NP_BOOL)
        target = one.carry.target
        lets.append(Let(target, op("select", (taken, one.end, raised(one.carry.init, target.type)), target.type)))
    return computed(tuple(lets), place.loop, place.bench)
