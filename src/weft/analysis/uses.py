"""Who uses a container: how many nodes write and read it, and whether it is seen in other ways.

in:   a program
out:  `Uses` by container: writers, readers, escapes (bundles, refs, aliases), and which of these leave the program
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir.nodes import Elements, Elementwise, MatMul, Node, NumpyCall, Program, Reduce, Scan, Tasklet, View
from weft.ir.traverse import (
    all_nodes,
    allocated_by,
    bound_items,
    bundle_views,
    call_views,
    leaving_bundles,
    node_views,
)
from weft.support.records import record


@record(frozen=False)
class Uses:
    """Counts of nodes (of memlets, in tasklets)."""

    writers: int = 0
    readers: int = 0
    escapes: int = 0  # in what leaves the program, bound to a ref, under another shape
    leaves: int = 0  # only the first of these


def container_uses(program: Program) -> dict[str, Uses]:
    """The uses of every container of a program."""
    uses = {name: Uses() for name in program.containers}
    for container in program.containers.values():
        for other in (container.base, *container.may_alias):
            if other in uses:
                uses[other].escapes += 1
    for node in all_nodes(program.body):
        for name in written_by(node):
            uses[name].writers += 1
        for name in read_by(node):
            uses[name].readers += 1
        for name in _leaving(node):
            uses[name].leaves += 1
            uses[name].escapes += 1
        for item in bound_items(node):
            if isinstance(item, View) and item.container:
                uses[item.container].escapes += 1
    return uses


def written_by(node: Node) -> Iterator[str]:
    """The containers a node writes itself."""
    match node:
        case Tasklet(writes=writes):
            yield from (memlet.container for memlet, _ in writes)
        case Elementwise() | Reduce() | Scan() | MatMul():
            yield node.output.container
        case NumpyCall(changes=changes):
            yield from allocated_by(node)
            yield from (view.container for view in changes)
        case _:
            return


def read_by(node: Node) -> Iterator[str]:
    """The containers a node reads itself."""
    match node:
        case Tasklet(reads=reads, writes=writes):
            yield from (memlet.container for _, memlet in reads)
            yield from (memlet.container for memlet, _ in writes if memlet.conflict)
        case Elementwise() | Reduce() | Scan() | MatMul():
            yield from (view.container for view in node_views(node)[1:])
            if isinstance(node, Reduce) and isinstance(node.input, Elements):
                yield from (memlet.container for tasklet in node.input.body for _, memlet in tasklet.reads)
        case NumpyCall():
            yield from (view.container for view in call_views(node))
        case _:
            return


def _leaving(node: Node) -> Iterator[str]:
    for bundle in leaving_bundles(node):
        yield from (view.container for view in bundle_views(bundle) if view.container)
