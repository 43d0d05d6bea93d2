"""The expressions of `normalise`: what is left of one when its inlined calls have become statements.

in:   an expression, and the statements `out` that run before it
out:  an expression without inlined calls; `out` has grown by the calls, and by what was to be evaluated before them

before:  A[0] * f(x)
after:   __weft_t0 = A[0]
         __weft_t1 = f(x)            in `out`
         __weft_t0 * __weft_t1       left
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from weft.frontend.comprehensions import expand, is_expandable
from weft.support.records import record

_NodeT = TypeVar("_NodeT", bound=ast.AST)

_OTHER_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


@record
class Scope:
    """What is the same for the whole function."""

    inlined: frozenset[tuple[int, int]]
    own: frozenset[str]
    rebound: frozenset[str]  # names that an expression or a call may rebind: they do not keep their value
    unsure: frozenset[int]  # identities of Name nodes that may have no value: reading them may raise
    fresh: Iterator[str]
    lower: Callable[[Scope, list[ast.stmt]], list[ast.stmt]]  # statements that take the place of an expression

    def lower_block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return self.lower(self, block)

    def is_stable(self, name: ast.Name) -> bool:
        return name.id not in self.rebound and id(name) not in self.unsure

    def is_inlined(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return isinstance(node.ctx, ast.Load) and place_of_property(node) in self.inlined
        if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id == "super"):
            return False  # `super(C, self)` begins where the call of its method does
        return (node.lineno, node.col_offset) in self.inlined

    def is_written_out(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp | ast.Call):
            return False
        return place_written_out(node) in self.inlined and is_expandable(node)

    def has_call(self, node: ast.AST) -> bool:
        if self.is_written_out(node):
            return True
        if isinstance(node, _OTHER_SCOPES):
            return False
        return self.is_inlined(node) or any(self.has_call(child) for child in ast.iter_child_nodes(node))


def place_written_out(node: ast.expr) -> tuple[int, int]:
    """The place that stands for a node which is written out: that of a call is not the one of an inlined function."""
    return (-node.lineno if isinstance(node, ast.Call) else node.lineno), node.col_offset


def place_of_property(node: ast.Attribute) -> tuple[int, int]:
    """The place that stands for an attribute that runs code: its end, since calls and what they call begin alike."""
    return node.end_lineno or node.lineno, -(node.end_col_offset or 0)


# ---------------------------------------------------------------- building


def replaced(node: _NodeT, **fields: Any) -> _NodeT:
    """A copy of `node` with other values in some fields."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def load_name(name: str, place: ast.AST) -> ast.Name:
    """`name`, read at `place`."""
    return ast.copy_location(ast.Name(name, ast.Load()), place)


def store_name(name: str, place: ast.AST) -> ast.Name:
    """`name`, assigned at `place`."""
    return ast.copy_location(ast.Name(name, ast.Store()), place)


def assign_name(name: str, value: ast.expr) -> ast.Assign:
    """`name = value`"""
    return ast.copy_location(ast.Assign([store_name(name, value)], value), value)


def if_statement(test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt] | None = None) -> ast.If:
    """`if test: body else: orelse`"""
    return ast.copy_location(ast.If(test, body, orelse or []), test)


def negated(test: ast.expr) -> ast.UnaryOp:
    """`not test`"""
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


# ---------------------------------------------------------------- expressions


def lower(scope: Scope, node: ast.expr, out: list[ast.stmt], *, keep: bool = False) -> ast.expr:
    """What is left of `node` when its inlined calls have become statements in `out`.

    With `keep` the value must not change any more: another inlined call follows before it is used.
    """
    if not scope.has_call(node):
        return _keep(scope, node, out) if keep else node
    result = lower_root(scope, node, out)
    if scope.is_written_out(node):
        return result
    if scope.is_inlined(node):
        return spill(scope, result, out)
    return _keep(scope, result, out) if keep else result


