"""Which resume points can be reached, and why."""

from __future__ import annotations

from weft.ir.nodes import Alloc, Guard, NumpyCall, Program, Storage
from weft.ir.traverse import all_nodes


def guarded_sites(program: Program) -> dict[int, list[str]]:
    """Site number -> the reasons of the guards that leave through it, in order."""
    found: dict[int, list[str]] = {}
    for node in all_nodes(program.body):
        if isinstance(node, Guard):
            found.setdefault(node.site, []).append(node.reason)
        elif isinstance(node, Alloc) and program.containers[node.container].storage is not Storage.STACK:
            found.setdefault(node.site, []).append("out of memory")
        elif isinstance(node, NumpyCall) and not node.tried:
            found.setdefault(node.site, []).append(f"{node.function} raises, or gives something unusual")
    return found
