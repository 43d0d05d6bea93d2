"""Lists of lists of one length that is known at run time only: tables, as dynamic programming fills them.

in:   a list of any length with a list of numbers in each item, and where in them something is read or stored
out:  a buffer with row after row; an element of it

before:  T = [[0] * (m + 1) for _ in range(n + 1)]      a list that lists are appended to
         T[i][j] = T[i - 1][j] + 1
after:   T: "rows" of m + 1 numbers in a buffer; its element i * (m + 1) + j is read and written

A list goes into the table where it has no other name: then nobody sees that it has become a part of something. For the
same reason the lists stay in there: only their numbers are read, and replaced by others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from weft.frontend.addressed import addressed_rows
from weft.frontend.context import Lowering
from weft.frontend.expressions import lower_expression, lower_subscript
from weft.frontend.growing import fitting, place_at, read_item, row_at
from weft.frontend.heap import change, contents
from weft.frontend.mixed import numbers_in_rows
from weft.frontend.rows import guard_row, written_row
from weft.numpy_rules.values import Growing, Operand, Ref, Slice, Static, Tuple

_LOOKING = (len, sum, min, max, any, all, sorted)


def lower_argument(ctx: Lowering, call: ast.Call, callee: object, node: ast.expr) -> Operand:
    """An argument of a call: in `sum(T[i])` nobody sees the list that T[i] is."""
    target = callee.value if isinstance(callee, Static) else None
    only_looks = any(target is known for known in _LOOKING) and (len(call.args) == 1 or target is sum)
    if only_looks and isinstance(node, ast.Subscript):
        with ctx.at(node):
            return lower_subscript(ctx, node, inner=True)
    return lower_expression(ctx, node)


def is_table(held: Operand) -> bool:
    """Whether this is a list of lists of numbers whose rows lie one after the other."""
    if not isinstance(held, Growing) or held.buffer.rank > 1:
        return False
    return held.form == "rows" or (held.form == "list" and not held.parts)


def changed_in_table(ctx: Lowering, target: ast.Subscript, new_of: Callable[[Operand], Operand]) -> bool:
    """`T[i][j] = ...`, where a function makes the new number of the old one; False where T is no table."""
    match target.value:
        case ast.Subscript(value=ast.Name(id=name), slice=first):
            ref = ctx.env.get(name)
        case _:
            return False
    if not isinstance(ref, Ref) or not isinstance(contents(ctx, ref), Growing | Tuple):
        return False
    key = lower_expression(ctx, first)
    if not is_table(addressed_rows(ctx, ref, key)):
        return False
    keys = key, lower_expression(ctx, target.slice)
    change(ctx, ref, lambda old: _with_number(ctx, old, keys, new_of))
    return True


def _with_number(
    ctx: Lowering, old: Operand, keys: tuple[Operand, Operand], new_of: Callable[[Operand], Operand]
) -> tuple[Operand, Operand]:
    assert isinstance(old, Growing)
    if any(isinstance(key, Slice) for key in keys):
        raise ctx.build.error("E148", "this assignment to a list in a list is not compiled", "use an array")
    row, (size,) = row_at(ctx, old, keys[0]), old.row
    number = new_of(read_item(ctx, row, keys[1]))
    line = fitting(ctx, numbers_in_rows(old), number)
    if line.kinds and old.form == "list":
        raise ctx.build.error("E149", "a list of short lists holds numbers of one type only", "use an array")
    guard_row(ctx, line, number)
    place = place_at(ctx, old, keys[0]) * size + place_at(ctx, row, keys[1])
    written_row(ctx, replace(line, count=place), line.buffer, number)
    return replace(line, form=old.form, count=old.count, row=old.row), Static(None)
