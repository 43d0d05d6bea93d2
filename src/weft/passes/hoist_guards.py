"""Guards leave loops: what must hold in every iteration is checked once, in front of the loop.

before:  site 2 {...}                                  after:   site 2 {...}
         for %i.1 in 0:%n.2 {                                   guard or(0 >= n, m >= n) else site 2
           site 3 {...}                                         for %i.1 in 0:%n.2 {
           guard m >= i + 1 else site 3                           site 3 {...}
           ...                                                    ...

A condition in values from outside and the loop variable holds in all iterations if it holds at the worst end of the
range; that is exact where every alternative of it gets worse in the same direction. That a sum fits into 64 bits, as
in `max(0, i - h)`, is checked at both ends. A loop that does not run needs
nothing. Where the hoisted guard fails, Python repeats the whole loop from the site in front: nothing has happened yet.
A guard in an arm of a branch leaves it together with the condition: `not branch or guard`.

A guard on lengths of slices is checked for the slices as they are written, if from that and the range of the loop it
follows that none of them is clipped: `A[i + 1:] @ x[i + 1:]` fits for all i below len(x) if len(A) == len(x). Where it
does not follow, but the guard fails wherever that slice is clipped, this is checked as well: where `A[:i + 1]` is known
to be whole, so must be `C[:i + 1]` in `C[:i + 1] + A[:i + 1]`. Likewise an index that is negative only if some number
from outside is, `A[i]` for i in `range(h, n - h)`, is checked not to be; else Python runs the loop.

Guards stay that depend on what the loop computes, that an iteration or the loop may end before, and those for which
there is no site in front of the loop, or something has been written since that Python could see. Those of `while` stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import ClassVar

from weft.analysis.conditions import (
    Atom,
    Clause,
    Constraint,
    clauses_of,
    condition_of,
    fits_between,
    is_refuted,
    simplest,
)
from weft.analysis.facts import Facts
from weft.analysis.ranges import is_nonnegative
from weft.ir.dtypes import NP_BOOL
from weft.ir.exprs import Expr, Index, Value, const, op, polynomial_of, substitute, values_in
from weft.ir.nodes import (
    Branch,
    Break,
    Continue,
    Guard,
    Loop,
    Node,
    Program,
    Region,
    Return,
    Site,
    Tasklet,
    While,
)  # fmt: skip
from weft.ir.traverse import all_nodes, bound_extents, inner_regions, values_defined_in
from weft.passes.base import Bench, Session
from weft.passes.exact_conditions import is_exact
from weft.passes.open_sites import OpenSite, open_site, rewrite_inside, writes_of
from weft.passes.propagate_values import PropagateValues
from weft.passes.slice_clips import Clip, clips_of, unclipped, wrapped_in
from weft.support.abi import NOT_COMPILED
from weft.support.records import record


@record
class HoistGuards:
    """Move guards in front of loops."""

    name: ClassVar[str] = "hoist-guards"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer guards in its loops."""
        walk = _Walk(Bench(self.name, program, session))
        body = walk.region(program.body, session.facts, None)
        if body is program.body:
            return program
        program = replace(program, body=body)
        return PropagateValues().run(program, session) if walk.unclips else program


_TRIAL = OpenSite(-1, frozenset())


