"""Statements: blocks, assignments, branches, returns.

Each statement is lowered under a site of its own. A statement or block gives whether what follows it is reached.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial

from weft.frontend.attribute_stores import store_attribute
from weft.frontend.attributes import call_rule
from weft.frontend.branches import split
from weft.frontend.callees import nested_function
from weft.frontend.context import Lowering
from weft.frontend.expressions import BINARY, attribute, binary, condition, lower_expression, subscript
from weft.frontend.growing import common_kind, in_buffer
from weft.frontend.heap import contents, kept, key_of, resolved, share_only_repeated
from weft.frontend.inlining import is_inlined_call, leave_call, lower_inlined
from weft.frontend.inputs import UnsupportedArgument, static_operand
from weft.frontend.iteration import element, length
from weft.frontend.joins import Same
from weft.frontend.keys import plain_key, split_key
from weft.frontend.leaving import forget_copies, handed_over, refuse_copies_of_views
from weft.frontend.mixed import has_kinds
from weft.frontend.objects import augment_object, change_item, delete_item
from weft.frontend.operands import beside_array
from weft.frontend.stores import augment_selected, store_item, store_value
from weft.frontend.tables import changed_in_table
from weft.ir.exprs import Expr, Index, Value, const_index
from weft.ir.nodes import Bundle, Missing, Return
from weft.numpy_rules.arguments import PythonRaises
from weft.numpy_rules.arrays import as_array, read_scalar
from weft.numpy_rules.elementwise import apply_ufunc
from weft.numpy_rules.flat import read_flat
from weft.numpy_rules.powers import operator_ufunc
from weft.numpy_rules.selections import Basic, select
from weft.numpy_rules.values import (
    Array,
    Dict,
    Either,
    Flat,
    Growing,
    Lent,
    Never,
    Operand,
    Range,
    Ref,
    Static,
    Tuple,
    Unbound,
)
from weft.support.abi import NOT_COMPILED
from weft.support.errors import CompileError
from weft.support.records import record

Path = tuple[int, ...]
# What Python could not put right from here on, because it would be handed a copy, or a view that it may write.
_NEVER_LEFT = ("E138", "E139", "E203")


def lower_block(ctx: Lowering, block: Sequence[ast.stmt], prefix: Path) -> bool:
    """Statements in order; False as soon as one does not let the next be reached."""
    depth, ctx.activation.depth = ctx.activation.depth, len(ctx.build.scopes)
    try:
        return all(lower_statement(ctx, stmt, (*prefix, number)) for number, stmt in enumerate(block))
    finally:
        ctx.activation.depth = depth


def lower_statement(ctx: Lowering, stmt: ast.stmt, path: Path) -> bool:
    """One statement. What stands in the way of it is marked with the program's own statement."""
    try:
        return _lower_or_leave(ctx, stmt, path)
    except (CompileError, UnsupportedArgument) as problem:
        if problem.place is None and len(ctx.activations) == 1:
            problem.place = (stmt.lineno, stmt.col_offset)
        raise


def _lower_or_leave(ctx: Lowering, stmt: ast.stmt, path: Path) -> bool:
    """One statement. In a branch, one that cannot be compiled leaves the program where it is reached."""
    if not (ctx.lenient and ctx.arms):
        return _lower_statement(ctx, stmt, path)
    state = saved_state(ctx)
    try:
        return _lower_statement(ctx, stmt, path)
    except CompileError as problem:
        if problem.code in _NEVER_LEFT:
            raise
        restore_state(ctx, state)
        # What Python would be given in place of a view, it might write.
        refuse_copies_of_views(ctx, *handed_over(ctx, ctx.activation.before[path]))
        reason = f"{NOT_COMPILED}{problem.message}"
    with ctx.statement(stmt, path):
        ctx.build.leave(reason)
        return unreachable(ctx)


@record
class State:
    """Where lowering stands, so that what follows can be undone."""

    nodes: int
    conditions: set[Expr]
    nonnegative: list[Index]
    bounded: set[Value]
    env: dict[str, Operand]
    rests: list[Callable[[], Bundle]]
    depth: int
    counts: tuple[int, int, int]  # regions, loops and calls that are open
    arms: int


