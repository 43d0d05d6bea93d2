"""`x in y`: among the items of a tuple or list that are known, the keys of a dict, or the elements of an array.

in:   v in a, an array; (i, j) in seen, a list of any length
out:  any(a == v); any((seen[:, 0] == i) & (seen[:, 1] == j))

Python asks for identity before it asks for equality, which matters for NaN: lists of any length are of integers here.
"""

from __future__ import annotations

from weft.frontend.attributes import call_rule
from weft.frontend.branches import choose
from weft.frontend.context import Lowering
from weft.frontend.growing import elements
from weft.frontend.mixed import is_mixed
from weft.frontend.objects import fixed_items, position_of
from weft.ir.dtypes import PY_BOOL
from weft.ir.exprs import const, const_index
from weft.numpy_rules.indexing import drop_axis
from weft.numpy_rules.values import Array, Dict, Growing, Operand, Scalar, Static, Tuple

_WHOLE = "ib"  # kinds of dtypes: signed integers and truth values


def contained(ctx: Lowering, item: Operand, container: Operand) -> Operand:
    """Whether an item is in a container."""
    match container:
        case Dict():
            return Scalar(const(position_of(ctx, container, item) is not None, PY_BOOL))
        case Array() if isinstance(item, Scalar) and container.rank:
            return _any(ctx, _equal(ctx, container, item))
        case Growing():
            return _in_list(ctx, item, container)
        case _:
            return _among(ctx, item, container)


def _among(ctx: Lowering, item: Operand, container: Operand) -> Operand:
    from weft.frontend.expressions import condition

    members = fixed_items(ctx, container, ranges=False)
    if members is None:
        raise ctx.build.error("E106", "'in' is compiled for tuples, lists, dicts and arrays only")
    result: Operand = Scalar(const(False, PY_BOOL))
    for member in reversed(members):
        if isinstance(item, Static) != isinstance(member, Static):
            continue
        if item == member:  # Python asks for identity first, which matters for NaN
            result = Scalar(const(True, PY_BOOL))
            continue
        test = condition(ctx, _equal(ctx, item, member))
        previous = result
        result = choose(ctx, test, lambda: Scalar(const(True, PY_BOOL)), lambda p=previous: p)
    return result


def _in_list(ctx: Lowering, item: Operand, held: Growing) -> Operand:
    """In a list of integers, or of tuples of integers."""
    wanted = item.items if isinstance(item, Tuple) and not item.is_list and item.cls is None else (item,)
    whole = all(isinstance(part, Scalar) and part.type.dtype.kind in _WHOLE for part in wanted)
    lines = elements(held)
    if not whole or is_mixed(held) or held.parts or lines.dtype.kind not in _WHOLE:
        raise ctx.build.error("E106", "'in' is compiled for lists of integers and of tuples of integers only")
    if held.form == "number" and not isinstance(item, Tuple):
        return _any(ctx, _equal(ctx, lines, item))
    if held.form != "tuple" or not isinstance(item, Tuple) or lines.shape[1].constant != len(wanted):
        raise ctx.build.error("E106", "'in' is compiled for items like those of the list only")
    columns = [Array(drop_axis(lines.view, 1, const_index(place)), lines.dtype) for place in range(len(wanted))]
    tests = [_equal(ctx, column, part) for column, part in zip(columns, wanted, strict=True)]
    found = tests[0]
    for test in tests[1:]:
        found = call_rule(ctx, "numpy.logical_and", found, test)
    return _any(ctx, found)


def _equal(ctx: Lowering, left: Operand, right: Operand) -> Operand:
    from weft.frontend.expressions import binary

    return binary(ctx, "equal", left, right)


def _any(ctx: Lowering, tests: Operand) -> Operand:
    from weft.frontend.expressions import as_python_bool, condition

    return Scalar(as_python_bool(condition(ctx, call_rule(ctx, "numpy.any", tests))))
