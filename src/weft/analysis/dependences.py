"""The legality core: every pass asks here, and an answer that is not a proof is "no".

in:   nodes of a program, the facts in force where they stand
out:  the dependences between them (flow, anti, output): pairs of accesses, at least one of which writes, that may meet
      on an element in the instances asked about; containment of subsets; proofs of conditions

`docs/legality.md` works through examples. Three instances matter:
- `between(a, b)`: any point of a against any point of b: may the two change places?
- `carried(loop)`: two different iterations of a loop: may they run in any order?
- `elsewhere(a, b)`: two maps at two different points: may they become one map?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Iterator as Generator
from dataclasses import replace
from enum import Enum

from weft.analysis.conditions import Clause, clause_implies, clauses_of, follows, least_in_box
from weft.analysis.effects import Access, Effects, Iterator, effects_of
from weft.analysis.exits import Exits
from weft.analysis.facts import Constraint, Facts, constraints_of
from weft.analysis.integer_sets import Instance, Points, Solver, System, Term
from weft.analysis.memory import Memory
from weft.analysis.ranges import is_nonnegative
from weft.ir.exprs import Expr, Index, Value, index
from weft.ir.nodes import Alloc, Container, Loop, Map, Node, Program, Storage
from weft.support.records import record


class Kind(Enum):
    """Why two accesses may not change places: the earlier one first."""

    FLOW = "flow"  # a write, then a read of it
    ANTI = "anti"  # a read, then a write over it
    OUTPUT = "output"  # two writes


ALL_KINDS = frozenset(Kind)


@record
class Dependence:
    """Two accesses that may meet: `source` comes first."""

    kind: Kind
    source: Access
    sink: Access


class Legality:
    """The questions. One per pass and program; the solver with its answers lives as long as the compile."""

    def __init__(
        self,
        program: Program,
        solver: Solver,
        kinds: frozenset[Kind] = ALL_KINDS,
        containers: Mapping[str, Container] | None = None,
    ) -> None:
        self.memory = Memory(program.containers if containers is None else containers)
        self.solver = solver
        self.kinds = kinds
        self._exits = Exits(program.body, self.memory)

    # ---- dependences ----

    def between(
        self, first: Node | Sequence[Node], second: Node | Sequence[Node], facts: Facts, *, instances: bool = False
    ) -> list[Dependence]:
        """What keeps `second` from being done before `first`, or beside it, at any points.

        As two `instances` of what stands in a loop, each has for itself what both allocate.
        """
        for node in (first, second):
            facts = facts.after(node) if isinstance(node, Alloc) else facts
        with self.solver.timed():
            left, right = effects_of(first, facts.definitions), effects_of(second, facts.definitions)
            if instances:
                own = left.allocates & right.allocates
                left, right = _without(left, own), _without(right, own)
            return self._dependences(left, right, facts, _anything)

    def independent(self, first: Node | Sequence[Node], second: Node | Sequence[Node], facts: Facts) -> bool:
        """Whether two runs of nodes may change places.

        There is no dependence, neither may end the loop or region around them before the other has run, and no write
        that Python sees crosses an exit.
        """
        if effects_of(first).jumps or effects_of(second).jumps:
            return False
        return not self.between(first, second, facts) and not self.crosses_exit(first, second)

    def crosses_exit(self, first: Node | Sequence[Node], second: Node | Sequence[Node]) -> bool:
        """Whether one may leave the program while the other writes what Python would see there."""
        before = self._exits.may_leave_before
        return before(first, second) or before(second, first)

    def may_share(self, left: str, right: str) -> bool:
        """Whether two containers may share memory where both are used, in one iteration of the loops around."""
        return self._exits.may_share(left, right)

    def carried(self, loop: Loop, facts: Facts, *, first: bool = False) -> list[Dependence]:
        """What one iteration of a loop does to a later one. `facts` are those where the loop stands.

        Memory that the body allocates is its own in every iteration. With `first`, one dependence is enough.
        """
        with self.solver.timed():
            effects = effects_of(loop, facts.definitions)
            shared = [access for access in effects.accesses if access.container not in effects.allocates]
            shared.sort(key=lambda access: not access.writes)  # two writes are the cheapest to compare
            own = replace(effects, accesses=tuple(shared))
            return self._dependences(own, own, facts, _later(loop), first=first)

    def elsewhere(self, first: Map, second: Map, facts: Facts) -> list[Dependence]:
        """What two maps of one rank do to each other at different points: in their way of becoming one map."""
        with self.solver.timed():
            left, right = effects_of(first, facts.definitions), effects_of(second, facts.definitions)
            pairs = [(index(p), index(q)) for p, q in zip(first.params, second.params, strict=True)]
            return self._dependences(left, right, facts, _different(pairs))

    def may_meet_across(self, left: Owned, right: Owned, facts: Facts, rows: Rows, varying: frozenset[Value]) -> bool:
        """Whether two nodes may touch an element, one of them writing, on two different threads of a team.

        What stands in `varying` is another value in each of the two. See `weft.ir.schedules.Team` for rows and owners.
        """
        relation = _owners(left.owner, right.owner, rows)
        with self.solver.timed():
            for source in left.accesses:
                for sink in right.accesses:
                    if _kind(source, sink) is None or _kind(source, sink) not in self.kinds:
                        continue
                    if not self.memory.may_overlap(source.container, sink.container, facts.apart):
                        continue
                    pair = _Pair(source, sink, varying | own_values(source), varying | own_values(sink))
                    if self._may_meet(pair, facts, relation, frozenset()):
                        return True
        return False

    def _dependences(
        self, left: Effects, right: Effects, facts: Facts, relation: _Relation, *, first: bool = False
    ) -> list[Dependence]:
        meeting = self._meeting(left, right, facts)
        if not meeting:
            return []
        rebound = left.binds | right.binds
        extents = self.extents_of(rebound)
        found: list[Dependence] = []
        for source in left.accesses:
            for sink in right.accesses:
                if (source.container, sink.container) not in meeting:
                    continue
                kind = _kind(source, sink)
                if kind is None or kind not in self.kinds:
                    continue
                pair = _Pair(
                    source,
                    sink,
                    left.varying | extents | own_values(source),
                    right.varying | extents | own_values(sink),
                )
                if self._may_meet(pair, facts, relation, rebound):
                    found.append(Dependence(kind, source, sink))
                    if first:
                        return found
        return found

    def _meeting(self, left: Effects, right: Effects, facts: Facts) -> set[tuple[str, str]]:
        """The pairs of containers, one of them written, that may share memory."""
        ours, theirs = _by_container(left), _by_container(right)
        return {
            (a, b)
            for a, a_writes in ours.items()
            for b, b_writes in theirs.items()
            if (a_writes or b_writes) and self.memory.may_overlap(a, b, facts.apart)
        }

    def extents_of(self, refs: Iterable[str]) -> frozenset[Value]:
        """The values that the binding of refs defines."""
        shapes = (self.memory.containers[name].shape for name in refs)
        return frozenset(value for shape in shapes for extent in shape for value in extent.values)

    def _may_meet(self, pair: _Pair, facts: Facts, relation: _Relation, rebound: frozenset[str]) -> bool:
        """Whether two accesses may touch one element, in instances that stand in a relation."""
        self.solver.work.questions += 1
        source, sink = pair.source, pair.sink
        if source.container != sink.container or source.whole or sink.whole or source.container in rebound:
            self.solver.work.quick += 1
            return True
        quickly = relation.quickly(pair)
        if quickly is not None:
            self.solver.work.quick += 1
            return quickly
        system = System()
        first, second = Instance(pair.left, 0), Instance(pair.right, 1)
        for a, b in zip(source.index, sink.index, strict=True):
            system.equal((a, first), (b, second))
        self._within(system, source, first)
        self._within(system, sink, second)
        for pairs in relation.orders(first, second):
            system.less(*pairs)
        return self.solver.may_hold(system, facts.constraints)

    def _within(self, system: System, access: Access, instance: Instance) -> None:
        """The iterators are in their ranges, the conditions around hold, and the element exists."""
        for constraint in _domain(access):
            if constraint.equal:
                system.zero(constraint.index, instance)
            else:
                system.nonnegative(constraint.index, instance)
        container = self.memory.containers[access.container]
        if container.storage is Storage.REF:
            return  # its extents are those of one binding
        for coordinate, extent in zip(access.index, container.shape, strict=True):
            if coordinate.constant is None:
                system.nonnegative(coordinate, instance)
                system.nonnegative(extent - coordinate - 1, instance)

    # ---- subsets ----

    def contains(self, outer: Access, inner: Access, facts: Facts, varying: frozenset[Value] = frozenset()) -> bool:
        """Whether every element `inner` touches is provably touched by `outer`, whatever the values outside are."""
        with self.solver.timed():
            self.solver.work.questions += 1
            if outer.container != inner.container or outer.whole or inner.whole or outer.conditions:
                return False
            around, part = _points(outer, varying), _points(inner, varying)
            if around is None or part is None:
                return False
            return self.solver.contains(around, part, facts.constraints)

    def same(self, left: Access, right: Access, facts: Facts) -> bool:
        """Whether two accesses provably touch the same elements."""
        return self.contains(left, right, facts) and self.contains(right, left, facts)

    def intersect(self, left: Access, right: Access, facts: Facts) -> bool:
        """Whether two accesses may touch a common element."""
        if not self.memory.may_overlap(left.container, right.container, facts.apart):
            return False
        with self.solver.timed():
            pair = _Pair(left, right, own_values(left), own_values(right))
            return self._may_meet(pair, facts, _anything, frozenset())

    # ---- conditions ----

    def proves(self, condition: Expr, facts: Facts) -> bool:
        """Whether a condition provably holds: of each of its clauses the facts imply an alternative."""
        return all(self._proves_one(clause, facts) for clause in clauses_of(condition))

    def _proves_one(self, clause: Clause, facts: Facts) -> bool:
        atoms = [atom for atom in clause if isinstance(atom, Constraint)]
        if len(clause) > 1 and any(clause_implies(known, clause) for known in facts.alternatives):
            return True
        return any(self.holds(atom, facts) for atom in atoms)

    def holds(self, constraint: Constraint, facts: Facts) -> bool:
        """Whether a constraint follows from the facts."""
        wanted = constraint.index.substitute(facts.definitions)
        if constraint.equal:
            return self.is_nonnegative(wanted, facts) and self.is_nonnegative(-wanted, facts)
        return self.is_nonnegative(wanted, facts)

    def is_nonnegative(self, polynomial: Index, facts: Facts) -> bool:
        """Whether a polynomial is never negative under the facts."""
        self.solver.work.questions += 1
        near = [fact for fact in facts.constraints if not fact.index.values.isdisjoint(polynomial.values)]
        if is_nonnegative(polynomial) or any(follows(polynomial, fact) for fact in near):
            self.solver.work.quick += 1
            return True
        least = least_in_box(polynomial, near)
        if least is not None:
            self.solver.work.quick += 1
            return least >= 0
        with self.solver.timed():
            system = System()
            system.nonnegative(-polynomial - 1, None)
            return not self.solver.may_hold(system, facts.constraints)


Rows = tuple[Index, Index]


@record
class Owned:
    """Accesses of a node, and the row they belong to; None where any thread, or all of them, may do any of it."""

    accesses: tuple[Access, ...]
    owner: Index | None


# ---- relations between instances ------------------------------------------------------------------------------------


@record
class _Pair:
    source: Access
    sink: Access
    left: frozenset[Value]
    right: frozenset[Value]


@record
class _Relation:
    """How the instances of a question relate. `forced` are pairs of polynomials that are known to differ."""

    orders: Callable[[Instance, Instance], list[list[tuple[Term, Term]]]]
    forced: tuple[tuple[Index, Index], ...] = ()
    later: int = 0  # the sign of the step, where the second instance is a later iteration of a loop
    rows: bool = False  # the pair are rows that points belong to, not variables of loops

    def quickly(self, pair: _Pair) -> bool | None:
        """An answer that needs no sets: True if they meet (or may well), False if they cannot, None if unknown."""
        varying = pair.left | pair.right
        for a, b in zip(pair.source.index, pair.sink.index, strict=True):
            if (a - b).constant not in (None, 0) and a.values.isdisjoint(varying) and b.values.isdisjoint(varying):
                return False  # two different constants
        if not self.forced:
            return None
        if all(_separates(pair, left, right) for left, right in self.forced):
            return False
        if self.rows:
            return True if self._is_beside(pair) else None
        return True if self._stands_still(pair) or self._is_shift(pair, varying) else None

    def _is_beside(self, pair: _Pair) -> bool:
        """Whether two accesses are some rows beside those they belong to, each another number: neighbours meet."""
        left, right = self.forced[0]
        offsets = [(pair.source.index[0] - left).constant, (pair.sink.index[0] - right).constant]
        return bool(left.values and right.values) and None not in offsets and offsets[0] != offsets[1]

    def _stands_still(self, pair: _Pair) -> bool:
        """Whether an access is the same in all iterations of a loop: if it happens twice, it meets itself."""
        if not self.later or pair.source != pair.sink or pair.source.conditions:
            return False
        bounds = [bound for i in pair.source.iterators[1:] for bound in (i.start, i.stop, i.step)]
        variable = self.forced[0][0].values
        return all(variable.isdisjoint(part.values) for part in (*pair.source.index, *bounds))

    def _is_shift(self, pair: _Pair, varying: frozenset[Value]) -> bool:
        """Whether the indices differ by a constant shift along whole unit steps: then neighbours meet.

        Only where the ranges are symbolic: those of a few known iterations may end before the shift does.
        """
        iterators = pair.source.iterators + pair.sink.iterators
        if pair.source.conditions or pair.sink.conditions:
            return False
        if any(abs(i.step.constant or 0) != 1 or (i.stop - i.start).constant is not None for i in iterators):
            return False
        names = {value: left for left, right in self.forced for value in right.values}
        shifted = False
        for a, b in zip(pair.source.index, pair.sink.index, strict=True):
            moving = [(monomial, c) for monomial, c in a.terms if not varying.isdisjoint(monomial)]
            distance = (a - b.substitute(names)).constant
            if distance is None or len(moving) > 1 or (moving and abs(moving[0][1]) != 1):
                return False
            if self.later and moving and moving[0][0] == tuple(self.forced[0][0].values):
                shifted |= distance * moving[0][1] * self.later > 0
            elif not self.later:
                shifted |= distance != 0 and bool(moving)
        return shifted


def _separates(pair: _Pair, left: Index, right: Index) -> bool:
    """One axis is indexed by the very thing that differs, plus the same invariant on both sides."""
    for a, b in zip(pair.source.index, pair.sink.index, strict=True):
        rest, other = a - left, b - right
        if rest is other and rest.values.isdisjoint(pair.left | pair.right):
            return True
    return False


_anything = _Relation(lambda _a, _b: [])


def _later(loop: Loop) -> _Relation:
    """The second instance is a later iteration."""
    position, step = index(loop.var), loop.step.constant

    def orders(first: Instance, second: Instance) -> list[list[tuple[Term, Term]]]:
        up = ((position, first), (position, second))
        down = ((position, second), (position, first))
        if step is None:
            return [[up, down]]
        return [[down if step < 0 else up]]

    sign = 0 if step is None else 1 if step > 0 else -1
    return _Relation(orders, ((position, position),), sign)


def _different(pairs: list[tuple[Index, Index]]) -> _Relation:
    """The points differ in some coordinate."""

    def orders(first: Instance, second: Instance) -> list[list[tuple[Term, Term]]]:
        options: list[tuple[Term, Term]] = []
        for left, right in pairs:
            options += [((left, first), (right, second)), ((right, second), (left, first))]
        return [options]

    return _Relation(orders, tuple(pairs))


_TOGETHER = 2  # rows at each end that have one owner


def _owners(left: Index | None, right: Index | None, rows: Rows) -> _Relation:
    """The rows of the two differ, and are neither both among the first ones nor both among the last ones."""
    if left is None or right is None:
        return _anything
    first, last = rows[0] + (_TOGETHER - 1), rows[1] - _TOGETHER

    def orders(one: Instance, other: Instance) -> list[list[tuple[Term, Term]]]:
        a, b = (left, one), (right, other)
        return [
            [(a, b), (b, a)],
            [((first, one), a), ((first, one), b)],
            [(a, (last, one)), (b, (last, one))],
        ]

    return _Relation(orders, ((left, right),), rows=True)


def _without(effects: Effects, containers: frozenset[str]) -> Effects:
    """What is done to all other containers."""
    return replace(effects, accesses=tuple(x for x in effects.accesses if x.container not in containers))


def _by_container(effects: Effects) -> dict[str, bool]:
    """The containers that are touched, and whether they are written."""
    found: dict[str, bool] = {}
    for access in effects.accesses:
        found[access.container] = found.get(access.container, False) or access.writes
    return found


def _kind(source: Access, sink: Access) -> Kind | None:
    if source.writes and sink.writes:
        return None if source.conflict and source.conflict == sink.conflict else Kind.OUTPUT
    if source.writes:
        return Kind.FLOW
    return Kind.ANTI if sink.writes else None


# ---- domains --------------------------------------------------------------------------------------------------------


def _domain(access: Access) -> Generator[Constraint]:
    for iterator in access.iterators:
        step = iterator.step.constant
        if step is None:
            continue
        value = index(iterator.value)
        low, high = (iterator.start, iterator.stop - 1) if step > 0 else (iterator.stop + 1, iterator.start)
        yield Constraint(value - low)
        yield Constraint(high - value)
        if abs(step) > 1:
            yield Constraint(value - iterator.start - index(_turn(iterator)) * step, equal=True)
    for condition, truth in access.conditions:
        yield from constraints_of(condition, truth)


def own_values(access: Access) -> frozenset[Value]:
    """The variables that belong to an access itself: its iterators, and the turns of those with a step."""
    own = {iterator.value for iterator in access.iterators}
    own |= {_turn(iterator) for iterator in access.iterators if abs(iterator.step.constant or 1) > 1}
    return frozenset(own)


def _turn(iterator: Iterator) -> Value:
    return Value(-1000 - iterator.value.id, "turn", iterator.value.type)


def _points(access: Access, varying: frozenset[Value]) -> Points | None:
    if any(iterator.step.constant is None for iterator in access.iterators):
        return None
    return Points(access.index, own_values(access) | varying, tuple(_domain(access)))


def names_of(dependences: Iterable[Dependence]) -> list[str]:
    """The containers on which nodes meet."""
    return sorted({dependence.sink.container for dependence in dependences})