def saved_state(ctx: Lowering) -> State:
    """Where lowering stands now."""
    scope, activation = ctx.build.scope, ctx.activation
    return State(
        len(scope.nodes), set(scope.conditions), list(scope.nonnegative), set(scope.bounded), dict(ctx.env),
        list(activation.rests), activation.depth, (len(ctx.build.scopes), len(ctx.loops), len(ctx.activations)),
        ctx.arms,
    )  # fmt: skip


def restore_state(ctx: Lowering, state: State) -> None:
    """Undo what was lowered since: only what the ledger holds stays, to be pruned at the end."""
    regions, loops, calls = state.counts
    del ctx.activations[calls:], ctx.build.scopes[regions:], ctx.loops[loops:]
    scope, activation = ctx.build.scope, ctx.activation
    del scope.nodes[state.nodes :]
    scope.conditions, scope.nonnegative = set(state.conditions), list(state.nonnegative)
    scope.bounded = set(state.bounded)
    activation.env, activation.rests, activation.depth = dict(state.env), list(state.rests), state.depth
    ctx.arms = state.arms


def _lower_statement(ctx: Lowering, stmt: ast.stmt, path: Path) -> bool:
    from weft.frontend.blocks import lower_try, lower_with
    from weft.frontend.conditionals import lower_if
    from weft.frontend.loops import lower_break, lower_continue, lower_for, lower_while

    match stmt:
        case ast.For():
            return lower_for(ctx, stmt, path)
        case ast.While():
            return lower_while(ctx, stmt, path)
        case ast.If():
            return lower_if(ctx, stmt, path)
        case ast.Break():
            return lower_break(ctx)
        case ast.Continue():
            return lower_continue(ctx)
        case ast.Pass():
            return True
        case ast.With():
            return lower_with(ctx, stmt, path)
        case ast.Try():
            return lower_try(ctx, stmt, path)
        case _:
            copies = set(ctx.build.ledger.snapshots)
            with ctx.statement(stmt, path):
                goes_on = _simple(ctx, stmt)
            if goes_on:  # a `return` has handed on what it made
                forget_copies(ctx, copies)
            return goes_on


def _simple(ctx: Lowering, stmt: ast.stmt) -> bool:
    match stmt:
        case ast.Assign(targets=targets, value=value):
            return _assign_all(ctx, targets, value)
        case ast.AugAssign():
            return _augmented(ctx, stmt)
        case ast.AnnAssign():
            return _annotated(ctx, stmt)
        case ast.Return():
            return _return(ctx, stmt)
        case ast.Expr(value=value):
            return isinstance(value, ast.Constant) or not isinstance(_value(ctx, value), Never) or unreachable(ctx)
        case ast.Assert(test=test):
            ctx.build.guard(condition(ctx, lower_expression(ctx, test)), "assertion failed")
            return True
        case ast.Raise():
            ctx.build.leave("raise")
            return unreachable(ctx)
        case ast.FunctionDef() | ast.Import() | ast.ImportFrom():
            return _define(ctx, stmt)
        case ast.Delete():
            return _delete(ctx, stmt)
        case _:
            raise _not_compiled(ctx, stmt)


def _define(ctx: Lowering, stmt: ast.FunctionDef | ast.Import | ast.ImportFrom) -> bool:
    from weft.frontend.blocks import lower_import

    if isinstance(stmt, ast.FunctionDef):
        ctx.env[stmt.name] = nested_function(ctx, stmt)
    else:
        lower_import(ctx, stmt)
    return True


def _not_compiled(ctx: Lowering, stmt: ast.stmt) -> CompileError:
    what = type(stmt).__name__.lower()
    return ctx.error(stmt, "E130", f"'{what}' statements are not compiled", "move it out of the program")


