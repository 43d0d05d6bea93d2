"""What holds at a point of a program: guards passed, branches taken, ranges of loops, polynomials behind values.

in:   the nodes above a point, one by one (`after`), and the scope it is in (`inside`)
out:  `Facts`: constraints `polynomial >= 0` or `== 0`, definitions of values, pairs of refs that never share memory

A condition that is no comparison of polynomials is left out: knowing less is always sound. Of several alternatives it
is remembered that one holds (`n <= 0 or m >= 2`, in front of a loop over n); where all others are refuted (inside the
loop), the last one is a constraint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import combinations

from weft.analysis.conditions import Constraint, as_index, clauses_of, constraints_of, is_refuted
from weft.analysis.memory import Memory
from weft.analysis.ranges import is_nonnegative
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Expr, Index, Op, Value, const_index, index
from weft.ir.nodes import (
    Alloc,
    Branch,
    Break,
    Continue,
    Guard,
    Let,
    Loop,
    Map,
    Node,
    Region,
    Return,
    Tasklet,
    View,
    While,
    full_view,
)  # fmt: skip
from weft.ir.traverse import all_nodes
from weft.support.records import record

__all__ = ["Constraint", "Facts", "constraints_of", "rebinds"]


@record
class Facts:
    """All that is known at a point."""

    constraints: tuple[Constraint, ...] = ()
    definitions: Mapping[Value, Index] = field(default_factory=dict[Value, Index])
    apart: frozenset[frozenset[str]] = frozenset()
    alternatives: tuple[tuple[Constraint, ...], ...] = ()
    bound: frozenset[str] = frozenset()  # the refs that loops around carry
    # What was concluded from here, by the node: every pass walks the same ones again.
    _behind: dict[int, tuple[Node, Facts]] = field(init=False, compare=False, repr=False)
    _within: dict[int, tuple[Node, tuple[Facts, ...]]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_behind", {})
        object.__setattr__(self, "_within", {})

    def after(self, node: Node) -> Facts:
        """What holds once a node is done."""
        known = self._behind.get(id(node))
        if known is None:
            known = self._behind[id(node)] = (node, self._after(node))
        return known[1]

    def _after(self, node: Node) -> Facts:
        match node:
            case Guard(condition=condition):
                return self.given(condition)
            case Alloc(container=name):  # new memory: whatever a ref was bound to before is elsewhere
                return replace(self, apart=self.apart.union(frozenset((name, ref)) for ref in self.bound))
            case Tasklet(lets=lets):
                return self._computed(lets)
            case Branch(condition=condition, then=then, orelse=orelse):
                facts = self
                if _always_leaves(then):
                    facts = facts.given(condition, truth=False)
                if _always_leaves(orelse):
                    facts = facts.given(condition)
                return facts
            case _:
                return self

    def _computed(self, lets: tuple[Let, ...]) -> Facts:
        named = [(let.value, polynomial) for let in lets if (polynomial := as_index(let.expr)) is not None]
        facts = self
        if named:
            found = dict(self.definitions)
            for value, polynomial in named:
                found[value] = polynomial.substitute(found)
            facts = replace(self, definitions=found)
        limits = [facts._resolved(limit) for let in lets for limit in limits_of(let)]
        return facts.also(tuple(limits)) if limits else facts

    def given(self, condition: Expr, *, truth: bool = True) -> Facts:
        """Under a condition."""
        single: list[Constraint] = []
        several: list[tuple[Constraint, ...]] = []
        for clause in clauses_of(condition, truth=truth):
            atoms = [self._resolved(atom) for atom in clause if isinstance(atom, Constraint)]
            if len(atoms) < len(clause):
                continue  # one of the alternatives is no comparison
            possible = _without_refuted(atoms, (None, *self.constraints)) if len(atoms) > 1 else tuple(atoms)
            if len(possible) > 1:
                several.append(possible)
            else:
                single.append(possible[0] if possible else Constraint(const_index(-1)))
        facts = replace(self, alternatives=(*self.alternatives, *several)) if several else self
        return facts.also(tuple(single))

    def also(self, constraints: tuple[Constraint, ...]) -> Facts:
        """Under constraints; where they leave one of several alternatives, it is a constraint, too."""
        facts = self
        new = tuple(c for c in constraints if c not in facts.constraints)
        while new:
            facts = replace(facts, constraints=facts.constraints + new)
            left = tuple(_without_refuted(clause, new) for clause in facts.alternatives)
            settled = [clause[0] for clause in left if len(clause) == 1]
            if left != facts.alternatives:
                facts = replace(facts, alternatives=tuple(clause for clause in left if len(clause) > 1))
            new = tuple(c for c in settled if c not in facts.constraints)
        return facts

    def _resolved(self, constraint: Constraint) -> Constraint:
        return Constraint(constraint.index.substitute(self.definitions), constraint.equal)

    def inside(self, node: Node, memory: Memory) -> tuple[Facts, ...]:
        """What holds in each region of a node."""
        if isinstance(node, Loop | While) and len(_carried_refs(node)) > 1:  # a question of memory, which may change
            return self._inside(node, memory)
        known = self._within.get(id(node))
        if known is None:
            known = self._within[id(node)] = (node, self._inside(node, memory))
        return known[1]

    def _inside(self, node: Node, memory: Memory) -> tuple[Facts, ...]:
        match node:
            case Map(params=params, ranges=ranges):
                facts = self
                for param, (start, stop) in zip(params, ranges, strict=True):
                    facts = facts.in_range(param, start, stop, const_index(1))
                return (facts,)
            case Loop(var=var, start=start, stop=stop, step=step):
                return (self._carrying(node, memory).in_range(var, start, stop, step),)
            case While():
                return (self._carrying(node, memory),)
            case Branch(condition=condition):
                return (self.given(condition), self.given(condition, truth=False))
            case _:
                return ()

    def _carrying(self, node: Loop | While, memory: Memory) -> Facts:
        """With the refs that a loop binds at its head, in every iteration anew."""
        refs = _carried_refs(node)
        if not refs:
            return self
        return replace(self, apart=self.apart | _refs_apart(node, memory, self.apart), bound=self.bound.union(refs))

    def in_range(self, value: Value, start: Index, stop: Index, step: Index) -> Facts:
        """Within the body of a loop over a range."""
        by = step.constant
        if by is None:
            return self
        low, high = (start, stop - 1) if by > 0 else (stop + 1, start)
        return self.also(tuple(self._resolved(Constraint(c)) for c in (index(value) - low, high - index(value))))


def limits_of(let: Let) -> Iterator[Constraint]:
    """What an integer cannot exceed: the smaller of two, the larger of two, a remainder, a quotient."""
    if not isinstance(let.expr, Op) or let.expr.type != PY_INT or len(let.expr.args) != 2:
        return
    value = index(let.value)
    left, right = (as_index(arg) for arg in let.expr.args)
    match let.expr.name:
        case "minimum":
            yield from (Constraint(side - value) for side in (left, right) if side is not None)
        case "maximum":
            yield from (Constraint(value - side) for side in (left, right) if side is not None)
        case "remainder" if right is not None and is_nonnegative(right):  # and not 0: a guard has seen to that
            yield Constraint(value)
            yield Constraint(right - 1 - value)
        case "floor_divide" if left is not None and right is not None and (right.constant or 0) > 0:
            yield Constraint(left - value * right)
            yield Constraint(value * right + right - 1 - left)
        case _:
            return


def _without_refuted(alternatives: Iterable[Constraint], facts: Iterable[Constraint | None]) -> tuple[Constraint, ...]:
    known = tuple(facts)
    return tuple(atom for atom in alternatives if not any(is_refuted(atom, fact) for fact in known))


def _always_leaves(region: Region) -> bool:
    return bool(region.nodes) and isinstance(region.nodes[-1], Return | Continue | Break)


# ---- refs -----------------------------------------------------------------------------------------------------------


def _carried_refs(node: Loop | While) -> list[str]:
    return [carry.target for carry in node.carries if isinstance(carry.target, str)]


def _refs_apart(node: Loop | While, memory: Memory, known: frozenset[frozenset[str]]) -> frozenset[frozenset[str]]:
    """Pairs of carried refs that start apart and are only ever exchanged: `a, b = b, a`.

    Every way back to the head binds the refs to a permutation of themselves, whole; so what was apart stays apart.
    """
    names = _carried_refs(node)
    inits = [carry.init for carry in node.carries if isinstance(carry.target, str) and isinstance(carry.init, View)]
    if len(names) < 2 or len(inits) != len(names) or not _only_permutes(node, names, memory):
        return frozenset()
    for left, right in combinations(inits, 2):
        if not left.container or not right.container or memory.may_overlap(left.container, right.container, known):
            return frozenset()
    return frozenset(frozenset(pair) for pair in combinations(names, 2))


def _only_permutes(node: Loop | While, names: list[str], memory: Memory) -> bool:
    positions = [number for number, carry in enumerate(node.carries) if isinstance(carry.target, str)]
    for end in _ways_back(node.body, 0):
        given = [view for number in positions if isinstance(view := end.values[number], View)]
        if sorted(view.container for view in given) != sorted(names):
            return False
        if any(view != full_view(memory.containers[view.container]) for view in given):
            return False
    return True


def _ways_back(region: Region, depth: int) -> Iterator[Continue | Break]:
    """What goes on with the loop whose body this is: its Continues. Breaks leave it, so they do not count."""
    for node in region.nodes:
        match node:
            case Continue() if depth == 0:
                yield node
            case Branch(then=then, orelse=orelse):
                yield from _ways_back(then, depth)
                yield from _ways_back(orelse, depth)
            case Loop(body=body) | While(body=body):
                yield from _ways_back(body, depth + 1)
            case _:
                continue


def rebinds(node: Node) -> bool:
    """Whether refs are bound anywhere inside a node."""
    return any(
        (isinstance(below, Loop | While) and any(isinstance(carry.target, str) for carry in below.carries))
        or (isinstance(below, Branch) and any(isinstance(result, str) for result in below.results))
        for below in all_nodes(Region((node,)))
    )  # fmt: skip
