"""Arrays that are collected from one nobody looks at afterwards take its memory over.

before:  alloc T [n]; for k in range(N): x = S[k]; if m[k]: T[at] = x; at += 1
after:   weft_block *T_block = weft_takes(ctx, S_block, S, bytes, shared) ? weft_retain(S_block) : ctx->alloc(...);
         double *T = T_block->data;

No element is written before it is read, since no more are collected than have been gone through. Who else holds the
memory is only known at run time: then, or where half of it would lie idle, T has memory of its own. So it has where
threads share the work: in one memory elements can only be moved from front to back.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.analysis.compactions import starts_at_zero
from weft.analysis.lifetimes import Lifetimes, end, lifetimes
from weft.codegen.access import is_strided
from weft.codegen.compactions import compaction_here
from weft.codegen.kernel import Kernel, Scope
from weft.ir.exprs import Value, index
from weft.ir.nodes import Alloc, Branch, Loop, Node, NumpyCall, Region, Return, Storage, Tasklet, While
from weft.ir.traverse import all_nodes, allocated_by, bundle_views, leaving_bundles


def plan_takeovers(kernel: Kernel, region: Region, scope: Scope) -> dict[str, str]:
    """Arrays that a region allocates -> those whose memory they may take over."""
    found: dict[str, str] = {}
    times: Lifetimes | None = None
    for place, node in enumerate(region.nodes):
        for source, new in _moved(kernel, node):
            times = times or lifetimes(region.nodes, kernel.program.containers)
            old = times.root(source)
            since = _allocated(region.nodes[:place], new)
            known = {name for above in region.nodes[:since] for name in _held(above)}
            if scope.loop is not None:
                known.update(_held(scope.loop))
            if since < 0 or old not in known or any(_binds(between) for between in region.nodes[since:place]):
                continue
            if times.last[old] == times.first[new] == end(place) and not _is_result(kernel, new):
                found[new] = old
    return found


def _moved(kernel: Kernel, node: Node) -> list[tuple[str, str]]:
    """What a loop only moves to the front: pairs of dense arrays of one axis, each of them moved once."""
    parts = compaction_here(kernel, node) if isinstance(node, Loop) else None
    moves = parts.moves() if parts is not None else None
    if not isinstance(node, Loop) or parts is None or moves is None or parts.within or not starts_at_zero(node):
        return []
    reads = [memlet.container for tasklet in parts.before for _, memlet in tasklet.reads]
    return [
        (source, target)
        for source, target in (_ends(tasklet, node, parts.number) for tasklet in moves)
        if source and reads.count(source) == 1 and _may_be_one(kernel, source, target)
    ]


def _ends(tasklet: Tasklet, node: Loop, number: Value) -> tuple[str, str]:
    """Where a tasklet moves an element from, and to, if that is from the turn of the loop to the number."""
    ((_, source),), ((target, _),) = tasklet.reads, tasklet.writes
    straight = source.index == (index(node.var),) and target.index == (index(number),)
    return (source.container, target.container) if straight else ("", "")


def _may_be_one(kernel: Kernel, old: str, new: str) -> bool:
    left, right = kernel.container(old), kernel.container(new)
    held = kernel.root(old).storage in (Storage.TRANSIENT, Storage.REF) and right.storage is Storage.TRANSIENT
    return held and left.dtype is right.dtype and not is_strided(left) and not is_strided(kernel.root(old))


def _allocated(nodes: Sequence[Node], name: str) -> int:
    places = [place for place, node in enumerate(nodes) if isinstance(node, Alloc) and node.container == name]
    return places[0] if len(places) == 1 else -1


def _held(node: Node) -> Sequence[str]:
    """The containers that have memory from a node on."""
    match node:
        case Loop() | While():
            return [carry.target for carry in node.carries if isinstance(carry.target, str)]
        case Branch(results=results):
            return [result for result in results if isinstance(result, str)]
        case _:
            return allocated_by(node)


def _binds(node: Node) -> bool:
    """Whether something else may hold the memory of an array from a node on."""
    return isinstance(node, NumpyCall | While) or (not isinstance(node, Alloc) and bool(_held(node)))


def _is_result(kernel: Kernel, name: str) -> bool:
    """Whether an array is given to the caller as it is, who would keep more memory than it needs."""
    leaving = (node for node in all_nodes(kernel.program.body) if isinstance(node, Return))
    views = (view for node in leaving for bundle in leaving_bundles(node) for view in bundle_views(bundle))
    return any(view.container and kernel.root(view.container).name == name for view in views)
