"""What the printer and the parser of the text form agree on: version, names, literals and implied types."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final, cast

from weft.ir.dtypes import NP_BOOL, PY_BOOL, ScalarType
from weft.ir.exprs import Expr
from weft.support.records import record

VERSION: Final = 1
IDENTIFIER: Final = r"[^\W\d]\w*(?:\.\w+)*"

_IDENTIFIER = re.compile(IDENTIFIER)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
BOOLEAN_OPS: Final = frozenset((
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "signbit",
    "add_overflows", "subtract_overflows", "multiply_overflows", "power_overflows", "left_shift_overflows",
))  # fmt: skip


@record(eq=False)
class OpaqueObject:
    """Stands for a Python object whose text cannot be read back; equal to whatever prints the same."""

    text: str

    # An array compared with it must ask us, not compare element by element.
    __array_ufunc__ = None

    def __eq__(self, other: object) -> bool:
        return self.text == opaque_text(other)

    def __hash__(self) -> int:
        return hash(self.text)


def implied_type(name: str, args: Sequence[Expr]) -> ScalarType | None:
    """The result type that the text form leaves out: bool for predicates, else that of the operands; None for casts."""
    if not args or name == "cast":
        return None
    if name in BOOLEAN_OPS:
        return PY_BOOL if all(arg.type.python for arg in args) else NP_BOOL
    return args[-1].type


def quote(text: str) -> str:
    """A string literal on one line."""
    return json.dumps(text, ensure_ascii=False)


def print_name(name: str) -> str:
    """A name as it is, or quoted where it is no identifier."""
    return name if _IDENTIFIER.fullmatch(name) else quote(name)


def opaque_text(value: object) -> str:
    """The `repr` of an object, without its address or file: they would differ from run to run."""
    if isinstance(value, ModuleType):
        return f"<module '{value.__name__}'>"
    return value.text if isinstance(value, OpaqueObject) else _ADDRESS.sub("", repr(value))


def print_object(value: object) -> str:
    """A Python literal, or `object` and the quoted text of anything else."""
    return repr(value).replace("inf", "1e999") if _is_number(value) else _print_other(value)


def parse_object(text: str) -> Any:
    """The inverse of `print_object`; ValueError or SyntaxError on anything malformed."""
    if text.startswith("object "):
        return OpaqueObject(json.loads(text.removeprefix("object ")))
    return ast.literal_eval(text)


def _print_other(value: object) -> str:
    return repr(value) if _is_literal(value) else f"object {quote(opaque_text(value))}"


def _is_number(value: object) -> bool:
    return type(value) in (int, float, complex) and value == value  # noqa: PLR0124  (not a NaN)


def _is_literal(value: object) -> bool:
    """Whether Python reads its `repr` back as the same: no NaN, no infinity, no subclass anywhere in it."""
    if type(value) in (tuple, list):
        return all(_is_literal(item) for item in cast("Sequence[object]", value))
    if type(value) is dict:
        pairs = cast("dict[object, object]", value)
        return all(_is_literal(item) for pair in pairs.items() for item in pair)
    if _is_number(value):
        return "inf" not in repr(value)
    return value is None or type(value) in (bool, str, bytes)
