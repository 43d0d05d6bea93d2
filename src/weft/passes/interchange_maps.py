"""The parameter along which elements are neighbours in memory becomes the innermost of a map.

before:  map (i, j) in [0:n, 0:m] { x = A[j, i]; write B[j, i] = x }      A, B in C order
after:   map (j, i) in [0:m, 0:n] { x = A[j, i]; write B[j, i] = x }

The points of a map may run in any order, so this is always legal. Every read and write votes for the parameter with
unit stride, writes twice; with equal votes nothing moves. The others follow the order of memory: the longest stride
outermost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from weft.ir.exprs import Value
from weft.ir.nodes import Branch, Container, Layout, Map, Memlet, Node, Program, Region, Storage, Tasklet
from weft.passes.base import Bench, Session, rewrite_nodes
from weft.support.abi import MAX_RANK
from weft.support.records import record

_WRITE_VOTES: Final = 2


@record
class InterchangeMaps:
    """Order the parameters of maps by stride."""

    name: ClassVar[str] = "stride-1"

    def run(self, program: Program, session: Session) -> Program:
        """The program with its maps in the order of memory."""
        bench = Bench(self.name, program, session)
        body = rewrite_nodes(program.body, lambda node: _ordered(node, bench))
        return program if body is program.body else replace(program, body=body)


def _ordered(node: Node, bench: Bench) -> tuple[Node, ...] | None:
    if not isinstance(node, Map) or len(node.params) < 2 or not only_computes(node.body):
        return None
    order = _best_order(node, bench.program)
    if order == list(range(len(node.params))):
        return None
    params = tuple(node.params[number] for number in order)
    ranges = tuple(node.ranges[number] for number in order)
    bench.note(f"the map runs over {', '.join(param.name for param in params)}, in this order", node, done=True)
    return (replace(node, params=params, ranges=ranges),)


def only_computes(region: Region) -> bool:
    """Whether a region is tasklets and branches alone."""
    return all(
        isinstance(node, Tasklet)
        or (isinstance(node, Branch) and only_computes(node.then) and only_computes(node.orelse))
        or not hasattr(node, "id")  # the end of a branch
        for node in region.nodes
    )


def _best_order(node: Map, program: Program) -> list[int]:
    votes = unit_votes(node, node.params, program)
    depth = [0] * len(node.params)
    for memlet, weight in _accesses(node.body):
        levels = _levels(program, program.containers[memlet.container])
        for number, param in enumerate(node.params):
            depth[number] += weight * _stride(memlet, param, levels)[0]
    last = len(node.params) - 1
    best = max(range(len(node.params)), key=lambda number: (votes[number], number))
    if votes[best] <= votes[last]:
        best = last
    outer = sorted((number for number in range(len(node.params)) if number != best), key=lambda n: -depth[n])
    # Where nothing is won inside, the order given stays: it is that of the program.
    return [*outer, best] if best != last or _is_mixed(outer, depth) else list(range(len(node.params)))


def unit_votes(node: Map, params: Sequence[Value], program: Program, *, common: bool = False) -> list[int]:
    """For each value, how many accesses move to the neighbour in memory with it; writes count twice.

    With `common` only those count that move with each of the values.
    """
    votes = [0] * len(params)
    for memlet, weight in _accesses(node.body):
        if common and not all(any(param in at.values for at in memlet.index) for param in params):
            continue
        levels = _levels(program, program.containers[memlet.container])
        for number, param in enumerate(params):
            level, unit = _stride(memlet, param, levels)
            votes[number] += weight if level == 0 and unit else 0
    return votes


def jumps(region: Region, params: Sequence[Value], program: Program) -> list[int]:
    """For each value, how many accesses move with it, and not to the neighbour in memory; writes count twice."""
    found = [0] * len(params)
    for memlet, weight in _accesses(region):
        levels = _levels(program, program.containers[memlet.container])
        for number, param in enumerate(params):
            level, unit = _stride(memlet, param, levels)
            found[number] += weight if level > 0 or (level == 0 and not unit) else 0
    return found


def _is_mixed(outer: list[int], depth: list[int]) -> bool:
    """Whether the order of the outer parameters is better than the one they came in."""
    return any(depth[a] < depth[b] for a, b in zip(sorted(outer), sorted(outer)[1:], strict=False))


def _accesses(region: Region) -> Iterator[tuple[Memlet, int]]:
    for node in region.nodes:
        match node:
            case Tasklet(reads=reads, writes=writes):
                yield from ((memlet, 1) for _, memlet in reads)
                yield from ((memlet, _WRITE_VOTES) for memlet, _ in writes)
            case Branch(then=then, orelse=orelse):
                yield from _accesses(then)
                yield from _accesses(orelse)
            case _:
                continue


def _levels(program: Program, container: Container) -> list[int]:
    """How slow each axis is: 0 for the one whose elements are neighbours."""
    rank = container.rank
    if container.layout is Layout.F:
        return list(range(rank))
    order = _order(program, container) or tuple(range(rank))
    levels = [0] * rank
    for place, axis in enumerate(order):
        levels[axis] = rank - 1 - place
    return levels


def _order(program: Program, container: Container) -> tuple[int, ...]:
    """The axes of an argument with any strides, slowest first, as far as its spec tells (`pack_order`)."""
    if container.layout is not Layout.STRIDED or container.storage is not Storage.ARGUMENT:
        return ()
    code = program.args[container.slot].order
    if not code or container.rank >= MAX_RANK:
        return ()
    return tuple(code >> 4 * place & 15 for place in range(container.rank))


def _stride(memlet: Memlet, param: Value, levels: list[int]) -> tuple[int, bool]:
    """The slowest axis a parameter moves along, and whether it moves by one element there; -1 for none."""
    level, unit = -1, False
    for coordinate, slowness in zip(memlet.index, levels, strict=True):
        steps = [c for monomial, c in coordinate.terms if param in monomial]
        if steps and slowness > level:
            level, unit = slowness, steps in ([1], [-1]) and any(m == (param,) for m, _ in coordinate.terms)
    return level, unit
