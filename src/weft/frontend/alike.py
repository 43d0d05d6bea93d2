"""Items of one kind: numbers of one type, or tuples of such, of which a position known at run time chooses one.

before:  dx, dy = ((-1, 0), (1, 0), (0, 1))[k]
after:   dx = k == 0 ? -1 : k == 1 ? 1 : 0;  dy = k == 0 ? 0 : k == 1 ? 0 : 1
"""

from __future__ import annotations

from dataclasses import replace

from weft.frontend.context import Lowering
from weft.ir.dtypes import NP_BOOL, PY_INT
from weft.ir.exprs import Expr, const_index, op
from weft.numpy_rules.values import Operand, Scalar, Tuple

_MAX_SELECTED = 16  # items among which a position known at run time chooses


def are_alike(items: tuple[Operand, ...]) -> bool:
    """Whether items are numbers of one type, or tuples of such, and few enough to compare a position with all."""
    forms = {_form(item) for item in items}
    return len(forms) == 1 and None not in forms and len(items) <= _MAX_SELECTED


def _form(item: Operand) -> object:
    match item:
        case Scalar(type=type_):
            return type_
        case Tuple(items=(_, *_) as parts, is_list=False, cls=cls):
            forms = tuple(map(_form, parts))
            return None if None in forms else (cls, forms)
        case _:
            return None


def chosen(ctx: Lowering, items: tuple[Operand, ...], position: Expr) -> Operand:
    """The item at a position known at run time; of tuples number by number."""
    first = items[0]
    if not isinstance(first, Tuple):
        return Scalar(_selected(ctx, items, position))
    columns = zip(*(item.items for item in items if isinstance(item, Tuple)), strict=True)
    return replace(first, items=tuple(chosen(ctx, column, position) for column in columns), slot=-1)


def _selected(ctx: Lowering, items: tuple[Operand, ...], position: Expr) -> Expr:
    exprs = [item.expr for item in items if isinstance(item, Scalar)]
    result = exprs[-1]
    for number in range(len(exprs) - 2, -1, -1):
        test = op("equal", (position, const_index(number)), NP_BOOL)
        result = op("select", (test, exprs[number], result), result.type)
    return ctx.build.let_index(result, "s") if result.type == PY_INT else ctx.build.let(result, "s")
