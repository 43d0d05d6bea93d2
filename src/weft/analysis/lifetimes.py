"""How long the nodes of a region need the memory of containers.

in:   the nodes of a region in order, the containers of the program
out:  `Lifetimes`: for every container named there, when it is needed first and last

Time goes by nodes, in two steps each: what a loop hands to its carries at its head is needed at `head(place)`, all else
that stands in the node or inside it at `end(place)`. Names of an alias are names of its base. What a site shows is
needed where the program may leave through it, however far below that is. A ref counts for itself, not for what it is
bound to. `first` is the first time at which there may be something in it: its allocation does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from weft.ir.nodes import Alloc, Container, Loop, Node, Site, Storage, View, While
from weft.ir.traverse import (
    all_nodes,
    bound_items,
    bundle_views,
    inner_regions,
    leaving_bundles,
    site_left_through,
    touched_containers,
)
from weft.support.records import record


def head(place: int) -> int:
    """The time at which the node at a place of the region begins."""
    return 2 * place


def end(place: int) -> int:
    """The time at which it is done."""
    return 2 * place + 1


@record(frozen=False)
class Lifetimes:
    """The first and the last time at which containers are needed."""

    containers: Mapping[str, Container]
    first: dict[str, int] = field(default_factory=dict[str, int])
    last: dict[str, int] = field(default_factory=dict[str, int])

    def need(self, names: Iterable[str], time: int, until: int | None = None) -> None:
        """Note that containers are needed at a time, and perhaps until another."""
        for name in names:
            root = self.root(name)
            self.first[root] = min(time, self.first.get(root, time))
            self.last[root] = max(time if until is None else until, self.last.get(root, time))

    def root(self, name: str) -> str:
        """The container that has the memory of an alias."""
        while self.containers[name].storage is Storage.ALIAS:
            name = self.containers[name].base
        return name


def lifetimes(nodes: Sequence[Node], containers: Mapping[str, Container]) -> Lifetimes:
    """When the nodes of a region need which container."""
    found = Lifetimes(containers)
    left: dict[int, int] = {}  # site -> the last time at which the program may leave through it
    for place, node in enumerate(nodes):
        for below in _with_inner(node):
            site = site_left_through(below)
            if site is not None:
                left[site] = end(place)
    for place, node in enumerate(nodes):
        match node:
            case Site(number=number):
                if number in left:
                    shown = [view.container for bundle in leaving_bundles(node) for view in bundle_views(bundle)]
                    found.need(filter(None, shown), end(place), left[number])
            case Loop() | While():
                items = [item.container for item in bound_items(node) if isinstance(item, View)]
                found.need(filter(None, items), head(place))
                found.need((carry.target for carry in node.carries if isinstance(carry.target, str)), end(place))
                for inner in node.body.nodes:
                    found.need(touched_containers(inner), end(place))
            case Alloc(container=name):
                found.last[name] = max(end(place), found.last.get(name, 0))
            case _:
                found.need(touched_containers(node), end(place))
    return found


def _with_inner(node: Node) -> Iterator[Node]:
    yield node
    for inner in inner_regions(node):
        yield from all_nodes(inner)
