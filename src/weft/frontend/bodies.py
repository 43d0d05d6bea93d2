"""What the text of a loop tells before it is lowered: whether to write it out, and whether copies would be too long."""

from __future__ import annotations

import ast

_MAX_SHIFTED = 4  # statements of a body that shifts slices
_MANY_TURNS = 8
_MANY_STATEMENTS = 96  # of all copies


def is_long_loop(part: ast.AST) -> bool:
    """Whether this is a loop of any length; copies of it would make a long program."""
    match part:
        case ast.While():
            return True
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=args)):
            return any(
                isinstance(inner, ast.Name | ast.Attribute | ast.Call) for arg in args for inner in ast.walk(arg)
            )
        case _:
            return False


def is_much_to_copy(node: ast.For, turns: int) -> bool:
    """Whether a loop that is written out would take long to compile."""
    statements = sum(isinstance(inner, ast.stmt) for inner in ast.walk(node))
    return turns >= _MANY_TURNS and turns * statements > _MANY_STATEMENTS


def holds_loops(node: ast.For) -> bool:
    """Whether there are loops in the body of another."""
    return any(isinstance(inner, ast.For | ast.While) for stmt in node.body for inner in ast.walk(stmt))


def shifts_slices(node: ast.For) -> bool:
    """Whether a short body adds up slices that the loop's variable shifts: `s += w[k] * a[1 + k : n + k]`."""
    if not isinstance(node.target, ast.Name):
        return False
    inside = [part for stmt in node.body for part in ast.walk(stmt)]
    bounds = [x for part in inside if isinstance(part, ast.Slice) for x in (part.lower, part.upper) if x is not None]
    shifted = any(isinstance(x, ast.Name) and x.id == node.target.id for bound in bounds for x in ast.walk(bound))
    statements = sum(isinstance(part, ast.stmt) for part in inside)
    return shifted and statements <= _MAX_SHIFTED and not any(_is_heavy(part) for part in inside)


def _is_heavy(part: ast.AST) -> bool:
    """Whether copies of it would cost more than they bring: loops of any length, products of matrices."""
    if isinstance(part, ast.Call):
        return getattr(part.func, "attr", "") in ("dot", "einsum", "inner", "matmul", "tensordot")
    return isinstance(part, ast.While | ast.Try | ast.MatMult)
