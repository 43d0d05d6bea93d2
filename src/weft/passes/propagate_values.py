"""What is known about values is put to use below the place where it is known.

before:  %k.3: py_int = 1*%n.1                         after:   guard equal(%n.1, %m.2) else site 0
         guard equal(%n.1, %m.2) else site 0                    elementwise B[0:%n.1] ...
         guard less_equal(%m.2, %n.1) else site 0
         if false { ... } else { elementwise B[0:%m.2] ... }

One walk in program order:
- expressions are folded (`folding.py`);
- a value that is just another value, a number or a polynomial is replaced by it;
- below a guard that says that two polynomials are equal, the value among them that was defined last is replaced.
  Containers keep their shapes, except what is allocated below the guard; the bounds of values follow;
- a branch whose condition is known becomes one of its arms, a loop that provably never runs becomes nothing;
- a guard that follows from what holds anyway is dropped, and so is one that is followed by a stronger one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from operator import is_
from typing import ClassVar

from weft.analysis.conditions import Clause, Constraint, as_index, clause_implies, clauses_of
from weft.analysis.facts import Facts
from weft.analysis.ranges import is_nonnegative
from weft.analysis.signs import is_never_negative
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Const, Expr, Index, Op, Value, index, op
from weft.ir.nodes import (
    Alloc,
    Anew,
    Branch,
    Break,
    Bundle,
    Container,
    Continue,
    Guard,
    Let,
    Listed,
    Loop,
    Map,
    Node,
    NumpyCall,
    Program,
    Region,
    Return,
    Tasklet,
    View,
    While,
    Yield,
    full_view,
)
from weft.ir.printer import print_expr
from weft.ir.substitution import Substitution
from weft.ir.traverse import all_nodes, allocated_by, defined_values
from weft.passes.base import Bench, Session
from weft.passes.folding import Folding
from weft.passes.ref_extents import branch_extents, loop_extents
from weft.support.records import record


@record
class PropagateValues:
    """Fold, propagate, use equal sizes, and drop what is decided thereby."""

    name: ClassVar[str] = "propagate-values"

    def run(self, program: Program, session: Session) -> Program:
        """The program with what is known put to use."""
        return _Walk(Bench(self.name, program, session)).program()


@record
class _Here(Folding):
    """What stands for values at a place.

    `certain` is what holds wherever a value is visible; `values` says more, below guards. What leaves the program or is
    bound to a ref keeps its shape: it speaks of equal sizes only where its container does.
    """

    certain: Substitution = field(default_factory=Substitution)
    before: Mapping[str, Container] = field(default_factory=dict[str, Container])
    after: Mapping[str, Container] = field(default_factory=dict[str, Container])

    def item(self, item: Expr | View) -> Expr | View:
        """What a carry or branch result is bound to."""
        return self._kept(item) if isinstance(item, View) else self.expr(item)

    def bundle(self, bundle: Bundle) -> Bundle:
        """What leaves the program."""
        if isinstance(bundle, Listed | Anew):
            return replace(bundle, view=self._kept(bundle.view))
        return self._kept(bundle) if isinstance(bundle, View) else Folding.bundle(self, bundle)

    def _kept(self, view: View) -> View:
        old = self.before.get(view.container)
        if old is not None and self.after[view.container] is not old and view == full_view(old):
            return full_view(self.after[view.container])
        return self.certain.view(view)

    def define(self, value: Value, expr: Expr) -> None:
        """A definition passed just now: nothing that uses it has been looked at yet."""
        for values in (self.values, self.certain.values):
            assert isinstance(values, dict)
            values[value] = expr

    def under(self, value: Value, polynomial: Index) -> _Here:
        """Where a value is equal to a polynomial."""
        chosen = Substitution({value: polynomial})
        values = {known: chosen.expr(expr) for known, expr in self.values.items()}
        return replace(self, values={**values, value: polynomial}, done={})


class _Walk:
    """Goes through the program in order; `here` is what is known where it is."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.here = _Here({}, certain=Substitution({}), before=bench.program.containers, after=bench.containers)

    def program(self) -> Program:
        program, containers, facts = self.bench.program, self.bench.containers, self.bench.session.facts
        body = self.region(program.body, facts, facts)
        for name, container in containers.items():
            shape = tuple(self.here.certain.index(extent) for extent in container.shape)
            if shape != container.shape:
                containers[name] = replace(container, shape=shape)
        if body is program.body and containers == program.containers:
            return program
        return replace(program, body=body, containers=dict(containers))

    def region(self, region: Region, outside: Facts, facts: Facts) -> Region:
        """A region; `facts` are those at its head, of which those `outside` are not new."""
        saved = self.here
        facts = self.use_equal(outside, facts)
        nodes: list[Node] = []
        pending = list(reversed(region.nodes))
        while pending:
            node = pending.pop()
            spliced = self.decided(node)
            if spliced is not None:
                if spliced and isinstance(spliced[-1], Continue | Break | Return):
                    pending.clear()
                pending += reversed(spliced)
                continue
            if isinstance(node, Loop | While):
                facts = self.use_extents(loop_extents(node, self.bench.containers, self.ahead()), facts)
            kept = self.node(node, facts)
            if kept is not None:
                _append(nodes, kept)
                facts = self.use_equal(facts, facts.after(kept))
            if isinstance(node, Branch):
                facts = self.use_extents(branch_extents(node, self.bench.containers, self.ahead()), facts)
        self.here = saved
        same = len(nodes) == len(region.nodes) and all(map(is_, nodes, region.nodes))
        return region if same else Region(tuple(nodes))

    # -- equal sizes

    def use_equal(self, before: Facts, facts: Facts) -> Facts:
        """Express values by others, for the equations among the facts that are new."""
        for constraint in facts.constraints[len(before.constraints) :]:
            solved = _solved(self.here.index(constraint.index)) if constraint.equal else None
            if solved is None:
                continue
            value, polynomial = solved
            self.here = self.here.under(value, polynomial)
            self.bench.note(f"{value.name} is {print_expr(polynomial)} from here on", done=True)
            if value.low is not None and not is_nonnegative(polynomial - value.low):
                facts = facts.also((Constraint(polynomial - value.low),))
        return facts

    def ahead(self) -> Callable[[Index], Index]:
        """What is known, for a look at nodes whose turn has not come: nothing of it is remembered."""
        return Substitution(self.here.values).index

    def use_extents(self, extents: Iterable[tuple[Value, Index]], facts: Facts) -> Facts:
        """Extents of refs that are bound here are known."""
        for value, polynomial in extents:
            self.here = self.here.under(value, polynomial)
            facts = facts.also((Constraint(index(value) - polynomial, equal=True),))
        return facts

    # -- nodes

    def decided(self, node: Node) -> list[Node] | None:
        """What a branch or loop comes to whose way is known; None if it is not."""
        match node:
            case Branch(results=results):
                condition = self.here.expr(node.condition)
                if not isinstance(condition, Const) or any(isinstance(result, str) for result in results):
                    return None
                self.bench.note(f"always {'taken' if condition.value else 'left out'}", node, done=True)
                return _arm(node.then if condition.value else node.orelse, results, node)
            case Loop(carries=carries):
                if any(isinstance(carry.target, str) for carry in carries) or not self._never_runs(node):
                    return None
                self.bench.note("the loop never runs", node, done=True)
                return _bound([carry.target for carry in carries], [carry.init for carry in carries], node)
            case _:
                return None

    def _never_runs(self, node: Loop) -> bool:
        start, stop, step = (self.here.index(bound) for bound in (node.start, node.stop, node.step))
        by = step.constant
        return by is not None and by != 0 and is_nonnegative(start - stop if by > 0 else stop - start)

    def node(self, node: Node, facts: Facts) -> Node | None:
        """A node with all inside; None if nothing is left of it."""
        self.define_bounds(node)
        match node:
            case Guard():
                return self.guard(node, facts)
            case Tasklet():
                return self.tasklet(node, facts)
            case Alloc() | NumpyCall():
                for name in allocated_by(node):
                    self.reshape(name)
                return self.here.node(node)
            case Map() | Loop() | While():
                head = self.here.head(node)
                assert isinstance(head, Map | Loop | While)
                body = self.region(head.body, facts, self.inside(head, facts)[0])
                return head if body is head.body else replace(head, body=body)
            case Branch():
                head = self.here.head(node)
                assert isinstance(head, Branch)
                then, orelse = self.inside(head, facts)
                arms = self.region(head.then, facts, then), self.region(head.orelse, facts, orelse)
                if arms[0] is head.then and arms[1] is head.orelse:
                    return head
                return replace(head, then=arms[0], orelse=arms[1])
            case _:
                return self.here.node(node)

    def inside(self, node: Node, facts: Facts) -> tuple[Facts, ...]:
        return facts.inside(node, self.bench.legality.memory)

    def define_bounds(self, node: Node) -> None:
        """The symbolic bounds of values follow what is known."""
        for value in defined_values(node):
            if value.floor is None and value.ceiling is None:
                continue
            bounds = [None if bound is None else self.here.index(bound) for bound in (value.floor, value.ceiling)]
            if bounds[0] is not value.floor or bounds[1] is not value.ceiling:
                self.here.define(value, replace(value, floor=bounds[0], ceiling=bounds[1]))

    def reshape(self, name: str) -> None:
        """What is allocated here can say its shape in the values that are used here."""
        container = self.bench.containers[name]
        shape = tuple(self.here.index(extent) for extent in container.shape)
        if shape != container.shape:
            self.bench.containers[name] = replace(container, shape=shape)

    def tasklet(self, node: Tasklet, facts: Facts) -> Tasklet | None:
        here = self.here
        reads = tuple([(value, here.memlet(memlet)) for value, memlet in node.reads])
        lets: list[Let] = []
        for let in node.lets:
            expr = self.unclipped(here.expr(let.expr), facts)
            if let.warn < 0 and _is_another(let.value, expr):
                here.define(let.value, expr)
            else:
                value = here.defined(let.value)  # its bounds may be known better by now
                lets.append(let if expr is let.expr and value is let.value else replace(let, value=value, expr=expr))
        writes = tuple([(here.memlet(memlet), here.expr(expr)) for memlet, expr in node.writes])
        if not reads and not lets and not writes:
            return None
        if reads == node.reads and tuple(lets) == node.lets and writes == node.writes:
            return node
        return replace(node, reads=reads, lets=tuple(lets), writes=writes)

    def unclipped(self, expr: Expr, facts: Facts) -> Expr:
        """The smaller or larger of two integers of which it is known which one that is: a slice that does not clip.

        Or the side of a choice that is known: an index that is not counted from the end. Or a remainder that is known.
        """
        if not isinstance(expr, Op) or expr.type != PY_INT:
            return expr
        if expr.name == "select":
            return self.chosen(expr, facts)
        if expr.name not in ("minimum", "maximum", "remainder"):
            return expr
        left, right = (as_index(self.unclipped(arg, facts)) for arg in expr.args)
        if left is None or right is None:
            return expr
        if expr.name == "remainder":
            return self.wrapped(left, right, facts) or expr
        small, large = (left, right) if expr.name == "minimum" else (right, left)
        if self.bench.legality.is_nonnegative(large - small, facts):
            return left
        return right if self.bench.legality.is_nonnegative(small - large, facts) else expr

    def wrapped(self, left: Index, right: Index, facts: Facts) -> Expr | None:
        """A remainder of what is known to be in the range, or just beside it."""
        known = self.bench.legality.is_nonnegative
        for number in (left, left + right, left - right):
            if known(number, facts) and known(right - 1 - number, facts):
                return number
        return None

    def chosen(self, expr: Op, facts: Facts) -> Expr:
        condition, *sides = expr.args
        for side, truth in zip(sides, (True, False), strict=True):
            wanted = condition if truth else op("logical_not", (condition,), condition.type)
            if side.type == expr.type and self.bench.legality.proves(wanted, facts):
                return side
        return expr

    def guard(self, node: Guard, facts: Facts) -> Guard | None:
        condition = self.here.expr(node.condition)
        if self.bench.legality.proves(condition, facts) or self.is_of_root(condition):
            self.bench.note(f"holds anyway: {node.reason}", done=True)
            return None
        return node if condition is node.condition else replace(node, condition=condition)

    def is_of_root(self, condition: Expr) -> bool:
        """Whether it asks whether a number has a root, and that is one which is never negative."""
        match condition:
            case Op(name="logical_or", args=(Op(name="greater_equal", args=(x, Const(value=0.0))), Op(name="isnan"))):
                return is_never_negative(x, self.floats)
            case _:
                return False

    @cached_property
    def floats(self) -> Mapping[Value, Expr]:
        """How floats are computed; each is so once."""
        tasklets = (node for node in all_nodes(self.bench.program.body) if isinstance(node, Tasklet))
        return {let.value: let.expr for node in tasklets for let in node.lets if let.value.type.dtype.kind == "f"}


