"""Ends and lengths of slices, and indices, as they are where nothing is clipped and nothing counts from the end.

in:   the body of a loop
out:  for the values in it that are such ends, the polynomial that was asked for, and where it is what counts
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.analysis.conditions import as_index
from weft.ir.exprs import Expr, Index, Op, Value
from weft.ir.nodes import Region, Tasklet
from weft.ir.traverse import all_nodes
from weft.support.records import record

_CHOICES: Final = ("minimum", "maximum", "select")


@record
class Clip:
    """What an end or a length is where nothing is clipped, which is where the polynomials are not negative."""

    plain: Index
    holds_if: tuple[Index, ...]


def clips_of(body: Region, clipped: Index | None = None) -> dict[Value, Clip]:
    """`max(x, 0)` and `min(x, n)` among the values of a loop, and what is computed of them: the first argument counts.

    Of a slice that is known to be clipped, where the polynomial `clipped` is negative, they are the second.
    """
    found: dict[Value, Clip] = {}
    for node in all_nodes(body):
        for let in node.lets if isinstance(node, Tasklet) else ():
            if as_index(let.expr) is not None or (isinstance(let.expr, Op) and let.expr.name in _CHOICES):
                holds_if: list[Index] = []
                plain = _asked_for(let.expr, found, holds_if, clipped)
                if plain is not None:
                    found[let.value] = Clip(plain, tuple(holds_if))
    return found


def wrapped_in(body: Region) -> frozenset[Index]:
    """The indices that count from the end where they are negative."""
    lets = (let for node in all_nodes(body) if isinstance(node, Tasklet) for let in node.lets)
    selects = (let.expr for let in lets if isinstance(let.expr, Op) and let.expr.name == "select")
    found = (as_index(select.args[2]) for select in selects)
    return frozenset(position for position in found if position is not None)


def _asked_for(expr: Expr, clips: Mapping[Value, Clip], holds_if: list[Index], clipped: Index | None) -> Index | None:
    match expr:
        case Op(name="select", args=(Op(name="less", args=(at, Index(constant=0))), wrapped, inner)) if at == inner:
            position, end = as_index(inner), as_index(wrapped)
            if position is None or end is None or position.values & clips.keys():
                return None
            holds_if.append(position)  # an index counted from the end where it is negative
            return end if position == clipped else position
        case _:
            pass
    if isinstance(expr, Op) and expr.name in ("minimum", "maximum"):
        asked, limit = (_asked_for(part, clips, holds_if, clipped) for part in expr.args)
        if asked is None or limit is None:
            return None
        holds_if.append(limit - asked if expr.name == "minimum" else asked - limit)
        return limit if holds_if[-1] == clipped else asked
    polynomial = as_index(expr)
    return None if polynomial is None else unclipped(polynomial, clips, holds_if)


def unclipped(polynomial: Index, clips: Mapping[Value, Clip], holds_if: list[Index]) -> Index:
    """A polynomial as if nothing were clipped, which is so if those in `holds_if` are not negative."""
    used = [value for value in polynomial.values if value in clips]
    for value in used:
        holds_if += clips[value].holds_if
    return polynomial.substitute({value: clips[value].plain for value in used}) if used else polynomial
