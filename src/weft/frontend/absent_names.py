"""Names that may have no value, where a cut function hands them to a piece or takes them back.

before:  piece(x)          x may have no value
after:   try: x
         except NameError: x = NO_VALUE
         piece(x)
         if x is NO_VALUE: del x

To look at all names of the frame, which is what `LOCAL("x")` does, takes as long as a small piece: only names that
functions inside see too go that way.
"""

from __future__ import annotations

import ast
from typing import Final

NO_VALUE: Final = "__weft_no_value"
NO_NAME: Final = "__weft_no_name"  # NameError


def mark(name: str) -> ast.stmt:
    """Give a name without a value the mark for that."""
    marked = ast.Assign([ast.Name(name, ast.Store())], ast.Name(NO_VALUE, ast.Load()))
    handler = ast.ExceptHandler(ast.Name(NO_NAME, ast.Load()), None, [marked])
    return ast.Try([ast.Expr(ast.Name(name, ast.Load()))], [handler], [], [])


def unbind(name: str) -> ast.stmt:
    """Take the mark away: the name has no value."""
    test = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Name(NO_VALUE, ast.Load())])
    return ast.If(test, [ast.Delete([ast.Name(name, ast.Del())])], [])
