"""Which resume points can be reached, and why."""

from __future__ import annotations

from weft.codegen.fp_flags import inner_regions
from weft.ir.nodes import Alloc, Guard, Region


def guarded_sites(region: Region) -> dict[int, list[str]]:
    """Site number -> the reasons of the guards that leave through it, in order."""
    found: dict[int, list[str]] = {}
    _collect(region, found)
    return found


def _collect(region: Region, found: dict[int, list[str]]) -> None:
    for node in region.nodes:
        if isinstance(node, Guard):
            found.setdefault(node.site, []).append(node.reason)
        elif isinstance(node, Alloc):
            found.setdefault(node.site, []).append("out of memory")
        for inner in inner_regions(node):
            _collect(inner, found)
