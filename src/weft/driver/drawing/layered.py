"""Positions for boxes connected by arrows: layers from top to bottom, few crossings, straight arrows.

in:   the sizes of boxes, and edges with the sizes of their labels
out:  the middle of every box and label, and the points every edge goes through

Boxes stand in even layers, labels in the odd ones between. An edge over several layers has a bend in each, which takes
room like a box, so nothing is ever crossed but other edges. All numbers follow from the input alone.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from weft.support.records import record

SPACE_X = 18.0
SPACE_Y = 13.0
SHELF_SPACE = 28.0
_SHELF_WIDTH = 900.0
_BEND_WIDTH = 4.0
_PORT_SPACE = 14.0
_PORT_MARGIN = 16.0
_SWEEPS = 10
_FEW_SWEEPS = 3
_STILL = 0.5  # a sweep that moves nothing by more is the last
_MANY = 1500  # vertices: from here on fewer sweeps

Point: TypeAlias = tuple[float, float]


class Size(NamedTuple):
    """Width and height."""

    width: float
    height: float


@record
class Edge:
    """An arrow from box to box; its label stands in the layer above the target, or below the source."""

    source: int
    target: int
    label: Size | None = None
    near_source: bool = False


@record
class Layout:
    """`boxes` and `labels` are middles (labels by edge, None without one).

    A route is one run of points from source to target, or two with the label between them.
    """

    size: Size
    boxes: tuple[Point, ...]
    labels: tuple[Point | None, ...]
    routes: tuple[tuple[tuple[Point, ...], ...], ...]


def layered(sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """Lay out a graph without cycles; parts that are not connected stand side by side."""
    boxes: dict[int, Point] = {}
    labels: dict[int, Point | None] = {}
    routes: dict[int, tuple[tuple[Point, ...], ...]] = {}
    shelf = Shelf()
    for members, inner in _components(len(sizes), edges):
        place = {vertex: number for number, vertex in enumerate(members)}
        own = [replace(edges[n], source=place[edges[n].source], target=place[edges[n].target]) for n in inner]
        found = _connected([sizes[vertex] for vertex in members], own)
        x, y = shelf.take(found.size)
        boxes.update((vertex, _shifted(point, x, y)) for vertex, point in zip(members, found.boxes, strict=True))
        for number, label, route in zip(inner, found.labels, found.routes, strict=True):
            labels[number] = label and _shifted(label, x, y)
            routes[number] = tuple(tuple(_shifted(point, x, y) for point in run) for run in route)
    numbers = range(len(edges))
    return Layout(
        shelf.size,
        tuple(boxes[vertex] for vertex in range(len(sizes))),
        tuple(labels[number] for number in numbers),
        tuple(routes[number] for number in numbers),
    )


class Shelf:
    """Places for things side by side, in a new row where one becomes too long."""

    def __init__(self) -> None:
        self.size = Size(0.0, 0.0)
        self._x = self._y = 0.0

    def take(self, size: Size) -> Point:
        """The upper left corner for the next one."""
        if self._x > 0 and self._x + size.width > max(_SHELF_WIDTH, self.size.width):
            self._x, self._y = 0.0, self.size.height + SHELF_SPACE
        corner = self._x, self._y
        self._x += size.width + SHELF_SPACE
        self.size = Size(max(self.size.width, corner[0] + size.width), max(self.size.height, corner[1] + size.height))
        return corner


def _shifted(point: Point, x: float, y: float) -> Point:
    return point[0] + x, point[1] + y


def _components(count: int, edges: Sequence[Edge]) -> list[tuple[list[int], list[int]]]:
    """The boxes and edges of each connected part, in order of their first box."""
    near: list[list[int]] = [[] for _ in range(count)]
    for edge in edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    part = [-1] * count
    for start in range(count):
        pending = [start] if part[start] < 0 else []
        for vertex in pending:  # grows
            part[vertex] = start
            pending += [other for other in near[vertex] if part[other] < 0 and other not in pending]
    found: dict[int, tuple[list[int], list[int]]] = {}
    for vertex in range(count):
        found.setdefault(part[vertex], ([], []))[0].append(vertex)
    for number, edge in enumerate(edges):
        found[part[edge.source]][1].append(number)
    return list(found.values())


def _connected(sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    net = _Net(sizes, edges)
    _order_layers(net)
    _place_across(net)
    tops = _place_down(net)
    return _finished(net, tops)


class _Net:
    """Vertices (boxes first, then labels and bends) with their layers, and the chain of vertices of every edge."""

    def __init__(self, sizes: Sequence[Size], edges: Sequence[Edge]) -> None:
        self.edges, self.box_count = edges, len(sizes)
        self.sizes = list(sizes)
        self.layer_of = _layers(len(sizes), edges)
        self.chains: list[list[int]] = []
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        for edge in edges:
            self.chains.append(self._chain(edge))
        self.layers: list[list[int]] = [[] for _ in range(max(self.layer_of) + 1)]
        for vertex, layer in enumerate(self.layer_of):
            self.layers[layer].append(vertex)
        self.x = [0.0] * len(self.sizes)

    def _chain(self, edge: Edge) -> list[int]:
        first, last = self.layer_of[edge.source], self.layer_of[edge.target]
        place = first + 1 if edge.near_source else last - 1
        chain = [edge.source]
        for layer in range(first + 1, last):
            has_label = edge.label is not None and layer == place
            self.sizes.append(edge.label if edge.label and has_label else Size(_BEND_WIDTH, 0.0))
            self.layer_of.append(layer)
            self.above.append([])
            self.below.append([])
            chain.append(len(self.sizes) - 1)
        chain.append(edge.target)
        for upper, lower in pairwise(chain):
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        return chain

    def label_of(self, number: int) -> int | None:
        """The vertex of an edge's label."""
        if self.edges[number].label is None:
            return None
        return self.chains[number][1 if self.edges[number].near_source else -2]

    def is_bend(self, vertex: int) -> bool:
        """Whether a vertex is only a point an edge goes through."""
        return vertex >= self.box_count and not self.sizes[vertex].height


