"""Loops that only add up, multiply or compare become reductions of elements that are never stored.

before:  for k in 0:n carry (s = a) { x = A[i, k]; y = A[j, k]; p = multiply(x, y); r = subtract(s, p); continue r }
after:   alloc t
         reduce add t[] = elements at (k) over [n] { x = A[i, k]; y = A[j, k]; p = multiply(x, y) yield p } axes (0)
         d = t[]; s = subtract(a, d)

The value that grows is used for nothing else, and what is added does not depend on it (`accumulations`). The same holds
for one element of an array that every iteration adds to, if no other access in the loop may touch it. A loop around a
reduction it adds up becomes one reduction with it. An empty reduction gives what changes nothing, so the value before
the loop is kept to the bit.

A body that also writes arrays stays a loop, unless the user wished it parallel: then the reductions come first, if they
read nothing that is written, and the rest is left for a map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.cost import expression_weight
from weft.analysis.effects import Access, Iterator
from weft.analysis.facts import Facts
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Const, Expr, Index, Value, const_index, index, values_in
from weft.ir.nodes import Branch, Carry, Continue, Elements, Let, Loop, Memlet, Node, Program, Region, Tasklet, View
from weft.ir.traverse import all_nodes, values_defined_in
from weft.passes.accumulations import Recogniser, Step, used_by
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import (
    computed,
    continued,
    ends,
    invariant_branch,
    is_less,
    later_turn,
    only_if,
    rewrite_loops,
    straight,
)
from weft.passes.reduction_building import Fixed, Place, Target, build_reductions, covers, ended
from weft.passes.straight_code import Code, Write, is_inside, straight_code, values_of
from weft.passes.tasklets import numbered
from weft.support.records import record

# Several reductions of one loop each compute what they share: so much of it is cheaper than a loop in order.
_SHARED_WEIGHT = 24


@record
class LoopReductions:
    """Turn accumulating loops into reductions."""

    name: ClassVar[str] = "loop-reductions"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer loops."""
        return rewrite_loops(self.name, program, session, reduced)


