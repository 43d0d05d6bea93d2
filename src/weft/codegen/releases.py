"""Memory that is given back in the middle of a region, where nothing below needs it.

before:  alloc T; ... T ...; alloc U; ...
after:   ...; ctx->release(ctx, T_block); weft_block *U_block = ctx->alloc(ctx, ...);

What a region owns it need not keep to its end: a block is released after the last node that needs it (`lifetimes.py`),
if memory is asked for further down. What a loop only takes as the first binding of a carry is the carry's from there
on. A carry that is not looked at again in an iteration is let go in it, before it is bound anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.lifetimes import end, lifetimes
from weft.codegen.kernel import Kernel, Scope
from weft.ir.nodes import Alloc, Branch, Loop, Node, NumpyCall, Region, Storage, While
from weft.ir.traverse import all_nodes, allocated_by, inner_regions


def plan_releases(kernel: Kernel, region: Region, scope: Scope) -> dict[int, list[str]]:
    """Time -> the containers that a region gives back then, before its end."""
    asking = [end(place) for place, node in enumerate(region.nodes) if _asks_for_memory(kernel, node)]
    names = {name for node in region.nodes for name in _owned(kernel, node)}
    if scope.loop is not None:
        names.update(_bound(scope.loop))
    if not asking or not names:
        return {}
    last = lifetimes(region.nodes, kernel.program.containers).last
    found: dict[int, list[str]] = {}
    for name in sorted(names):
        time = last.get(name, end(0))
        if time < asking[-1]:
            found.setdefault(time, []).append(name)
    return found


def emit_releases(kernel: Kernel, time: int) -> None:
    """Release what the innermost region gives back at a time."""
    scope = kernel.scopes[-1]
    for name in scope.dying.get(time, ()):
        block = f"{kernel.pointer(name)}_block"
        kernel.line(f"ctx->release(ctx, {block});")
        if block in scope.blocks:
            scope.blocks.remove(block)
        else:  # a carry of the loop around: the region it is bound in owns it, and will let go of nothing
            kernel.line(f"{block} = 0;")


def _asks_for_memory(kernel: Kernel, node: Node) -> bool:
    inside = (below for inner in inner_regions(node) for below in all_nodes(inner))
    return any(_is_heap(kernel, below) for below in (node, *inside))


def _is_heap(kernel: Kernel, node: Node) -> bool:
    match node:
        case Alloc(container=name):
            return kernel.container(name).storage is not Storage.STACK
        case _:
            return isinstance(node, NumpyCall)


def _owned(kernel: Kernel, node: Node) -> Iterator[str]:
    """The containers whose blocks the region of a node owns, on account of the node."""
    match node:
        case Loop() | While():
            yield from _bound(node)
        case Branch(results=results):
            yield from (result for result in results if isinstance(result, str))
        case _ if _is_heap(kernel, node):
            yield from allocated_by(node)
        case _:
            return


def _bound(loop: Loop | While) -> Iterator[str]:
    return (carry.target for carry in loop.carries if isinstance(carry.target, str))