def _layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """Even layers: every box below what it depends on; one that depends on nothing close above what needs it."""
    targets: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for edge in edges:
        targets[edge.source].append(edge.target)
        waiting[edge.target] += 1
    has_source = [number > 0 for number in waiting]
    layer = [0] * count
    ready = [vertex for vertex in range(count) if not waiting[vertex]]
    for vertex in ready:  # grows
        for target in targets[vertex]:
            layer[target] = max(layer[target], layer[vertex] + 2)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for vertex in range(count):
        if targets[vertex] and not has_source[vertex]:
            layer[vertex] = min(layer[target] for target in targets[vertex]) - 2
    return layer


# ---- order within layers --------------------------------------------------------------------------------------------


def _order_layers(net: _Net) -> None:
    """Sweep down and up, each vertex to the mean of its neighbours; the order with the fewest crossings stays."""
    best = [list(layer) for layer in net.layers]
    fewest = _crossings(net)
    for sweep in range(_SWEEPS if len(net.sizes) < _MANY else _FEW_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        numbers = range(1, len(net.layers)) if down else range(len(net.layers) - 2, -1, -1)
        for number in numbers:
            _sort_layer(net, number, down=down)
        found = _crossings(net)
        if found < fewest:
            best, fewest = [list(layer) for layer in net.layers], found
    net.layers = best


def _sort_layer(net: _Net, number: int, *, down: bool) -> None:
    place = {vertex: position for position, vertex in enumerate(net.layers[number - 1 if down else number + 1])}
    neighbours = net.above if down else net.below
    keys: dict[int, float] = {}
    for position, vertex in enumerate(net.layers[number]):
        near = [place[other] for other in neighbours[vertex]]
        keys[vertex] = sum(near) / len(near) if near else float(position)
    net.layers[number].sort(key=lambda vertex: keys[vertex])


def _crossings(net: _Net) -> int:
    total = 0
    for upper, lower in pairwise(net.layers):
        place = {vertex: position for position, vertex in enumerate(lower)}
        passed: list[int] = []
        for vertex in upper:
            ends = sorted(place[other] for other in net.below[vertex])
            total += sum(len(passed) - bisect_left(passed, end + 1) for end in ends)
            for end in ends:
                insort(passed, end)
    return total


# ---- coordinates ----------------------------------------------------------------------------------------------------


def _place_across(net: _Net) -> None:
    """Pack the layers, then pull vertices over their neighbours: down and up in turn, then to both sides at once."""
    for layer in net.layers:
        _settle(net, layer, [0.0] * len(layer), [1.0] * len(layer))
    rounds = _SWEEPS if len(net.sizes) < _MANY else _FEW_SWEEPS
    for sides in ([(net.above,), (net.below,)], [(net.above, net.below), (net.above, net.below)]):
        for _ in range(rounds):
            moved = max(_pull(net, layer, sides[0]) for layer in net.layers)
            moved = max(moved, *(_pull(net, layer, sides[1]) for layer in net.layers[::-1]))
            if moved < _STILL:
                break
    _straighten(net)
    left = min(x - size.width / 2 for x, size in zip(net.x, net.sizes, strict=True))
    net.x = [x - left for x in net.x]


def _pull(net: _Net, layer: Sequence[int], sides: Sequence[Sequence[Sequence[int]]]) -> float:
    """Move a layer; how far the vertex went that went farthest."""
    before = [net.x[vertex] for vertex in layer]
    wanted: list[float] = []
    weights: list[float] = []
    for vertex, x in zip(layer, before, strict=True):
        near = [(net.x[other], _stiffness(net, vertex, other)) for side in sides for other in side[vertex]]
        weight = sum(stiff for _, stiff in near)
        wanted.append(sum(x * stiff for x, stiff in near) / weight if near else x)
        weights.append(max(weight, 0.1))
    _settle(net, layer, wanted, weights)
    return max((abs(net.x[vertex] - x) for vertex, x in zip(layer, before, strict=True)), default=0.0)


def _stiffness(net: _Net, one: int, other: int) -> float:
    """How much a piece of an edge wants to be straight: long edges most."""
    return (1.0, 2.0, 8.0)[net.is_bend(one) + net.is_bend(other)]


def _settle(net: _Net, layer: Sequence[int], wanted: Sequence[float], weights: Sequence[float]) -> None:
    """As near as possible to where they want to be, in order, without touching."""
    sizes = [net.sizes[vertex].width for vertex in layer]
    gaps = [(left + right) / 2 + SPACE_X for left, right in pairwise(sizes)]
    for vertex, x in zip(layer, apart(wanted, weights, gaps), strict=True):
        net.x[vertex] = x


def _straighten(net: _Net) -> None:
    """Put the bends of an edge in one line as far as the room between their neighbours allows."""
    position = {vertex: (layer, place) for layer in net.layers for place, vertex in enumerate(layer)}
    for chain in net.chains:
        run: list[int] = []
        low, high = float("-inf"), float("inf")
        for vertex in [*(inner for inner in chain[1:-1] if net.is_bend(inner)), None]:
            if vertex is not None:
                left, right = _room(net, *position[vertex])
                if max(low, left) <= min(high, right):
                    run.append(vertex)
                    low, high = max(low, left), min(high, right)
                    continue
            _align(net, run, low, high)
            if vertex is not None:
                run, (low, high) = [vertex], _room(net, *position[vertex])


def _room(net: _Net, layer: Sequence[int], place: int) -> tuple[float, float]:
    """Where a vertex could be without coming too near to those beside it."""
    half = net.sizes[layer[place]].width / 2 + SPACE_X
    low, high = float("-inf"), float("inf")
    if place > 0:
        low = net.x[layer[place - 1]] + net.sizes[layer[place - 1]].width / 2 + half
    if place < len(layer) - 1:
        high = net.x[layer[place + 1]] - net.sizes[layer[place + 1]].width / 2 - half
    return min(low, net.x[layer[place]]), max(high, net.x[layer[place]])


def _align(net: _Net, run: Sequence[int], low: float, high: float) -> None:
    if run:
        wanted = sum(net.x[vertex] for vertex in run) / len(run)
        for vertex in run:
            net.x[vertex] = min(max(wanted, low), high)


def apart(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Positions at least `gaps` apart with the least weighted squared distance from the wanted ones.

    Without the gaps this is a regression to a sequence that does not fall: neighbours in the wrong order are pooled.
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []  # mean, weight, members
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        mean, total, members = want - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            other, heavy, more = pools.pop()
            mean = (mean * total + other * heavy) / (total + heavy)
            total, members = total + heavy, members + more
        pools.append((mean, total, members))
    flat = [mean for mean, _, members in pools for _ in range(members)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=False)]


def _place_down(net: _Net) -> list[float]:
    """The top of every layer, and at the end the bottom of the last; arrows that go far aside get more room."""
    heights = _heights(net)
    tops = [0.0]
    for number, height in enumerate(heights[:-1]):
        aside = max(
            (abs(net.x[vertex] - net.x[other]) for vertex in net.layers[number] for other in net.below[vertex]),
            default=0.0,
        )
        tops.append(tops[-1] + height + SPACE_Y + min(24.0, aside / 12))
    return [*tops, tops[-1] + heights[-1]]


def _heights(net: _Net) -> list[float]:
    return [max((net.sizes[vertex].height for vertex in layer), default=0.0) for layer in net.layers]


def _finished(net: _Net, tops: Sequence[float]) -> Layout:
    heights = _heights(net)
    middle = [tops[layer] + heights[layer] / 2 for layer in net.layer_of]
    boxes = tuple((net.x[vertex], middle[vertex]) for vertex in range(net.box_count))
    found = [net.label_of(number) for number in range(len(net.edges))]
    labels = tuple(None if vertex is None else (net.x[vertex], middle[vertex]) for vertex in found)
    width = max(x + size.width / 2 for x, size in zip(net.x, net.sizes, strict=True))
    starts, ends = _ports(net, 0), _ports(net, -1)
    bands = [(top, top + height) for top, height in zip(tops, heights, strict=False)]
    routes = tuple(_route(net, number, (starts[number], ends[number]), bands) for number in range(len(net.edges)))
    return Layout(Size(width, tops[-1]), boxes, labels, routes)


def _ports(net: _Net, end: int) -> list[float]:
    """Where edges meet their source (`end` 0) or target (-1): straight below the next bend where that is possible."""
    ports = [0.0] * len(net.edges)
    meeting: dict[int, list[tuple[float, int]]] = {}
    for number, chain in enumerate(net.chains):
        meeting.setdefault(chain[end], []).append((net.x[chain[1 if end == 0 else -2]], number))
    for vertex, found in meeting.items():
        found.sort()
        room = max(net.sizes[vertex].width - 2 * _PORT_MARGIN, 0.0)
        low, high = net.x[vertex] - room / 2, net.x[vertex] + room / 2
        gap = min(_PORT_SPACE, room / max(len(found) - 1, 1))
        wanted = [min(max(x, low), high) for x, _ in found]
        places = apart(wanted, [1.0] * len(found), [gap] * (len(found) - 1))
        shift = min(0.0, high - places[-1]) or max(0.0, low - places[0])
        for place, (_, number) in zip(places, found, strict=True):
            ports[number] = place + shift
    return ports


def _route(
    net: _Net, number: int, ports: tuple[float, float], bands: Sequence[tuple[float, float]]
) -> tuple[tuple[Point, ...], ...]:
    """Straight down inside of a layer, aside only in the space between layers."""
    source, *inner, target = net.chains[number]
    label = net.label_of(number)
    points: list[Point] = [(ports[0], _edge(net, source, bands, 1)), (ports[0], bands[net.layer_of[source]][1])]
    runs: list[tuple[Point, ...]] = []
    for vertex in inner:
        x, (top, bottom) = net.x[vertex], bands[net.layer_of[vertex]]
        points.append((x, top))
        if vertex == label:
            runs.append((*points, (x, _edge(net, vertex, bands, -1))))
            points = [(x, _edge(net, vertex, bands, 1))]
        points.append((x, bottom))
    points += [(ports[1], bands[net.layer_of[target]][0]), (ports[1], _edge(net, target, bands, -1))]
    return (*runs, tuple(points))


def _edge(net: _Net, vertex: int, bands: Sequence[tuple[float, float]], side: int) -> float:
    """The upper (-1) or lower (1) edge of a box in the middle of its layer."""
    top, bottom = bands[net.layer_of[vertex]]
    return (top + bottom + side * net.sizes[vertex].height) / 2
