"""Which names a statement binds."""

from __future__ import annotations

import ast

from weft.frontend.liveness import Names


def stored_names(node: ast.stmt) -> Names:
    """The names that a statement or anything inside it assigns; nested functions keep theirs to themselves."""
    found: set[str] = set()
    pending: list[ast.AST] = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Name) and isinstance(current.ctx, ast.Store | ast.Del):
            found.add(current.id)
        if isinstance(current, ast.FunctionDef):
            found.add(current.name)
            continue
        if isinstance(current, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name.partition(".")[0] for alias in current.names)
        if not isinstance(current, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            pending += ast.iter_child_nodes(current)
    return frozenset(found)
