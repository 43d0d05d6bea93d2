"""Lists and dicts: objects that change, and that several names may share.

A list or dict just made is a `Tuple` or `Dict` operand: nothing else refers to it. Bound to a name or put into another
object it becomes a `Ref`, and the environment holds what is in it under a key of its own ("@L7" for Ref(7)), which
travels through branches, loops and calls like the attributes of objects.

before:  a = [x]; b = a; b.append(y)
after:   a: Ref(7)   b: Ref(7)   @L7: Tuple((x, y), is_list=True)

Where control flow meets, names must refer to the same objects on all paths. A name that does not is passed by value
if nothing else refers to its object (then identity cannot be seen); otherwise that is a CompileError.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from weft.frontend.liveness import statement_at
from weft.ir.nodes import Bundle, Choice, Listed, Pack
from weft.numpy_rules.values import Dict, Either, Growing, Iteration, Lent, Made, Method, Operand, Ref, Tuple, Unbound
from weft.support.errors import CompileError

if TYPE_CHECKING:
    from weft.frontend.context import Activation, Lowering
    from weft.frontend.liveness import Names

Env = dict[str, Operand]
_PREFIX = "@L"
_NOTHING = Unbound()


def key_of(ref: Ref) -> str:
    """The key of an object's contents in the environment."""
    return f"{_PREFIX}{ref.number}"


def number_of(key: str) -> int:
    """The number of the object with that key."""
    return int(key[len(_PREFIX) :])


def is_object(key: str) -> bool:
    """Whether a key of an environment is that of an object's contents."""
    return key.startswith(_PREFIX)


def kept(ctx: Lowering, operand: Operand) -> Operand:
    """An operand that is about to be bound or put into an object: new lists and dicts in it get an identity."""
    match operand:
        case Tuple(slot=slot) | Dict(slot=slot) if slot >= 0:
            return operand
        case Growing():
            return _new_object(ctx, operand)
        case Tuple(items=items, is_list=True) | Dict(items=items):
            return _new_object(ctx, replace(operand, items=tuple(kept(ctx, item) for item in items)))
        case Tuple(items=items):
            parts = tuple(kept(ctx, item) for item in items)
            return operand if parts == items else replace(operand, items=parts)
        case Either(items=items):
            return replace(operand, items=tuple(kept(ctx, item) for item in items))
        case _:
            return operand


def rebound(ctx: Lowering, operands: Env) -> Env:
    """What names are below a join: lists that came as values become objects again."""
    result: Env = {}
    for name, operand in operands.items():
        if is_object(name) and isinstance(operand, Tuple | Dict | Growing | Either):
            result[name] = _inner_kept(ctx, operand)
        else:
            result[name] = kept(ctx, operand)
    return result


def _inner_kept(ctx: Lowering, operand: Operand) -> Operand:
    """The contents of an object with what is inside kept."""
    match operand:
        case Either(items=items):
            return replace(operand, items=tuple(_inner_kept(ctx, item) for item in items))
        case Tuple(items=items) | Dict(items=items):
            return replace(operand, items=tuple(kept(ctx, item) for item in items))
        case _:
            return operand


def _new_object(ctx: Lowering, contents: Operand) -> Ref:
    refuse_in_arm(ctx)
    ref = Ref(new_number(ctx))
    ctx.env[key_of(ref)] = contents
    return ref


def new_number(ctx: Lowering) -> int:
    """The identity of an object that the program makes."""
    ctx.objects += 1
    return ctx.objects


def refuse_in_arm(ctx: Lowering) -> None:
    """In an arm of an expression a change would have to be undone for the other arm."""
    if len(ctx.build.scopes) != ctx.activation.depth:
        raise ctx.build.error(
            "E144", "a list is made or changed in a conditional part of an expression", "use an if statement"
        )


def contents(ctx: Lowering, operand: Operand) -> Operand:
    """What is in an object: its items may be objects in turn. Any other operand is given back."""
    if isinstance(operand, Ref):
        return _look_up(ctx, ctx.env, operand)
    if isinstance(operand, Lent):
        return operand.held
    if isinstance(operand, Either):
        return replace(operand, items=tuple(contents(ctx, item) for item in operand.items))
    return operand


def _look_up(ctx: Lowering, env: Env, ref: Ref) -> Operand:
    found = env.get(key_of(ref), Unbound())
    if isinstance(found, Unbound) or (isinstance(found, Either) and Unbound() in found.items):
        raise ctx.build.error("E145", "which list this is cannot be followed", "make the list where it is used")
    return found


def resolved(ctx: Lowering, operand: Operand) -> Operand:
    """An operand without identities, for a rule that only looks at it."""
    match operand:
        case Ref():
            return resolved(ctx, _look_up(ctx, ctx.env, operand))
        case Lent(held=held):
            return held
        case Tuple(items=items) | Dict(items=items) | Either(items=items) | Iteration(items=items):
            parts = tuple(resolved(ctx, item) for item in items)
            return operand if parts == items else replace(operand, items=parts)
        case _:
            return operand