def _assign_all(ctx: Lowering, targets: Sequence[ast.expr], value: ast.expr) -> bool:
    operand = _value(ctx, value)
    if isinstance(operand, Never):
        return unreachable(ctx)
    operand = kept(ctx, operand) if len(targets) > 1 else operand
    for target in targets:
        assign(ctx, target, operand)
    return True


def _annotated(ctx: Lowering, stmt: ast.AnnAssign) -> bool:
    if stmt.value is None:
        return True
    operand = _value(ctx, stmt.value)
    if isinstance(operand, Never):
        return unreachable(ctx)
    assign(ctx, stmt.target, operand)
    return True


def _delete(ctx: Lowering, stmt: ast.Delete) -> bool:
    if len(stmt.targets) > 1 and not all(isinstance(target, ast.Name) for target in stmt.targets):
        raise _not_compiled(ctx, stmt)
    for target in stmt.targets:
        match target:
            case ast.Name(id=name):
                lower_expression(ctx, ast.copy_location(ast.Name(name, ast.Load()), target))
                ctx.env[name] = Unbound()
            case ast.Subscript(value=owner, slice=key):
                delete_item(ctx, lower_expression(ctx, owner), lower_expression(ctx, key))
            case _:
                raise _not_compiled(ctx, stmt)
    return True


def _value(ctx: Lowering, node: ast.expr) -> Operand:
    if is_inlined_call(ctx, node):
        assert isinstance(node, ast.Call | ast.Attribute)
        return lower_inlined(ctx, node)
    return lower_expression(ctx, node)


def unreachable(ctx: Lowering) -> bool:
    """Close a region that a guard has left for good, unless an inlined function has done so."""
    nodes = ctx.build.scope.nodes
    if not (nodes and isinstance(nodes[-1], Return)):
        ctx.build.emit(Return(Missing(), ctx.writebacks()))
    return False


def _return(ctx: Lowering, stmt: ast.Return) -> bool:
    operand = Static(None) if stmt.value is None else _value(ctx, stmt.value)
    if isinstance(operand, Never):
        return unreachable(ctx)
    if len(ctx.activations) > 1:
        leave_call(ctx, operand)
        return False
    refuse_copies_of_views(ctx, operand, returned=True)
    value, *writebacks = share_only_repeated((ctx.bundle(operand), *ctx.writebacks()))
    ctx.build.emit(Return(value, tuple(writebacks), ctx.build.span))
    return False


# ---- assignment -----------------------------------------------------------------------------------------------------


def assign(ctx: Lowering, target: ast.expr, operand: Operand) -> None:
    """Bind or store an operand."""
    match target:
        case ast.Name(id=name):
            if name not in ctx.activation.locals:
                raise ctx.error(target, "E131", f"assignment to the global '{name}' is not compiled", "return it")
            ctx.env[name] = kept(ctx, operand)
            _widen_for_loop(ctx, name)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            _unpack(ctx, target, elts, operand)
        case ast.Subscript() if changed_in_table(ctx, target, lambda _: operand):
            pass
        case ast.Subscript(value=owner, slice=key):
            base, index = lower_expression(ctx, owner), lower_expression(ctx, key)
            if isinstance(base, Ref):
                change_item(ctx, base, index, kept(ctx, operand))
                return
            split(ctx, base, lambda item: split_key(ctx, index, lambda k: store_item(ctx, item, k, operand)))
        case ast.Attribute(value=owner, attr=name):
            store_attribute(ctx, target, lower_expression(ctx, owner), name, operand)
        case _:
            raise ctx.error(target, "E132", "this target of an assignment is not compiled")


def _widen_for_loop(ctx: Lowering, name: str) -> None:
    """A list that takes the place of another, of more kinds, in the next turn of the loop gets room for these."""
    ref = ctx.env[name]
    held = contents(ctx, ref)
    if not isinstance(ref, Ref) or not isinstance(held, Growing):
        return
    frames = [frame for frame in ctx.loops if frame.activation is ctx.activation and name in frame.carried]
    for template in [frame.carried[name] for frame in frames]:
        like = template.operand if isinstance(template, Same) else getattr(template, "like", held)
        kind = common_kind((held, like)) if has_kinds(like) else None
        if kind is not None and len(ctx.build.scopes) == ctx.activation.depth:
            ctx.env[key_of(ref)] = in_buffer(ctx, held, kind)


