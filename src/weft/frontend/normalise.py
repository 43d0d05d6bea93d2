"""Every inlined call gets a statement of its own.

in:   the tree of a function, and the places of the calls whose body the compiler puts in their stead
out:  a tree that does the same in the same order, in which each such call is all of a statement's right side

before:  y[i] += A[0] * f(x) if c else g(x)
after:   __weft_t0 = y[i]
         if c:
             __weft_t2 = A[0]
             __weft_t3 = f(x)
             __weft_t1 = __weft_t2 * __weft_t3
         else:
             __weft_t1 = g(x)
         __weft_t0 += __weft_t1
         y[i] = __weft_t0

What a statement evaluates before such a call is put into temporaries first, since the call may change it; local names
and constants are left. A function or method that is itself called (`np.sqrt(f(x))`, `a.sum(f(x))`) is looked up after
the call instead of before: its receiver is kept, the method itself is taken to be the same.
List and dict comprehensions, and generators (also `map` and `filter`) that `sum` and the like take, that are unpacked
or looped over, are written out as loops where their place is among those given (that of a call with its line negated).
Calls in other comprehensions, lambdas and nested functions are left alone.
Statements without such a call are the very objects of the tree that came in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from weft.frontend.comprehensions import TEMPORARY, fuse, is_fused
from weft.frontend.liveness import bound_before, local_names, own_nodes, statements
from weft.frontend.normalise_expressions import (
    Scope,
    assign_name,
    if_statement,
    load_name,
    lower,
    lower_operands,
    lower_root,
    negated,
    operand_nodes,
    replaced,
    spill,
    store_name,
)


def normalise(tree: ast.FunctionDef | ast.Lambda, inlined: frozenset[tuple[int, int]]) -> ast.FunctionDef:
    """`tree` with every call at one of the places (line, column) in `inlined` as a statement of its own.

    A place is that of a Call node: in `f(a).g(b)` both calls stand at the same one, and both are taken.
    """
    function = _function_of_lambda(tree) if isinstance(tree, ast.Lambda) else tree
    if not inlined:
        return function
    scope = Scope(
        inlined, local_names(function), _rebound_names(function), _unsure_names(function), _fresh_names(function),
        _lower_block,
    )  # fmt: skip
    body = _lower_block(scope, function.body)
    return function if body is function.body else replaced(function, body=body)


def _function_of_lambda(tree: ast.Lambda) -> ast.FunctionDef:
    function = cast("ast.FunctionDef", ast.parse("def f(): pass").body[0])  # all fields that this Python wants
    function.name, function.args = "<lambda>", tree.args
    function.body = [ast.copy_location(ast.Return(tree.body), tree.body)]
    return ast.copy_location(function, tree)


def _rebound_names(tree: ast.FunctionDef) -> frozenset[str]:
    assigned = {node.target.id for node in own_nodes(tree) if isinstance(node, ast.NamedExpr)}
    declared = {name for node in ast.walk(tree) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    return frozenset(assigned | declared)


def _unsure_names(tree: ast.FunctionDef) -> frozenset[int]:
    own, bound = local_names(tree), bound_before(tree)
    unsure: dict[int, bool] = {}
    for path, stmt in statements(tree):  # inner statements after those around them: they know better
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name):
                unsure[id(node)] = node.id in own and node.id not in bound[path]
    return frozenset(node for node, is_unsure in unsure.items() if is_unsure)


def _fresh_names(tree: ast.FunctionDef) -> Iterator[str]:
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | local_names(tree)
    number = 0
    while True:
        name = f"{TEMPORARY}{number}"
        if name not in taken:
            yield name
        number += 1


# ---------------------------------------------------------------- statements


def _lower_block(scope: Scope, block: list[ast.stmt]) -> list[ast.stmt]:
    if not any(map(scope.has_call, block)):
        return block
    out: list[ast.stmt] = []
    for stmt in block:
        _lower_statement(scope, stmt, out)
    return out


def _lower_statement(scope: Scope, stmt: ast.stmt, out: list[ast.stmt]) -> None:
    if not scope.has_call(stmt):
        out.append(stmt)
        return
    match stmt:
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Delete() | ast.Assert():
            _lower_simple(scope, stmt, out)
        case ast.Expr(value=value):
            out.append(replaced(stmt, value=lower_root(scope, value, out)))
        case ast.While():
            _lower_while(scope, stmt, out)
        case ast.For():
            _lower_for(scope, stmt, out)
        case ast.With():
            _lower_with(scope, stmt, out)
        case ast.If() | ast.Match():
            _lower_branches(scope, stmt, out)
        case ast.Try() | ast.TryStar():
            blocks = {name: _lower_block(scope, getattr(stmt, name)) for name in ("body", "orelse", "finalbody")}
            handlers = [replaced(handler, body=_lower_block(scope, handler.body)) for handler in stmt.handlers]
            out.append(replaced(stmt, **blocks, handlers=handlers))
        case ast.Return() | ast.Raise():
            out.append(lower_operands(scope, stmt, out))
        case _:
            out.append(stmt)  # async statements: never compiled


def _lower_simple(
    scope: Scope, stmt: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete | ast.Assert, out: list[ast.stmt]
) -> None:
    match stmt:
        case ast.Assign():
            _lower_assign(scope, stmt, out)
        case ast.AugAssign():
            _lower_aug_assign(scope, stmt, out)
        case ast.AnnAssign():
            _lower_ann_assign(scope, stmt, out)
        case ast.Delete():
            for target in stmt.targets:
                _lower_delete(scope, target, stmt, out)
        case ast.Assert():
            _lower_assert(scope, stmt, out)


def _lower_assign(scope: Scope, stmt: ast.Assign, out: list[ast.stmt]) -> None:
    if len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name):
        out.append(replaced(stmt, value=lower_root(scope, stmt.value, out)))
        return
    in_targets = any(map(scope.has_call, stmt.targets))
    value = lower(scope, stmt.value, out, keep=in_targets)
    if not in_targets:
        out.append(replaced(stmt, value=value))
        return
    if len(stmt.targets) > 1:
        value = spill(scope, value, out)  # one target may be the name that the next one is to get
    for target in stmt.targets:
        _lower_store(scope, target, value, out)


def _lower_store(scope: Scope, target: ast.expr, value: ast.expr, out: list[ast.stmt]) -> None:
    """`target = value`, where `value` is a name or a constant."""
    if isinstance(target, (ast.Tuple, ast.List)) and scope.has_call(target):
        # Unpacked first, then stored from left to right, calls in between.
        temporaries = [next(scope.fresh) for _ in target.elts]
        places = [_unpacked(name, elt) for name, elt in zip(temporaries, target.elts, strict=True)]
        out.append(ast.copy_location(ast.Assign([replaced(target, elts=places)], value), target))
        for name, elt in zip(temporaries, target.elts, strict=True):
            inner = elt.value if isinstance(elt, ast.Starred) else elt
            _lower_store(scope, inner, load_name(name, elt), out)
        return
    lowered = lower_operands(scope, target, out)
    out.append(ast.copy_location(ast.Assign([lowered], value), target))


def _unpacked(name: str, elt: ast.expr) -> ast.expr:
    return replaced(elt, value=store_name(name, elt)) if isinstance(elt, ast.Starred) else store_name(name, elt)


def _lower_aug_assign(scope: Scope, stmt: ast.AugAssign, out: list[ast.stmt]) -> None:
    target = stmt.target
    if not scope.has_call(stmt.value):
        out.append(replaced(stmt, target=lower_operands(scope, target, out)))
        return
    if isinstance(target, ast.Name) and scope.is_stable(target):
        out.append(replaced(stmt, value=lower(scope, stmt.value, out)))
        return
    # Python's order: the place, what it holds, the right side, the operation in place, the store.
    place = lower_operands(scope, target, out, keep=True)
    value = spill(scope, replaced(place, ctx=ast.Load()), out)
    name = cast("ast.Name", value).id
    right = lower(scope, stmt.value, out)
    out.append(replaced(stmt, target=store_name(name, target), value=right))
    out.append(ast.copy_location(ast.Assign([place], load_name(name, target)), stmt))


def _lower_ann_assign(scope: Scope, stmt: ast.AnnAssign, out: list[ast.stmt]) -> None:
    """Annotations in a function are not evaluated."""
    if stmt.value is None:
        parts = [part for part in operand_nodes(stmt.target) if not isinstance(part, ast.Slice)]
        for part in parts:
            _lower_statement(scope, ast.copy_location(ast.Expr(part), part), out)
    elif isinstance(stmt.target, ast.Name):
        out.append(replaced(stmt, value=lower(scope, stmt.value, out)))
    else:
        _lower_assign(scope, ast.copy_location(ast.Assign([stmt.target], stmt.value), stmt), out)


def _lower_delete(scope: Scope, target: ast.expr, stmt: ast.Delete, out: list[ast.stmt]) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        for elt in target.elts:
            _lower_delete(scope, elt, stmt, out)
        return
    out.append(replaced(stmt, targets=[lower_operands(scope, target, out)]))


def _lower_assert(scope: Scope, stmt: ast.Assert, out: list[ast.stmt]) -> None:
    if not __debug__:  # then Python does not even evaluate it
        out.append(stmt)
        return
    if stmt.msg is None or not scope.has_call(stmt.msg):
        out.append(replaced(stmt, test=lower(scope, stmt.test, out)))
        return
    test = lower(scope, stmt.test, out, keep=True)
    failed: list[ast.stmt] = []
    message = lower(scope, stmt.msg, failed)
    out.append(if_statement(negated(test), [*failed, replaced(stmt, test=test, msg=message)]))


def _lower_while(scope: Scope, stmt: ast.While, out: list[ast.stmt]) -> None:
    body = _lower_block(scope, stmt.body)
    orelse = _lower_block(scope, stmt.orelse)
    if not scope.has_call(stmt.test):
        out.append(replaced(stmt, body=body, orelse=orelse))
        return
    head: list[ast.stmt] = []
    test = lower(scope, stmt.test, head)
    leave: list[ast.stmt] = [ast.copy_location(ast.Break(), stmt.test)]
    always = ast.copy_location(ast.Constant(value=True), stmt.test)
    # The `else` may break out of a loop further out, so it cannot move into this one: a flag says it is to run.
    exhausted = next(scope.fresh) if orelse else ""
    if orelse:
        out.append(assign_name(exhausted, ast.copy_location(ast.Constant(value=False), stmt.test)))
        leave.insert(0, assign_name(exhausted, always))
    out.append(replaced(stmt, test=always, body=[*head, if_statement(negated(test), leave), *body], orelse=[]))
    if orelse:
        out.append(if_statement(load_name(exhausted, stmt.test), orelse))


def _lower_for(scope: Scope, stmt: ast.For, out: list[ast.stmt]) -> None:
    if scope.is_written_out(stmt.iter) and is_fused(stmt.iter):
        out += _lower_block(scope, fuse(stmt, scope.fresh, scope.own))
        return
    target, body = stmt.target, _lower_block(scope, stmt.body)
    if scope.has_call(target):
        name = next(scope.fresh)
        head: list[ast.stmt] = []
        _lower_store(scope, target, load_name(name, target), head)
        target, body = store_name(name, target), [*head, *body]
    source = lower(scope, stmt.iter, out)
    orelse = _lower_block(scope, stmt.orelse)
    out.append(replaced(stmt, target=target, iter=source, body=body, orelse=orelse))


def _lower_with(scope: Scope, stmt: ast.With, out: list[ast.stmt]) -> None:
    """One `with` per item, since an item is evaluated after the one before was entered."""
    item, *others = stmt.items
    context = lower(scope, item.context_expr, out)
    target, head = item.optional_vars, list[ast.stmt]()
    if target is not None and scope.has_call(target):
        name = next(scope.fresh)
        _lower_store(scope, target, load_name(name, target), head)
        target = store_name(name, target)
    body = [*head, *_lower_block(scope, [replaced(stmt, items=others)] if others else stmt.body)]
    out.append(replaced(stmt, items=[replaced(item, context_expr=context, optional_vars=target)], body=body))


def _lower_branches(scope: Scope, stmt: ast.If | ast.Match, out: list[ast.stmt]) -> None:
    if isinstance(stmt, ast.If):
        test = lower(scope, stmt.test, out)
        body, orelse = _lower_block(scope, stmt.body), _lower_block(scope, stmt.orelse)
        out.append(replaced(stmt, test=test, body=body, orelse=orelse))
        return
    subject = lower(scope, stmt.subject, out)
    cases = [replaced(case, body=_lower_block(scope, case.body)) for case in stmt.cases]
    out.append(replaced(stmt, subject=subject, cases=cases))
