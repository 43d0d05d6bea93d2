"""Arrays of the elements that a mask chose: what they were chosen from, for those who need not collect them.

    y = x[m]            y was chosen from x by m
    t = y * 2 + c[m]    t was chosen from select(m, x, 1) * 2 + select(m, c, 1) by m
    t.sum()             the sum of select(m, ..., -0.0): neither y nor t is needed
    x[m] = t            each element goes where it comes from
    x[x > 0] += 1       two masks that are made alike are one

What was chosen from stands as long as nothing of it is written, on the only way from there to here: both places are in
one region. It is computed when somebody asks; a warning then belongs to it, and no longer to the collected elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from weft.ir.dtypes import DType
from weft.ir.exprs import Const, Expr, Op, op
from weft.ir.nodes import Elementwise, View, full_view
from weft.numpy_rules.builder import Builder
from weft.numpy_rules.guards import Chosen, Known, Made, Writes
from weft.numpy_rules.values import Array, Masked

T = TypeVar("T")


def note_chosen(build: Builder, target: Array, mask: Array, make: Callable[[], Array], sources: Iterable[str]) -> None:
    """Remember that `target` holds the elements of `make()` where the mask is true; it reads the sources."""
    name = target.view.container
    writes = _writes(build, (name, mask.view.container, *sources))
    build.ledger.chosen[name] = Chosen(mask, make, build.scope, writes, build.span)


def note_chosen_by_all(build: Builder, target: Array, parts: Iterable[Array], make: Callable[[Array], Array]) -> None:
    """The same for what is computed of parts that one mask chose, element by element; `make` gets the mask."""
    found = [_still(build, part) for part in parts]
    first = found[0] if found else None
    if first is None or any(other is None or other.mask.view != first.mask.view for other in found):
        return
    sources = (name for chosen in found if chosen is not None for name, _ in chosen.writes)

    def whole() -> Array:
        _silence(build, target)
        return make(first.mask)

    note_chosen(build, target, first.mask, whole, sources)


def chosen_from(build: Builder, array: Array) -> Masked | None:
    """What all elements of an array were chosen from by a mask, if that is still what it was."""
    chosen = _still(build, array)
    if chosen is None:
        return None
    span, build.span = build.span, chosen.span
    try:
        return Masked(chosen.make(), chosen.mask)
    finally:
        build.span = span


def chosen_by(build: Builder, array: Array, mask: Array) -> Masked | None:
    """The same for one mask."""
    chosen = _still(build, array)
    return chosen_from(build, array) if chosen is not None and chosen.mask == mask else None


def harmless(operand: Expr, mask: Expr, other: Expr) -> Expr:
    """An operand where the mask is true, else a number that does not warn: a known one of middling size, or `other`."""
    if isinstance(operand, Const) and isinstance(operand.value, float) and 1e-30 < abs(operand.value) < 1e30:
        return operand
    return op("select", (mask, operand, other), operand.type)


def remembered(build: Builder, notes: dict[str, Known[T]], mask: Array, find: Callable[[], T]) -> T:
    """What is noted about a mask; found out once where it cannot have changed."""
    name = mask.view.container
    known = notes.get(name)
    writes = _writes(build, (name,))
    if known is not None and (known.mask, known.writes) == (mask, writes) and known.scope is build.scope:
        return known.value
    result = find()
    notes[name] = Known(mask, result, build.scope, writes)
    return result


def note_made(build: Builder, array: Array) -> None:
    """Remember how a mask was computed just now."""
    node = build.scope.nodes[-1]
    if array.dtype is DType.BOOL and isinstance(node, Elementwise):
        names = (array.view.container, *(view.container for _, view in node.inputs))
        build.ledger.made[array.view.container] = Made(node, build.scope, _writes(build, names))


def first_alike(build: Builder, mask: Array) -> Array:
    """The first mask that was computed of the same elements in the same way, if it still is what this one is."""
    formula = _formula(build, mask.view)
    if formula == mask.view:
        return mask
    first = build.ledger.masks.get(formula)
    if first is not None and _formula(build, first.view) == formula:
        return first
    build.ledger.masks[formula] = mask
    return mask


def _formula(build: Builder, view: View) -> object:
    """How the elements of a view come from others that have not been written since; the view itself if nobody knows."""
    made = build.ledger.made.get(view.container)
    if made is None or made.scope is not build.scope or made.node.output != view:
        return view
    if made.writes != _writes(build, (name for name, _ in made.writes)):
        return view
    inputs: dict[Expr, object] = {value: _formula(build, source) for value, source in made.node.inputs}
    return view.shape, _spelled(made.node.expr, inputs)


def _spelled(expr: Expr, inputs: Mapping[Expr, object]) -> object:
    if isinstance(expr, Op):
        return expr.name, expr.type, tuple(_spelled(arg, inputs) for arg in expr.args)
    if isinstance(expr, Const):
        return expr.type, repr(expr.value)
    return inputs.get(expr, expr)


def _still(build: Builder, array: Array) -> Chosen | None:
    name = array.view.container
    found = build.ledger.chosen.get(name)
    if found is None or found.scope is not build.scope or array.view != full_view(build.container(name)):
        return None
    return found if found.writes == _writes(build, (name for name, _ in found.writes)) else None


def _writes(build: Builder, names: Iterable[str]) -> Writes:
    reached = sorted({other for name in names for other in build.reaches(name)})
    return tuple((name, build.ledger.writes.get(name, 0)) for name in reached)


def _silence(build: Builder, array: Array) -> None:
    """What computes the collected elements warns no more."""
    nodes = build.scope.nodes
    for number, node in enumerate(nodes):
        if isinstance(node, Elementwise) and node.output.container == array.view.container:
            nodes[number] = replace(node, warn=-1)
