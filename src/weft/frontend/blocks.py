"""Statements around other statements that change how these run: `with np.errstate(...)` and `try`; and local imports.

A `try` costs nothing: whatever raises in its body leaves the compiled code at the statement that raises, and Python,
which goes on from there inside the `try`, finds the handler. So only what runs when nothing is raised is compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from weft.frontend.context import Lowering
from weft.frontend.expressions import lower_expression
from weft.frontend.inputs import IMPORTED_MODULES, static_operand
from weft.frontend.liveness import is_errstate
from weft.frontend.statements import lower_block
from weft.numpy_rules.values import Operand, Static
from weft.support.abi import ERROR_KINDS

Path = tuple[int, ...]
_MODES = ("ignore", "warn")


def lower_with(ctx: Lowering, node: ast.With, path: Path) -> bool:
    """`with np.errstate(...)`: places inside that may warn do so as it says."""
    build = ctx.build
    with ctx.statement(node, path):
        modes = _modes(ctx, node)
    saved, build.error_modes = build.error_modes, {**build.error_modes, **modes}
    build.protected += 1
    try:
        return lower_block(ctx, node.body, (*path, 0))
    finally:
        build.error_modes = saved
        build.protected -= 1


def _modes(ctx: Lowering, node: ast.With) -> dict[str, str]:
    call = node.items[0].context_expr
    if not is_errstate(node) or not isinstance(call, ast.Call) or call.args:
        raise ctx.error(node, "E130", "'with' is compiled for np.errstate only", "move it out of the program")
    target = lower_expression(ctx, call.func)
    if not isinstance(target, Static) or target.value is not np.errstate:
        raise ctx.error(node, "E130", "'with' is compiled for np.errstate only", "move it out of the program")
    modes: dict[str, str] = {}
    for keyword in call.keywords:
        operand = lower_expression(ctx, keyword.value)
        mode = operand.value if isinstance(operand, Static) else None
        if mode not in _MODES or keyword.arg not in (*ERROR_KINDS, "all"):
            raise ctx.error(keyword.value, "E130", "np.errstate is compiled for 'ignore' and 'warn' only")
        if mode == "warn" and keyword.arg in ("under", "all"):
            raise ctx.error(keyword.value, "E130", "compiled code does not look for underflow", "name the other kinds")
        modes |= dict.fromkeys(ERROR_KINDS, mode) if keyword.arg == "all" else {keyword.arg: mode}
    given = {keyword.arg for keyword in call.keywords}
    if "all" in given and len(given) > 1:
        raise ctx.error(node, "E130", "np.errstate with 'all' and more is not compiled", "write the kinds out")
    return modes


def lower_try(ctx: Lowering, node: ast.Try, path: Path) -> bool:
    """The body, its `else`, and what is done finally, as they run when nothing is raised."""
    if node.finalbody and any(_jumps([*node.body, *node.orelse])):
        raise ctx.error(node, "E130", "return, break and continue in a try with finally are not compiled")
    ctx.build.protected += 1
    try:
        falls = lower_block(ctx, node.body, (*path, 0)) and lower_block(ctx, node.orelse, (*path, 1))
    finally:
        ctx.build.protected -= 1
    return falls and lower_block(ctx, node.finalbody, (*path, 2))


def _jumps(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that leave a block, or may: those of inner loops are among them."""
    for stmt in block:
        if isinstance(stmt, ast.Return | ast.Break | ast.Continue):
            yield stmt
        elif not isinstance(stmt, ast.FunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _jumps(getattr(stmt, field, []))


# ---- imports --------------------------------------------------------------------------------------------------------


def lower_import(ctx: Lowering, node: ast.Import | ast.ImportFrom) -> None:
    """Modules that do not change are known now; importing any other is left to Python."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            module = _module(ctx, node, alias.name)
            top = _module(ctx, node, alias.name.partition(".")[0])
            name, operand = alias.asname or alias.name.partition(".")[0], Static(module if alias.asname else top)
        else:
            module = _module(ctx, node, node.module or "") if not node.level else None
            name, operand = alias.asname or alias.name, _member(ctx, node, module, alias.name)
        ctx.env[name] = operand


def _module(ctx: Lowering, node: ast.Import | ast.ImportFrom, name: str) -> Any:
    if name.partition(".")[0] not in IMPORTED_MODULES:
        raise ctx.error(node, "E130", f"importing '{name}' is not compiled", "import it at the top of the file")
    try:
        return import_module(name)
    except ImportError:
        return ctx.build.leave(f"no module '{name}'")


def _member(ctx: Lowering, node: ast.ImportFrom, module: Any, name: str) -> Operand:
    if module is None:
        raise ctx.error(node, "E130", "relative imports are not compiled", "import it at the top of the file")
    if not hasattr(module, name):
        return ctx.build.leave(f"cannot import name '{name}'")
    return static_operand(getattr(module, name))
