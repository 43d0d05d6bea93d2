"""Extents of refs that never change.

in:   a loop that carries refs, or a branch that gives some; `known`, what stands for a polynomial in front of it
out:  (extent, polynomial) for the extents that are the same whatever the ref is bound to

    for ... carry (X = A[:, :]) { alloc T; ...; continue T[:, :] }        with T of A's shape, X always has it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from weft.ir.exprs import Expr, Index, Value
from weft.ir.nodes import Branch, Break, Container, Continue, Loop, Region, View, While, Yield
from weft.ir.traverse import bound_extents, values_defined_in

_Axis: TypeAlias = tuple[int, int]  # the number of a carry or result, and an axis of it
_Known: TypeAlias = Callable[[Index], Index]


def loop_extents(node: Loop | While, containers: Mapping[str, Container], known: _Known) -> list[tuple[Value, Index]]:
    """Those of carried refs: what they begin with, and what every way back and out gives them again."""
    refs = [(n, carry.target) for n, carry in enumerate(node.carries) if isinstance(carry.target, str)]
    if not refs:
        return []
    own = {(n, axis): value for n, name in refs for axis, value in _own_extents(containers[name])}
    guess: dict[_Axis, Index] = {}
    for number, axis in own:
        shape = _shape(node.carries[number].init)
        if shape is not None:
            guess[number, axis] = known(shape[axis])
    ways = list(_ways(node.body, 0))
    while guess:
        standing = _given_by_branches(
            node.body, containers, known, {own[place]: extent for place, extent in guess.items()}
        )
        wrong = [place for place, extent in guess.items() if not _always(extent, ways, place, known, standing)]
        if not wrong:
            break
        for place in wrong:
            del guess[place]
    return [(own[place], extent) for place, extent in guess.items()]


def branch_extents(node: Branch, containers: Mapping[str, Container], known: _Known) -> list[tuple[Value, Index]]:
    """Those of results: what both arms give."""
    inside = values_defined_in(node) | frozenset(bound_extents(node, containers))
    return [pair for pair in _agreed(node, containers, known) if pair[1].values.isdisjoint(inside)]


def _agreed(node: Branch, containers: Mapping[str, Container], known: _Known) -> Iterator[tuple[Value, Index]]:
    """The extents of refs in which both arms agree."""
    given = [end.values for arm in (node.then, node.orelse) for end in arm.nodes if isinstance(end, Yield)]
    for number, name in enumerate(node.results):
        if not isinstance(name, str):
            continue
        shapes = [_shape(items[number]) for items in given]
        for axis, value in _own_extents(containers[name]):
            extents = {None if shape is None else known(shape[axis]) for shape in shapes}
            only = next(iter(extents), None)
            if len(extents) == 1 and only is not None:
                yield value, only


def _given_by_branches(
    region: Region, containers: Mapping[str, Container], known: _Known, standing: Mapping[Value, Index]
) -> dict[Value, Index]:
    """What stands, and with it the extents of refs that both arms of a branch in the region give."""
    found = dict(standing)

    def now(extent: Index) -> Index:
        return known(extent).substitute(found)

    for node in region.nodes:
        if isinstance(node, Branch):
            for arm in (node.then, node.orelse):
                found.update(_given_by_branches(arm, containers, known, found))
            found.update(_agreed(node, containers, now))
    return found


def _own_extents(container: Container) -> Iterator[tuple[int, Value]]:
    for axis, extent in enumerate(container.shape):
        match extent.terms:
            case (((Value() as value,), 1),):
                yield axis, value
            case _:
                continue


def _shape(item: Expr | View) -> tuple[Index, ...] | None:
    return item.shape if isinstance(item, View) and item.container else None


def _always(
    extent: Index, ways: Iterable[Continue | Break], place: _Axis, known: _Known, standing: Mapping[Value, Index]
) -> bool:
    """Whether every way gives the ref this extent, as long as all had theirs before."""
    number, axis = place
    shapes = (_shape(way.values[number]) for way in ways)
    return all(shape is not None and known(shape[axis]).substitute(standing) is extent for shape in shapes)


def _ways(region: Region, depth: int) -> Iterator[Continue | Break]:
    for node in region.nodes:
        match node:
            case Continue() if depth == 0:
                yield node
            case Break() if node.depth == depth:
                yield node
            case Branch(then=then, orelse=orelse):
                yield from _ways(then, depth)
                yield from _ways(orelse, depth)
            case Loop(body=body) | While(body=body):
                yield from _ways(body, depth + 1)
            case _:
                continue
