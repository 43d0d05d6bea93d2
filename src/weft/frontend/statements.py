"""Statements: blocks, assignments, branches, returns.

Each statement is lowered under a site of its own. A statement or block gives whether what follows it is reached.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from weft.frontend.branches import emit_branch, join_all, refuse_shared_lists, split
from weft.frontend.callees import nested_function
from weft.frontend.calls import is_inlined_call, leave_call, lower_inlined
from weft.frontend.context import Lowering
from weft.frontend.expressions import BINARY, attribute, binary, condition, lower_expression
from weft.frontend.iteration import element
from weft.frontend.joins import Template
from weft.frontend.liveness import Names
from weft.frontend.stores import store_item, store_value
from weft.ir.exprs import Const, Expr, const_index
from weft.ir.nodes import Missing, Return
from weft.numpy_rules.elementwise import apply_ufunc
from weft.numpy_rules.guards import Scope
from weft.numpy_rules.indexing import index_view
from weft.numpy_rules.scalars import negate
from weft.numpy_rules.values import Array, Either, Instance, Made, Never, Operand, Scalar, Static, Tuple, Unbound
from weft.support.abi import NOT_COMPILED, SlotKind
from weft.support.errors import CompileError

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
    """One statement. In a branch, one that cannot be compiled leaves the program where it is reached."""
    if not (ctx.lenient and ctx.arms):
        return _lower_statement(ctx, stmt, path)
    nodes, activation = ctx.build.scope.nodes, ctx.activation
    kept = (len(nodes), dict(ctx.env), len(ctx.loops), list(activation.rests), activation.depth, ctx.arms)
    try:
        return _lower_statement(ctx, stmt, path)
    except CompileError as problem:
        if problem.code in _NEVER_LEFT:
            raise
        count, activation.env, loops, activation.rests, activation.depth, ctx.arms = kept
        del nodes[count:], ctx.loops[loops:]
        reason = f"{NOT_COMPILED}{problem.message}"
    with ctx.statement(stmt, path):
        ctx.build.leave(reason)
        return unreachable(ctx)


def _lower_statement(ctx: Lowering, stmt: ast.stmt, path: Path) -> bool:
    from weft.frontend.loops import lower_break, lower_continue, lower_for, lower_while

    match stmt:
        case ast.For():
            return lower_for(ctx, stmt, path)
        case ast.While():
            return lower_while(ctx, stmt, path)
        case ast.If():
            return _if(ctx, stmt, path)
        case ast.Break():
            return lower_break(ctx)
        case ast.Continue():
            return lower_continue(ctx)
        case ast.Pass():
            return True
        case _:
            with ctx.statement(stmt, path):
                return _simple(ctx, stmt)


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
        case ast.FunctionDef(name=name):
            ctx.env[name] = nested_function(ctx, stmt)
            return True
        case ast.Delete():
            return _delete(ctx, stmt)
        case _:
            raise _not_compiled(ctx, stmt)


def _not_compiled(ctx: Lowering, stmt: ast.stmt) -> CompileError:
    what = type(stmt).__name__.lower()
    return ctx.error(stmt, "E130", f"'{what}' statements are not compiled", "move it out of the program")


def _assign_all(ctx: Lowering, targets: Sequence[ast.expr], value: ast.expr) -> bool:
    operand = _value(ctx, value)
    if isinstance(operand, Never):
        return unreachable(ctx)
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
    names = [target for target in stmt.targets if isinstance(target, ast.Name)]
    if len(names) < len(stmt.targets):
        raise _not_compiled(ctx, stmt)
    for name in names:
        lower_expression(ctx, ast.copy_location(ast.Name(name.id, ast.Load()), name))
        ctx.env[name.id] = Unbound()
    return True


def _value(ctx: Lowering, node: ast.expr) -> Operand:
    if is_inlined_call(ctx, node):
        assert isinstance(node, ast.Call)
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
    _refuse_copies_of_views(ctx, operand)
    ctx.build.emit(Return(ctx.bundle(operand), ctx.writebacks(), ctx.build.span))
    return False


def _refuse_copies_of_views(ctx: Lowering, operand: Operand) -> None:
    """A result that NumPy has as a view must not come back as a copy, nor a read-only one as one to write."""
    match operand:
        case Array(view=view) if view.container in ctx.build.ledger.snapshots:
            raise ctx.build.error("E138", "the real or imaginary part is a view, which cannot be returned", "copy it")
        case Array(readonly=True):
            raise ctx.build.error("E138", "a read-only view cannot be returned", "return a copy of it")
        case Tuple(items=items) | Made(items=items) | Either(items=items):
            for item in items:
                _refuse_copies_of_views(ctx, item)
        case _:
            pass


# ---- assignment -----------------------------------------------------------------------------------------------------


def assign(ctx: Lowering, target: ast.expr, operand: Operand) -> None:
    """Bind or store an operand."""
    match target:
        case ast.Name(id=name):
            if name not in ctx.activation.locals:
                raise ctx.error(target, "E131", f"assignment to the global '{name}' is not compiled", "return it")
            ctx.env[name] = operand
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            _unpack(ctx, target, elts, operand)
        case ast.Subscript(value=owner, slice=key):
            base, index = lower_expression(ctx, owner), lower_expression(ctx, key)
            split(ctx, base, lambda item: store_item(ctx, item, index, operand))
        case ast.Attribute(value=owner, attr=name):
            _store_attribute(ctx, target, lower_expression(ctx, owner), name, operand)
        case _:
            raise ctx.error(target, "E132", "this target of an assignment is not compiled")


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
    if isinstance(operand, Tuple):
        return list(operand.items)
    if isinstance(operand, Array) and operand.rank > 0 and not any(isinstance(elt, ast.Starred) for elt in elts):
        count = const_index(len(elts))
        ctx.build.guard_equal(operand.shape[0], count, "wrong number of values to unpack")
        return [element(ctx, operand, const_index(number)) for number in range(len(elts))]
    raise ctx.error(target, "E133", "this value cannot be unpacked in compiled code")


def _store_attribute(ctx: Lowering, node: ast.Attribute, owner: Operand, name: str, operand: Operand) -> None:
    if not isinstance(owner, Instance):
        raise ctx.error(node, "E134", f"assignment to attribute '{name}' is not compiled", "assign to the elements")
    on_class = getattr(owner.cls, name, None)
    if hasattr(on_class, "__set__") or type(owner.cls).__setattr__ is not type.__setattr__:
        raise ctx.error(node, "E135", f"attribute '{name}' is a descriptor, which is not compiled")
    if owner.cls.__setattr__ is not object.__setattr__:
        raise ctx.error(node, "E136", "the class defines __setattr__, which is not compiled")
    if ctx.inputs.slots[owner.slot].kind is not SlotKind.PARAM:
        raise ctx.error(
            node, "E143", "only attributes of arguments can be assigned in compiled code", "pass the object"
        )
    key = f"@{owner.slot}.{name}"
    ctx.inputs.need_writeback(key)
    ctx.env[key] = operand


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
        case ast.Subscript(value=owner, slice=key):
            base, index = lower_expression(ctx, owner), lower_expression(ctx, key)
            _augment_item(ctx, name, base, index, stmt.value)
        case ast.Attribute(value=owner, attr=attr) as target:
            base = lower_expression(ctx, owner)
            old = attribute(ctx, base, attr)
            result = _in_place(ctx, name, old, lower_expression(ctx, stmt.value))
            if not (isinstance(result, Array) and result == old):
                _store_attribute(ctx, target, base, attr, result)
    return True


def _in_place(ctx: Lowering, name: str, old: Operand, value: Operand) -> Operand:
    """`old op= value`: arrays are changed in place, everything else makes a new object."""

    def apply(item: Operand) -> Operand:
        if isinstance(item, Array) and name != "matmul":
            return split(ctx, value, lambda v: _ufunc_in_place(ctx, name, item, v))
        if isinstance(item, Tuple) and item.is_list:
            raise ctx.build.error("E142", "changing a list in place is not compiled", "make a new list, or an array")
        return binary(ctx, name, item, value)

    return split(ctx, old, apply)


def _ufunc_in_place(ctx: Lowering, name: str, target: Array, value: Operand) -> Operand:
    return apply_ufunc(ctx.build, name, (target, value), out=target)


def _augment_item(ctx: Lowering, name: str, base: Operand, key: Operand, value: ast.expr) -> None:
    if isinstance(base, Either):
        raise ctx.build.error("E137", "this in-place update is not compiled for a name with several types")
    if isinstance(base, Array):
        view, scalar = index_view(ctx.build, base, key)
        if not scalar:
            _in_place(ctx, name, base.viewed(view), lower_expression(ctx, value))
            return
        old = Scalar(ctx.build.read(view, (), base.dtype))
        result = binary(ctx, name, old, lower_expression(ctx, value))
        split(ctx, result, lambda item: store_value(ctx, base.viewed(view), item, scalar=True))
        return
    raise ctx.build.error("E140", "only elements of arrays can be changed in compiled code")


# ---- branches -------------------------------------------------------------------------------------------------------


def _if(ctx: Lowering, node: ast.If, path: Path) -> bool:
    with ctx.statement(node, path):
        test = condition(ctx, lower_expression(ctx, node.test))
    if isinstance(test, Const):
        number = 0 if test.value else 1
        return lower_block(ctx, node.body if test.value else node.orelse, (*path, number))
    return lower_if_arms(
        ctx,
        test,
        lambda: lower_block(ctx, node.body, (*path, 0)),
        lambda: lower_block(ctx, node.orelse, (*path, 1)),
        ctx.activation.after[path],
    )


def lower_if_arms(ctx: Lowering, test: Expr, then: Callable[[], bool], orelse: Callable[[], bool], live: Names) -> bool:
    """Two arms with their environments joined where both, or one, get to the end."""
    build, activation = ctx.build, ctx.activation
    before = dict(activation.env)
    scopes: list[Scope] = []
    envs: list[dict[str, Operand] | None] = []
    for arm, known in ((then, test), (orelse, negate(test))):
        activation.env = dict(before)
        with build.region() as scope:
            scope.conditions.add(known)
            ctx.arms += 1
            falls = arm()
            ctx.arms -= 1
        scopes.append(scope)
        envs.append(activation.env if falls else None)
    reached = [env for env in envs if env is not None]
    if not reached:
        emit_branch(ctx, test, (scopes[0], scopes[1]), {}, (None, None))
        return False
    changed = _changed(before, reached, live)
    templates: dict[str, Template] = {
        name: join_all(ctx, [env.get(name, Unbound()) for env in reached], name) for name in changed
    }
    for env in reached:
        refuse_shared_lists(ctx, templates, env)
    filled = [None if env is None else {name: env.get(name, Unbound()) for name in changed} for env in envs]
    below = emit_branch(ctx, test, (scopes[0], scopes[1]), templates, (filled[0], filled[1]))
    activation.env = {name: operand for name, operand in before.items() if _keeps(name, reached)}
    activation.env.update(below)
    return True


def _changed(before: dict[str, Operand], reached: list[dict[str, Operand]], live: Names) -> list[str]:
    names = {name for env in reached for name in env}
    return sorted(
        name
        for name in names
        if (name in live or name.startswith("@"))
        and any(env.get(name, Unbound()) != before.get(name, Unbound()) for env in reached)
    )


def _keeps(name: str, reached: list[dict[str, Operand]]) -> bool:
    return all(env.get(name) == reached[0].get(name) for env in reached)