class _Walk:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.memory = bench.legality.memory
        self.writes = writes_of(bench.program, self.memory)
        self.unclips = False  # a guard in front of a loop says that slices in it are not clipped
        self.stuck = False  # a loop just seen has guards, and no site in front of it

    def region(self, region: Region, facts: Facts, site: OpenSite | None) -> Region:
        """A region with the guards of its loops in front of them; `site` is open at its head."""
        nodes: list[Node] = []
        for node in region.nodes:
            if isinstance(node, Site):
                site = open_site(node)
            said = len(self.bench.session.records)
            stuck, self.stuck = self.stuck, False
            inner = self.inside(node, facts, site)
            if isinstance(inner, Loop):
                guards, inner = self.hoisted(inner, facts, site)
                if site is not None and self.stuck:
                    guards, inner = self.nest(node, facts, site, said) or (guards, inner)
                nodes += guards
                for guard in guards:
                    facts = facts.after(guard)
            self.stuck |= stuck
            nodes.append(inner)
            facts = facts.after(inner)
            if site is not None and self.writes.close(node, site):
                site = None
        return region if tuple(nodes) == region.nodes else Region(tuple(nodes))

    def hoisted(self, loop: Loop, facts: Facts, site: OpenSite | None) -> tuple[list[Guard], Loop]:
        self.stuck |= site is None and any(isinstance(node, Guard) for node in _reached(loop.body))
        hoisting = _Hoisting(loop, facts, site, self.bench)
        result = hoisting.run()
        self.unclips |= hoisting.unclips
        return result

    def nest(self, node: Node, facts: Facts, site: OpenSite, said: int) -> tuple[list[Guard], Loop] | None:
        """A loop whose inner loops have no site in front of them (`weft.map`), with the guards of all in front of all.

        They go to the heads of the inner loops on trial, as if there were a site; then all of them must go on. What was
        said about the loop before, from record `said` on, is said again.
        """
        assert isinstance(node, Loop)
        records = self.bench.session.records
        tried = len(records)
        body = self.region(node.body, facts.inside(node, self.memory)[0], _TRIAL)
        guards, loop = self.hoisted(replace(node, body=body), facts, site)
        left = any(isinstance(below, Guard) and below.site == _TRIAL.number for below in all_nodes(loop.body))
        if left or not guards:
            del records[tried:]
            return None
        del records[said:tried]
        return guards, loop

    def inside(self, node: Node, facts: Facts, site: OpenSite | None) -> Node:
        return rewrite_inside(node, facts.inside(node, self.memory), site, self.writes, self.region)


