"""What must not leave a program as it is: copies in place of views.

in:   an operand that is returned, or that Python is given to go on with
out:  nothing; CompileError where Python would see the difference

A real or imaginary part is a view in NumPy and a copy here. Nobody can tell as long as the complex array that it is a
part of is not seen beside it: it was made by the program and is not returned with it. And nobody can tell any more when
no name has the copy: `y[:] = 2.0 * np.reshape(y.T, n)` has read it before y is written.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from weft.frontend.context import Lowering
from weft.frontend.heap import is_object, resolved
from weft.frontend.liveness import Names
from weft.frontend.rows import refuse_shared, refuse_taken
from weft.ir.nodes import Storage
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.values import (
    Array,
    Character,
    Dict,
    Either,
    Growing,
    Iteration,
    Made,
    Never,
    Operand,
    Range,
    Ref,
    Scalar,
    Static,
    Tuple,
    Unbound,
)


def refuse_copies_of_views(ctx: Lowering, *operands: Operand, returned: bool = False) -> None:
    """A result that NumPy has as a view must not come back as a copy."""
    assigned = [ctx.env[key] for key in ctx.inputs.assigned if key in ctx.env]
    refuse_taken(ctx, [leaf for part in (*operands, *assigned) for leaf in _leaves(ctx, part)])
    seen = {name for operand in operands for name in _arrays_seen(ctx, operand)} if returned else None
    for array in (array for operand in operands for array in _arrays(ctx, operand)):
        for name in ctx.build.reaches(array.view.container):
            wholes = _wholes(ctx.build, name)
            if wholes and (seen is None or not _is_unseen(ctx.build, wholes, seen)):
                ctx.build.need_views([name, *wholes])
                raise ctx.build.error("E138", "a real or imaginary part is a view, which cannot be returned", "copy it")


def handed_over(ctx: Lowering, live: Names) -> list[Operand]:
    """What Python is given when it goes on at a statement before which these names are live.

    Those of the calls that are under way, too, and attributes. Lists are reached through names: one that an inlined
    function has left behind is nobody's any more.
    """
    found: list[Operand] = []
    for activation in ctx.activations:
        is_innermost = activation is ctx.activation
        if not is_innermost and activation.frame is None:
            found += activation.env.values()
            continue
        names = ctx.frame(activation, live if is_innermost else activation.waiting).names
        attributes = (name for name in activation.env if name.startswith("@") and not is_object(name))
        found += [activation.env[name] for name in (*names, *attributes) if name in activation.env]
    return found


def _arrays(ctx: Lowering, operand: Operand) -> list[Array]:
    """The arrays in an operand; lists of copies are refused where one can tell."""
    match resolved(ctx, operand):
        case Array() as array:
            return [array]
        case Growing() as held:
            refuse_shared(ctx, held)
            return []
        case Tuple(items=items) | Dict(items=items) | Made(items=items) | Either(items=items):
            return [array for item in items for array in _arrays(ctx, item)]
        case _:
            return []


def _leaves(ctx: Lowering, operand: Operand) -> list[Operand]:
    """The arrays and lists of any length in an operand."""
    match resolved(ctx, operand):
        case Tuple(items=items) | Dict(items=items) | Made(items=items) | Either(items=items):
            return [leaf for item in items for leaf in _leaves(ctx, item)]
        case leaf:
            return [leaf]


def _arrays_seen(ctx: Lowering, operand: Operand) -> set[str]:
    """The containers that the caller can see when this is returned."""
    assigned = [ctx.env[key] for key in ctx.inputs.assigned if key in ctx.env]
    arrays = [array for part in (operand, *assigned) for array in _arrays(ctx, part)]
    return {name for array in arrays for name in ctx.build.reaches(array.view.container)}


def _wholes(build: Builder, part: str) -> set[str]:
    """What a copy in place of a view is a part of, through such copies; nothing for any other container."""
    copies, found = build.ledger.snapshots, set[str]()
    pending = [copies[part]] if part in copies else []
    while pending:
        reached = [name for name in build.reaches(pending.pop()) if name not in found]
        found.update(reached)
        pending += [copies[name] for name in reached if name in copies]
    return found


def _is_unseen(build: Builder, wholes: set[str], seen: set[str]) -> bool:
    """Whether the arrays that a part was taken of are the program's own and stay in it."""
    copies = build.ledger.snapshots
    own = all(build.container(name).storage in (Storage.TRANSIENT, Storage.ALIAS) for name in wholes)
    return own and all(copies.get(name) != name for name in wholes) and seen.isdisjoint(wholes)


def forget_copies(ctx: Lowering, before: Container[str]) -> None:
    """Forget the copies in place of views that this statement made, but for those that something still has."""
    build, copies = ctx.build, ctx.build.ledger.snapshots
    made = [name for name in copies if name not in before]
    held = _held_after(ctx) if made else None
    if held is None:
        return
    pending = [*held, *(item.container for item in build.ledger.held)]
    kept: set[str] = set()
    while pending:
        for name in build.reaches(pending.pop()):
            if name not in kept:
                kept.add(name)
                pending += [copies[name]] if name in copies else []
    for name in made:
        if name not in kept:
            del copies[name]
            build.ledger.unsure.pop(name, None)


def _held_after(ctx: Lowering) -> list[str] | None:
    """The containers of arrays that something may read after the statement; None where that is not known."""
    activation = ctx.activation
    live = activation.after[activation.path]
    names = [name for name in ctx.env if name in live or name.startswith("@") or is_object(name)]
    return _containers_in([*(ctx.env[name] for name in names), *activation.names.outer.values()])


def _containers_in(operands: Iterable[Operand]) -> list[str] | None:
    found: list[str] = []
    pending = list(operands)
    while pending:
        match pending.pop():
            case Array(view=view):
                found.append(view.container)
            case Growing(buffer=buffer):
                found.append(buffer.view.container)
            case Tuple(items=items) | Dict(items=items) | Made(items=items) | Either(items=items):
                pending += items
            case Iteration(items=items):
                pending += items
            case Scalar() | Static() | Range() | Ref() | Character() | Unbound() | Never():
                pass  # what a list or dict holds has a key of its own in the environment
            case _:
                return None
    return found
