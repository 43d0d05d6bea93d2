"""Tuples, lists, dicts and f-strings as they are written."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from weft.frontend.context import Lowering
from weft.frontend.expressions import lower_expression
from weft.frontend.growing import copied
from weft.frontend.heap import contents
from weft.frontend.known import constant_of
from weft.frontend.objects import constant_key, fixed_items
from weft.numpy_rules.values import Dict, Growing, Operand, Static, Tuple

_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def lower_display(ctx: Lowering, node: ast.Tuple | ast.List | ast.Dict | ast.JoinedStr) -> Operand:
    """The operand for what is written out."""
    match node:
        case ast.Dict():
            return _dict(ctx, node)
        case ast.JoinedStr():
            return _text(ctx, node)
        case _:
            return _sequence(ctx, node)


def _sequence(ctx: Lowering, node: ast.Tuple | ast.List) -> Operand:
    items: list[Operand] = []
    for elt in node.elts:
        if isinstance(elt, ast.Starred):
            operand = lower_expression(ctx, elt.value)
            inner, held = fixed_items(ctx, operand), contents(ctx, operand)
            if isinstance(held, Growing) and isinstance(node, ast.List) and len(node.elts) == 1:
                return copied(ctx, held)
            if inner is None:
                raise ctx.error(elt, "E107", "only what has a known length can be unpacked here")
            items += inner
        else:
            items.append(lower_expression(ctx, elt))
    return Tuple(tuple(items), isinstance(node, ast.List))


def _dict(ctx: Lowering, node: ast.Dict) -> Operand:
    found: dict[Any, Operand] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = contents(ctx, lower_expression(ctx, value))
            if not isinstance(inner, Dict):
                raise ctx.error(value, "E107", "only a dict with known keys can be unpacked here")
            found.update(zip(inner.keys, inner.items, strict=True))
        else:
            name = constant_key(ctx, lower_expression(ctx, key))
            found[name] = lower_expression(ctx, value)
    return Dict(tuple(found), tuple(found.values()))


def _text(ctx: Lowering, node: ast.JoinedStr) -> Operand:
    """An f-string of what is known now."""
    parts: list[str] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
            continue
        assert isinstance(value, ast.FormattedValue)
        known, shown = constant_of(ctx, lower_expression(ctx, value.value))
        spec = _text(ctx, value.format_spec) if isinstance(value.format_spec, ast.JoinedStr) else Static("")
        if not known or not isinstance(spec, Static):
            raise ctx.error(node, "E110", "f-strings of values are not compiled", "move it out of the program")
        convert = _CONVERSIONS.get(value.conversion)
        parts.append(format(shown if convert is None else convert(shown), spec.value))
    return Static("".join(parts))