def change(ctx: Lowering, ref: Ref, apply: Callable[[Operand], tuple[Operand, Operand]]) -> Operand:
    """Put other contents into an object: `apply` gives them, and the value of the expression that changes it."""
    refuse_in_arm(ctx)
    old = _look_up(ctx, ctx.env, ref)
    new, value = _changed_choice(ctx, apply, old) if isinstance(old, Either) else apply(old)
    # Numbers may be replaced where they lie: each turn reads its own, but for a pair, whose first one was read before.
    if ref.number in ctx.locked and (new is not old or ref.number in ctx.paired):
        raise ctx.build.error("E123", "the list changes in the loop over it", "loop over a copy")
    if references(ctx.env, (new,))[ref.number]:
        raise ctx.build.error("E145", "a list that holds itself is not compiled")
    ctx.env[key_of(ref)] = new
    return value


def _changed_choice(
    ctx: Lowering, apply: Callable[[Operand], tuple[Operand, Operand]], old: Either
) -> tuple[Operand, Operand]:
    """A change of one of several contents; of lists that are too different for it, in a buffer."""
    from weft.frontend.growing import one_list

    try:
        pairs = [_quiet(ctx, apply, item) for item in old.items]
    except CompileError:
        whole = None if ctx.short_loops else one_list(ctx, old)
        if whole is None:
            raise
        return apply(whole)
    new = replace(old, items=tuple(pair[0] for pair in pairs))
    values = tuple(pair[1] for pair in pairs)
    return new, values[0] if all(item == values[0] for item in values) else replace(old, items=values)


def _quiet(
    ctx: Lowering, apply: Callable[[Operand], tuple[Operand, Operand]], item: Operand
) -> tuple[Operand, Operand]:
    """A change of one of several contents, which must need nothing at run time: it may not be the one there is."""
    with ctx.build.region() as scope:
        ctx.activation.depth += 1
        try:
            result = apply(item)
        finally:
            ctx.activation.depth -= 1
    if scope.nodes:
        raise ctx.build.error("E148", "this change of a list of several possible lengths is not compiled")
    return result


# ---- who refers to what ---------------------------------------------------------------------------------------------


def mentions(operand: Operand) -> bool:
    """Whether an operand refers to objects."""
    match operand:
        case Ref():
            return True
        case Tuple(items=items) | Dict(items=items) | Made(items=items) | Either(items=items) | Iteration(items=items):
            return any(mentions(item) for item in items)
        case Method(owner=owner):
            return mentions(owner)
        case _:
            return False


def references(env: Env, operands: Iterable[Operand]) -> Counter[int]:
    """How often each object is referred to from some operands, and from the objects reached thereby."""
    counts: Counter[int] = Counter()
    pending = list(operands)
    while pending:
        match pending.pop():
            case Ref(number=number) as ref:
                counts[number] += 1
                if counts[number] == 1 and key_of(ref) in env:
                    pending.append(env[key_of(ref)])
            case (
                Tuple(items=items)
                | Dict(items=items)
                | Made(items=items)
                | Either(items=items)
                | Iteration(items=items)
            ):
                pending += items
            case Method(owner=owner):
                pending.append(owner)
            case _:
                pass
    return counts


def _roots(activation: Activation, env: Env, live: Names) -> list[Operand]:
    names = [name for name in env if not is_object(name) and (name in live or name.startswith("@"))]
    return [*(env[name] for name in names), *activation.names.outer.values()]


def counted(ctx: Lowering, activation: Activation, env: Env, live: Names) -> Counter[int]:
    """How often each object is referred to by names that something may still read, those of callers included."""
    roots = _roots(activation, env, live)
    for outer in ctx.activations:
        if outer is activation:
            break
        roots += _roots(outer, outer.env, outer.before[outer.path] | outer.after[outer.path])
    return references(env, roots)


def unnamed(ctx: Lowering, value: Operand) -> Operand:
    """What is put into a list for good: the list itself in place of an object that nobody refers to any more."""
    held = contents(ctx, value) if isinstance(value, Ref) else value
    if not isinstance(value, Ref) or not isinstance(held, Growing) or not _is_last_use(ctx):
        return value
    activation = ctx.activation
    used = counted(ctx, activation, ctx.env, activation.after[activation.path])
    return value if used[value.number] else held


def _is_last_use(ctx: Lowering) -> bool:
    """Whether the statement is `rows.append(row)` with plain names, so that nothing in it reads the list later."""
    match statement_at(ctx.activation.tree, ctx.activation.path):
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name()), args=[ast.Name()], keywords=[])):
            return True
        case _:
            return False