def lower_root(scope: Scope, node: ast.expr, out: list[ast.stmt]) -> ast.expr:
    """Like `lower`, for the whole right side of `name = node` or `node`: an inlined call stays where it is."""
    if isinstance(node, ast.NamedExpr) and scope.has_call(node):
        out.append(assign_name(node.target.id, lower_root(scope, node.value, out)))
        return load_name(node.target.id, node)
    if scope.is_written_out(node):
        statements, value = expand(node, scope.fresh, scope.own)
        out += scope.lower_block(statements)
        return value
    if not isinstance(node, (ast.BoolOp, ast.IfExp, ast.Compare)):
        return lower_operands(scope, node, out)
    always_evaluated = 2 if isinstance(node, ast.Compare) else 1
    if not any(map(scope.has_call, operand_nodes(node)[always_evaluated:])):
        return lower_operands(scope, node, out)
    result = next(scope.fresh)
    match node:
        case ast.BoolOp():
            _lower_bool_op(scope, node, result, out)
        case ast.IfExp():
            _lower_conditional(scope, node, result, out)
        case ast.Compare():
            _lower_comparison(scope, node, result, out)
    return load_name(result, node)


def _lower_conditional(scope: Scope, node: ast.IfExp, result: str, out: list[ast.stmt]) -> None:
    test = lower(scope, node.test, out)
    then, otherwise = list[ast.stmt](), list[ast.stmt]()
    _lower_into(scope, result, node.body, then)
    _lower_into(scope, result, node.orelse, otherwise)
    out.append(if_statement(test, then, otherwise))


def _lower_into(scope: Scope, name: str, value: ast.expr, out: list[ast.stmt]) -> None:
    out.append(assign_name(name, lower_root(scope, value, out)))


def _lower_bool_op(scope: Scope, node: ast.BoolOp, result: str, out: list[ast.stmt]) -> None:
    calls = [index for index, value in enumerate(node.values) if scope.has_call(value)]
    first, last = max(calls[0], 1), calls[-1] + 1
    # Values before the first and after the last call stay together.
    groups = [node.values[:first], *([value] for value in node.values[first:last]), node.values[last:]]
    for number, group in enumerate(filter(None, groups)):
        if number > 0:
            test = load_name(result, group[0])
            inner: list[ast.stmt] = []
            out.append(if_statement(test if isinstance(node.op, ast.And) else negated(test), inner))
            out = inner
        value = group[0] if len(group) == 1 else ast.copy_location(ast.BoolOp(node.op, group), node)
        _lower_into(scope, result, value, out)


def _lower_comparison(scope: Scope, node: ast.Compare, result: str, out: list[ast.stmt]) -> None:
    """`a < b < f(c)`: the second comparison runs only if the first holds, and `b` is evaluated once."""
    last = max(index for index, operand in enumerate(node.comparators) if scope.has_call(operand))
    left = lower(scope, node.left, out, keep=True)
    for index, operand in enumerate(node.comparators[: last + 1]):
        if index > 0:
            inner: list[ast.stmt] = []
            out.append(if_statement(load_name(result, operand), inner))
            out = inner
        right = lower(scope, operand, out, keep=index < last)
        after = slice(index + 1, None if index == last else index + 1)
        ops = [node.ops[index], *node.ops[after]]
        comparators = [right, *node.comparators[after]]
        out.append(assign_name(result, replaced(node, left=left, ops=ops, comparators=comparators)))
        left = right


def _operands(node: ast.AST) -> list[tuple[str, int | None]]:
    """The operands of `node` in the order Python evaluates them, as (field, index)."""
    if isinstance(node, ast.Dict):
        pairs = [place for index in range(len(node.values)) for place in (("keys", index), ("values", index))]
        return [(name, index) for name, index in pairs if name == "values" or node.keys[index] is not None]
    places: list[tuple[str, int | None]] = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, (ast.expr, ast.keyword)):
            places.append((name, None))
        elif isinstance(value, list):
            items = enumerate(cast("list[object]", value))
            places += [(name, index) for index, item in items if isinstance(item, (ast.expr, ast.keyword))]
    return places


def _operand(node: ast.AST, place: tuple[str, int | None]) -> ast.expr:
    value = getattr(node, place[0])
    return value if place[1] is None else value[place[1]]


