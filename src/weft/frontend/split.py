"""One store per statement.

in:   the normalised tree of a function
out:  the same, with assignments that store to several places, some of them elements or attributes, taken apart

before:  a[i], a[j] = a[j], a[i]          x = b[k] = v
after:   __weft_s0 = a[j]                 __weft_s0 = v
         __weft_s1 = a[i]                 x = __weft_s0
         a[i] = __weft_s0                 b[k] = __weft_s0
         a[j] = __weft_s1

Each store is then a statement that Python can take over at, with nothing of it done yet. Defaults of nested functions
get names too, so that a function can be defined again later with the defaults it had. A `match` on constants becomes
branches.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from itertools import count
from typing import TypeVar

from weft.frontend.liveness import blocks

_NodeT = TypeVar("_NodeT", bound=ast.AST)


def split_stores(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The tree with every such assignment taken apart; the very same object if there is none."""
    fresh = (f"__weft_s{number}" for number in count())
    body = _block(tree.body, fresh)
    if body is tree.body:
        return tree
    result = copy.copy(tree)
    result.body = body
    return result


def _block(block: list[ast.stmt], fresh: Iterator[str]) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    for stmt in block:
        result += _statement(stmt, fresh)
    same = len(result) == len(block) and all(a is b for a, b in zip(result, block, strict=True))
    return block if same else result


def _statement(stmt: ast.stmt, fresh: Iterator[str]) -> list[ast.stmt]:
    if isinstance(stmt, ast.FunctionDef):
        return _keep_defaults(stmt, stmt, fresh)
    if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Lambda):
        return _keep_defaults(stmt, stmt.value, fresh)
    if isinstance(stmt, ast.Assign):
        return _assign(stmt, fresh)
    if isinstance(stmt, ast.Match):
        return _branches(stmt, fresh)
    if isinstance(stmt, ast.Try):
        return [_try(stmt, fresh)]
    body, orelse = blocks(stmt)[:2]
    new_body, new_orelse = _block(body, fresh), _block(orelse, fresh)
    if isinstance(stmt, ast.For) and not isinstance(stmt.target, ast.Name) and _stores(stmt.target):
        name = next(fresh)
        target = _at(ast.Name(name, ast.Store()), stmt.target)
        unpack = _at(ast.Assign([stmt.target], _at(ast.Name(name, ast.Load()), stmt.target)), stmt.target)
        changed = copy.copy(stmt)
        changed.target, changed.body, changed.orelse = target, [*_assign(unpack, fresh), *new_body], new_orelse
        return [changed]
    if new_body is body and new_orelse is orelse:
        return [stmt]
    altered = copy.copy(stmt)
    if isinstance(altered, ast.If | ast.For | ast.While | ast.With):
        altered.body = new_body
    if isinstance(altered, ast.If | ast.For | ast.While):
        altered.orelse = new_orelse
    return [altered]


def _try(stmt: ast.Try, fresh: Iterator[str]) -> ast.Try:
    """Handlers stay as they are: they are never compiled."""
    new = copy.copy(stmt)
    new.body, new.orelse = _block(stmt.body, fresh), _block(stmt.orelse, fresh)
    new.finalbody = _block(stmt.finalbody, fresh)
    if new.body is stmt.body and new.orelse is stmt.orelse and new.finalbody is stmt.finalbody:
        return stmt
    return new


def _branches(stmt: ast.Match, fresh: Iterator[str]) -> list[ast.stmt]:
    """A `match` on constants is a chain of branches; any other stays."""
    result: list[ast.stmt] = []
    subject = _named(stmt.subject, result, fresh)
    tests = [_pattern_test(case.pattern, subject) for case in stmt.cases]
    if any(test is None for test in tests):
        return [stmt]
    chain: list[ast.stmt] = []
    for case, test in reversed(list(zip(stmt.cases, tests, strict=True))):
        assert test is not None
        whole = test if case.guard is None else _at(ast.BoolOp(ast.And(), [test, case.guard]), case.guard)
        chain = [_at(ast.If(whole, _block(case.body, fresh), chain), case.pattern)]
    return [*result, *chain]


