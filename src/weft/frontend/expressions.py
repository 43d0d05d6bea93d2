"""Expressions: a syntax node in, an operand out, the nodes it needs appended to the graph."""

from __future__ import annotations

import ast
from collections.abc import Callable
from operator import add, eq, ne
from typing import Any

import numpy as np

from weft.frontend.addressed import addressed, addressed_rows
from weft.frontend.attributes import attribute, call_rule
from weft.frontend.branches import bound, choose, split
from weft.frontend.context import Lowering
from weft.frontend.growing import joined, row_of_numbers
from weft.frontend.growing import read_item as read_list_item
from weft.frontend.heap import contents, kept, resolved
from weft.frontend.iteration import is_weft_map, map_domain, range_item
from weft.frontend.keys import kept_key, plain_key, split_key
from weft.frontend.known import is_constant_int, static_int
from weft.frontend.lent import lent_at
from weft.frontend.objects import dict_item, sequence_item, slice_of
from weft.frontend.operands import as_complex_sees, is_made_array, listed_array, never_equal
from weft.frontend.repeating import multiplied
from weft.frontend.texts import alternatives, compare_characters, part_of_text
from weft.ir.dtypes import NP_BOOL, PY_BOOL
from weft.ir.exprs import Const, Expr, const, index, op, python_const
from weft.numpy_rules.builder import NeedText
from weft.numpy_rules.classes import class_of, python_refuses
from weft.numpy_rules.elementwise import apply_ufunc
from weft.numpy_rules.flat import read_flat
from weft.numpy_rules.gathering import read_item
from weft.numpy_rules.index_makers import made_by_index
from weft.numpy_rules.powers import operator_ufunc
from weft.numpy_rules.scalars import is_python_scalar, negate, python_binary, python_unary, truth
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Flat,
    Function,
    Growing,
    Instance,
    Lent,
    Never,
    Operand,
    Range,
    Ref,
    Scalar,
    Slice,
    Static,
    Text,
    Tuple,
    Unbound,
)
from weft.support.errors import CompileError

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "power", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift", ast.MatMult: "matmul",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal",
}  # fmt: skip
_KINDS: dict[type[ast.expr], str] = {
    ast.Set: "sets", ast.ListComp: "list comprehensions",
    ast.DictComp: "dict comprehensions", ast.SetComp: "set comprehensions", ast.GeneratorExp: "generator expressions",
    ast.Await: "coroutines", ast.Yield: "generators", ast.YieldFrom: "generators", ast.Starred: "starred expressions",
}  # fmt: skip
_PYTHON_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"add": add, "equal": eq, "not_equal": ne}


def lower_expression(ctx: Lowering, node: ast.expr) -> Operand:
    """The operand for an expression."""
    with ctx.at(node):
        lower = _EXPRESSIONS.get(type(node))
        if lower is None:
            what = _KINDS.get(type(node), f"{type(node).__name__} expressions")
            raise ctx.error(node, "E100", f"{what} are not compiled", "write a loop, or move it out of the program")
        return lower(ctx, node)


def _constant(ctx: Lowering, node: ast.Constant) -> Operand:
    value: Any = node.value
    if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < (1 << 63):
        raise ctx.error(node, "E101", "an int beyond int64 is not compiled", "use a float, or keep it outside")
    if isinstance(value, bool | int | float | complex):
        return Scalar(python_const(value))
    return Static(value)


def _name(ctx: Lowering, node: ast.Name) -> Operand:
    name = node.id
    if name in ctx.activation.locals:
        operand = ctx.env.get(name, Unbound())
        if isinstance(operand, Unbound):
            return ctx.build.leave(f"local variable '{name}' has no value")
        narrowed = _steady(ctx, bound(ctx, operand))
        if narrowed is not operand and len(ctx.build.scopes) == ctx.activation.depth:
            ctx.env[name] = narrowed
        return narrowed
    found = ctx.inputs.lookup(ctx.activation.names, name)
    if found is None:
        return ctx.build.leave(f"name '{name}' is not defined")
    return _steady(ctx, found)


