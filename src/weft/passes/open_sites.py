"""Sites that the program can still be taken back to: nothing that Python would see there has been written since."""

from __future__ import annotations

from dataclasses import dataclass

from weft.analysis.memory import Memory
from weft.analysis.uses import written_by
from weft.ir.nodes import Node, Region, Site
from weft.ir.traverse import all_nodes, bundle_views, leaving_bundles


@dataclass(frozen=True, slots=True)
class OpenSite:
    """The number of a site, and the containers it shows."""

    number: int
    shown: frozenset[str]

    def closed_by(self, node: Node, memory: Memory) -> bool:
        """Whether a node writes what Python would see at the site."""
        written = {name for below in all_nodes(Region((node,))) for name in written_by(below)}
        return any(
            memory.is_observable(name) or any(memory.may_overlap(name, other) for other in self.shown)
            for name in written
        )


def open_site(site: Site) -> OpenSite:
    """A site that has just been passed."""
    shown = (view.container for bundle in leaving_bundles(site) for view in bundle_views(bundle))
    return OpenSite(site.number, frozenset(name for name in shown if name))