def _pattern_test(pattern: ast.pattern, subject: ast.expr) -> ast.expr | None:
    """The test that a subject matches a pattern that binds nothing; None for other patterns."""
    match pattern:
        case ast.MatchValue(value=value):
            return _at(ast.Compare(copy.copy(subject), [ast.Eq()], [value]), pattern)
        case ast.MatchSingleton(value=value):
            return _at(ast.Compare(copy.copy(subject), [ast.Is()], [_at(ast.Constant(value), pattern)]), pattern)
        case ast.MatchAs(pattern=None, name=None):
            return _at(ast.Constant(value=True), pattern)
        case ast.MatchOr(patterns=patterns):
            tests = [_pattern_test(inner, subject) for inner in patterns]
            found = [test for test in tests if test is not None]
            return _at(ast.BoolOp(ast.Or(), found), pattern) if len(found) == len(tests) else None
        case _:
            return None


def _keep_defaults(
    stmt: ast.FunctionDef | ast.Assign, function: ast.FunctionDef | ast.Lambda, fresh: Iterator[str]
) -> list[ast.stmt]:
    """Defaults that are more than constants get names of their own, which nothing changes later."""
    if all(isinstance(default, ast.Constant) for default in function.args.defaults):
        return [stmt]
    before: list[ast.stmt] = []
    args = copy.copy(function.args)
    args.defaults = [_named(default, before, fresh, keep_names=False) for default in args.defaults]
    changed = copy.copy(function)
    changed.args = args
    if isinstance(stmt, ast.FunctionDef):
        assert isinstance(changed, ast.FunctionDef)
        return [*before, changed]
    assert isinstance(changed, ast.Lambda)
    return [*before, _at(ast.Assign(stmt.targets, changed), stmt)]


def _stores(target: ast.expr) -> bool:
    return any(isinstance(node, ast.Subscript | ast.Attribute) for node in _leaves(target))


def _leaves(target: ast.expr) -> Iterator[ast.expr]:
    match target:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for elt in elts:
                yield from _leaves(elt)
        case ast.Starred(value=value):
            yield from _leaves(value)
        case _:
            yield target


def _assign(stmt: ast.Assign, fresh: Iterator[str]) -> list[ast.stmt]:
    tuples = any(isinstance(target, ast.Tuple | ast.List) for target in stmt.targets)
    if not any(_stores(target) for target in stmt.targets) or (len(stmt.targets) == 1 and not tuples):
        return [stmt]
    result: list[ast.stmt] = []
    if len(stmt.targets) > 1:
        value = _named(stmt.value, result, fresh)
        for target in stmt.targets:
            result += _assign(_at(ast.Assign([target], copy.copy(value)), stmt), fresh)
        return result
    (target,) = stmt.targets
    names = [next(fresh) for _ in _leaves(target)]
    pending = iter(names)
    renamed = _rename(target, pending)
    result.append(_at(ast.Assign([renamed], stmt.value), stmt))
    for leaf, name in zip(_leaves(target), names, strict=True):
        result.append(_at(ast.Assign([leaf], _at(ast.Name(name, ast.Load()), leaf)), leaf))
    return result


def _rename(target: ast.expr, names: Iterator[str]) -> ast.expr:
    """The same pattern with a name at every leaf."""
    match target:
        case ast.Tuple(elts=elts):
            return _at(ast.Tuple([_rename(elt, names) for elt in elts], ast.Store()), target)
        case ast.List(elts=elts):
            return _at(ast.List([_rename(elt, names) for elt in elts], ast.Store()), target)
        case ast.Starred(value=value):
            return _at(ast.Starred(_rename(value, names), ast.Store()), target)
        case _:
            return _at(ast.Name(next(names), ast.Store()), target)


def _named(value: ast.expr, out: list[ast.stmt], fresh: Iterator[str], *, keep_names: bool = True) -> ast.expr:
    if isinstance(value, ast.Constant) or (keep_names and isinstance(value, ast.Name)):
        return value
    name = next(fresh)
    out.append(_at(ast.Assign([_at(ast.Name(name, ast.Store()), value)], value), value))
    return _at(ast.Name(name, ast.Load()), value)


def _at(node: _NodeT, place: ast.AST) -> _NodeT:
    return ast.copy_location(node, place)
