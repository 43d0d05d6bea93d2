"""Integer sets.

in:   a `System`: polynomials that are >= 0 or == 0, over variables of which some vary and the rest are parameters
out:  whether it has a solution ("maybe" counts as yes); whether one set of points lies in another

A term that is no multiple of one variable is made a parameter if nothing in it varies; otherwise it is a fresh unknown,
another one for each instance it stands in: with `g(i)` as a parameter, `A[g(i)]` and `A[g(i) + 1]` would never meet.
Equal questions are asked once: variables are numbered in order of appearance, so that the text of a question is the
same whatever the values in it are called. A question that takes too many operations is given up: the answer is "maybe".
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TypeAlias

from weft.analysis.facts import Constraint
from weft.analysis.isl import Isl, open_isl
from weft.analysis.ranges import INT64_MAX, INT64_MIN, value_bounds
from weft.ir.exprs import Index, Monomial, Value
from weft.support.records import record

# Enough for every nest seen so far a hundred times over; a question that needs more costs more than it can save.
OPERATIONS = 200_000
_MOST_CONSTRAINTS = 40
_MANY_CONSTRAINTS = 16  # from which on facts that hang on by one value only are left out


@record(frozen=False)
class Work:
    """What the legality core has been asked, and what it cost."""

    questions: int = 0  # asked of the core
    quick: int = 0  # answered without integer sets
    repeated: int = 0  # answered before
    sets: int = 0  # put to isl
    given_up: int = 0  # over the operation limit
    seconds: float = 0.0


@record
class Instance:
    """One of the points a question speaks of: the varying values, and the names they have for this point."""

    varying: frozenset[Value]
    tag: int


Term: TypeAlias = tuple[Index, Instance | None]


@record(frozen=False)
class System:
    """Constraints between points, collected one by one: each polynomial is read in an instance."""

    equalities: list[tuple[Term, Term]] = field(default_factory=list[tuple[Term, Term]])
    bounds: list[Term] = field(default_factory=list[Term])
    zeros: list[Term] = field(default_factory=list[Term])
    either: list[list[tuple[Term, Term]]] = field(default_factory=list[list[tuple[Term, Term]]])

    def equal(self, left: Term, right: Term) -> None:
        """left == right."""
        self.equalities.append((left, right))

    def nonnegative(self, polynomial: Index, instance: Instance | None) -> None:
        """polynomial >= 0."""
        self.bounds.append((polynomial, instance))

    def zero(self, polynomial: Index, instance: Instance | None) -> None:
        """polynomial == 0."""
        self.zeros.append((polynomial, instance))

    def less(self, *pairs: tuple[Term, Term]) -> None:
        """At least one of the pairs has left < right."""
        self.either.append(list(pairs))


class Solver:
    """One isl context, the answers so far, and a count of the work."""

    def __init__(self, operations: int = OPERATIONS) -> None:
        self.work = Work()
        self._operations = operations
        self._answers: dict[str, bool] = {}
        self._isl: Isl | None = None

    def may_hold(self, system: System, facts: Iterable[Constraint] = ()) -> bool:
        """Whether the system may have a solution under the facts. False is a proof that it has none."""
        text = _Text()
        conditions = text.system(system)
        conditions += text.relevant(list(facts))
        names = ", ".join(text.unknowns)
        question = (
            f"[{', '.join(text.parameters)}] -> {{ [{names}] : {' and '.join(dict.fromkeys(conditions)) or 'true'} }}"
        )
        return not self._ask(question, lambda isl: isl.is_empty(question))

    def contains(self, outer: Points, inner: Points, facts: Iterable[Constraint] = ()) -> bool:
        """Whether every point of one set is provably a point of the other. What is not exact outside is no proof."""
        text = _Text()
        whole, part = text.points(outer, 0), text.points(inner, 1)
        known = text.relevant(list(facts))
        if not whole.exact:
            return False
        head = f"[{', '.join(text.parameters)}] -> "
        inside = f"{head}{part.text(known)}"
        around = f"{head}{whole.text(known)}"
        return self._ask(f"{inside} in {around}", lambda isl: isl.is_subset(inside, around))

    def _ask(self, question: str, answer: Callable[[Isl], bool | None]) -> bool:
        """Whether it is so; a question that was given up is not."""
        known = self._answers.get(question)
        if known is not None:
            self.work.repeated += 1
            return known
        if self._isl is None:
            self._isl = open_isl(self._operations)
        self.work.sets += 1
        found = answer(self._isl)
        if found is None:
            self.work.given_up += 1
        self._answers[question] = bool(found)
        return bool(found)

    def timed(self) -> _Timer:
        """Adds the time inside to `work.seconds`."""
        return _Timer(self.work)


class _Timer:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.start = 0.0

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.work.seconds += time.perf_counter() - self.start


@record
class Points:
    """The set of points `index` for all values of the varying unknowns that satisfy the constraints."""

    index: tuple[Index, ...]
    varying: frozenset[Value]
    constraints: tuple[Constraint, ...]


@record
class _PointsText:
    coordinates: list[str]
    conditions: list[str]
    unknowns: list[str]
    exact: bool

    def text(self, known: list[str]) -> str:
        names = [f"x{number}" for number in range(len(self.coordinates))]
        equations = [f"{name} = {text}" for name, text in zip(names, self.coordinates, strict=True)]
        inner = " and ".join(dict.fromkeys([*equations, *self.conditions, *known])) or "true"
        quantified = f"exists {', '.join(self.unknowns)} : {inner}" if self.unknowns else inner
        return f"{{ [{', '.join(names)}] : {quantified} }}"


def _connected(facts: list[Constraint], asked: frozenset[Value]) -> list[Constraint]:
    """The facts without those that have a value of their own, which nobody asks about: they say nothing of the others.

    All but nothing: such a value may have bounds of its own. Less is proved without them, in a fraction of the time.
    """
    while True:
        uses = Counter(value for fact in facts for value in fact.index.values)
        kept = [fact for fact in facts if all(value in asked or uses[value] > 1 for value in fact.index.values)]
        if len(kept) == len(facts):
            return facts
        facts = kept


class _Text:
    """A question as isl reads it. Parameters and unknowns are numbered as they appear."""

    def __init__(self) -> None:
        self.parameters: dict[str, None] = {}
        self.unknowns: dict[str, None] = {}
        self._names: dict[tuple[int | None, Monomial], str] = {}
        self._bounded: list[str] = []
        self._seen: set[Value] = set()
        self._opaque = 0
        self.fresh_terms = 0

    def system(self, system: System) -> list[str]:
        conditions = [f"{self.term(*left)} = {self.term(*right)}" for left, right in system.equalities]
        conditions += [f"{self.term(*term)} >= 0" for term in system.bounds]
        conditions += [f"{self.term(*term)} = 0" for term in system.zeros]
        for pairs in system.either:
            parts = [f"{self.term(*left)} < {self.term(*right)}" for left, right in pairs]
            conditions.append(f"({' or '.join(parts)})")
        return conditions + self._take_bounds()

    def points(self, points: Points, tag: int) -> _PointsText:
        instance = Instance(points.varying, tag)
        before = set(self.unknowns)
        fresh = self.fresh_terms
        coordinates = [self.term(coordinate, instance) for coordinate in points.index]
        conditions = [f"{self.term(c.index, instance)} {'=' if c.equal else '>='} 0" for c in points.constraints]
        of_parameters = [text for text in self._bounded if text.startswith("p")]
        conditions += (text for text in self._take_bounds() if not text.startswith("p"))
        self._bounded = of_parameters  # they hold on both sides: `relevant` takes them
        unknowns = [name for name in self.unknowns if name not in before]
        return _PointsText(coordinates, conditions, unknowns, self.fresh_terms == fresh)

    def relevant(self, facts: list[Constraint]) -> list[str]:
        """The facts that speak of the parameters in use, and of those they bring in."""
        asked = frozenset(value for _, monomial in self._names for value in monomial)
        chosen, pending, known = list[Constraint](), facts, set(asked)
        while pending and len(chosen) < _MOST_CONSTRAINTS:
            near, others = list[Constraint](), list[Constraint]()
            for fact in pending:
                (others if known.isdisjoint(fact.index.values) else near).append(fact)
            if not near:
                break
            known.update(*(fact.index.values for fact in near))
            chosen, pending = chosen + near, others
        if len(chosen) > _MANY_CONSTRAINTS:
            chosen = _connected(chosen, asked)
        texts = [f"{self.term(fact.index, None)} {'=' if fact.equal else '>='} 0" for fact in chosen]
        return texts + self._take_bounds()

    def term(self, polynomial: Index, instance: Instance | None) -> str:
        """The polynomial as isl text, with names for what is in it."""
        pieces: list[str] = []
        for monomial, coefficient in polynomial.terms:
            if not monomial:
                pieces.append(str(coefficient))
                continue
            name = self._monomial(monomial, instance)
            pieces.append(name if coefficient == 1 else f"{coefficient}*{name}")
        return " + ".join(pieces).replace("+ -", "- ") or "0"

    def _monomial(self, monomial: Monomial, instance: Instance | None) -> str:
        varies = instance is not None and any(value in instance.varying for value in monomial)
        if not varies:
            return self._parameter(monomial)
        assert instance is not None
        if len(monomial) == 1:
            return self._unknown(monomial[0], instance)
        self._opaque += 1
        self.fresh_terms += 1
        name = f"o{self._opaque}"
        self.unknowns[name] = None
        return name

    def _parameter(self, monomial: Monomial) -> str:
        name = self._names.get((None, monomial))
        if name is None:
            name = self._names[(None, monomial)] = f"p{len(self.parameters)}"
            self.parameters[name] = None
            self._bound(name, monomial, None)
        return name

    def _unknown(self, value: Value, instance: Instance) -> str:
        name = self._names.get((instance.tag, (value,)))
        if name is None:
            name = self._names[(instance.tag, (value,))] = f"v{len(self.unknowns)}"
            self.unknowns[name] = None
            self._bound(name, (value,), instance)
        return name

    def _bound(self, name: str, monomial: Monomial, instance: Instance | None) -> None:
        """What the values say of themselves."""
        if len(monomial) != 1:
            if all(value_bounds(value)[0] >= 0 for value in monomial):
                self._bounded.append(f"{name} >= 0")
            return
        value = monomial[0]
        low, high = value_bounds(value)
        if low > INT64_MIN:
            self._bounded.append(f"{name} >= {low}")
        if high < INT64_MAX:
            self._bounded.append(f"{name} <= {high}")
        if value.floor is not None and value.floor.constant is None:
            self._bounded.append(f"{name} >= {self.term(value.floor, instance)}")
        if value.ceiling is not None and value.ceiling.constant is None:
            self._bounded.append(f"{name} <= {self.term(value.ceiling, instance)}")

    def _take_bounds(self) -> list[str]:
        taken, self._bounded = self._bounded, []
        return taken