def _append(nodes: list[Node], node: Node) -> None:
    """Guards that the new one implies are not needed, if it follows at once and leaves through the same site."""
    if isinstance(node, Guard):
        clauses = clauses_of(node.condition)
        last = len(nodes) - 1
        while last >= 0 and isinstance(earlier := nodes[last], Guard) and earlier.site == node.site:
            if _follows(clauses_of(earlier.condition), clauses):
                del nodes[last]
            last -= 1
    nodes.append(node)


def _follows(wanted: Iterable[Clause], given: Iterable[Clause]) -> bool:
    known = list(given)
    return all(any(clause_implies(one, clause) for one in known) for clause in wanted)


def _arm(arm: Region, results: Sequence[Value | str], branch: Branch) -> list[Node]:
    *nodes, last = arm.nodes
    if not isinstance(last, Yield):
        return [*nodes, last]
    return [*nodes, *_bound(results, last.values, branch)]


def _bound(targets: Sequence[Value | str], items: Sequence[Expr | View], node: Branch | Loop) -> list[Node]:
    """Values given to targets, none of which is a ref."""
    pairs = zip(targets, items, strict=True)
    lets = tuple(Let(t, item) for t, item in pairs if isinstance(t, Value) and not isinstance(item, View))
    return [Tasklet(lets=lets, id=node.id, span=node.span)] if lets else []