def operand_nodes(node: ast.AST) -> list[ast.expr]:
    """The operands of `node` in the order Python evaluates them."""
    return [_operand(node, place) for place in _operands(node)]


def lower_operands(scope: Scope, node: _NodeT, out: list[ast.stmt], *, keep: bool = False) -> _NodeT:
    """`node` itself, with its operands lowered; those after the last inlined call are as they were, unless `keep`."""
    places = _operands(node)
    last = max((number for number, place in enumerate(places) if scope.has_call(_operand(node, place))), default=-1)
    new = copy.copy(node)
    for number, (name, index) in enumerate(places if keep else places[: last + 1]):
        lowered = _lower_operand(scope, node, (name, index), out, keep=keep or number < last)
        if index is None:
            setattr(new, name, lowered)
        else:
            items = list(getattr(new, name))
            items[index] = lowered
            setattr(new, name, items)
    return new


def _lower_operand(
    scope: Scope, node: ast.AST, place: tuple[str, int | None], out: list[ast.stmt], *, keep: bool
) -> ast.AST:
    operand = _operand(node, place)
    match node, place:
        case ast.Call(), ("func", _):
            return _lower_callee(scope, operand, out, keep=keep)
        case ast.Dict(keys=keys), ("values", int(index)) if keep and keys[index] is None:
            return _spill_unpacked_dict(scope, operand, out)
        case _:
            is_part = isinstance(operand, ast.Slice | ast.keyword | ast.Starred | ast.FormattedValue)
            return (_lower_part if is_part else lower)(scope, operand, out, keep=keep)


def _lower_callee(scope: Scope, node: ast.expr, out: list[ast.stmt], *, keep: bool) -> ast.expr:
    """The function of a call: a name or a method stays, its receiver is kept."""
    match node:
        case ast.Name():
            return node
        case ast.Attribute() if _is_global_path(scope, node):
            return node
        case ast.Attribute(value=receiver):
            return replaced(node, value=lower(scope, receiver, out, keep=keep))
        case _:
            return lower(scope, node, out, keep=keep)


def _is_global_path(scope: Scope, node: ast.expr) -> bool:
    """Whether `node` is like `np.linalg.norm`, from a name that is not the function's own."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id not in scope.own


def _lower_part(scope: Scope, node: ast.AST, out: list[ast.stmt], *, keep: bool) -> ast.AST:
    """Parts of an expression that are no expression by themselves, so no temporary can hold them."""
    match node:
        case ast.Starred(value=value) if keep:
            starred = replaced(node, value=lower(scope, value, out))
            items = ast.copy_location(ast.Tuple([starred], ast.Load()), node)
            return replaced(node, value=spill(scope, items, out))
        case ast.keyword(arg=None, value=value) if keep:
            return replaced(node, value=_spill_unpacked_dict(scope, value, out))
        case ast.FormattedValue() if keep:
            text = ast.copy_location(ast.JoinedStr([lower_operands(scope, node, out)]), node)
            return replaced(node, value=spill(scope, text, out), conversion=-1, format_spec=None)
        case _:
            return lower_operands(scope, node, out, keep=keep)


def _spill_unpacked_dict(scope: Scope, value: ast.expr, out: list[ast.stmt]) -> ast.expr:
    """`**value` is unpacked where it stands."""
    value = lower(scope, value, out)
    return spill(scope, ast.copy_location(ast.Dict([None], [value]), value), out)


def _keep(scope: Scope, node: ast.expr, out: list[ast.stmt]) -> ast.expr:
    """`node`, which holds no inlined call any more, in a form whose value a later call cannot change."""
    match node:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return node
        case ast.Name() if scope.is_stable(node):
            return node
        case ast.Tuple():
            return lower_operands(scope, node, out, keep=True)
        case _:
            return spill(scope, node, out)


def spill(scope: Scope, value: ast.expr, out: list[ast.stmt]) -> ast.expr:
    """A temporary that holds `value` from here on."""
    name = next(scope.fresh)
    out.append(assign_name(name, value))
    return load_name(name, value)
