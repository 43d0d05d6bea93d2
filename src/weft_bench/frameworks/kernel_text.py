"""A kernel's file as text: which of its functions are the program, and the same text with a framework's lines put in.

in:   the text of a kernel's file or of an override, the name of its function
out:  before   def relu(x): ...                after   @numba.njit
               def lenet(x): ... relu(x)               def relu(x): ...

Only functions that the kernel reaches are touched: what makes the inputs stays NumPy's. Lines are put in and taken
over as text, so that the program keeps its comments and its layout.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from weft_bench.frameworks.protocol import Source, UnsupportedKernelError

NUMPY_IMPORT = "import numpy as np"


def reached_functions(text: str, name: str) -> tuple[ast.FunctionDef, ...]:
    """The module's functions that `name` names, itself or by way of others, itself included, in the file's order."""
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    reached, waiting = set[str](), [name]
    while waiting:
        function = functions.get(waiting.pop())
        if function is None or function.name in reached:
            continue
        reached.add(function.name)
        waiting += [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
    return tuple(function for function in functions.values() if function.name in reached)


def decorate(text: str, name: str, decorator: str, imported: str) -> str:
    """The text with the decorator over every function that `name` reaches, and a line that imports what it needs."""
    return _decorate(text, program_of(text, name), decorator, imported)


def decorate_one(text: str, name: str, decorator: str, imported: str) -> str:
    """The text with the decorator over the function of that name alone, and a line that imports what it needs."""
    return _decorate(text, [node for node in program_of(text, name) if node.name == name], decorator, imported)


def _decorate(text: str, functions: Sequence[ast.FunctionDef], decorator: str, imported: str) -> str:
    lines = text.splitlines()
    starts = [min(node.lineno for node in (function, *function.decorator_list)) for function in functions]
    for start in sorted(starts, reverse=True):
        lines.insert(start - 1, decorator)
    lines.insert(_first_import(text) - 1, imported)
    return "\n".join(lines) + "\n"


def replace_numpy(text: str, module: str) -> str:
    """The text with `np` bound to another module that speaks NumPy."""
    lines = text.splitlines()
    if NUMPY_IMPORT not in lines:
        message = f"the kernel's file has no line `{NUMPY_IMPORT}` to put `{module}` in its place: write one"
        raise UnsupportedKernelError(message)
    lines[lines.index(NUMPY_IMPORT)] = f"import {module} as np"
    return "\n".join(lines) + "\n"


def find_item_assignment(text: str, name: str) -> int | None:
    """The first line of the program that assigns to a part of an array, or None."""
    stores = [
        node.lineno
        for function in program_of(text, name)
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    return min(stores, default=None)


def load_text(text: str, source: Source, framework: str) -> ModuleType:
    """Run the text as a module from the folder of artefacts, where compilers keep their caches beside the file.

    The file is written only when it differs: caches go by its time.
    """
    path = source.artefacts / f"{source.kernel.name}_{framework}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    module = _run(path)
    reason = getattr(module, "UNSUPPORTED", None)
    if reason is not None:
        raise UnsupportedKernelError(str(reason))
    if not callable(getattr(module, source.kernel.name, None)):
        message = f"{source.path} defines no function `{source.kernel.name}`: name it like the kernel"
        raise UnsupportedKernelError(message)
    return module


def decorator_lines(text: str, name: str, decorator: str, others: Sequence[str]) -> tuple[str, ...]:
    """What `decorate` adds, for the code metrics."""
    return (*others, *(decorator for _ in program_of(text, name)))


def program_of(text: str, name: str) -> tuple[ast.FunctionDef, ...]:
    """The functions `name` reaches; there must be one of that name."""
    functions = reached_functions(text, name)
    if not functions:
        raise UnsupportedKernelError(f"the kernel's file defines no function `{name}`: name it like the kernel")
    return functions


def _first_import(text: str) -> int:
    """The line of the first import that is not from `__future__`, which must stay in front; or that after them."""
    body = ast.parse(text).body
    for node in body:
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
            return node.lineno
    futures = [node.end_lineno or node.lineno for node in body if isinstance(node, ast.ImportFrom)]
    docstring = body[0].end_lineno if body and isinstance(body[0], ast.Expr) else 0
    return max([*futures, docstring or 0]) + 1


def _run(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}: is it a Python file?")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
