"""Calls of the user's functions taken out of statements that Python runs, so that they are compiled all the same.

in:   the tree of a function, and the places of simple statements that are left to Python
out:  the tree with such calls as statements of their own in front, in Python's order

before:  log.append(energy(x))        after:   __weft_t0 = log
                                                __weft_t1 = energy(x)
                                                __weft_t0.append(__weft_t1)
"""

from __future__ import annotations

import ast
import builtins
from collections import deque
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from weft.frontend.cutting import Place, place_of
from weft.frontend.liveness import local_names, statements
from weft.frontend.normalise import normalise
from weft.frontend.user_methods import is_known_method, is_python_function

_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
_PYTHONS_OWN = (deque, set, str, bytes, int, float, complex)


def with_calls_apart(tree: ast.FunctionDef, marked: frozenset[Place], function: FunctionType) -> ast.FunctionDef:
    """The tree with the calls in marked statements set apart; the very tree where there are none."""
    own = _not_functions(tree)
    places = {
        (call.lineno, call.col_offset)
        for _, stmt in statements(tree)
        if place_of(stmt) in marked and isinstance(stmt, _SIMPLE)
        for call in _inner_calls(stmt)
        if _is_users(call.func, function, own) and (call.lineno, call.col_offset) not in marked
    }
    return normalise(tree, frozenset(places))


def calls_of_users(tree: ast.FunctionDef, function: FunctionType) -> frozenset[Place]:
    """Where the user's functions, and methods of objects, are called."""
    own = _not_functions(tree)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return frozenset((call.lineno, call.col_offset) for call in calls if _is_users(call.func, function, own))


def _not_functions(tree: ast.FunctionDef) -> frozenset[str]:
    """The local names but for those of nested functions."""
    return local_names(tree) - {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _inner_calls(stmt: ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return) -> Iterator[ast.Call]:
    """The calls in a statement but for the one that is the statement."""
    for node in ast.walk(stmt):
        if isinstance(node, ast.Call) and node is not stmt.value and place_of(stmt) != (node.lineno, node.col_offset):
            yield node


def _is_users(node: ast.expr, function: FunctionType, own: frozenset[str]) -> bool:
    """Whether what is called is, as far as the text shows, written by the user."""
    way: list[str] = []
    while isinstance(node, ast.Attribute):
        way.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or (way or [node.id])[-1] == function.__name__:
        return False  # a function that calls itself is not inlined
    if node.id in own:
        return bool(way) and not is_known_method(way[-1]) and not any(hasattr(cls, way[-1]) for cls in _PYTHONS_OWN)
    value = _global(function, node.id)
    for name in way:
        value = getattr(value, name, None)
    return is_python_function(value)


def _global(function: FunctionType, name: str) -> Any:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if name in cells:
        try:
            return cells[name].cell_contents
        except ValueError:
            return None
    return function.__globals__.get(name, getattr(builtins, name, None))