def _is_another(value: Value, expr: Expr) -> bool:
    """Whether a value is just another expression that can stand anywhere, and that is known to have its bounds."""
    if isinstance(expr, Op) or expr.type != value.type:
        return False
    if value.low is None and value.high is None and value.floor is None and value.ceiling is None:
        return True
    polynomial = as_index(expr)
    return (
        polynomial is not None
        and all(bound is None or is_nonnegative(polynomial - bound) for bound in (value.low, value.floor))
        and all(bound is None or is_nonnegative(-polynomial + bound) for bound in (value.high, value.ceiling))
    )


def _solved(difference: Index) -> tuple[Value, Index] | None:
    """A value that is equal to a linear polynomial in others where the difference is 0: the one defined last.

    Loop variables, which have symbolic bounds, neither get another name nor give one.
    """
    if any(len(monomial) > 1 for monomial, _ in difference.terms):
        return None
    if any(value.floor is not None or value.ceiling is not None for value in difference.values):
        return None
    found = [(monomial[0], factor) for monomial, factor in difference.terms if monomial and abs(factor) == 1]
    found = [(value, factor) for value, factor in found if value.type == PY_INT]
    if not found:
        return None
    value, factor = max(found, key=lambda pair: pair[0].id)
    return value, index(value) - difference * factor