def _steady(ctx: Lowering, operand: Operand) -> Operand:
    """The operand; of a range that came in from outside, the bounds are checked to be far from the ends of int64."""
    from weft.frontend.iteration import make_range

    if not isinstance(operand, Range):
        return operand
    checked = make_range(ctx, [operand.start, operand.stop, operand.step], operand.wish)
    return operand if checked == operand else checked


def _binary(ctx: Lowering, node: ast.BinOp) -> Operand:
    left = lower_expression(ctx, node.left)
    right = lower_expression(ctx, node.right)
    return binary(ctx, BINARY[type(node.op)], left, right)


def binary(ctx: Lowering, name: str, left: Operand, right: Operand) -> Operand:
    """`left name right` for operands of any kind."""
    left, right = contents(ctx, left), contents(ctx, right)
    return split(ctx, left, lambda a: split(ctx, right, lambda b: _binary_plain(ctx, name, a, b)))


def _binary_plain(ctx: Lowering, name: str, left: Operand, right: Operand) -> Operand:
    if isinstance(left, Never) or isinstance(right, Never):
        return Never()
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        right = as_complex_sees(left, right)
        if left.type.python and right.type.python:
            return python_binary(ctx.build, name, left, right)
    if isinstance(left, Scalar | Array) and isinstance(right, Scalar | Array):
        return _numpy_binary(ctx, name, left, right)
    if isinstance(left, Tuple | Growing) or isinstance(right, Tuple | Growing):
        found = _sequence_binary(ctx, name, left, right)
        if found is not None:
            return found
    if name in ("equal", "not_equal") and never_equal(left, right):
        return Scalar(const(name == "not_equal", PY_BOOL))
    if isinstance(left, Static) and isinstance(right, Static) and name in _PYTHON_OPERATORS:
        return _evaluated(ctx, lambda: _PYTHON_OPERATORS[name](left.value, right.value))
    classes = class_of(left), class_of(right)
    if python_refuses(name, *classes):
        return ctx.build.leave("unsupported operand types")
    kinds = " and ".join(cls.__name__ if cls else "object" for cls in classes)
    raise ctx.build.error("E102", f"'{name}' of {kinds} is not compiled", "use arrays and numbers")


def _sequence_binary(ctx: Lowering, name: str, left: Operand, right: Operand) -> Operand | None:
    """An operator with a tuple or list on one side at least; None where it is not one of theirs."""
    from weft.frontend.orders import compare_sequences

    match left, right:
        case (Array() | Scalar(), Growing()) if is_made_array(name, left):
            return _binary_plain(ctx, name, left, listed_array(ctx, right))
        case (Growing(), Array() | Scalar()) if is_made_array(name, right):
            return _binary_plain(ctx, name, listed_array(ctx, left), right)
        case Tuple(), Tuple() if name == "add" and left.is_list == right.is_list:
            return Tuple(left.items + right.items, left.is_list)
        case (Growing(), _) | (_, Growing()) if name == "add":
            return joined(ctx, left, right)
        case Tuple(), Tuple() if name in _COMPARE.values():
            return compare_sequences(ctx, name, left, right)
        case ((Tuple() | Growing() as sequence), (Scalar() as times)) | (
            (Scalar() as times),
            (Tuple() | Growing() as sequence),
        ) if name == "multiply":
            return multiplied(ctx, sequence, times)
        case Array() | Scalar(), Tuple() if is_made_array(name, left):
            return _binary_plain(ctx, name, left, listed_array(ctx, right))
        case Tuple(), Array() | Scalar() if is_made_array(name, right):
            return _binary_plain(ctx, name, listed_array(ctx, left), right)
        case _:
            return None


def _numpy_binary(ctx: Lowering, name: str, left: Scalar | Array, right: Scalar | Array) -> Operand:
    if name == "matmul":
        return call_rule(ctx, "numpy.matmul", left, right)
    called, operands = operator_ufunc(name, left, right)
    return apply_ufunc(ctx.build, called, operands, operator=True)


