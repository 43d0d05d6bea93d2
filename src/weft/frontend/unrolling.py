"""Loops over what has a known number of items: one copy of the body per item.

before:  for x in (a, b):       after:  x = a; s += x
             s += x                     x = b; s += x

A `break` or `continue` leaves a region that runs once: all copies, or one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from weft.frontend.context import LoopFrame, Lowering
from weft.frontend.heap import kept
from weft.frontend.iteration import remaining
from weft.frontend.liveness import Names
from weft.frontend.names import stored_names
from weft.frontend.objects import MAX_UNROLLED, fixed_items
from weft.frontend.statements import assign, lower_block
from weft.ir.dtypes import PY_BOOL
from weft.ir.exprs import const, const_index
from weft.ir.nodes import Carry, Region, While
from weft.numpy_rules.values import Operand, Ref, Scalar

Path = tuple[int, ...]
MAX_COPIES = 256  # of bodies inside each other


def unrolled(ctx: Lowering, node: ast.For, path: Path, iterable: Operand) -> bool:
    """A loop over items of known number; gives whether what follows it is reached."""
    items = fixed_items(ctx, iterable)
    assert items is not None
    copies = max(len(items), 1)
    if len(items) > MAX_UNROLLED or ctx.copies * copies > MAX_COPIES:
        raise ctx.error(node, "E123", "this loop over a tuple or list has too many items", "use an array")
    hidden = f"@items{'_'.join(map(str, path))}"
    ctx.env[hidden] = kept(ctx, iterable)
    ctx.copies *= copies
    try:
        return _written_out(ctx, node, path, hidden)
    finally:
        ctx.copies //= copies


def _written_out(ctx: Lowering, node: ast.For, path: Path, hidden: str) -> bool:
    from weft.frontend.loops import lower_else

    if not any(isinstance(jump, ast.Break) for jump in _own_jumps(node.body)):
        falls = _copies(ctx, node, path, hidden)
        ctx.env.pop(hidden, None)
        return falls and lower_block(ctx, node.orelse, (*path, 1))
    flag = f"@broke{len(ctx.loops)}" if node.orelse else ""
    if flag:
        ctx.env[flag] = Scalar(const(False, PY_BOOL))
    live = ctx.activation.after[path]
    reached = _run_once(ctx, node, path, lambda: _copies(ctx, node, path, hidden), live, flag=flag)
    ctx.env.pop(hidden, None)
    if not reached or not node.orelse:
        return reached
    return lower_else(ctx, node, path, flag)


def _own_jumps(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The break and continue statements that belong to this loop."""
    for stmt in block:
        if isinstance(stmt, ast.Break | ast.Continue):
            yield stmt
        elif isinstance(stmt, ast.For | ast.While):
            yield from _own_jumps(stmt.orelse)
        elif not isinstance(stmt, ast.FunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _own_jumps(getattr(stmt, field, []))


def _copies(ctx: Lowering, node: ast.For, path: Path, hidden: str) -> bool:
    """The copies of the body, with the items as Python takes them: a list may change meanwhile."""
    activation = ctx.activation
    before = ctx.env[hidden]
    expected = fixed_items(ctx, before)
    position = 0
    while True:
        items = fixed_items(ctx, ctx.env[hidden])
        if items is None or expected is None or position > MAX_UNROLLED:
            raise ctx.error(node, "E123", "the list changes in the loop over it", "loop over a copy")
        if len(items) != len(expected) and not isinstance(before, Ref):
            raise ctx.error(node, "E123", "the list changes in the loop over it", "loop over a copy")
        if position >= len(items):
            return True
        assign(ctx, node.target, items[position])
        activation.rests.append(lambda n=position: remaining(ctx, activation.env[hidden], const_index(n)))
        falls = _one_copy(ctx, node, path)
        activation.rests.pop()
        if not falls:
            return False
        position += 1


def _one_copy(ctx: Lowering, node: ast.For, path: Path) -> bool:
    jumps = {type(jump) for jump in _own_jumps(node.body)}
    if ast.Continue not in jumps:
        return lower_block(ctx, node.body, (*path, 0))
    whole = ctx.loops[-1] if ast.Break in jumps else None
    live = ctx.activation.before[path] | ctx.activation.after[path]
    return _run_once(ctx, node, path, lambda: lower_block(ctx, node.body, (*path, 0)), live, whole=whole)


def _run_once(
    ctx: Lowering,
    node: ast.For,
    path: Path,
    body: Callable[[], bool],
    live: Names,
    *,
    whole: LoopFrame | None = None,
    flag: str = "",
) -> bool:
    """A region that jumps leave; gives whether its end is reached."""
    from weft.frontend.loops import carried_names, lower_carried

    build = ctx.build

    def make(carries: tuple[Carry, ...], region: Region) -> None:
        build.emit(While(carries=carries, body=region, id=build.new_id(), span=build.span))

    build.use_site()
    names = carried_names(ctx, node, path)
    kind = LoopFrame({}, ctx.activation, flag=flag, whole=whole, live=live, once=True)
    frame = lower_carried(ctx, names, body, make, kind)
    for name in stored_names(node) - set(names):
        ctx.env.pop(name, None)
    return bool(frame.breaks)
