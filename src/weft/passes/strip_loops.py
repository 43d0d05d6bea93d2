"""Loops over one map run strip by strip: all their turns on a part of the points that stays in the nearest cache.

before:  for t in 0:n { map (p) in [0:m] { x = X[p]; y = select(x < 4, x * x, x); write X[p] = y }; continue }
after:   map (s) in [0:strips] { low, high = s * length, min(m, s * length + length)
             for t in 0:n { map (p) in [low:high] { ...; write mask[p - low] = x < 4 }
                            reduce logical_or any = mask; if not any { break }; continue } }

Legal where a point meets only itself in other turns: with each parameter of the map as the outermost loop, the legality
core finds its iterations independent. Then strips may run in any order, and at once: threads start once for all turns.
Worth it where most of what a point touches is the same in all turns, or where each turn computes one line along memory
from lines before it: `b[i] = a[i] + 0.5 * b[i - 1]`. What the turns read for all points, `w[i, j]`,
they read in every strip.

Loops over several maps and reductions are cut where all of these have an axis of one length along which no two points
meet, whatever the turns: the core is asked about the loop on one point after the other. Sums then have parts of it:

before:  for i in 0:n { reduce add T[:] = elements at (j, k) over [m, i] { ... }; map (j) in [0:m] { ... T[j] ... } }
after:   if 128 <= m and rows * length < second cache {
             map (s) in [0:strips] { first, end = s * length, min(m, s * length + length)
                 for i in 0:n { reduce add T[first:end] = ... over [end - first, i] ...; map (j) in [first:end] ... } }
         } else { for i in 0:n { ... } }

Worth it where turns read many lines that others read too: each strip of them stays in the second cache, and threads
start once for all turns instead of once for each sum.

Where every write either changes its element or leaves it as it is, as one condition of the point says, and a turn is
computed from the arrays alone, a turn that changes nothing is followed by turns that change nothing: the strip is
done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from weft.analysis.facts import Facts
from weft.ir.dtypes import NP_BOOL, PY_INT, DType
from weft.ir.exprs import Expr, Index, Op, Value, const, const_index, index, op
from weft.ir.nodes import (
    Alloc,
    Axis,
    Branch,
    Break,
    Continue,
    Let,
    Loop,
    Map,
    Memlet,
    Node,
    Program,
    Reduce,
    Region,
    Storage,
    Tasklet,
    View,
    Yield,
    full_view,
)  # fmt: skip
from weft.ir.substitution import with_fresh_values
from weft.ir.traverse import all_nodes, memlets_of, values_used_in
from weft.passes.base import Bench, Session
from weft.passes.loop_bodies import computed, is_less, larger, nest_with_outermost, quotient, rewrite_loops, smaller
from weft.passes.schedule_maps import why_in_order
from weft.passes.strip_bodies import Cut, cuts, point_nodes
from weft.passes.tasklets import is_plain, only_reads
from weft.passes.wording import why_serial
from weft.support.records import record

_LONGEST: Final = 512  # points of a strip: the arrays of a turn fit into the nearest cache
_SHORTEST: Final = 64  # and of one that is watched: the sooner it is done
_PARTS: Final = 8  # that a short line is cut into, for threads
_NEAR_BYTES: Final = 704 * 1024  # what the second cache holds of all that several nodes touch in a strip
_APART: Final = 16  # elements that come into it with every line of a strip


@record
class StripLoops:
    """Turn loops over maps into maps over loops over strips."""

    name: ClassVar[str] = "strip-loops"

    def run(self, program: Program, session: Session) -> Program:
        """The program with these loops in strips."""
        loops = [node for node in all_nodes(program.body) if isinstance(node, Loop)]
        nests = [nest for nest in map(_nest, loops) if nest is not None]
        inner = {loop.id for nest in nests for loop in nest.loops[1:]}
        inner |= {node.id for loop in loops if point_nodes(loop) for node in loop.body.nodes if isinstance(node, Loop)}
        return rewrite_loops(self.name, program, session, partial(_outermost, frozenset(inner)))


@record
class _Nest:
    """Loops in each other, what each reads for its turn, and the map in the innermost one."""

    loops: tuple[Loop, ...]
    reads: tuple[tuple[Tasklet, ...], ...]
    points: Map

    def around(self, nodes: tuple[Node, ...]) -> Loop:
        """The loops, with other nodes in place of the map."""
        for loop, reads in zip(reversed(self.loops), reversed(self.reads), strict=True):
            nodes = (replace(loop, body=Region((*reads, *nodes, Continue()))),)
        (outermost,) = nodes
        assert isinstance(outermost, Loop)
        return outermost

    @property
    def moving(self) -> frozenset[Value]:
        """What differs from turn to turn."""
        read = (value for tasklets in self.reads for tasklet in tasklets for value in _defined(tasklet))
        return frozenset((*(loop.var for loop in self.loops), *read))


def _nest(loop: Loop) -> _Nest | None:
    """The nest that a loop is the outermost one of."""
    match loop.body.nodes:
        case (*first, (Map() | Loop()) as last, Continue()) if not loop.carries:
            reads = tuple(node for node in first if isinstance(node, Tasklet) and only_reads(node))
            if len(reads) != len(first):
                return None
        case _:
            return None
    if isinstance(last, Map):
        return _Nest((loop,), (reads,), last) if last.params and is_plain(last) else None
    inner = _nest(last)
    return None if inner is None else _Nest((loop, *inner.loops), (reads, *inner.reads), inner.points)


def _defined(tasklet: Tasklet) -> list[Value]:
    return [*(value for value, _ in tasklet.reads), *(let.value for let in tasklet.lets)]


def _outermost(
    inner: frozenset[int], loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]
) -> list[Node] | None:
    """A loop in strips; or, where it must stay, those inside of it."""
    return None if loop.id in inner else _cut(loop, facts, bench, named)


def _cut(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    nest = _nest(loop)
    if nest is not None:
        return _strips(nest, facts, bench, named)
    made = _several(loop, facts, bench, named)
    return _inside(loop, facts, bench, named) if made is None else made


def _inside(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    """The loop around others in strips."""
    nodes: list[Node] = []
    changed = False
    (facts,) = facts.inside(loop, bench.legality.memory)
    for node in loop.body.nodes:
        made = _cut(node, facts, bench, named) if isinstance(node, Loop) and point_nodes(loop) else None
        changed |= made is not None
        nodes += [node] if made is None else made
        facts = facts.after(node)
    return [replace(loop, body=Region(tuple(nodes)))] if changed else None


def _strips(nest: _Nest, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    loop, points = nest.loops[0], nest.points
    if any(bound.values & nest.moving for bounds in points.ranges for bound in bounds) or not _pays(nest):
        return _without_outermost(nest, facts, bench, named)
    at_points = replace(points, body=Region((nest.around(points.body.nodes),)))
    for number in range(len(points.params)):
        reason = why_serial(nest_with_outermost(at_points, number), facts, bench.legality, named)
        if reason is not None:
            text = f"the loop over {loop.var.name} is not cut into strips: {reason}"
            bench.note(text, loop, done=False)
            return _without_outermost(nest, facts, bench, named)
    bench.note(f"the loop over {loop.var.name} runs strip by strip", loop, done=True)
    return _in_strips(nest, bench)


def _without_outermost(nest: _Nest, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    """The outermost loop around the others in strips."""
    if len(nest.loops) == 1:
        return None
    rest = _Nest(nest.loops[1:], nest.reads[1:], nest.points)
    made = _strips(rest, facts.inside(nest.loops[0], bench.legality.memory)[0], bench, named)
    if made is None:
        return None
    return [replace(nest.loops[0], body=Region((*nest.reads[0], *made, Continue())))]


def _pays(nest: _Nest) -> bool:
    """Whether most of what a point touches is the same in all turns, good for a near cache, or one line each."""
    memlets = memlets_of(nest.points.body.nodes)
    if any(memlet.conflict for memlet in memlets):
        return False
    moved = sum(any(at.values & nest.moving for at in memlet.index) for memlet in memlets)
    return 2 * moved < len(memlets) or _is_line_by_line(nest)


def _is_line_by_line(nest: _Nest) -> bool:
    """Whether each turn computes one line along memory: few lines are long enough to start threads for."""
    *others, param = nest.points.params
    if others or len(nest.loops) > 1:
        return False
    writes = [memlet for node in nest.points.body.nodes if isinstance(node, Tasklet) for memlet, _ in node.writes]
    return all(memlet.index and param in memlet.index[-1].values for memlet in writes)


def _in_strips(nest: _Nest, bench: Bench) -> list[Node]:
    loop, points = nest.loops[0], nest.points
    *outer, param = points.params
    *boxes, (start, stop) = points.ranges
    length, strips, strip = (bench.value(name, PY_INT) for name in ("length", "strips", "strip"))
    first, end = (bench.value(name, PY_INT) for name in ("first", "end"))
    changes = _condition_of_changes(nest)
    part = larger(const_index(_SHORTEST), quotient(stop - start + _PARTS - 1, const_index(_PARTS)))
    longest = const_index(_LONGEST) if outer else smaller(const_index(_LONGEST), part)  # threads have the other axes
    chosen = longest if changes is None else const_index(_SHORTEST)
    number = quotient(stop - start + index(length) - 1, index(length))
    sizes = Tasklet(
        lets=(Let(length, chosen), Let(strips, larger(const_index(0), number))),
        id=bench.number(),
        span=loop.span,
    )
    low = start + index(length) * index(strip)
    bounds = Tasklet(
        lets=(Let(first, low), Let(end, smaller(stop, low + index(length)))), id=bench.number(), span=loop.span
    )
    inner = replace(points, params=(param,), ranges=((index(first), index(end)),))
    allocs, turn = ([], [inner]) if changes is None else _watched(loop, inner, changes, bench)
    made = replace(
        points,
        params=(*outer, strip),
        ranges=(*boxes, (const_index(0), index(strips))),
        body=Region((bounds, *allocs, nest.around(tuple(turn)))),
        warn=-1,
        id=bench.number(),
    )
    return [sizes, made]


# ---- loops over several nodes ---------------------------------------------------------------------------------------


def _several(loop: Loop, facts: Facts, bench: Bench, named: frozenset[int]) -> list[Node] | None:
    """A loop over maps and reductions in strips of an axis that all of them have."""
    if why_in_order(loop.body, bench.containers) is not None:
        return None
    for cut in cuts(loop):
        if not cut.pays(bench.containers):
            continue
        reason = _why_not_apart(cut, facts, bench, named)
        if reason is None:
            bench.note(f"the loop over {loop.var.name} runs strip by strip", loop, done=True)
            return _cut_in_strips(cut, bench)
        bench.note(f"the loop over {loop.var.name} is not cut into strips: {reason}", loop, done=False)
    return None


def _why_not_apart(cut: Cut, facts: Facts, bench: Bench, named: frozenset[int]) -> str | None:
    """What keeps the loop from running on one point of the axis after the other."""
    point = Value(bench.number(), "point", PY_INT, 0, None, const_index(0), cut.extent - 1)
    turns = cut.part(index(point), index(point) + 1, bench)
    whole = Map(params=(point,), ranges=((const_index(0), cut.extent),), body=Region((turns,)), span=cut.loop.span)
    return why_serial(nest_with_outermost(whole, 0), facts, bench.legality, named)


def _cut_in_strips(cut: Cut, bench: Bench) -> list[Node]:
    """The loop in strips where the axis is long enough and the second cache holds one, otherwise as it was."""
    length = bench.value("length", PY_INT)
    several = is_less(const_index(2 * _SHORTEST - 1), cut.extent)
    near = is_less((index(length) + _APART) * cut.bytes_each(bench.containers), const_index(_NEAR_BYTES))
    choice = Branch(
        condition=op("logical_and", (several, near), NP_BOOL),
        then=Region((*_strips_of(cut, length, bench), Yield())),
        orelse=Region((*with_fresh_values([cut.loop], bench.number, {}), Yield())),
        id=bench.number(),
        span=cut.loop.span,
    )
    return [*computed((Let(length, _even_length(cut.extent)),), cut.loop, bench), choice]


def _strips_of(cut: Cut, length: Value, bench: Bench) -> list[Node]:
    strips, strip, first, end = (bench.value(name, PY_INT) for name in ("strips", "strip", "first", "end"))
    number, low = quotient(cut.extent + index(length) - 1, index(length)), index(length) * index(strip)
    ends = (Let(first, low), Let(end, smaller(cut.extent, low + index(length))))
    made = Map(
        params=(strip,),
        ranges=((const_index(0), index(strips)),),
        body=Region((*computed(ends, cut.loop, bench), cut.part(index(first), index(end), bench))),
        id=bench.number(),
        span=cut.loop.span,
    )
    return [*computed((Let(strips, number),), cut.loop, bench), made]


def _even_length(extent: Index) -> Expr:
    """Of four strips or eight, whole lines of the cache; of long axes more, for many threads.

    Never two: the threads have strips in order, and two at their ends would write to the same lines at the same time.
    """
    quarters, eighths = (
        op("multiply", (quotient(extent + (8 * parts - 1), const_index(8 * parts)), const_index(8)), PY_INT)
        for parts in (_PARTS // 2, _PARTS)
    )
    chosen = op("select", (is_less(extent, const_index(_PARTS * _SHORTEST)), quarters, eighths), PY_INT)
    return smaller(const_index(2 * _SHORTEST), chosen)


# ---- strips in which nothing changes any more -----------------------------------------------------------------------


def _watched(loop: Loop, part: Map, changes: Value, bench: Bench) -> tuple[list[Node], list[Node]]:
    """What is to be allocated in front of the turns of a strip, and a turn that is the last if nothing changes."""
    first, end = part.ranges[0]
    bench.note(f"the loop over {loop.var.name} ends where nothing changes any more", loop, done=True)
    mask = bench.container("changes", DType.BOOL, (const_index(_SHORTEST),), Storage.STACK)
    any_ = bench.container("any", DType.BOOL, (), Storage.STACK)
    allocs: list[Node] = [Alloc(container=x.name, site=-1, id=bench.number(), span=loop.span) for x in (mask, any_)]
    here = Memlet(mask.name, (index(part.params[0]) - first,))
    note = Tasklet(writes=((here, changes),), id=bench.number(), span=loop.span)
    written = View(mask.name, (end - first,), (Axis(const_index(0), ((0, const_index(1)),)),))
    joined = Reduce(
        op="logical_or",
        output=full_view(any_),
        input=written,
        axes=(0,),
        initial=const(False, NP_BOOL),
        id=bench.number(),
        span=loop.span,
    )
    found = bench.value("any", NP_BOOL)
    look = Tasklet(reads=((found, Memlet(any_.name, ())),), id=bench.number(), span=loop.span)
    leave = Branch(
        condition=op("logical_not", (found,), NP_BOOL),
        then=Region((Break(),)),
        orelse=Region((Yield(),)),
        id=bench.number(),
        span=loop.span,
    )
    return allocs, [replace(part, body=Region((*part.body.nodes, note))), joined, look, leave]


def _condition_of_changes(nest: _Nest) -> Value | None:
    """The one condition under which a point changes anything at all, if what it does is the same in every turn."""
    tasklets = [node for node in nest.points.body.nodes if isinstance(node, Tasklet)]
    found = {condition for tasklet in tasklets for condition in _conditions(tasklet)}
    condition = found.pop() if len(found) == 1 else None
    same = len(nest.loops) == 1 and nest.moving.isdisjoint(values_used_in(nest.points.body))
    return condition if same and isinstance(condition, Value) else None


def _conditions(tasklet: Tasklet) -> Iterator[Expr | None]:
    """For every write, the condition without which it writes what it has read there."""
    reads, lets = dict(tasklet.reads), {let.value: let.expr for let in tasklet.lets}
    for memlet, expr in tasklet.writes:
        match lets.get(expr, expr) if isinstance(expr, Value) else expr:
            case Op(name="select", args=(condition, _, Value() as old)) if reads.get(old) == memlet:
                yield condition
            case Op(name="add", args=(Value() as old, Op(name="cast", args=(condition,)))) if (
                reads.get(old) == memlet and old.type.dtype.kind in "iu" and condition.type.dtype is DType.BOOL
            ):
                yield condition  # counted if it holds
            case _:
                yield None