def _evaluated(ctx: Lowering, compute: Callable[[], Any]) -> Operand:
    """What Python gives for objects that are known now; where it raises, it shall do so at run time."""
    try:
        return _static_result(compute())
    except Exception as problem:  # noqa: BLE001  (whatever Python raises, it will raise again)
        return ctx.build.leave(f"{type(problem).__name__}: {problem}")


def _static_result(value: Any) -> Operand:
    if isinstance(value, bool | int | float | complex):
        return Scalar(python_const(value))
    return Static(value)


def _unary(ctx: Lowering, node: ast.UnaryOp) -> Operand:
    operand = lower_expression(ctx, node.operand)
    if isinstance(node.op, ast.Not):
        return Scalar(as_python_bool(negate(condition(ctx, operand))))
    name = _UNARY[type(node.op)]

    def apply(item: Operand) -> Operand:
        if isinstance(item, Scalar) and item.type.python:
            return python_unary(ctx.build, name, item)
        if isinstance(item, Never):
            return item
        return apply_ufunc(ctx.build, name, (item,), operator=True)

    return split(ctx, operand, apply)


def as_python_bool(expr: Expr) -> Expr:
    if isinstance(expr, Const):
        return const(bool(expr.value), PY_BOOL)
    return op("cast", (expr,), PY_BOOL) if expr.type != PY_BOOL else expr


def condition(ctx: Lowering, operand: Operand) -> Expr:
    """The truth value of an operand."""
    result = split(ctx, contents(ctx, operand), lambda item: _truth(ctx, item))
    if isinstance(result, Scalar):
        return result.expr
    return const(False, NP_BOOL)  # every alternative has left


def _truth(ctx: Lowering, operand: Operand) -> Operand:
    match operand:
        case Scalar():
            return Scalar(plain_bool(truth(ctx.build, operand)))
        case Array():
            return _truth_of_array(ctx, operand)
        case Static(value=value):
            return Scalar(const(bool(value), NP_BOOL))
        case Tuple(items=items) | Dict(items=items):
            return Scalar(const(bool(items), NP_BOOL))
        case Growing(count=count):
            return Scalar(op("greater", (count, index(0)), NP_BOOL))
        case Text(codes=codes):
            return Scalar(op("greater", (codes.shape[0], index(0)), NP_BOOL))
        case Character() | Function():
            return Scalar(const(True, NP_BOOL))
        case Instance(cls=cls) if not (hasattr(cls, "__bool__") or hasattr(cls, "__len__")):
            return Scalar(const(True, NP_BOOL))
        case Never():
            return operand
        case _:
            raise ctx.build.error("E104", "the truth value of this object is not compiled")


def _truth_of_array(ctx: Lowering, operand: Array) -> Operand:
    size = index(1)
    for extent in operand.shape:
        size = size * extent
    ctx.build.guard_equal(size, index(1), "the truth value of an array of several elements is ambiguous")
    element = ctx.build.read(operand.view, (index(0),) * operand.rank, operand.dtype)
    return Scalar(plain_bool(truth(ctx.build, Scalar(element))))


def plain_bool(expr: Expr) -> Expr:
    """A NumPy bool, so that truth values of all kinds join."""
    if isinstance(expr, Const):
        return const(bool(expr.value), NP_BOOL)
    return expr if expr.type == NP_BOOL else op("cast", (expr,), NP_BOOL)


def _bool_op(ctx: Lowering, node: ast.BoolOp) -> Operand:
    is_and = isinstance(node.op, ast.And)

    def rest(position: int) -> Operand:
        operand = lower_expression(ctx, node.values[position])
        if position == len(node.values) - 1:
            return operand
        test = condition(ctx, operand)
        if is_and:
            return choose(ctx, test, lambda: rest(position + 1), lambda: operand)
        return choose(ctx, test, lambda: operand, lambda: rest(position + 1))

    return rest(0)