@record(frozen=False)
class _Hoisting:
    """The guards of one loop."""

    loop: Loop
    facts: Facts
    site: OpenSite | None
    bench: Bench
    varying: frozenset[Value] = frozenset()
    ends_early: bool = False
    unclips: bool = False
    lets: dict[Value, Expr] = field(default_factory=dict[Value, Expr])
    clips: dict[Value, Clip] = field(default_factory=dict[Value, "Clip"])
    wrapped: frozenset[Index] = frozenset()
    found: list[Guard] = field(default_factory=list[Guard])

    def run(self) -> tuple[list[Guard], Loop]:
        """What goes in front of the loop, and the loop without it."""
        if not any(isinstance(node, Guard) for node in _reached(self.loop.body)):
            return [], self.loop
        own = values_defined_in(self.loop) | frozenset(bound_extents(self.loop, self.bench.containers))
        self.varying = own - {self.loop.var}
        self.lets = _outside_lets(self.loop.body, self.varying)
        self.clips = clips_of(self.loop.body)
        self.wrapped = wrapped_in(self.loop.body)
        self.ends_early = any(_ends_loop(node, 0) for node in self.loop.body.nodes)
        body = self.harvest(self.loop.body, ())
        return self.found, self.loop if body is self.loop.body else replace(self.loop, body=body)

    def harvest(self, region: Region, conditions: tuple[tuple[Expr, bool], ...]) -> Region:
        """A region without the guards that could be taken; `conditions` are those of the branches around it."""
        nodes: list[Node] = []
        reached = True  # in every iteration that comes to the region
        for node in region.nodes:
            kept = node
            match node:
                case Guard():
                    reason = self.take(node, conditions) if reached else "an iteration may end before"
                    if not reason:
                        continue
                    self.bench.note(f"checked in every iteration, {reason}: {node.reason}", self.loop, done=False)
                case Branch() if reached:
                    then = self.harvest(node.then, (*conditions, (node.condition, True)))
                    orelse = self.harvest(node.orelse, (*conditions, (node.condition, False)))
                    if then is not node.then or orelse is not node.orelse:
                        kept = replace(node, then=then, orelse=orelse)
                case _:
                    pass
            nodes.append(kept)
            reached = reached and not ends_iteration(node, 0)
        return region if len(nodes) == len(region.nodes) and tuple(nodes) == region.nodes else Region(tuple(nodes))

    def take(self, guard: Guard, conditions: Sequence[tuple[Expr, bool]]) -> str:
        """Put a guard in front of the loop; why not, if it cannot be done."""
        if self.site is None:
            return "there is no way back to the head of the loop"
        if guard.reason.startswith(NOT_COMPILED):
            return "Python takes over only where it must"
        holds_if: list[Index] = []
        condition = self.steady(guard.condition, conditions, holds_if)
        if condition is None:
            return "it depends on what the loop computes"
        if self.loop.var in values_in(condition) and self.ends_early:
            return "the loop may end before its last iteration"
        guards: list[Guard] = []
        for clause in clauses_of(condition):
            worst = self.at_worst(clause)
            checked = self.at_both_ends(clause) if worst is None else (worst,)
            if not checked or not all(is_exact(one, self.ahead(), self.bench) for one in checked):
                return "no end of the range is the worst case"
            guards += [Guard(condition_of(one), self.site.number, guard.reason) for one in checked]
        whole = self.unclipped_if(guard.condition, holds_if, self.behind(guards))
        if whole is None:
            return "a slice in it may be clipped"
        guards += [Guard(condition_of(clause), self.site.number, guard.reason) for clause in whole]
        if not all(self.is_likely(one) for one in holds_if if one in self.wrapped):
            return "an index may well be negative"
        for hoisted in guards:
            self.add(hoisted)
        self.unclips |= bool(holds_if)
        self.bench.note(f"checked in front of the loop: {guard.reason}", self.loop, done=True)
        return ""

    def steady(self, condition: Expr, conditions: Sequence[tuple[Expr, bool]], holds_if: list[Index]) -> Expr | None:
        """A condition under those of branches in values from outside and the loop variable; None if it has others."""
        for outer, truth in conditions:
            other = op("logical_not", (outer,), outer.type) if truth else outer
            condition = op("logical_or", (other, condition), NP_BOOL)
        condition = substitute(condition, self.lets)
        return condition if values_in(condition).isdisjoint(self.varying) else self._unclipped(condition, holds_if)

    def _unclipped(self, condition: Expr, holds_if: list[Index]) -> Expr | None:
        """A condition as if no slice were clipped in the loop, which is so if the polynomials are not negative."""
        clauses = clauses_of(condition)
        if any(not isinstance(atom, Constraint) for clause in clauses for atom in clause):
            return None
        result: Expr = const(True, NP_BOOL)
        for clause in clauses:
            atoms: list[Atom] = []
            for atom in clause:
                assert isinstance(atom, Constraint)
                plain = unclipped(atom.index, self.clips, holds_if)
                if not plain.values.isdisjoint(self.varying):
                    return None
                atoms.append(Constraint(plain, atom.equal))
            result = op("logical_and", (result, condition_of(tuple(atoms))), NP_BOOL)
        return result

    def ahead(self) -> Facts:
        """What is known in front of the loop, behind the guards that are there."""
        facts = self.facts
        for guard in self.found:
            facts = facts.after(guard)
        return facts

    def behind(self, guards: Sequence[Guard]) -> Facts:
        """What is known in the loop behind guards in front of it."""
        facts = self.facts
        for guard in guards:
            facts = facts.after(guard)
        return facts.inside(self.loop, self.bench.legality.memory)[0]

    def never_negative(self, polynomial: Index, facts: Facts) -> bool:
        """Whether a polynomial is nowhere negative in the loop."""
        return self.bench.legality.is_nonnegative(polynomial, facts)

    def unclipped_if(self, condition: Expr, holds_if: Sequence[Index], facts: Facts) -> list[Clause] | None:
        """What must hold besides for a guard to say that slices are not clipped; None if it may hold where one is."""
        doubtful = list(dict.fromkeys(one for one in holds_if if not self.never_negative(one, facts)))
        if not doubtful:
            return []
        worst = self.at_worst((Constraint(doubtful[0], equal=False),))
        if len(doubtful) > 1 or worst is None or not doubtful[0].values.isdisjoint(self.varying):
            return None
        if not is_exact(worst, self.ahead(), self.bench):
            return None
        return [worst] if self.fails_where_negative(condition, doubtful[0], facts) else None

    def fails_where_negative(self, condition: Expr, doubtful: Index, facts: Facts) -> bool:
        """Whether a guard cannot hold where a slice is clipped, which is where a polynomial is negative."""
        clipped = Constraint(-doubtful - 1, equal=False)
        facts = facts.after(Guard(condition_of((clipped,)), -1, ""))
        clips = clips_of(self.loop.body, doubtful)
        for clause in clauses_of(substitute(condition, self.lets)):
            atoms = [atom for atom in clause if isinstance(atom, Constraint)]
            holds_if: list[Index] = []
            there = [Constraint(unclipped(atom.index, clips, holds_if), atom.equal) for atom in atoms]
            if (
                len(atoms) == len(clause)
                and all(self.never_negative(other, facts) for other in holds_if if other != doubtful)
                and all(self.is_refuted(atom, facts) for atom in there)
            ):
                return True
        return False

    def is_refuted(self, atom: Constraint, facts: Facts) -> bool:
        """Whether a constraint holds nowhere in the loop."""
        if self.never_negative(-atom.index - 1, facts):
            return True
        return atom.equal and self.never_negative(atom.index - 1, facts)

    def is_likely(self, polynomial: Index) -> bool:
        """Whether an index is negative in the loop only if some number from outside is: not `a[i - 1]`, `a[i - k]`."""
        factors = [factor for monomial, factor in polynomial.terms if self.loop.var in monomial]
        if not factors:
            return all(factor >= 0 for _, factor in polynomial.terms)
        end = self.end(largest=factors[0] < 0)
        if end is None or len(factors) > 1:
            return False
        return all(factor >= 0 for _, factor in polynomial.substitute({self.loop.var: end}).terms)

    def add(self, guard: Guard) -> None:
        if any(guard.condition is other.condition for other in self.found):
            return
        if not self.bench.legality.proves(guard.condition, self.facts):
            self.found.append(guard)

    # -- conditions

    def at_worst(self, clause: Clause) -> Clause | None:
        """The clause for all iterations; None if it gets worse in both directions, or that end is not known."""
        var, by = self.loop.var, self.loop.step.constant
        if by is None or by == 0:
            return None
        directions = {_direction(atom, var) for atom in clause if var in _values(atom)}
        if None in directions:
            return None
        atoms: Iterable[Atom] | None = clause
        if len(directions) > 1:
            atoms = self.up_to_a_place(clause)
            if atoms is None:
                return None
        elif directions:
            end = self.end(largest=next(iter(directions)) == -1)
            if end is None:
                return None
            atoms = [_substituted(atom, var, end) for atom in clause]
        return self.if_it_runs(atoms, by)

    def if_it_runs(self, atoms: Iterable[Atom], by: int) -> Clause:
        """Alternatives, with the one that the loop has no iteration."""
        empty = Constraint(self.loop.start - self.loop.stop if by > 0 else self.loop.stop - self.loop.start)
        runs = any(is_refuted(empty, fact) for fact in (None, *self.facts.constraints))
        return simplest(atoms if runs else (empty, *atoms))

    def at_both_ends(self, clause: Clause) -> tuple[Clause, ...]:
        """The clauses for all iterations where what changes is a linear sum that must fit into 64 bits; else none."""
        var, by = self.loop.var, self.loop.step.constant
        ends = self.end(largest=False), self.end(largest=True)
        moving = [atom for atom in clause if var in _values(atom)]
        if not by or len(moving) != 1 or not fits_between(moving[0], var):
            return ()
        atoms = [[_substituted(atom, var, end) for atom in clause] for end in ends if end is not None]
        return tuple(self.if_it_runs(one, by) for one in atoms) if len(atoms) == 2 else ()

    def up_to_a_place(self, clause: Clause) -> list[Atom] | None:
        """`i >= c or f(i) >= 0` with an f that falls: the worst i is c - 1 or the last one, if any is below c."""
        var = self.loop.var
        for sign in (1, -1):
            far, near = self.end(largest=sign == 1), self.end(largest=sign == -1)
            if far is None or near is None:
                continue
            step = polynomial_of([((var,), sign)])
            for atom in clause:
                if not isinstance(atom, Constraint) or atom.equal or var in (atom.index - step).values:
                    continue
                others = [other for other in clause if other is not atom]
                if {_direction(other, var) for other in others if var in _values(other)} == {-sign}:
                    last = (step - atom.index - 1) * sign
                    worst = (_substituted(other, var, place) for place in (last, far) for other in others)
                    return [_substituted(atom, var, near), *worst]
        return None

    def end(self, *, largest: bool) -> Index | None:
        """The largest or smallest value of the loop variable, exactly."""
        loop, by = self.loop, self.loop.step.constant
        if by is None:
            return None
        if (by < 0) is largest:
            return loop.start
        return loop.stop - by if abs(by) == 1 else None


