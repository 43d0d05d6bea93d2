"""Take out of a kernel's file what an ahead-of-time compiler is to see: the function and what it needs, no types.

in:   the file of a kernel or an override, the name of the function
out:  an `Extract`: imports, constants and functions in the order of the file, that function last, without annotations
      and docstrings

before:  from numpy.typing import NDArray
         SCALE = 2.0
         def scale(x: NDArray[Any], by: float) -> NDArray[Any]:
             \"""Scaled.\"""
             return SCALE * by * x  # twice
after:   SCALE = 2.0
         def scale(x, by):
             return SCALE * by * x  # twice

The bodies are the lines of the file, comments and all: what is compiled is what is counted as unchanged, and OpenMP
directives, which are comments to Python, stay.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from weft_bench.frameworks.protocol import UnsupportedKernelError
from weft_bench.kernel import Inputs

REFUSAL = "UNSUPPORTED"


class MissingToolError(RuntimeError):
    """A compiler or build tool the framework needs is not on this machine; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Extract:
    """A kernel's program; `definitions` are functions by name, each as its parameters and the lines of its body."""

    imports: tuple[str, ...]
    constants: tuple[str, ...]
    definitions: tuple[Definition, ...]

    def text(self, header: tuple[str, ...] = ()) -> str:
        """The module: `header` comes after the imports, then constants and functions."""
        functions = [f"\n\n{definition.text()}" for definition in self.definitions]
        return "\n".join((*self.imports, *header, *self.constants, *functions)) + "\n"

    def function(self, name: str) -> Definition:
        """The function of that name."""
        return next(definition for definition in self.definitions if definition.name == name)


@dataclass(frozen=True, slots=True)
class Definition:
    """One function: its parameters as they are to be written, and its body."""

    name: str
    parameters: tuple[str, ...]
    body: str
    decorators: tuple[str, ...] = ()

    def text(self) -> str:
        """Decorators, `def` line and body."""
        return "\n".join((*self.decorators, f"def {self.name}({', '.join(self.parameters)}):", self.body))


def extract(path: Path, name: str) -> Extract:
    """The function `name` of the file, with the helpers, constants and imports it reaches.

    An override that says `UNSUPPORTED = "why"` instead is a refusal.
    """
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, str(path))
    bound = {bound_name: statement for statement in tree.body for bound_name in _names_bound(statement)}
    if name not in bound and (reason := read_constant(tree, REFUSAL)):
        raise UnsupportedKernelError(reason)
    if not isinstance(bound.get(name), ast.FunctionDef):
        raise UnsupportedKernelError(f"{path.name} defines no function {name}: a kernel's function bears its name")
    wanted = {id(statement) for statement in _reached(bound, name)}
    chosen = [statement for statement in tree.body if id(statement) in wanted and statement is not bound[name]]
    chosen.append(bound[name])  # last: DaCe knows the functions above alone
    lines = text.splitlines()
    return Extract(
        imports=tuple(ast.unparse(node) for node in chosen if isinstance(node, ast.Import | ast.ImportFrom)),
        constants=tuple(ast.unparse(node) for node in chosen if isinstance(node, ast.Assign)),
        definitions=tuple(_define(node, lines) for node in chosen if isinstance(node, ast.FunctionDef)),
    )


def read_constant(tree: ast.Module, name: str) -> str:
    """What a file says under that name, "" if nothing: read, not run, since the file may need its framework."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and name in _names_bound(statement):
            return str(ast.literal_eval(statement.value))
    return ""


def _names_bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            for target in targets:
                yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.split(".")[0] for alias in aliases)
        case _:
            return


def _reached(bound: dict[str, ast.stmt], name: str) -> list[ast.stmt]:
    """The statements `name` needs, itself among them; types do not count as needed."""
    seen: dict[str, ast.stmt] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in seen or current not in bound:
            continue
        statement = seen[current] = bound[current]
        nodes = statement.body if isinstance(statement, ast.FunctionDef) else [statement]
        names = (node for part in nodes for node in ast.walk(part) if isinstance(node, ast.Name))
        waiting += [node.id for node in names]
    return list(seen.values())


def _define(node: ast.FunctionDef, lines: list[str]) -> Definition:
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise UnsupportedKernelError(f"{node.name}: only plain parameters, without defaults, are handed to a compiler")
    first = node.body[1] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body[0]
    start = first.lineno - 1
    while lines[start - 1].lstrip().startswith("#"):  # what stands above the first statement: an OpenMP directive
        start -= 1
    return Definition(
        name=node.name,
        parameters=tuple(argument.arg for argument in arguments.args),
        body="\n".join(lines[start : node.end_lineno]),
    )


def is_array(value: Any) -> TypeGuard[NDArray[Any]]:
    """Whether an argument is one; the others are numbers."""
    return isinstance(value, np.ndarray)


def scalar_type(value: Any, arguments: Inputs) -> np.dtype[Any]:
    """The type a number is passed as: a Python float beside float32 arrays is one of those, as in NumPy 2."""
    if not isinstance(value, float | complex) or isinstance(value, np.float64 | np.complex128):
        return np.asarray(cast(Any, value)).dtype
    arrays = [array.dtype for array in arguments.values() if is_array(array) and array.dtype.kind in "fc"]
    is_single = bool(arrays) and np.result_type(*arrays).name in {"float32", "complex64"}
    if isinstance(value, complex):
        return np.dtype(np.complex64 if is_single else np.complex128)
    return np.dtype(np.float32 if is_single else np.float64)


def require(tool: str, way_out: str) -> str:
    """The path of a program on this machine."""
    found = shutil.which(tool)
    if found is None:
        raise MissingToolError(f"{tool} is not on the PATH of this machine: {way_out}")
    return found


def what_went_wrong(output: str) -> str:
    """The first line of a compiler that names an error, its file without the folders."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if " error: " in line] + [line for line in lines if "rror" in line] + lines
    return re.sub(r"^[^\s:]*/", "", telling[0]) if telling else "no message"
