"""What is computed of an array and of the same array turned round is computed in place, two elements at a time.

before:  alloc T site 1
         map (p) in [0:n] { write T[p] = Y[p] + a * Y[n - 1 - p] }
         map (p) in [0:n] { write Y[p] = T[p] }

after:   half = (n + 1) // 2
         map (p) in [0:half] { x = Y[p]; y = Y[n - 1 - p]; write Y[p] = x + a * y; write Y[n - 1 - p] = y + a * x }

An element and its mirror image need each other and nothing else of Y. Legal when the points of the new map are
independent of each other (`Legality.carried`, with `2 * half <= n + 1` known), which also says that nothing else it
reads is Y under another name. The element in the middle is its own mirror image: it is computed twice, from the same
values, and written twice. Half of the memory is left to go through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from weft.analysis.facts import Facts
from weft.analysis.uses import Uses, container_uses
from weft.ir.dtypes import PY_INT
from weft.ir.exprs import Expr, Index, Value, const_index, index
from weft.ir.nodes import Alloc, Let, Map, Memlet, Node, Program, Region, Storage, Tasklet
from weft.ir.substitution import with_fresh_values
from weft.passes.base import Bench, Session, rewrite_regions
from weft.passes.inline_producers import InlineProducers
from weft.passes.loop_bodies import nest_with_outermost, quotient
from weft.passes.tasklets import explicit, tidy
from weft.support.records import record


@record
class MirrorPairs:
    """Compute elements together with their mirror images, in place."""

    name: ClassVar[str] = "mirror-pairs"

    def run(self, program: Program, session: Session) -> Program:
        """The program with fewer copies."""
        bench = Bench(self.name, program, session)
        uses = container_uses(program)
        return rewrite_regions(bench, lambda region, facts: _region(region, facts, bench, uses))


def _region(region: Region, facts: Facts, bench: Bench, uses: dict[str, Uses]) -> Region:
    nodes: list[Node] = []
    gone: set[str] = set()
    for node in region.nodes:
        before = next((other for other in reversed(nodes) if not isinstance(other, Alloc)), None)
        update = _update(before, node, bench, uses)
        made = None if update is None else _in_pairs(update, facts, bench)
        if update is not None and made is not None:
            nodes.remove(update.computing)
            nodes += made
            gone.add(update.temporary)
        else:
            nodes.append(node)
        facts = facts.after(node)
    if not gone:
        return region
    for name in gone:
        del bench.containers[name]
    return Region(tuple(node for node in nodes if not (isinstance(node, Alloc) and node.container in gone)))


@record
class _Update:
    """An array computed of itself by way of a temporary: `target` is `value` at each point of the map."""

    computing: Map
    tasklet: Tasklet
    temporary: str
    target: Memlet
    value: Expr
    axis: int  # the parameter that is turned round


def _update(before: Node | None, node: Node, bench: Bench, uses: dict[str, Uses]) -> _Update | None:
    """The two maps as one update, if the array is read at the point and at its mirror image alone."""
    copied = _copy(node)
    if copied is None or not isinstance(before, Map) or not isinstance(node, Map) or before.ranges != node.ranges:
        return None
    source, target = copied
    match explicit(before, bench).body.nodes:
        case (Tasklet(writes=((written, value),)) as tasklet,):
            here = tuple(map(index, before.params))
        case _:
            return None
    own, used = bench.containers[source.container], uses[source.container]
    lone = own.storage is Storage.TRANSIENT and (used.writers, used.readers, used.escapes) == (1, 1, 0)
    if not lone or written != Memlet(source.container, here) or source.index != tuple(map(index, node.params)):
        return None
    if own.dtype is not bench.containers[target.container].dtype:
        return None
    at = dict(zip(node.params, here, strict=True))
    target = replace(target, index=tuple(coordinate.substitute(at) for coordinate in target.index))
    reads = {memlet.index for _, memlet in tasklet.reads if memlet.container == target.container} - {target.index}
    axes = [axis for axis in range(len(before.params)) if reads == {_mirrored(target.index, before, axis)}]
    return _Update(before, tasklet, source.container, target, value, axes[0]) if axes else None


def _copy(node: Node) -> tuple[Memlet, Memlet] | None:
    match node:
        case Map(body=Region(nodes=(Tasklet(reads=((value, source),), lets=(), writes=((target, written),)),))):
            return (source, target) if written == value and not target.conflict else None
        case _:
            return None


def _mirror(node: Map, axis: int) -> Index:
    start, stop = node.ranges[axis]
    return start + stop - 1 - index(node.params[axis])


def _mirrored(position: Sequence[Index], node: Map, axis: int) -> tuple[Index, ...]:
    moved = {node.params[axis]: _mirror(node, axis)}
    return tuple(coordinate.substitute(moved) for coordinate in position)


def _in_pairs(update: _Update, facts: Facts, bench: Bench) -> list[Node] | None:
    """The map over half of the points, or None with the reason noted."""
    node, axis = update.computing, update.axis
    start, stop = node.ranges[axis]
    half = replace(bench.value("half", PY_INT), low=0, floor=const_index(0))
    count = Tasklet(lets=(Let(half, quotient(stop - start + 1, const_index(2))),), id=bench.number(), span=node.span)
    ranges = (*node.ranges[:axis], (start, start + index(half)), *node.ranges[axis + 1 :])
    body = Region((_pair(update, bench),))
    made = tidy(replace(node, ranges=ranges, body=body, warn=-1, id=bench.number()), bench)
    name = update.target.container.partition(".")[0]
    for number in range(len(made.params)):
        if bench.legality.carried(nest_with_outermost(made, number), facts.after(count), first=True):
            bench.note(f"{name} is not updated in pairs: what is read may be written by another pair", node, done=False)
            return None
    records = bench.session.records  # that the temporary stays does not hold any more
    records[:] = [r for r in records if r.done or r.step != InlineProducers.name or r.span != node.span]
    bench.note(f"{name} is updated in place, each element with its mirror image", node, done=True)
    return [count, made]


def _pair(update: _Update, bench: Bench) -> Tasklet:
    """The element of a point and its mirror image: all is read before anything is written."""
    node, tasklet = update.computing, update.tasklet
    result = bench.value("x", update.value.type)
    whole = replace(tasklet, lets=(*tasklet.lets, Let(result, update.value)), writes=())
    mirrored: dict[Value, Expr] = {node.params[update.axis]: _mirror(node, update.axis)}
    (other,) = with_fresh_values([whole], bench.number, mirrored)
    assert isinstance(other, Tasklet)
    image = replace(update.target, index=_mirrored(update.target.index, node, update.axis))
    writes = ((update.target, result), (image, other.lets[-1].value))
    return replace(
        whole, reads=(*whole.reads, *other.reads), lets=(*whole.lets, *other.lets), writes=writes, id=bench.number()
    )
