"""What loops carry, remembered from one trial of the loop around them to the next.

in:   a loop about to be lowered, and what it carried when the loop around it was last tried
out:  the templates to start with

The body of a loop is lowered until the types of what it carries settle. A loop inside of it would start anew in every
trial, and so would the loops inside of that one: nine loops in one another were lowered hundreds of times. What an
inner loop had to pass in the last trial it will have to pass in this one, as the loop around it only passes more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from weft.frontend.joins import CannotJoin, PassArray, PassChoice, PassScalar, Same, Template, merge, same_form
from weft.numpy_rules.values import Either, Operand
from weft.support.records import record

if TYPE_CHECKING:
    from weft.frontend.context import Lowering
    from weft.numpy_rules.builder import Builder

Statements: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]  # those being lowered: function and path of each call
Place: TypeAlias = tuple[Statements, int]  # the how many-eth loop it is there


@record
class Settled:
    """What a loop carries, and what the loops inside of it do."""

    templates: Mapping[str, Template]
    inner: Mapping[Place, Settled]


@record(frozen=False)
class Trial:
    """One lowering of a loop's body: what the loops inside are expected to carry, and what they turned out to."""

    expected: Mapping[Place, Settled] = field(default_factory=dict[Place, Settled])
    found: dict[Place, Settled] = field(default_factory=dict[Place, Settled])
    begun: dict[Statements, int] = field(default_factory=dict[Statements, int])


def next_place(ctx: Lowering) -> Place | None:
    """Where a loop that begins stands in the one around it, if there is one."""
    if not ctx.loops:
        return None
    begun = ctx.loops[-1].trial.begun
    statements = tuple((activation.reference, activation.path) for activation in ctx.activations)
    begun[statements] = begun.get(statements, 0) + 1
    return statements, begun[statements]


def last_time(ctx: Lowering, place: Place | None) -> Settled:
    """What the loop at a place was in the last trial of the one around it."""
    last = ctx.loops[-1].trial.expected.get(place) if place else None
    return Settled({}, {}) if last is None else last


def first_templates(build: Builder, init: Mapping[str, Operand], last: Settled) -> dict[str, Template]:
    """What to try first: nothing is passed, but for what was last time."""
    return {name: _first(build, operand, last.templates.get(name)) for name, operand in init.items()}


def _first(build: Builder, operand: Operand, last: Template | None) -> Template:
    if not isinstance(last, PassScalar | PassArray | PassChoice):
        return Same(operand)
    if isinstance(last, PassChoice) != isinstance(operand, Either):
        return Same(operand)
    try:
        first = merge(build, last, operand)
    except CannotJoin:
        return Same(operand)
    return first if same_form(first, last) else Same(operand)
