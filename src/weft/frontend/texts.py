"""Characters of strings that are data: compared with each other and with known ones, where they stand.

in:   s[i - 1] == t[j - 1], c[k] in "ACGT", for letter in s: ord(letter), with s, t and c strings of the caller
out:  comparisons of their code points, which are elements of arrays of uint32
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import reduce
from typing import TypeGuard

from weft.frontend.context import Lowering
from weft.frontend.heap import contents
from weft.frontend.keys import plain_key
from weft.ir.dtypes import NP_BOOL, PY_BOOL, PY_INT, DType, ScalarType
from weft.ir.exprs import Expr, const, const_index, op
from weft.numpy_rules.builder import NeedText
from weft.numpy_rules.gathering import read_item
from weft.numpy_rules.scalars import negate
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Either,
    Iteration,
    Operand,
    Scalar,
    Slice,
    Static,
    Text,
    Tuple,
)
from weft.support.errors import CompileError

_CODE = ScalarType(DType.UINT32)
_NAMES: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal",
}  # fmt: skip
_MOST_MEMBERS = 64


def part_of_text(ctx: Lowering, text: Text, key: Operand) -> Operand:
    """One character of it, or some in a row."""
    if not isinstance(key, Slice) and not (isinstance(key, Scalar) and key.type.dtype.kind in "iu"):
        raise ctx.build.error("E108", "this part of a text is not compiled", "take its characters one by one")
    match read_item(ctx.build, text.codes, plain_key(ctx, key)):
        case Scalar(expr=code):
            return Character(code)
        case Array() as codes:
            return Text(-1, codes)
        case other:
            return other


def alternatives(operand: Operand) -> tuple[Operand, ...]:
    """What an operand may be."""
    return operand.items if isinstance(operand, Either) else (operand,)


def ask_for_texts(ctx: Lowering, iterable: Operand) -> None:
    """Strings of the caller's that a loop runs over are data: any others must fit the compiled loop as well."""
    match iterable:
        case Static(value=str(), slot=slot) if slot >= 0 and not ctx.build.texts_are_known:
            raise NeedText(slot)
        case Iteration(items=items):
            for item in items:
                ask_for_texts(ctx, item)
        case _:
            pass


def position_of_letter(ctx: Lowering, owner: Dict, letter: Character) -> Expr:
    """Where a character that is data stands among the keys; Python raises where it is none of them."""
    position: Expr = const_index(-1)
    for place, known in enumerate(owner.keys):
        if isinstance(known, str) and len(known) == 1:
            here = op("equal", (letter.code, const(ord(known), letter.code.type)), NP_BOOL)
            position = op("select", (here, const_index(place), position), PY_INT)
    found = ctx.build.let_index(position, "k", low=-1, high=len(owner.keys) - 1)
    ctx.build.guard_nonnegative(found, "KeyError")
    return found


def compare_characters(ctx: Lowering, operator: ast.cmpop, left: Operand, right: Operand) -> Operand:
    """The comparison of a character with another, a known one, or several known ones."""
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(left, Character):
        return _among(ctx, left, right, wanted=isinstance(operator, ast.In))
    known = [operand.value for operand in (left, right) if isinstance(operand, Static)]
    if any(isinstance(value, str) and len(value) != 1 for value in known) and isinstance(operator, ast.Eq | ast.NotEq):
        return Scalar(const(isinstance(operator, ast.NotEq), PY_BOOL))
    ours, theirs = _code(left), _code(right)
    if ours is None or theirs is None or type(operator) not in _NAMES:
        raise _refused(ctx)
    return _truth(op(_NAMES[type(operator)], (ours, theirs), NP_BOOL))


def _among(ctx: Lowering, left: Character, right: Operand, *, wanted: bool) -> Operand:
    match contents(ctx, right):
        case Static(value=str() as text):
            members = list(text)
        case Dict(keys=keys):
            members = [key for key in keys if isinstance(key, str) and len(key) == 1]
        case Tuple(items=items) if all(isinstance(item, Static) and isinstance(item.value, str) for item in items):
            members = [item.value for item in items if isinstance(item, Static) and len(item.value) == 1]
        case _:
            raise _refused(ctx)
    if len(members) > _MOST_MEMBERS:
        raise _refused(ctx)
    tests = [op("equal", (left.code, const(ord(member), _CODE)), NP_BOOL) for member in dict.fromkeys(members)]
    if not tests:
        return Scalar(const(not wanted, PY_BOOL))
    found = reduce(lambda a, b: op("logical_or", (a, b), NP_BOOL), tests)
    return _truth(found if wanted else negate(found))


def _truth(test: Expr) -> Operand:
    return Scalar(op("cast", (test,), PY_BOOL))


def _code(operand: Operand) -> Expr | None:
    match operand:
        case Character(code=code):
            return code
        case Static(value=str() as text) if len(text) == 1:
            return const(ord(text), _CODE)
        case _:
            return None


def texts_that_are_data(tree: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that are made longer, `line = "-" + line` or `line += c`, or only returned: a string there is data."""
    read = Counter(node.id for node in ast.walk(tree) if _is_read(node))
    returned = Counter(node.id for leave in ast.walk(tree) for node in _returned(leave) if _is_read(node))
    found = {name for name, count in returned.items() if read[name] == count}
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.Add()) as value):
                found.update(part.id for part in ast.walk(value) if isinstance(part, ast.Name) and part.id == name)
            case _:
                pass
    return frozenset(found)


def _returned(node: ast.AST) -> list[ast.expr]:
    """What a return statement gives back, item by item."""
    match node:
        case ast.Return(value=ast.Tuple(elts=items)):
            return items
        case ast.Return(value=ast.expr() as value):
            return [value]
        case _:
            return []


def _is_read(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _refused(ctx: Lowering) -> CompileError:
    return ctx.build.error("E108", "this use of a character of a text is not compiled", "compare it with == or in")
