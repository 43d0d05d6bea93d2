"""What Python sees where a program leaves: arguments, and what the site shows that it leaves through.

in:   the body of a program and the memory of its containers
out:  whether nodes that may leave and nodes that write may change places
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from weft.analysis.effects import effects_of
from weft.analysis.memory import Memory, made_in_loops
from weft.ir.nodes import Node, Region, Site
from weft.ir.traverse import all_nodes, bundle_views, leaving_bundles, site_left_through


class Exits:
    """The ways out of a program."""

    def __init__(self, body: Region, memory: Memory) -> None:
        self._body = body
        self._memory = memory

    @cached_property
    def _sites(self) -> dict[int, frozenset[str]]:
        """The containers that each site shows."""
        found: dict[int, frozenset[str]] = {}
        for node in all_nodes(self._body):
            if isinstance(node, Site):
                found[node.number] = found.get(node.number, frozenset()) | _shown_at(node)
        return found

    @cached_property
    def _made(self) -> frozenset[frozenset[str]]:
        return made_in_loops(self._body)

    @cached_property
    def _shown(self) -> frozenset[str]:
        """The containers that sites show."""
        return frozenset[str]().union(*self._sites.values())

    def may_share(self, left: str, right: str) -> bool:
        """Whether two containers may share memory where both are used, in one iteration of the loops around."""
        return self._memory.may_overlap(left, right, self._made)

    def may_leave_before(self, leaver: Node | Sequence[Node], writer: Node | Sequence[Node]) -> bool:
        """Whether one may leave the program, and Python would see what the other writes."""
        if not effects_of(leaver).leaves:
            return False
        number = None if isinstance(leaver, Sequence) else site_left_through(leaver)
        shown = self._shown if number is None else self._sites.get(number, self._shown)
        return any(self._is_seen(access.container, shown) for access in effects_of(writer).writes)

    def _is_seen(self, container: str, shown: frozenset[str]) -> bool:
        return self._memory.is_observable(container) or any(self.may_share(container, other) for other in shown)


def _shown_at(site: Site) -> frozenset[str]:
    views = (view for bundle in leaving_bundles(site) for view in bundle_views(bundle))
    return frozenset(view.container for view in views if view.container)