def _compare(ctx: Lowering, node: ast.Compare) -> Operand:
    left = lower_expression(ctx, node.left)

    def rest(position: int, lhs: Operand) -> Operand:
        rhs = lower_expression(ctx, node.comparators[position])
        result = _compare_one(ctx, node.ops[position], lhs, rhs)
        if position == len(node.ops) - 1:
            return result
        test = condition(ctx, result)
        return choose(ctx, test, lambda: rest(position + 1, rhs), lambda: result)

    return rest(0, left)


def _compare_one(ctx: Lowering, operator: ast.cmpop, left: Operand, right: Operand) -> Operand:
    if any(isinstance(item, Character) for operand in (left, right) for item in alternatives(operand)):
        return split(ctx, left, lambda a: split(ctx, right, lambda b: compare_characters(ctx, operator, a, b)))
    match operator:
        case ast.Is() | ast.IsNot():
            same = split(ctx, left, lambda a: split(ctx, right, lambda b: _identical(ctx, a, b)))
            wanted = isinstance(operator, ast.Is)
            return same if wanted else inverted(ctx, same)
        case ast.In() | ast.NotIn():
            held = contents(ctx, right)
            found = split(ctx, left, lambda a: split(ctx, held, lambda b: _contained(ctx, a, b)))
            return found if isinstance(operator, ast.In) else inverted(ctx, found)
        case _:
            return binary(ctx, _COMPARE[type(operator)], left, right)


def inverted(ctx: Lowering, operand: Operand) -> Operand:
    return operand if isinstance(operand, Never) else Scalar(as_python_bool(negate(condition(ctx, operand))))


def _identical(ctx: Lowering, left: Operand, right: Operand) -> Operand:
    if isinstance(left, Ref) and isinstance(right, Ref):
        return Scalar(const(left == right, PY_BOOL))
    if isinstance(left, Static) and isinstance(right, Static):
        return Scalar(const(left.value is right.value, PY_BOOL))
    if isinstance(left, Static) or isinstance(right, Static):
        return Scalar(const(False, PY_BOOL))
    bools = [isinstance(item, Scalar) and item.type == PY_BOOL for item in (left, right)]
    if all(bools):  # there are two objects only
        return Scalar(as_python_bool(condition(ctx, binary(ctx, "equal", left, right))))
    if any(bools) and isinstance(left, Scalar | Array) and isinstance(right, Scalar | Array):
        return Scalar(const(False, PY_BOOL))
    raise ctx.build.error("E105", "'is' between arrays or numbers is not compiled", "compare with ==")


def _contained(ctx: Lowering, item: Operand, container: Operand) -> Operand:
    from weft.frontend.membership import contained

    if isinstance(container, Static) and isinstance(item, Static):
        return _evaluated(ctx, lambda: item.value in container.value)
    return contained(ctx, item, container)


def _if_expression(ctx: Lowering, node: ast.IfExp) -> Operand:
    test = condition(ctx, lower_expression(ctx, node.test))
    return choose(ctx, test, lambda: lower_expression(ctx, node.body), lambda: lower_expression(ctx, node.orelse))


def _display(ctx: Lowering, node: ast.Tuple | ast.List | ast.Dict | ast.JoinedStr) -> Operand:
    from weft.frontend.displays import lower_display

    return lower_display(ctx, node)


def _slice(ctx: Lowering, node: ast.Slice) -> Operand:
    def part(expr: ast.expr | None) -> Operand:
        return Static(None) if expr is None else lower_expression(ctx, expr)

    return Slice(part(node.lower), part(node.upper), part(node.step))


def lower_subscript(ctx: Lowering, node: ast.Subscript, *, inner: bool = False) -> Operand:
    """`owner[key]`; `inner`: it stands for `rows[i]` in `rows[i][j]`, where nobody sees the list that it is."""
    if isinstance(node.value, ast.Subscript):
        with ctx.at(node.value):
            owner = lower_subscript(ctx, node.value, inner=True)
    else:
        owner = lower_expression(ctx, node.value)
    key = lower_expression(ctx, node.slice)
    row = row_of_numbers(ctx, addressed_rows(ctx, owner, key), key) if inner else None
    return row or split(ctx, owner, lambda item: split_key(ctx, key, lambda k: subscript(ctx, item, k)))