def agreed(operands: Sequence[Operand]) -> Operand:
    """The objects that several operands refer to at the same places; Unbound everywhere else.

    before:  {"losses": Ref(7), "steps": 0} and {"losses": Ref(7), "steps": 1}
    after:   {"losses": Ref(7), "steps": Unbound}
    """
    first = operands[0]
    match first:
        case Ref():
            return first if all(operand == first for operand in operands) else Unbound()
        case Tuple(items=items) | Dict(items=items) if all(_same_frame(first, operand) for operand in operands):
            columns = zip(*(operand.items for operand in operands if isinstance(operand, Tuple | Dict)), strict=True)
            return replace(first, items=tuple(map(agreed, columns))) if items else first
        case _:
            return Unbound()


def _same_frame(left: Tuple | Dict, right: Operand) -> bool:
    """Whether two tuples, lists or dicts have the same places."""
    return (
        isinstance(right, Tuple | Dict)
        and replace(left, items=()) == replace(right, items=())
        and (len(left.items) == len(right.items))
    )


def by_value(
    ctx: Lowering, env: Env, counts: Counter[int], known: Iterable[str], operand: Operand, like: Operand = _NOTHING
) -> Operand:
    """The operand with the objects that only it refers to as values; others must be `known` where paths meet.

    What `like` refers to at the same place stays an object: all paths agree that it is this one.
    """
    match operand:
        case Ref() if operand == like:
            return operand
        case Ref(number=number) if counts[number] <= 1:
            return by_value(ctx, env, counts, known, _look_up(ctx, env, operand))
        case Ref():
            if key_of(operand) not in known:
                raise ctx.build.error(
                    "E145", "several names may be one list or several here", "make the list before the branch or loop"
                )
            return operand
        case Tuple(items=items) | Dict(items=items) | Either(items=items):
            fits = isinstance(operand, Tuple | Dict) and _same_frame(operand, like)
            places = like.items if fits and isinstance(like, Tuple | Dict) else (_NOTHING,) * len(items)
            pairs = zip(items, places, strict=True)
            return replace(operand, items=tuple(by_value(ctx, env, counts, known, item, at) for item, at in pairs))
        case _:
            return operand


def reconcile(ctx: Lowering, before: Env, envs: list[Env], live: Names) -> None:
    """Where arms meet: names that refer to other objects than before are made values, new objects go."""
    known = [key for key in before if is_object(key)]
    if not any(is_object(key) for env in envs for key in env):
        return
    common = {name: agreed((held, *(env.get(name, _NOTHING) for env in envs))) for name, held in before.items()}
    for env in envs:
        counts = counted(ctx, ctx.activation, env, live)
        for name in [name for name in env if name in live or name.startswith("@")]:
            if is_object(name) and name not in before:
                continue
            if mentions(env[name]) and any(other.get(name) != before.get(name) for other in envs):
                env[name] = by_value(ctx, env, counts, known, env[name], common.get(name, _NOTHING))
    reached = [counted(ctx, ctx.activation, env, live) for env in envs]
    used = {key_of(Ref(number)) for counts in reached for number in counts}
    for env in envs:
        for key in [key for key in env if is_object(key) and not (key in before and key in used)]:
            del env[key]


# ---- what leaves ----------------------------------------------------------------------------------------------------


def bundle_object(ctx: Lowering, ref: Ref, name: str) -> Bundle:
    """An object as something that can leave the program: the same one wherever it is met."""
    return _numbered(ctx.bundle(_look_up(ctx, ctx.env, ref), name), ref.number)


def _numbered(bundle: Bundle, number: int) -> Bundle:
    match bundle:
        case Pack() | Listed():
            return replace(bundle, share=number)
        case Choice(items=items):
            return replace(bundle, items=tuple(_numbered(item, number) for item in items))
        case _:
            return bundle


def share_only_repeated(bundles: tuple[Bundle, ...]) -> tuple[Bundle, ...]:
    """The bundles of one way out, in which an object that is met once needs no number."""
    counts: Counter[int] = Counter()
    for bundle in bundles:
        _count(bundle, counts)
    return tuple(_unshared(bundle, counts) for bundle in bundles) if counts else bundles


def _count(bundle: Bundle, counts: Counter[int]) -> None:
    match bundle:
        case Pack(items=items, share=share):
            counts.update((share,) if share else ())
            for item in items:
                _count(item, counts)
        case Listed(share=share):
            counts.update((share,) if share else ())
        case Choice(items=items):
            for item in items:
                _count(item, counts)
        case _:
            pass


def _unshared(bundle: Bundle, counts: Counter[int]) -> Bundle:
    match bundle:
        case Pack(items=items, share=share):
            inner = tuple(_unshared(item, counts) for item in items)
            return replace(bundle, items=inner, share=share if counts[share] > 1 else 0)
        case Listed(share=share):
            return replace(bundle, share=share if counts[share] > 1 else 0)
        case Choice(items=items):
            return replace(bundle, items=tuple(_unshared(item, counts) for item in items))
        case _:
            return bundle