def _values(atom: Atom) -> frozenset[Value]:
    return atom.index.values if isinstance(atom, Constraint) else values_in(atom)


def _direction(atom: Atom, var: Value) -> int | None:
    """1 if an alternative is the easier the larger the variable, -1 if the harder; None if neither is certain."""
    if not isinstance(atom, Constraint) or atom.equal:
        return None
    factor: list[tuple[tuple[Value, ...], int]] = []
    for monomial, coefficient in atom.index.terms:
        others = tuple(value for value in monomial if value != var)
        if len(others) < len(monomial) - 1:
            return None
        if len(others) < len(monomial):
            factor.append((others, coefficient))
    slope = polynomial_of(factor)
    if is_nonnegative(slope):
        return 1
    return -1 if is_nonnegative(-slope) else None


def _substituted(atom: Atom, var: Value, end: Index) -> Atom:
    if isinstance(atom, Constraint):
        return Constraint(atom.index.substitute({var: end}), atom.equal)
    return substitute(atom, {var: end})


def _outside_lets(body: Region, varying: frozenset[Value]) -> dict[Value, Expr]:
    """What values computed in a loop are in values from outside and the loop variable; those that stand in no index."""
    found: dict[Value, Expr] = {}
    for node in all_nodes(body):
        for let in node.lets if isinstance(node, Tasklet) else ():
            known = let.warn < 0 and varying.isdisjoint(values_in(let.expr) - found.keys())
            if known and let.value.type.dtype.kind not in "iu":
                found[let.value] = substitute(let.expr, found)
    return found


# ---- ways out -------------------------------------------------------------------------------------------------------


def _reached(region: Region) -> Iterator[Node]:
    """The nodes of a region and of the arms of branches in it."""
    for node in region.nodes:
        yield node
        if isinstance(node, Branch):
            yield from _reached(node.then)
            yield from _reached(node.orelse)


def _ends_loop(node: Node, depth: int) -> bool:
    """Whether a node may end the loop `depth` loops further out, or one around it."""
    match node:
        case Return():
            return True
        case Break():
            return node.depth >= depth
        case _:
            deeper = depth + isinstance(node, Loop | While)
            return any(_ends_loop(inner, deeper) for region in inner_regions(node) for inner in region.nodes)


def ends_iteration(node: Node, depth: int) -> bool:
    """Whether a node may end the present iteration of that loop."""
    if isinstance(node, Continue):
        return depth == 0
    if isinstance(node, Return | Break):
        return _ends_loop(node, depth)
    deeper = depth + isinstance(node, Loop | While)
    return any(ends_iteration(inner, deeper) for region in inner_regions(node) for inner in region.nodes)