def reduced(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    """What a loop becomes; None if it stays one."""
    if loop.wish:  # what was just written is not read again: it may be what is added up
        loop = replace(loop, body=numbered(loop.body, bench.legality.memory.may_overlap))
    body = straight(loop, named)
    branch = None if body is None or loop.carries else invariant_branch(loop, body)
    if branch is not None:
        inside = replace(loop, body=Region((*branch.then.nodes[:-1], Continue())))
        made = reduced(inside, facts.given(branch.condition), bench, named)
        return None if made is None else [only_if(branch.condition, made, branch.span, bench)]
    if body is None or any(isinstance(carry.target, str) for carry in loop.carries):
        return None
    place = Place(loop, facts, facts.inside(loop, bench.legality.memory)[0], bench)
    code = straight_code(body, place.inside, bench)
    if code is None or not (loop.carries or code.writes):
        return None
    if not loop.carries:
        return _accumulated(place, code)
    kept, carries = _unchanged(place)
    fixed, growing = _constant(code, carries)
    targets = _carried(place, code, growing, fixed)
    if targets is None:
        return None
    made: list[Node] | None = None
    if code.writes:
        made = _split(place, body, code, targets, fixed) if loop.wish or _is_light(code, targets) else None
    elif covers(code, targets, loop) and _is_cheap(place, code, targets):
        made = build_reductions(place, code, targets)
    return None if made is None else [*kept, *made, *ended(place, fixed)]


# ---- carries --------------------------------------------------------------------------------------------------------


def _unchanged(place: Place) -> tuple[list[Node], list[tuple[Carry, Expr]]]:
    """Carries that never change as definitions before the loop, and the others with what they become."""
    kept: list[Let] = []
    others: list[tuple[Carry, Expr]] = []
    for carry, end in zip(place.loop.carries, continued(place.loop).values, strict=True):
        target, init = carry.target, carry.init
        assert isinstance(target, Value)
        assert not isinstance(end, View)
        same = end == target or (target.type == PY_INT and end is index(target))
        if same and not isinstance(init, View) and init.type == target.type:
            kept.append(Let(target, init))
        else:
            others.append((carry, end))
    return computed(tuple(kept), place.loop, place.bench), others


def _constant(code: Code, carries: Sequence[tuple[Carry, Expr]]) -> tuple[list[Fixed], list[tuple[Carry, Expr]]]:
    """Carries that every iteration gives the same literal, and that it does not look at; and the others."""
    looked_at = set(values_of(end for _, end in carries)).union(*(code.uses(value) for value in code.order))
    looked_at |= set(values_of(write.expr for write in code.writes))
    fixed: list[Fixed] = []
    others: list[tuple[Carry, Expr]] = []
    for carry, end in carries:
        literal = isinstance(end, Const) or (isinstance(end, Index) and not end.values)
        if literal and carry.target not in looked_at:
            fixed.append(Fixed(carry, end))
        else:
            others.append((carry, end))
    return fixed, others


def _carried(
    place: Place, code: Code, carries: Sequence[tuple[Carry, Expr]], fixed: list[Fixed]
) -> list[Target] | None:
    """The carries, if all of them are accumulations, or flags. Those that nothing in the loop decides are `fixed`."""
    flags: list[tuple[Carry, Step]] = []
    targets: list[Target] = []
    sites = place.bench.program.warn_sites
    for carry, end in carries:
        assert isinstance(carry.target, Value)
        step = Recogniser(code, carry.target, sites).step(end)
        if step is not None and step.combine == "set":
            flags.append((carry, step))
    beside = frozenset[Value]().union(*(step.private for _, step in flags))
    for carry, end in carries:
        assert isinstance(carry.target, Value)
        step = Recogniser(code, carry.target, sites, beside).step(end)
        if step is None or not _starts_well(carry, step):
            return _refused(place, carry.target)
        if (carry, step) not in flags:
            targets.append(Target(carry.target, step, carry=carry))
    for flag in flags:
        _place_flag(place, code, flag, targets, fixed)
    return targets if _are_apart(place, code, targets, carries) else None


def _place_flag(place: Place, code: Code, flag: tuple[Carry, Step], targets: list[Target], fixed: list[Fixed]) -> None:
    """A flag that is set where an extreme changes goes with it, one that nothing in the loop decides with the fixed."""
    carry, step = flag
    assert isinstance(carry.target, Value)
    assert step.chosen is not None
    compared = code.defined(step.element)[0]
    leader = next((one for one in targets if one.step.condition is compared), None)
    if leader is not None and leader.step.combine in ("greater", "less"):
        targets[targets.index(leader)] = replace(leader, flags=(*leader.flags, flag))
    elif code.origins(step.element) & values_defined_in(place.loop):
        targets.append(Target(carry.target, step, carry=carry))
    else:
        fixed.append(Fixed(carry, step.chosen, step.element, step.private))


def _are_apart(place: Place, code: Code, targets: Sequence[Target], carries: Sequence[tuple[Carry, Expr]]) -> bool:
    """Whether what is added up depends on nothing that is carried, and nobody looks at it as it grows."""
    starts = {carry.target for carry, _ in carries}
    for target in targets:
        own = {target.start, *target.step.private}
        others = set(values_of(end for carry, end in carries if carry is not target.carry))
        if starts & code.origins(target.step.element) or others & own:
            _refused(place, target.start)
            return False
    return True


def _refused(place: Place, start: Value) -> None:
    place.note(f"{start.name} is more than added up in the loop over {place.name}", done=False)


def _starts_well(carry: Carry, step: Step) -> bool:
    """A product starts from 1: from elsewhere, another order could overflow where this one does not."""
    return step.op != "multiply" or (isinstance(carry.init, Const) and carry.init.value == 1)


def _is_cheap(place: Place, code: Code, targets: Sequence[Target]) -> bool:
    """Whether several reductions do not compute too much more than the loop did."""
    if len(targets) < 2 or place.loop.wish:
        return True
    needs = [code.needs(values_in(target.step.element)) for target in targets]
    apart = sum(_weight(code, value) for need in needs for value in need)
    together = sum(_weight(code, value) for value in set[Value]().union(*needs))
    if apart - together <= _SHARED_WEIGHT:
        return True
    place.note(f"the sums of the loop over {place.name} share too much work", done=False)
    return False


def _is_light(code: Code, targets: Sequence[Target]) -> bool:
    """Whether what is added up costs little, so that it may as well be computed in a sweep of its own."""
    needed = set[Value]().union(*(code.needs(values_in(target.step.element)) for target in targets))
    return sum(_weight(code, value) for value in needed) <= _SHARED_WEIGHT


def _weight(code: Code, value: Value) -> int:
    return expression_weight(code.lets[value].expr) if value in code.lets else 1


# ---- elements that grow ---------------------------------------------------------------------------------------------


def _accumulated(place: Place, code: Code) -> list[Node] | None:
    """All writes add to elements that are the same in every iteration."""
    loop, bench = place.loop, place.bench
    targets: list[Target] = []
    for write in code.writes:
        target = _growing(place, code, write)
        if target is None:
            return None
        targets.append(target)
    if not covers(code, targets, loop) or not _is_cheap(place, code, targets):
        return None
    nodes = build_reductions(place, code, targets)
    if all(is_inside(write.memlet, place.facts, bench) for write in code.writes):
        return nodes
    lower, upper = ends(loop)
    if bench.legality.is_nonnegative(upper - lower - 1, place.facts):
        return nodes
    return [only_if(is_less(lower, upper), nodes, loop.span, bench)]  # without an iteration, it may not exist


def _growing(place: Place, code: Code, write: Write) -> Target | None:
    defined = values_defined_in(place.loop)
    if write.memlet.conflict or any(coordinate.values & defined for coordinate in write.memlet.index):
        return None
    same = [value for value, memlet in code.reads.items() if memlet == write.memlet]
    if len(same) != 1 or same[0] in code.supposed:
        return None
    step = Recogniser(code, same[0], place.bench.program.warn_sites).step(write.expr, write)
    if step is None or step.op == "multiply" or not _is_alone(place, code, write, same[0]):
        return None
    return Target(same[0], step, write=write)


def _is_alone(place: Place, code: Code, write: Write, read: Value) -> bool:
    """No other access in the loop may touch the element."""
    mine = Access(write.memlet.container, _resolved(place, write.memlet), writes=True)
    others = [_access(place, memlet) for value, memlet in code.reads.items() if value != read]
    others += [_access(place, other.memlet) for other in code.writes if other is not write]
    others += [
        _access(place, memlet, reduce.input)
        for reduce in code.reduces.values()
        if isinstance(reduce.input, Elements)
        for tasklet in reduce.input.body
        for _, memlet in tasklet.reads
    ]
    return not any(place.bench.legality.intersect(mine, other, place.facts) for other in others)


def _access(place: Place, memlet: Memlet, elements: Elements | None = None) -> Access:
    loop = place.loop
    iterators = [Iterator(loop.var, loop.start, loop.stop, loop.step)]
    if elements is not None:
        pairs = zip(elements.params, elements.shape, strict=True)
        iterators += [Iterator(param, const_index(0), extent, const_index(1)) for param, extent in pairs]
    return Access(memlet.container, _resolved(place, memlet), writes=False, iterators=tuple(iterators))


def _resolved(place: Place, memlet: Memlet) -> tuple[Index, ...]:
    return tuple(coordinate.substitute(place.facts.definitions) for coordinate in memlet.index)


# ---- reductions and writes, as wished -------------------------------------------------------------------------------


def _split(
    place: Place, body: Sequence[Node], code: Code, targets: Sequence[Target], fixed: Sequence[Fixed]
) -> list[Node] | None:
    """The reductions first, then the loop without them, if its iterations are independent; or behind what they read."""
    own = frozenset[Value]().union(*(one.private for one in (*targets, *fixed)))
    terms = code.needs(value for target in targets for value in values_in(target.step.element))
    own |= terms - code.needs(value for write in code.writes for value in used_by(write))
    rest = [kept for node in body for kept in _without(node, own)]
    if not all(isinstance(node, Tasklet) for node in rest):
        return None
    needed = [value for target in targets for value in values_in(target.step.element)]
    reading = replace(place.loop, carries=(), body=Region((*code.slice_of(needed), Continue())))
    loop = replace(reading, body=Region((*rest, Continue())))
    legality = place.bench.legality
    if legality.carried(loop, place.facts, first=True):
        return None
    if not legality.between(reading, loop, place.facts):
        return [*build_reductions(place, code, targets), loop]
    if place.loop.wish or _is_read_first(place, body, terms):
        return None
    if _is_changed_later(place, rest, reading.body.nodes[:-1]):
        return None
    return [loop, *build_reductions(place, code, targets)]


def _is_read_first(place: Place, body: Sequence[Node], terms: set[Value]) -> bool:
    """Whether a turn may read a term where it writes afterwards."""
    overlaps = place.bench.legality.memory.may_overlap
    written: set[str] = set()
    for node in reversed(body):
        tasklets = [inner for inner in all_nodes(Region((node,))) if isinstance(inner, Tasklet)]
        written.update(memlet.container for tasklet in tasklets for memlet, _ in tasklet.writes)
        reads = {memlet.container for tasklet in tasklets for value, memlet in tasklet.reads if value in terms}
        if any(overlaps(read, write) for read in reads for write in written):
            return True
    return False


def _is_changed_later(place: Place, written: Sequence[Node], read: Sequence[Node]) -> bool:
    """Whether a later turn may write what the terms of an earlier one are read from."""
    later = later_turn(place.loop, written, place.bench)
    known = later.facts(place.facts, place.bench, 1)
    return bool(place.bench.legality.between(tuple(read), later.nodes, known, instances=True))


def _without(node: Node, own: frozenset[Value]) -> list[Node]:
    """A node without some definitions; nothing where nothing is left of it."""
    if isinstance(node, Branch):
        return [] if own.issuperset(node.results) else [node]
    if not isinstance(node, Tasklet):
        return [node]
    lets = tuple(let for let in node.lets if let.value not in own)
    reads = tuple(read for read in node.reads if read[0] not in own)
    return [replace(node, reads=reads, lets=lets)] if lets or reads or node.writes else []
