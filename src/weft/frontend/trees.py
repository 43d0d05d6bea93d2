"""Functions made of syntax trees: by continuations and by cut functions."""

from __future__ import annotations

import ast
import sys
from types import CodeType
from typing import Any, Final, cast

from weft.support.absent import NoValue

LOCAL: Final = "__weft_local"  # LOCAL("x") in a tree is the local name x, or nothing if it has no value


def function_tree(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """A function of plain parameters; it has no place yet."""
    function = cast("ast.FunctionDef", ast.parse("def f(): pass").body[0])  # all fields that this Python wants
    del function.lineno, function.col_offset, function.end_lineno, function.end_col_offset
    function.name, function.body = name, body
    function.args.args = [ast.arg(parameter) for parameter in parameters]
    return function


def inner_code(code: CodeType) -> CodeType:
    """The code of the function that is defined in another code."""
    return next(const for const in code.co_consts if isinstance(const, CodeType))


def local_value(name: str) -> Any:
    """What `LOCAL` is: a local name of the caller, or NoValue."""
    return sys._getframe(1).f_locals.get(name, NoValue)  # pyright: ignore[reportPrivateUsage]


def writes_where_told(call: ast.Call) -> bool:
    """Whether a call has an `out`: it writes, and no check may follow it in its statement."""
    return any(keyword.arg == "out" and not _is_none(keyword.value) for keyword in call.keywords)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