def _unpack(ctx: Lowering, target: ast.expr, elts: list[ast.expr], operand: Operand) -> None:
    items = _items(ctx, target, operand, elts)
    starred = [number for number, elt in enumerate(elts) if isinstance(elt, ast.Starred)]
    if not starred:
        if len(items) != len(elts):
            ctx.build.leave("wrong number of values to unpack")
            return
        for elt, item in zip(elts, items, strict=True):
            assign(ctx, elt, item)
        return
    (position,) = starred
    tail = len(elts) - position - 1
    if len(items) < position + tail:
        ctx.build.leave("not enough values to unpack")
        return
    middle = Tuple(tuple(items[position : len(items) - tail]), is_list=True)
    star = elts[position]
    assert isinstance(star, ast.Starred)
    parts = [*items[:position], middle, *items[len(items) - tail :]]
    for elt, item in zip([*elts[:position], star.value, *elts[position + 1 :]], parts, strict=True):
        assign(ctx, elt, item)


def _items(ctx: Lowering, target: ast.expr, operand: Operand, elts: list[ast.expr]) -> list[Operand]:
    operand = contents(ctx, operand)
    if isinstance(operand, Tuple):
        return list(operand.items)
    if isinstance(operand, Dict):
        return [static_operand(key) for key in operand.keys]
    if isinstance(operand, Growing) and not any(isinstance(elt, ast.Starred) for elt in elts):
        ctx.build.guard_equal(operand.count, const_index(len(elts)), "wrong number of values to unpack")
        return [element(ctx, operand, const_index(number)) for number in range(len(elts))]
    if isinstance(operand, Array) and operand.rank > 0 and not any(isinstance(elt, ast.Starred) for elt in elts):
        count = const_index(len(elts))
        ctx.build.guard_equal(operand.shape[0], count, "wrong number of values to unpack")
        return [element(ctx, operand, const_index(number)) for number in range(len(elts))]
    if isinstance(operand, Range) and not any(isinstance(elt, ast.Starred) for elt in elts):
        ctx.build.guard_equal(length(ctx, operand), const_index(len(elts)), "wrong number of values to unpack")
        return [element(ctx, operand, const_index(number)) for number in range(len(elts))]
    if isinstance(operand, Either) and any(isinstance(item, Tuple | Array) for item in operand.items):
        return _items_of_choice(ctx, target, operand, elts)
    raise ctx.error(target, "E133", "this value cannot be unpacked in compiled code")


def _items_of_choice(ctx: Lowering, target: ast.expr, choice: Either, elts: list[ast.expr]) -> list[Operand]:
    """Of `None` or a tuple, say: what cannot be unpacked leaves the program where it is met."""
    if any(isinstance(elt, ast.Starred) for elt in elts):
        raise ctx.error(target, "E133", "this value cannot be unpacked in compiled code")

    def item(each: Operand, number: int) -> Operand:
        items = _items(ctx, target, each, elts)
        return items[number] if len(items) == len(elts) else ctx.build.leave("wrong number of values to unpack")

    return [split(ctx, choice, lambda each, number=number: item(each, number)) for number in range(len(elts))]


def _augmented(ctx: Lowering, stmt: ast.AugAssign) -> bool:
    name = BINARY[type(stmt.op)]
    match stmt.target:
        case ast.Name() as target:
            load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            old = lower_expression(ctx, load)
            result = _in_place(ctx, name, old, lower_expression(ctx, stmt.value))
            if isinstance(result, Never):
                return unreachable(ctx)
            assign(ctx, target, result)
        case ast.Subscript() as target if changed_in_table(
            ctx, target, lambda old: _in_place(ctx, name, old, lower_expression(ctx, stmt.value))
        ):
            pass
        case ast.Subscript(value=owner, slice=key):
            base, index = lower_expression(ctx, owner), lower_expression(ctx, key)
            _augment_item(ctx, name, base, index, stmt.value)
        case ast.Attribute(value=owner, attr=attr) as target:
            base = lower_expression(ctx, owner)
            old = attribute(ctx, base, attr)
            result = _in_place(ctx, name, old, lower_expression(ctx, stmt.value))
            if not (isinstance(result, Array) and result == old):
                store_attribute(ctx, target, base, attr, result)
    return True


