"""`map` and `filter` as generators.

in:   a call of one of them whose items are all taken where it stands
out:  the generator that gives the same items, and statements that come before it

before:  map(lambda x: x * k, v)        after:  __weft_t0 = lambda x: x * k
                                                (__weft_t0(__weft_t1) for __weft_t1 in v)

before:  filter(np.isfinite, v)         after:  (__weft_t0 for __weft_t0 in v if np.isfinite(__weft_t0))

Several iterables end with the shortest, as those of `zip` do. The function is looked at once, before the items: one
that is not found by a global name is given a name of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any


def is_mapped(node: ast.AST) -> bool:
    """Whether a node has the form of a call of `map` or `filter`; names are not looked at."""
    match node:
        case ast.Call(func=ast.Name(id="map"), args=[_, _, *_] as args, keywords=[]):
            pass
        case ast.Call(func=ast.Name(id="filter"), args=[_, _] as args, keywords=[]):
            pass
        case _:
            return False
    refused = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    return not any(isinstance(inner, refused) for inner in ast.walk(node)) and not any(
        isinstance(arg, ast.Starred) for arg in args
    )


def as_generator(node: ast.expr, fresh: Iterator[str], own: frozenset[str]) -> tuple[list[ast.stmt], ast.GeneratorExp]:
    """The generator for a call of `map` or `filter`; `own` are the names that the function around it binds."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    function, *iterables = node.args
    before: list[ast.stmt] = []
    if not _is_constant(function, own):
        name = next(fresh)
        before.append(_at(ast.Assign([_at(ast.Name(name, ast.Store()), function)], function), function))
        function = _at(ast.Name(name, ast.Load()), function)
    if node.func.id == "filter":
        (items,) = iterables
        item = next(fresh)
        wanted = _load(item, node) if _is_none(function) else _at(ast.Call(function, [_load(item, node)], []), node)
        clause = ast.comprehension(_at(ast.Name(item, ast.Store()), node), items, [wanted], 0)
        return before, _at(ast.GeneratorExp(_load(item, node), [clause]), node)
    names = [next(fresh) for _ in iterables]
    stores: list[ast.expr] = [_at(ast.Name(name, ast.Store()), node) for name in names]
    target, items = stores[0], iterables[0]
    if len(names) > 1:
        target = _at(ast.Tuple(stores, ast.Store()), node)
        items = _at(ast.Call(_load("zip", node), iterables, []), items)
    called = _at(ast.Call(function, [_load(name, node) for name in names], []), node)
    return before, _at(ast.GeneratorExp(called, [ast.comprehension(target, items, [], 0)]), node)


def _is_constant(function: ast.expr, own: frozenset[str]) -> bool:
    """Whether a function can be looked at as often as it is called: `f` and `np.linalg.norm` by global names, None."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return _is_none(function) or (isinstance(function, ast.Name) and function.id not in own)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _load(name: str, place: ast.AST) -> ast.Name:
    return _at(ast.Name(name, ast.Load()), place)


def _at(node: Any, place: ast.AST) -> Any:
    return ast.copy_location(node, place)
