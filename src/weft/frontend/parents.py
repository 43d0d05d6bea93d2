"""`super()`: what it is told, and where it cannot be.

in:   the tree of a method
out:  the same tree, in which `super()` has the arguments that Python finds for it: the class around the method, in the
      free variable `__class__`, and the method's first parameter

before:  def f(self, x): return super().f(x) + 1
after:   def f(self, x): return super(__class__, self).f(x) + 1

With them the call means the same in any function that is made of this text: a continuation, a piece.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from weft.frontend.liveness import own_nodes

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def tell_super(tree: ast.FunctionDef | ast.Lambda) -> None:
    """Give `super()` its arguments, in a tree of which nobody knows yet.

    Not in comprehensions, which are functions of their own in some versions of Python, nor where the first parameter
    may have no value.
    """
    named = [*tree.args.posonlyargs, *tree.args.args]
    if not named or any(_deletes(node, named[0].arg) for node in own_nodes(tree)):
        return
    inner = {id(node) for part in own_nodes(tree) if isinstance(part, _COMPREHENSIONS) for node in ast.walk(part)}
    for node in own_nodes(tree):
        if isinstance(node, ast.Call) and _is_bare(node) and id(node) not in inner:
            node.args = [
                ast.copy_location(ast.Name(name, ast.Load()), node.func) for name in ("__class__", named[0].arg)
            ]


def asks_for_frame(tree: ast.FunctionDef | ast.Lambda) -> ast.Name | None:
    """The first `super` that would look for its arguments in the frame and the closure of what runs it."""
    nodes = list(_nodes_outside_classes(tree))
    told = {id(node.func) for node in nodes if isinstance(node, ast.Call) and node.args and not _is_starred(node)}
    found = (node for node in nodes if isinstance(node, ast.Name) and node.id == "super")
    return next((node for node in found if id(node) not in told), None)


def _nodes_outside_classes(tree: ast.AST) -> Iterator[ast.AST]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.ClassDef):
            yield node
            pending += ast.iter_child_nodes(node)


def _is_bare(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and not node.keywords


def _is_starred(node: ast.Call) -> bool:
    return any(isinstance(arg, ast.Starred) for arg in node.args)


def _deletes(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Del)
