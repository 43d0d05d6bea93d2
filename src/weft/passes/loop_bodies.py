"""What the passes on loops share: bodies without jumps, ranges counted from 0, the order of their ends.

`straight` gives the nodes of a body that runs to its end in every iteration; `obstacle` says what keeps one from it.
Sites that no guard and no allocation names are nothing there.
`Count` is the range of a loop as a number of turns: `var = start + step * turn`, turn in 0:trips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from weft.analysis.facts import Constraint, Facts
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, Index, Op, Value, const_index, index, op, values_in
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
    NumpyCall,
    Program,
    Region,
    Return,
    Site,
    Storage,
    Tasklet,
    While,
    Yield,
)  # fmt: skip
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, allocated_by, inner_regions, site_left_through
from weft.passes.base import Bench, Session, rewrite_nodes, rewrite_regions
from weft.support.records import record
from weft.support.spans import Span


def has_loops(program: Program) -> bool:
    """Whether there is anything for a pass on loops."""
    return any(isinstance(node, Loop) for node in all_nodes(program.body))


LoopRule = Callable[[Loop, Facts, Bench, frozenset[int]], list[Node] | None]


def rewrite_loops(step: str, program: Program, session: Session, rule: LoopRule) -> Program:
    """Apply a rule to every loop, innermost first: what becomes of it, or None where it stays."""
    if not has_loops(program):
        return program
    bench = Bench(step, program, session)
    named = named_sites(program)

    def rewrite(region: Region, facts: Facts) -> Region:
        nodes: list[Node] = []
        changed = False
        for node in region.nodes:
            made = rule(node, facts, bench, named) if isinstance(node, Loop) else None
            changed |= made is not None
            nodes += [node] if made is None else made
            facts = facts.after(node)
        return Region(tuple(nodes)) if changed else region

    return rewrite_regions(bench, rewrite)


def named_sites(program: Program) -> frozenset[int]:
    """The sites through which a program may leave."""
    sites = (site_left_through(node) for node in all_nodes(program.body))
    return frozenset(site for site in sites if site is not None)


def straight(loop: Loop, named: frozenset[int]) -> tuple[Node, ...] | None:
    """The nodes of a body that ends with its only `continue` and cannot be left otherwise, without its sites."""
    if not loop.body.nodes or not isinstance(loop.body.nodes[-1], Continue) or obstacle(loop, named) is not None:
        return None
    body = Region(loop.body.nodes[:-1])
    return rewrite_nodes(body, lambda node: () if isinstance(node, Site) else None).nodes


def continued(loop: Loop) -> Continue:
    """The `continue` a straight body ends with."""
    last = loop.body.nodes[-1]
    assert isinstance(last, Continue)
    return last


@record
class LaterTurn:
    """Nodes of a loop as they are in another turn, `var`: all that they compute and what is carried is their own."""

    loop: Loop
    var: Value
    nodes: tuple[Node, ...]

    def facts(self, facts: Facts, bench: Bench, distance: int) -> Facts:
        """Inside of both turns, the other one so many turns later or more. `facts` hold in front of the loop."""
        loop, step = self.loop, self.loop.step.constant or 1
        inside = facts.inside(loop, bench.legality.memory)[0]
        forms = ((index(self.var) - index(loop.var)) * step - distance, (loop.stop - index(self.var)) * step - 1)
        return inside.also(tuple(Constraint(form.substitute(inside.definitions)) for form in forms))


def later_turn(loop: Loop, nodes: Sequence[Node], bench: Bench) -> LaterTurn:
    """Some nodes of a loop in a turn of their own, with all of the loop that they need values of."""
    later = bench.value(loop.var.name, loop.var.type)
    carried = [carry.target for carry in loop.carries if isinstance(carry.target, Value)]
    fresh = {value: bench.value("x", value.type) for value in carried}
    return LaterTurn(loop, later, tuple(with_fresh_values(tuple(nodes), bench.number, {loop.var: later, **fresh})))


@record
class Obstacle:
    """What keeps iterations from running to their end on their own, and where it stands."""

    text: str
    span: Span | None


def obstacle(loop: Loop, named: frozenset[int]) -> Obstacle | None:
    """The first way out of a body, but for the `continue` at its end; None if there is none."""
    if loop.step.constant is None:
        return Obstacle("its step is not known when it is compiled", loop.span)
    inside = Region(loop.body.nodes[:-1])
    places = {node.number: node.span for node in all_nodes(inside) if isinstance(node, Site)}
    first = next(_ways_out(inside, 0, loop.span, places), None)
    return first or _missing_end(loop) or _allocation(inside, loop, named)


def _missing_end(loop: Loop) -> Obstacle | None:
    *_, last = loop.body.nodes or (None,)
    return None if isinstance(last, Continue) else Obstacle("it is left before its end", loop.span)


def _allocation(inside: Region, loop: Loop, named: frozenset[int]) -> Obstacle | None:
    """Memory that may not be there: Python then goes on in the middle of the loop."""
    nodes = list(all_nodes(inside))
    sites = {node.number for node in nodes if isinstance(node, Site) and node.number in named}
    for node in nodes:
        if isinstance(node, Alloc) and node.site in sites:
            return Obstacle("each iteration allocates memory", node.span or loop.span)
    return Obstacle("it may go on in Python", loop.span) if sites else None


def _ways_out(region: Region, depth: int, span: Span | None, places: Mapping[int, Span | None]) -> Iterator[Obstacle]:
    here = span
    for node in region.nodes:
        if not isinstance(node, Branch):  # its condition is computed in front of it, and has the better place
            here = getattr(node, "span", None) or here
        match node:
            case Guard(site=site, reason=reason):
                yield Obstacle(f"each iteration checks for `{reason}`", places.get(site) or here)
            case NumpyCall(function=function, changes=changes) if changes:
                yield Obstacle(f"each iteration draws by {function}", here)
            case NumpyCall(function=function):
                yield Obstacle(f"each iteration calls {function} in Python", here)
            case Return():
                yield Obstacle("it may return", here)
            case Break(depth=out) if out >= depth:
                yield Obstacle("it may break", here)
            case Continue() if depth == 0:
                yield Obstacle("it may continue early", here)
            case _:
                inner = depth + isinstance(node, Loop | While)
                for body in inner_regions(node):
                    yield from _ways_out(body, inner, here, places)


def shapes_fixed(nodes: tuple[Node, ...], values: frozenset[Value], bench: Bench) -> bool:
    """Whether no array allocated in the nodes has a shape that depends on the values: those may then be replaced."""
    for node in all_nodes(Region(nodes)):
        shapes = (bench.containers[name].shape for name in allocated_by(node))
        if any(extent.values & values for shape in shapes for extent in shape):
            return False
    return all(
        not any(extent.values & values for extent in container.shape)
        for container in bench.containers.values()
        if container.storage is Storage.ALIAS
    )


# ---- ranges ---------------------------------------------------------------------------------------------------------


@record
class Count:
    """A range counted from 0. `lets` compute the number of turns where it is no polynomial."""

    start: Index
    step: int
    trips: Index
    lets: tuple[Let, ...] = ()

    def at(self, turn: Value) -> Index:
        """The value of the loop variable at a turn."""
        return self.start + index(turn) * self.step


def counted(loop: Loop, facts: Facts, bench: Bench) -> Count | None:
    """The range of a loop as a number of turns that is never negative; None for a step not known."""
    step = loop.step.constant
    if step is None:
        return None
    span = loop.stop - loop.start if step > 0 else loop.start - loop.stop
    stride = abs(step)
    if span.constant is not None:
        return Count(loop.start, step, const_index(max(0, -(-span.constant // stride))))
    lets: list[Let] = []
    if not bench.legality.is_nonnegative(span, facts):
        span = _let(lets, op("maximum", (span, const_index(0)), PY_INT), "span", bench)
    if stride > 1:
        span = _let(lets, op("floor_divide", (span + (stride - 1), const_index(stride)), PY_INT), "trips", bench)
    return Count(loop.start, step, span, tuple(lets))


def _let(lets: list[Let], expr: Expr, name: str, bench: Bench) -> Index:
    value = Value(bench.number(), name, PY_INT, low=0)
    lets.append(Let(value, expr))
    return index(value)


def ends(loop: Loop) -> tuple[Index, Index]:
    """The two ends of a range of known step, the lower first: it has an iteration where that is less."""
    return (loop.start, loop.stop) if (loop.step.constant or 1) > 0 else (loop.stop, loop.start)


def turn_of(loop: Loop, trips: Index, bench: Bench) -> Value:
    """A variable that counts the turns of a loop."""
    return Value(bench.number(), loop.var.name, PY_INT, 0, None, const_index(0), trips - 1)


def computed(lets: tuple[Let, ...], loop: Loop, bench: Bench) -> list[Node]:
    """The lets as a node; nothing for none."""
    return [Tasklet(lets=lets, id=bench.number(), span=loop.span)] if lets else []


def only_if(condition: Expr, nodes: list[Node], span: Span | None, bench: Bench) -> Branch:
    """The nodes under a condition; a lone branch inside joins its own to it."""
    if len(nodes) == 1 and isinstance(nodes[0], Branch) and is_plain_if(nodes[0]):
        inner = nodes[0]
        both = op("logical_and", (condition, inner.condition), NP_BOOL)
        return Branch(condition=both, then=inner.then, orelse=inner.orelse, id=inner.id, span=inner.span)
    then = Region((*nodes, Yield()))
    return Branch(condition=condition, then=then, orelse=Region((Yield(),)), id=bench.number(), span=span)


def is_plain_if(node: Branch) -> bool:
    """A branch without results and without an else, both sides of which run to their end."""
    return (
        not node.results
        and node.orelse.nodes == (Yield(),)
        and bool(node.then.nodes)
        and isinstance(node.then.nodes[-1], Yield)
    )


def invariant_branch(loop: Loop, body: tuple[Node, ...]) -> Branch | None:
    """The branch that a body is, where its condition is the same in all iterations."""
    if len(body) != 1 or not isinstance(body[0], Branch) or not is_plain_if(body[0]):
        return None
    carried = {carry.target for carry in loop.carries}
    needed = values_in(body[0].condition)
    return body[0] if loop.var not in needed and not needed & carried else None


def is_less(left: Index, right: Index) -> Op:
    """`left < right`."""
    return op("less", (left, right), NP_BOOL)


def quotient(left: Index, right: Index) -> Expr:
    """`left // right`."""
    return op("floor_divide", (left, right), PY_INT)


def smaller(left: Expr, right: Expr) -> Expr:
    """The smaller of two integers."""
    return op("minimum", (left, right), PY_INT)


def larger(left: Expr, right: Expr) -> Expr:
    """The larger of two integers."""
    return op("maximum", (left, right), PY_INT)


def nest_with_outermost(made: Map, number: int) -> Loop:
    """The nest of loops with one parameter of the map outermost and the turns innermost."""
    nodes = made.body.nodes
    order = (*(n for n in range(len(made.params)) if n != number), number)
    for place in order:
        nodes = (_loop(made.params[place], made.ranges[place], nodes, made),)
    outermost = nodes[0]
    assert isinstance(outermost, Loop)
    return outermost


def _loop(param: Value, bounds: tuple[Index, Index], nodes: tuple[Node, ...], made: Map) -> Loop:
    region = Region((*nodes, Continue(())))
    return Loop(
        var=param,
        start=bounds[0],
        stop=bounds[1],
        step=const_index(1),
        carries=(),
        body=region,
        id=made.id,
        span=made.span,
    )


def quiet(region: Region) -> Region:
    """A region with loops for what hardly happens: later passes tell the user nothing of them."""

    def rule(node: Node) -> tuple[Node, ...] | None:
        return (replace(node, span=None),) if isinstance(node, Loop) and node.span is not None else None

    return rewrite_nodes(region, rule)