def subscript(ctx: Lowering, owner: Operand, key: Operand) -> Operand:
    """`owner[key]`."""
    if isinstance(owner, Lent):
        return split(ctx, key, lambda k: lent_at(ctx, owner, k))
    held = addressed(ctx, owner, key)
    return split(ctx, held, lambda item: split(ctx, key, lambda k: _subscript_plain(ctx, item, k)))


def _subscript_plain(ctx: Lowering, owner: Operand, key: Operand) -> Operand:
    match owner:
        case Array():
            return read_item(ctx.build, owner, plain_key(ctx, key))
        case Flat():
            return read_flat(ctx.build, owner, plain_key(ctx, key))
        case Tuple() | Dict() | Growing() | Range() | Text():
            return _python_item(ctx, owner, key)
        case Never():
            return owner
        case Static(value=value, slot=slot):
            if isinstance(value, str) and slot >= 0 and not ctx.build.texts_are_known and not is_constant_int(key):
                raise NeedText(slot)
            return _static_item(ctx, value, key)
        case _:
            raise _not_indexed(ctx)


def _python_item(ctx: Lowering, owner: Tuple | Dict | Growing | Range | Text, key: Operand) -> Operand:
    match owner:
        case Tuple():
            return sequence_item(ctx, owner, key)
        case Dict():
            return dict_item(ctx, owner, key)
        case Growing():
            return read_list_item(ctx, owner, key)
        case Range():
            return range_item(ctx, owner, key)
        case Text():
            return part_of_text(ctx, owner, key)


def _static_item(ctx: Lowering, value: Any, key: Operand) -> Operand:
    if is_weft_map(value):
        return map_domain(ctx, key)
    if value is np.s_:
        return kept_key(key)
    if isinstance(key, Static):
        return _evaluated(ctx, lambda: value[key.value])
    if isinstance(value, str) and is_constant_int(key):
        return _evaluated(ctx, lambda: value[static_int(ctx, key) or 0])
    if isinstance(value, str) and isinstance(key, Slice):
        cut = slice_of(ctx, key)
        return _evaluated(ctx, lambda: value[cut])  # type: ignore[index]
    made = made_by_index(ctx.build, value, resolved(ctx, key))
    if made is None:
        raise _not_indexed(ctx)
    return made


def _not_indexed(ctx: Lowering) -> CompileError:
    return ctx.build.error("E108", "this object cannot be indexed in compiled code", "use an array or a tuple")


def _attribute(ctx: Lowering, node: ast.Attribute) -> Operand:
    owner = lower_expression(ctx, node.value)
    return split(ctx, owner, lambda item: attribute(ctx, item, node.attr))


def _lambda(ctx: Lowering, node: ast.Lambda) -> Operand:
    from weft.frontend.callees import nested_function

    return nested_function(ctx, node)


def _walrus(ctx: Lowering, node: ast.NamedExpr) -> Operand:
    """`(name := value)`, where it is surely evaluated: in an arm of an expression the name would need a join."""
    if len(ctx.build.scopes) != ctx.activation.depth:
        raise ctx.error(node, "E117", "':=' is not compiled in a conditional part", "assign in a statement of its own")
    operand = kept(ctx, lower_expression(ctx, node.value))
    ctx.env[node.target.id] = operand
    return operand


def _call(ctx: Lowering, node: ast.Call) -> Operand:
    from weft.frontend.calls import lower_call

    return lower_call(ctx, node)


_EXPRESSIONS: dict[type[ast.expr], Callable[..., Operand]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool_op,
    ast.Compare: _compare,
    ast.IfExp: _if_expression,
    ast.Tuple: _display,
    ast.List: _display,
    ast.Dict: _display,
    ast.JoinedStr: _display,
    ast.Slice: _slice,
    ast.Subscript: lower_subscript,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
}

__all__ = ["attribute", "binary", "call_rule", "condition", "is_python_scalar", "lower_expression", "subscript"]
