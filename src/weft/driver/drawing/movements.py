"""What operations move: one line of text per memlet, and for a map the subset that all its iterations move together.

before:  map (i, j) in [0:n, 0:m] { a = A[i, j]; b = A[i + 1, j]; write B[i, j] = add(a, b) }
after:   reads A[0:n + 1, 0:m], writes B[0:n, 0:m]

A subset is what may be touched: where an index is not a sum of parameters it is the whole axis, written `:`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from weft.ir.exprs import Index, Value, const_index
from weft.ir.nodes import (
    Container,
    Elements,
    Elementwise,
    Loop,
    Map,
    MatMul,
    Memlet,
    Node,
    NumpyCall,
    Reduce,
    Scan,
    Tasklet,
    View,
    full_view,
)
from weft.ir.printer import print_index, print_memlet, print_value, print_view
from weft.ir.text import print_name
from weft.ir.traverse import all_nodes, allocated_by, call_views, inner_regions, node_views, values_defined_in
from weft.support.records import record

Containers: TypeAlias = Mapping[str, Container]
Range: TypeAlias = tuple[Index, Index] | None  # first and last index; None: anywhere on the axis
Ranges: TypeAlias = Mapping[Value, tuple[Index, Index]]


class Move(NamedTuple):
    """Elements of a container that go into an operation or come out of it, as text."""

    container: str
    text: str


@record
class Access:
    """A subset of a container that is read or written."""

    container: str
    ranges: tuple[Range, ...]
    write: bool = False
    conflict: str = ""


def reads(node: Node, containers: Containers) -> list[Move]:
    """What goes into an operation."""
    match node:
        case Tasklet():
            return [Move(m.container, f"{print_value(value)} = {print_memlet(m)}") for value, m in node.reads]
        case Elementwise():
            return [_named_view(print_value(value), view, containers) for value, view in node.inputs]
        case MatMul():
            moves = [_named_view("lhs", node.lhs, containers), _named_view("rhs", node.rhs, containers)]
            return [*moves, _view(node.output, containers)] if node.adds else moves
        case Reduce(input=View() as view) | Scan(input=view):
            return [_view(view, containers)]
        case NumpyCall():
            return [_view(view, containers) for view in call_views(node)]
        case _:
            return _merged((access for access in accesses(node) if not access.write), containers)


def writes(node: Node, containers: Containers) -> list[Move]:
    """What comes out of it."""
    match node:
        case Tasklet():
            return [Move(memlet.container, print_memlet(memlet)) for memlet, _ in node.writes]
        case Elementwise() | Reduce() | Scan() | MatMul():
            return [_view(node.output, containers)]
        case NumpyCall():
            made = [full_view(containers[name]) for name in allocated_by(node)]
            return [_view(view, containers) for view in (*made, *node.changes)]
        case _:
            return _merged((access for access in accesses(node) if access.write), containers)


def _view(view: View, containers: Containers) -> Move:
    return Move(view.container, print_view(view, containers))


def _named_view(name: str, view: View, containers: Containers) -> Move:
    return Move(view.container, f"{name} = {print_view(view, containers)}")


# ---- subsets --------------------------------------------------------------------------------------------------------


def accesses(node: Node) -> Iterator[Access]:
    """Everything a node reads and writes, as functions of the values around the node."""
    match node:
        case Tasklet():
            yield from (_of_memlet(memlet) for _, memlet in node.reads)
            yield from (_of_memlet(memlet, write=True) for memlet, _ in node.writes)
        case Elementwise():
            yield from (_of_view(view) for _, view in node.inputs)
            yield _of_view(node.output, write=True)
        case Reduce():
            yield from (_of_view(node.input),) if isinstance(node.input, View) else _of_elements(node.input)
            yield _of_view(node.output, write=True)
        case Scan():
            yield from (_of_view(node.input), _of_view(node.output, write=True))
        case MatMul():
            yield from (_of_view(view) for view in node_views(node)[1:])
            yield _of_view(node.output, write=True)
        case NumpyCall():  # what it makes is its own
            yield from (_of_view(view) for view in call_views(node))
            yield from (_of_view(view, write=True) for view in node.changes)
        case _:
            yield from _of_regions(node)


def _of_regions(node: Node) -> Iterator[Access]:
    ranges = _parameter_ranges(node)
    inner = values_defined_in(node)
    for region in inner_regions(node):
        local = {name for below in all_nodes(region) for name in allocated_by(below)}
        written: set[tuple[str, tuple[Range, ...]]] = set()
        for below in region.nodes:
            for access in accesses(below):
                key = access.container, access.ranges
                if access.container in local or (not access.write and key in written):
                    continue  # never outside of the node, or its own result
                if access.write:
                    written.add(key)
                yield _widened(access, ranges, inner)


def _of_elements(elements: Elements) -> Iterator[Access]:
    last = {param: (const_index(0), extent - 1) for param, extent in zip(elements.params, elements.shape, strict=True)}
    inner = frozenset(elements.params).union(*(values_defined_in(tasklet) for tasklet in elements.body))
    for tasklet in elements.body:
        for access in accesses(tasklet):
            yield _widened(access, last, inner)


def _parameter_ranges(node: Node) -> Ranges:
    match node:
        case Map():
            pairs = zip(node.params, node.ranges, strict=True)
            return {param: (start, stop - 1) for param, (start, stop) in pairs}
        case Loop(var=var):
            if node.step.constant == 1:
                return {var: (node.start, node.stop - 1)}
            return {var: (var.floor, var.ceiling)} if var.floor is not None and var.ceiling is not None else {}
        case _:
            return {}


def _of_memlet(memlet: Memlet, *, write: bool = False) -> Access:
    return Access(memlet.container, tuple((index, index) for index in memlet.index), write, memlet.conflict)


def _of_view(view: View, *, write: bool = False) -> Access:
    ranges: list[Range] = []
    for axis in view.axes:
        low = high = axis.offset
        known = True
        for number, step in axis.terms:
            length = view.shape[number] - 1
            known &= step.constant is not None
            if (step.constant or 0) > 0:
                high = high + step * length
            else:
                low = low + step * length
        ranges.append((low, high) if known else None)
    return Access(view.container, tuple(ranges), write)


def _widened(access: Access, ranges: Ranges, inner: frozenset[Value]) -> Access:
    """The access over all values of the parameters."""
    return replace(access, ranges=tuple(_widened_range(found, ranges, inner) for found in access.ranges))


def _widened_range(found: Range, ranges: Ranges, inner: frozenset[Value]) -> Range:
    if found is None:
        return None
    low, high = _extreme(found[0], ranges, last=False), _extreme(found[1], ranges, last=True)
    if low is None or high is None or (low.values | high.values) & inner:
        return None
    return low, high


def _extreme(position: Index, ranges: Ranges, *, last: bool) -> Index | None:
    """The smallest or largest value of an index; None where it is not a sum of parameters."""
    total = const_index(0)
    for monomial, coefficient in position.terms:
        params = [value for value in monomial if value in ranges]
        if params and len(monomial) > 1:
            return None
        if params:
            total = total + coefficient * ranges[params[0]][int((coefficient > 0) == last)]
        else:
            product = const_index(coefficient)
            for value in monomial:
                product = product * value
            total = total + product
    return total


# ---- subsets as text ------------------------------------------------------------------------------------------------


def _merged(found: Iterable[Access], containers: Containers) -> list[Move]:
    """One line per container where the subsets have a common bounding box, else one per subset."""
    groups: dict[tuple[str, str], list[Access]] = {}
    for access in found:
        groups.setdefault((access.container, access.conflict), []).append(access)
    moves: list[Move] = []
    for group in groups.values():
        box = _bounding_box(group)
        lines = dict.fromkeys(_text(access, containers) for access in (group if box is None else [box]))
        moves += [Move(group[0].container, line) for line in lines]
    return moves


def _bounding_box(group: Sequence[Access]) -> Access | None:
    ranges: list[Range] = []
    for axis in zip(*(access.ranges for access in group), strict=True):
        if any(found is None for found in axis):
            ranges.append(None)
            continue
        known = [found for found in axis if found is not None]
        low, high = _least([pair[0] for pair in known]), _least([-pair[1] for pair in known])
        if low is None or high is None:
            return None
        ranges.append((low, -high))
    return replace(group[0], ranges=tuple(ranges))


def _least(found: Sequence[Index]) -> Index | None:
    """The smallest of some indices that differ by constants."""
    least = found[0]
    for other in found[1:]:
        difference = (other - least).constant
        if difference is None:
            return None
        least = other if difference < 0 else least
    return least


def _text(access: Access, containers: Containers) -> str:
    container = containers.get(access.container)
    extents = container.shape if container and container.rank == len(access.ranges) else (None,) * len(access.ranges)
    axes = (_axis_text(found, extent) for found, extent in zip(access.ranges, extents, strict=True))
    text = f"{print_name(access.container)}[{', '.join(axes)}]"
    return f"{text} resolve {access.conflict}" if access.conflict else text


def _axis_text(found: Range, extent: Index | None) -> str:
    if found is None:
        return ":"
    low, high = found
    if low is high:
        return print_index(low)
    if low.constant == 0 and extent is not None and high + 1 is extent:
        return ":"
    return f"{print_index(low)}:{print_index(high + 1)}"
