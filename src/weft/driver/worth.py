"""Whether a piece of a program does enough to be worth a call.

in:   the program of a piece, at the array level
out:  whether it is a handful of operations on single numbers: Python takes no longer for these than for the call
"""

from __future__ import annotations

from typing import Final

from weft.ir.exprs import Expr, Index, Op
from weft.ir.nodes import Branch, Guard, Node, Program, Region, Return, Site, Tasklet, Yield

_FEW: Final = 10  # reads, writes and operations; a call with its arguments costs Python about as much


def is_too_little(program: Program) -> bool:
    """Whether nothing in it can take longer than the call: no loop, no array as a whole, a few operations."""
    work = _of_region(program.body)
    return work is not None and work < _FEW


def _of_region(region: Region) -> int | None:
    total = 0
    for node in region.nodes:
        work = _of_node(node)
        if work is None:
            return None
        total += work
    return total


def _of_node(node: Node) -> int | None:
    match node:
        case Tasklet(reads=reads, lets=lets, writes=writes):
            return len(reads) + len(writes) + sum(_operations(let.expr) for let in lets)
        case Branch(condition=condition, then=then, orelse=orelse):
            arms = _of_region(then), _of_region(orelse)
            return None if None in arms else max(arm or 0 for arm in arms) + _operations(condition)
        case Site() | Guard() | Yield() | Return():
            return 0
        case _:
            return None


def _operations(expr: Expr) -> int:
    match expr:
        case Op(args=args):
            return 1 + sum(map(_operations, args))
        case Index(terms=terms):
            return max(len(terms) - 1, 0)
        case _:
            return 0
