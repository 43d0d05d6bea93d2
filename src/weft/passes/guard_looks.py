"""What the guards of a nest of loops depend on, and a look at it in front of the nest.

in:   a loop, the facts where it stands, what is written in it
out:  nodes that compute whether all guards will hold: `Look`, one reduction for each `Check`, with a guard behind it

What `guards_ahead.py` does with them, and why it may, is said there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Final

from weft.analysis.conditions import Constraint, as_index, clauses_of, condition_of
from weft.analysis.effects import effects_of
from weft.analysis.facts import Facts
from weft.analysis.uses import written_by
from weft.ir.dtypes import NP_BOOL, PY_FLOAT, PY_INT
from weft.ir.exprs import Expr, Index, Op, Value, const, const_index, index, op, substitute, values_in
from weft.ir.nodes import (
    Alloc,
    Branch,
    Container,
    Elements,
    Guard,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    NumpyCall,
    Reduce,
    Region,
    Storage,
    Tasklet,
    While,
    Yield,
    full_view,
)  # fmt: skip
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, bound_extents, values_defined_in
from weft.passes.base import Bench
from weft.passes.exact_conditions import is_exact
from weft.passes.hoist_guards import ends_iteration
from weft.passes.loop_bodies import Count, counted, ends, is_less
from weft.passes.open_sites import OpenSite
from weft.passes.straight_code import Code, is_inside
from weft.passes.wording import wraps
from weft.support.abi import NOT_COMPILED
from weft.support.records import record


@record
class Found:
    """A guard, the loops around it (outermost first) and the branches."""

    guard: Guard
    loops: tuple[Loop, ...]
    conditions: tuple[tuple[Expr, bool], ...]
    uncertain: bool = False  # a turn may end before

    @property
    def condition(self) -> Expr:
        """What must hold, wherever the branches lead."""
        condition = self.guard.condition
        for outer, truth in self.conditions:
            other = op("logical_not", (outer,), outer.type) if truth else outer
            condition = op("logical_or", (other, condition), NP_BOOL)
        return condition


@record(frozen=False)
class Check:
    """Conditions that are looked at together: over the turns of some loops, from the same elements."""

    loops: tuple[Loop, ...]
    around: tuple[Loop, ...]  # that must run for the elements to exist
    reads: frozenset[Value]  # and divisions, which not all numbers allow either
    strict: bool = False  # it may fail where the guards hold
    found: list[Found] = field(default_factory=list[Found])


@record(frozen=False)
class Whole:
    """Conditions on an element, wherever it is read: looked at for all elements of its array."""

    element: Value
    container: str
    computed: set[Value] = field(default_factory=set[Value])
    conditions: list[Expr] = field(default_factory=list[Expr])


class Look:
    """What the guards of a nest need, and a look at it."""

    def __init__(self, bench: Bench, loop: Loop, facts: Facts, written: frozenset[str]) -> None:
        self.bench = bench
        self.loop = loop
        self.facts = facts
        self.written = written
        own = values_defined_in(loop) | frozenset(bound_extents(loop, bench.containers))
        self.own = own
        self.made = effects_of(loop).allocates | effects_of(loop).binds
        self.writers = Counter(name for node in all_nodes(loop.body) for name in written_by(node))
        self.code = Code()
        self.supposed: set[Value] = set()  # what not every turn computes
        self.uncertain = False  # whether a turn may have ended by now
        self.found: list[Found] = []
        self.collected = False  # all of them
        self.checks: list[Check] = []
        self.wholes: dict[Value, Whole] = {}
        self.plain: dict[Value, Index] = {}  # indices that do not count from the end, as is checked
        self.all_of: dict[
            str, tuple[Expr, tuple[Loop, ...]]
        ] = {}  # conditions that a reduction has joined, by its result

    def obstacle(self) -> str:
        """Why guards cannot be looked at first; what is to be looked at is collected on the way."""
        reason = self.collect(self.loop.body, (self.loop,), ())
        if reason:
            return reason
        self.collected = True
        for found in self.found:
            reason = self.add(found)
            if reason and not self.add_whole(found) and not self.add_ends(found):
                return f"{reason}: {found.guard.reason}"
        return ""

    def collect(self, region: Region, loops: tuple[Loop, ...], conditions: tuple[tuple[Expr, bool], ...]) -> str:
        """The guards and what is computed on the way to them."""
        for node in region.nodes:
            reason = ""
            match node:
                case Tasklet():
                    self.define(node, supposed=bool(conditions) or self.uncertain)
                case Reduce(op="logical_and"):
                    self.joined(node, supposed=bool(conditions) or self.uncertain)
                case Guard():
                    reason = self.meet(Found(node, loops, conditions, self.uncertain))
                case Loop(body=body):
                    reason = self.collect(body, (*loops, node), conditions)
                case Branch(condition=condition, then=then, orelse=orelse):
                    reason = self.collect(then, loops, (*conditions, (condition, True)))
                    reason = reason or self.collect(orelse, loops, (*conditions, (condition, False)))
                case While(body=body) | Map(body=body) if any(isinstance(inner, Guard) for inner in all_nodes(body)):
                    reason = "there is one in a loop that may never end"
                case _:
                    pass
            if reason:
                return reason
            if isinstance(node, While | NumpyCall) or (isinstance(node, Branch) and ends_iteration(node, 0)):
                self.uncertain = True
        return ""

    def meet(self, found: Found) -> str:
        if found.guard.reason.startswith(NOT_COMPILED):
            return "Python takes over only where it must"
        self.found.append(self.taken_apart(found))
        return ""

    def define(self, node: Tasklet, *, supposed: bool) -> None:
        for value, memlet in node.reads:
            self.code.reads[value] = memlet
        for let in node.lets:
            self.code.lets[let.value] = replace(let, warn=-1)  # the loop reports it
        defined = [*(value for value, _ in node.reads), *(let.value for let in node.lets)]
        self.code.order += defined
        self.code.spans.update(dict.fromkeys(defined, node.span))
        if supposed:
            self.supposed.update(defined)

    def joined(self, node: Reduce, *, supposed: bool) -> None:
        """A condition on all elements is as good as one in a loop over them: the look is a reduction itself."""
        source, name = node.input, node.output.container
        if not isinstance(source, Elements) or node.output.rank or name in self.all_of:
            return
        for tasklet in source.body:
            self.define(tasklet, supposed=supposed)
        zero, one = const_index(0), const_index(1)
        loops = tuple(
            Loop(var=param, start=zero, stop=extent, step=one, carries=(), body=Region(()), id=node.id, span=node.span)
            for param, extent in zip(source.params, source.shape, strict=True)
        )
        self.all_of[name] = source.expr, loops

    def taken_apart(self, found: Found) -> Found:
        """A guard on the result of such a reduction, as one on its elements."""
        condition = found.guard.condition
        memlet = self.code.reads.get(condition) if isinstance(condition, Value) else None
        if memlet is None or memlet.container not in self.all_of or self.writers[memlet.container] > 1:
            return found
        each, loops = self.all_of[memlet.container]
        return replace(found, guard=replace(found.guard, condition=each), loops=(*found.loops, *loops))

    @property
    def is_open(self) -> bool:
        """Whether the loop is there twice: with its guards for where a look goes wrong that was too strict."""
        return bool(self.wholes) or any(check.strict for check in self.checks)

    # -- one guard

    def add(self, found: Found, *, strict: bool = False) -> str:
        """Put a guard among the checks; why not, if that cannot be done."""
        origins = self.code.origins(found.condition)
        computed = self.code.needs(values_in(found.condition))
        variables = {loop.var: loop for loop in found.loops}
        if any(value in self.own and value not in computed and value not in variables for value in origins):
            return "it depends on what the loop computes"
        reads = frozenset(value for value in computed if value in self.code.reads)
        if any(self.may_change(self.code.reads[value].container) for value in reads):
            return "it depends on what the loop writes"
        over = tuple(loop for loop in found.loops if loop.var in origins)
        if not all(self.is_fixed(loop) for loop in over):
            return "it depends on a loop whose range varies"
        if any(effects_of(loop.body.nodes).jumps for loop in over):
            return "the loop may end before its last iteration"
        partial = frozenset(v for v in computed if v in self.code.lets and is_partial(self.code.lets[v].expr))
        if is_partial(found.guard.condition):
            partial |= {Value(-1 - len(self.checks), "", PY_INT)}  # looked at on its own
        reads |= partial
        around = self.needed(found, over, reads)
        if around is None:
            return "it reads what may not exist"
        self.join(found, Check(over, around, reads, strict))
        return ""

    def may_change(self, name: str) -> bool:
        """Whether an array is made, bound or written in the nest."""
        overlaps = self.bench.legality.memory.may_overlap
        return name in self.made or any(overlaps(name, other) for other in self.written)

    def is_fixed(self, loop: Loop) -> bool:
        """Whether the range of a loop is known in front of the nest."""
        return loop.step.constant is not None and self.own.isdisjoint(loop.start.values | loop.stop.values)

    def needed(self, found: Found, over: tuple[Loop, ...], reads: frozenset[Value]) -> tuple[Loop, ...] | None:
        """The loops that must run for what a guard reads to exist; None where it may not."""
        facts = self.facts
        for loop in over:
            facts = facts.in_range(loop.var, loop.start, loop.stop, loop.step)
        if all(self.exists(value, facts) for value in reads):
            return ()
        around = tuple(loop for loop in found.loops if loop not in over and self.is_fixed(loop))
        for loop in around:
            facts = facts.given(_runs(loop))
        doubtful = [value for value in reads if not self.exists(value, facts)]
        if not doubtful:
            return around
        # The loop itself reads it at every point, behind the guards before, which are checked before.
        in_any_case = len(around) + len(over) == len(found.loops) and self.supposed.isdisjoint(doubtful)
        in_any_case = in_any_case and not self.is_open  # by a guard, not only by a condition
        if (found.conditions or found.uncertain) and any(value.id < 0 for value in doubtful):
            return None
        return around if in_any_case else None

    def exists(self, value: Value, facts: Facts) -> bool:
        """Whether an element provably is there to be read; no division has that proof."""
        memlet = self.code.reads.get(value)
        return memlet is not None and is_inside(memlet, facts, self.bench)

    def join(self, found: Found, wanted: Check) -> None:
        """Add a guard to the last check that reads as much in the same loops, else make another."""
        for check in self.checks:
            same = (check.loops, check.around, check.strict) == (wanted.loops, wanted.around, wanted.strict)
            if same and wanted.reads <= check.reads:
                check.found.append(found)
                return
        wanted.found.append(found)
        self.checks.append(wanted)

    def add_whole(self, found: Found) -> bool:
        """Put a guard among those on all elements of an array, if it depends on one element and nothing else."""
        elements, computed = set[Value](), set[Value]()
        pending = list(values_in(found.condition))
        while pending:
            value = pending.pop()
            if value in self.code.reads:
                elements.add(value)
            elif value in self.code.lets:
                computed.add(value)
                pending += values_in(self.code.lets[value].expr)
            elif value in self.own:
                return False
        exprs = (found.condition, *(self.code.lets[value].expr for value in computed))
        if len(elements) != 1 or any(map(is_partial, exprs)):
            return False
        (element,) = elements
        name = self.code.reads[element].container
        if self.may_change(name) or not self.bench.containers[name].rank:
            return False
        whole = self.wholes.setdefault(element, Whole(element, name))
        whole.computed |= computed
        whole.conditions.append(found.condition)
        return True

    def add_ends(self, found: Found) -> bool:
        """Put a guard on the variable of a loop whose range varies among the checks: at both ends of every range.

        What is so at both ends of a range is so between them for conditions that are linear. Indices count as linear
        where they do not count from the end; where they do, the loop runs as it was.
        """
        varying = [loop for loop in found.loops if not self.is_fixed(loop)]
        if len(varying) != 1 or varying[0].step.constant != 1 or found.conditions or found.uncertain:
            return False
        loop = varying[0]
        assumed: dict[Value, Index] = {}
        condition = self.forward(found.guard.condition, assumed)
        clauses = clauses_of(condition)
        atoms = [
            *map(Constraint, assumed.values()),
            *(atom for clause in clauses for atom in clause if isinstance(atom, Constraint)),
        ]
        single = all(len(clause) == 1 and isinstance(clause[0], Constraint) for clause in clauses)
        if not single or not all(_is_linear(atom, loop.var) for atom in atoms):
            return False
        places = (loop.start, loop.stop - 1)
        at_ends = [(Constraint(atom.index.substitute({loop.var: place})),) for place in places for atom in atoms]
        if not all(is_exact(clause, self.facts, self.bench) for clause in at_ends):
            return False
        wanted = [condition_of(clause) for clause in at_ends]
        empty = op("greater_equal", (loop.start, loop.stop), NP_BOOL)
        guard = replace(found.guard, condition=op("logical_or", (empty, all_of(wanted)), NP_BOOL))
        others = tuple(other for other in found.loops if other is not loop)
        if self.add(Found(guard, others, ()), strict=True):
            return False
        self.plain.update(assumed)
        return True

    def forward(self, expr: Expr, assumed: dict[Value, Index]) -> Expr:
        """An expression in what the loop reads and its variables, with indices that do not count from the end."""
        lets: dict[Value, Expr] = {}
        for value in self.code.order:
            let = self.code.lets.get(value)
            if let is None or value.type != PY_INT:
                continue
            match let.expr:
                case Op(name="select", args=(_, wrapped, plain)) if wraps(wrapped, plain):
                    position = as_index(substitute(plain, lets))
                    if position is not None:
                        lets[value] = position
                        if value in self.code.needs(values_in(expr)):
                            assumed[value] = position
                case Index() as polynomial:
                    lets[value] = substitute(polynomial, lets)
                case _:
                    pass
        return substitute(expr, lets)

    # -- nodes

    def build(self, site: OpenSite, holding: list[Value]) -> Iterator[Node]:
        """The checks, each followed by its guard; `holding` gets what must hold besides."""
        for check in self.checks:
            yield from self.check(check, site, holding)
        for whole in self.wholes.values():
            holding.append(self.bench.value("all", NP_BOOL))
            yield self.whole(whole, holding[-1])

    def check(self, check: Check, site: OpenSite, holding: list[Value]) -> Iterator[Node]:
        bench, span = self.bench, self.loop.span
        counts = [_count(loop, self.facts, self.bench) for loop in check.loops]
        lets = [let for count in counts for let in count.lets]
        trips = [count.trips for count in counts] or [const_index(1)]
        if check.around:
            trips[0] = _if_all_run(check.around, trips[0], lets, self.bench)
        turns = [Value(bench.number(), loop.var.name, PY_INT, 0, None, const_index(0), trip - 1)
                 for loop, trip in zip(check.loops or (self.loop,), trips, strict=True)]  # fmt: skip
        condition = all_of([found.condition for found in check.found])
        source = Elements(tuple(turns), tuple(trips), tuple(self.code.slice_of(values_in(condition))), condition)
        container = bench.container("holds", NP_BOOL.dtype, (), Storage.STACK)
        reduce = _joining(container, source, self.loop, self.bench)
        at: dict[Value, Expr] = {
            loop.var: count.at(turns[number])
            for number, (loop, count) in enumerate(zip(check.loops, counts, strict=True))
        }
        if lets:
            yield Tasklet(lets=tuple(lets), id=bench.number(), span=span)
        yield Alloc(container=container.name, site=-1, id=bench.number(), span=span)
        yield from with_fresh_values([reduce], bench.number, {**at, **{turn: turn for turn in turns}})
        holds = bench.value("holds", NP_BOOL)
        yield Tasklet(reads=((holds, Memlet(container.name, ())),), id=bench.number(), span=span)
        reasons = dict.fromkeys(found.guard.reason for found in check.found)
        if check.strict:
            holding.append(holds)
        else:
            yield Guard(holds, site.number, "; ".join(reasons))

    def whole(self, whole: Whole, result: Value) -> Branch:
        """A look at all elements of an array, if those are not too many for the turns of the loop."""
        bench, span, shape = self.bench, self.loop.span, self.bench.containers[whole.container].shape
        params = tuple(Value(bench.number(), "p", PY_INT, 0, None, const_index(0), extent - 1) for extent in shape)
        code = Code(lets=self.code.lets, spans=self.code.spans)
        code.order = [value for value in self.code.order if value == whole.element or value in whole.computed]
        code.reads[whole.element] = Memlet(whole.container, tuple(map(index, params)))
        condition = all_of(whole.conditions)
        source = Elements(params, shape, tuple(code.slice_of(values_in(condition))), condition)
        container = bench.container("holds", NP_BOOL.dtype, (), Storage.STACK)
        reduce = _joining(container, source, self.loop, self.bench)
        holds = bench.value("holds", NP_BOOL)
        then = (
            Alloc(container=container.name, site=-1, id=bench.number(), span=span),
            *with_fresh_values([reduce], bench.number, {param: param for param in params}),
            Tasklet(reads=((holds, Memlet(container.name, ())),), id=bench.number(), span=span),
            Yield((holds,)),
        )
        size: Expr = const(1.0, PY_FLOAT)
        for extent in shape:
            size = op("multiply", (size, op("cast", (extent,), PY_FLOAT)), PY_FLOAT)
        first, last = ends(self.loop)
        turns = op("cast", ((last - first) * _ELEMENTS_A_TURN + _FEW,), PY_FLOAT)
        few = op("less_equal", (size, turns), NP_BOOL)
        return Branch(
            condition=few, then=Region(then), orelse=Region((Yield((const(False, NP_BOOL),)),)), results=(result,),
            id=bench.number(), span=span,
        )  # fmt: skip


_ELEMENTS_A_TURN: Final = 256  # of an array that is looked at for each turn of a loop, at most
_FEW: Final = 4096  # elements that are looked at in any case
_PARTIAL: Final = frozenset(("floor_divide", "remainder", "fmod"))


def is_partial(expr: Expr) -> bool:
    """Whether there are integers for which an expression must not be computed."""
    if not isinstance(expr, Op):
        return False
    divides = expr.name in _PARTIAL and expr.type.dtype.kind in "iu"
    by = as_index(expr.args[1]) if divides else None
    return (divides and (by is None or (by.constant or 0) <= 0)) or any(map(is_partial, expr.args))


def _joining(container: Container, source: Elements, loop: Loop, bench: Bench) -> Reduce:
    """The reduction that says whether a condition holds at all points."""
    return Reduce(
        op="minimum", output=full_view(container), input=source, axes=tuple(range(source.rank)),
        initial=const(True, NP_BOOL), id=bench.number(), span=loop.span,
    )  # fmt: skip


def _count(loop: Loop, facts: Facts, bench: Bench) -> Count:
    count = counted(loop, facts, bench)
    assert count is not None
    return count


def _if_all_run(loops: Sequence[Loop], trips: Index, lets: list[Let], bench: Bench) -> Index:
    """A number of turns, 0 if one of the loops does not run."""
    condition: Expr = const(True, NP_BOOL)
    for loop in loops:
        condition = op("logical_and", (condition, _runs(loop)), NP_BOOL)
    value = replace(bench.value("turns", PY_INT), low=0)
    lets.append(Let(value, op("select", (condition, trips, const_index(0)), PY_INT)))
    return index(value)


def _is_linear(atom: Constraint, var: Value) -> bool:
    """Whether a constraint that holds at both ends of a range of a variable holds between them."""
    squares = any(monomial.count(var) > 1 for monomial, _ in atom.index.terms)
    return not atom.equal and not squares


def all_of(conditions: Sequence[Expr]) -> Expr:
    """All of them, of which there is one at least."""
    condition, *more = conditions
    for other in more:
        condition = op("logical_and", (condition, other), NP_BOOL)
    return condition


def _runs(loop: Loop) -> Expr:
    return is_less(*ends(loop))