def _in_place(ctx: Lowering, name: str, old: Operand, value: Operand) -> Operand:
    """`old op= value`: arrays are changed in place, everything else makes a new object."""

    def apply(item: Operand) -> Operand:
        if isinstance(item, Array):
            change = _product_in_place if name == "matmul" else partial(_ufunc_in_place, name=name)

            def one(beside: Operand) -> Operand:
                made = beside_array(ctx, beside)
                return made if isinstance(made, Never) else change(ctx, item, made)

            return split(ctx, value, one)
        if isinstance(item, Ref | Lent | Dict) or (isinstance(item, Tuple) and item.is_list):
            raise ctx.build.error("E142", "this change of a list or dict in place is not compiled", "make a new one")
        return binary(ctx, name, item, value)

    if isinstance(old, Ref):
        return augment_object(ctx, name, old, value)
    return split(ctx, old, apply)


def _ufunc_in_place(ctx: Lowering, target: Array, value: Operand, name: str) -> Operand:
    called, operands = operator_ufunc(name, target, value)
    return apply_ufunc(ctx.build, called, operands, out=target, operator=True)


def _product_in_place(ctx: Lowering, target: Array, value: Operand) -> Operand:
    """`target @= value`: on the right there must be a matrix, or several."""
    if isinstance(value, Never):
        return value
    try:
        right = as_array(ctx.build, resolved(ctx, value))
        if right.rank < 2:
            raise PythonRaises("inplace matrix multiplication requires two dimensions")
        return call_rule(ctx, "numpy.matmul", target, right, target)
    except PythonRaises as raised:
        return ctx.build.leave(raised.reason)


def _augment_item(ctx: Lowering, name: str, base: Operand, key: Operand, value: ast.expr) -> None:
    if isinstance(base, Either):

        def one(item: Operand) -> Operand:
            _augment_item(ctx, name, item, key, value)
            return Static(None)

        split(ctx, base, one)
        return
    if isinstance(base, Ref):
        old = subscript(ctx, base, key)
        change_item(ctx, base, key, kept(ctx, _in_place(ctx, name, old, lower_expression(ctx, value))))
        return
    if isinstance(base, Dict) or (isinstance(base, Tuple) and base.is_list):  # the caller's own, which stays as it is
        old = subscript(ctx, base, key)
        if isinstance(old, Array) and _in_place(ctx, name, old, lower_expression(ctx, value)) in (old, Never()):
            return
    if isinstance(base, Array):
        split_key(ctx, key, lambda k: _augment_array(ctx, name, base, k, value))
        return
    if isinstance(base, Flat):
        result = binary(ctx, name, read_flat(ctx.build, base, plain_key(ctx, key)), lower_expression(ctx, value))
        store_item(ctx, base, key, result)
        return
    raise ctx.build.error(
        "E140", "only elements of arrays and lists can be changed in compiled code", "use an array or a list"
    )


def _augment_array(ctx: Lowering, name: str, array: Array, key: Operand, value: ast.expr) -> Operand:
    try:
        selected = select(ctx.build, array, plain_key(ctx, key))
    except PythonRaises as raised:
        return ctx.build.leave(raised.reason)
    match selected:
        case Basic(array=target, scalar=True):
            result = binary(ctx, name, read_scalar(ctx.build, target), lower_expression(ctx, value))
            return split(ctx, result, lambda item: store_value(ctx, target, item, scalar=True))
        case Basic(array=target):
            return _in_place(ctx, name, target, lower_expression(ctx, value))
        case _:
            operand = lower_expression(ctx, value)
            return split(ctx, operand, lambda item: augment_selected(ctx, name, selected, item))
