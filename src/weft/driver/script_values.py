"""Python text that makes values again: numbers, arrays, containers, objects, functions with what they name.

before:  x = np.arange(6.0); the arguments x[:4], x[2:]
after:   memory_0 = np.zeros(48, np.uint8)
         array_0 = np.ndarray((4,), '<f8', memory_0, 0, (8,))
         array_0[...] = [0.0, 1.0, 2.0, 3.0]
         array_1 = np.ndarray((4,), '<f8', memory_0, 16, (8,))
         array_1[...] = [2.0, 3.0, 4.0, 5.0]
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from collections.abc import Iterable, Mapping
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, Final, cast

import numpy as np

from weft.driver.kernels import undecorated
from weft.driver.snapshots import Call, attributes, blocks, is_foreign, memory_bounds, names_in_code
from weft.frontend.source import SourceUnavailable, read_function

_INLINE_ELEMENTS: Final = 64
_MAX_BYTES: Final = 1 << 30
_OWN: Final = ("np", "weft", "os", "sys", "Path", "file", "saved", "ARGUMENTS", "KEYWORDS")


class ScriptValues:
    """The lines of a script that define what a call needs. `arrays` are those to be loaded, by name."""

    def __init__(self, call: Call) -> None:
        self.lines: list[str] = []
        self.arrays: dict[str, Any] = {}
        self._names: dict[int, str] = {}  # of objects that have a variable
        self._kept: list[Any] = []  # ids are good as long as the objects live
        self._defined: dict[str, Any] = {"np": np}
        for block in blocks(array for array in call.arrays() if not array.dtype.hasobject):
            self._define_block(block)

    # -- arrays

    def _define_block(self, block: list[Any]) -> None:
        low = min(memory_bounds(array)[0] for array in block)
        size = max(memory_bounds(array)[1] for array in block) - low
        alone = len(block) == 1 and (block[0].flags.c_contiguous or block[0].flags.f_contiguous)
        memory = f"memory_{len(self._names)}"
        if not alone:
            self.lines.append(f"{memory} = np.zeros({size}, np.uint8)")
        for array in block:
            name = f"array_{len(self._names)}"
            self._names[id(array)] = name
            self._kept.append(array)
            text = self._contents(name, array)
            if alone:
                order = "C" if array.flags.c_contiguous else "F"
                self.lines.append(f"{name} = np.array({text}, {array.dtype.str!r}, order={order!r})")
                if 0 in array.shape:
                    self.lines[-1] = f"{name} = np.empty({array.shape}, {array.dtype.str!r}, order={order!r})"
            else:
                offset = int(array.__array_interface__["data"][0]) - low
                self.lines.append(
                    f"{name} = np.ndarray({array.shape}, {array.dtype.str!r}, {memory}, {offset}, {array.strides})"
                )
                self.lines.append(f"{name}[...] = {text}")
            if not array.flags.writeable:
                self.lines.append(f"{name}.flags.writeable = False")

    def _contents(self, name: str, array: Any) -> str:
        plain = array.dtype.kind in "biuf" or (array.dtype.kind == "c" and bool(np.isfinite(array).all()))
        if plain and array.size <= _INLINE_ELEMENTS:
            return literal(array.tolist())
        if array.nbytes > _MAX_BYTES:
            self.lines.append("# too large to be saved: other numbers of the same type")
            return f"np.random.default_rng(0).uniform(0.0, 1.0, {array.shape}).astype({array.dtype.str!r})"
        self.arrays[name] = np.array(array)
        return f"saved[{name!r}]"

    # -- other values

    def expression(self, value: Any) -> str:
        """Text whose value is that value; what must be defined before is added to the lines."""
        if type(value) is np.ndarray and id(value) not in self._names and not value.dtype.hasobject:
            self._define_block([value])
        if id(value) in self._names:
            return self._names[id(value)]
        text = _plain_text(value)
        if text:
            return text
        cls = cast("type[Any]", type(value))
        if cls in (list, tuple, set, dict):
            return self._container(cls, value)
        known = _importable(value)
        if known:
            return self._imported(known)
        if isinstance(value, FunctionType) or getattr(cls, "__weft_program__", False):
            return self.define_function(undecorated(value))
        if isinstance(value, type):
            return self._define_class(value)
        held = attributes(value)
        if held and (cls is SimpleNamespace or not _is_library(cls.__module__)):
            return self._define_object(value, cls, held)
        self._add(f"# a {cls.__qualname__} cannot be written down: None stands for it")
        return "None"

    def _container(self, cls: type, value: Any) -> str:
        if cls is dict:
            pairs = [f"{self.expression(key)}: {self.expression(item)}" for key, item in value.items()]
            return f"{{{', '.join(pairs)}}}"
        items = [self.expression(item) for item in value]
        if cls is list:
            return f"[{', '.join(items)}]"
        if cls is set:
            return f"{{{', '.join(items)}}}" if items else "set()"
        return tuple_text(items)

    def _imported(self, known: tuple[str, str]) -> str:
        module, name = known
        self._add(f"import {module}")
        return f"{module}.{name}" if name else module

    def _define_object(self, value: Any, cls: type[Any], held: Mapping[str, Any]) -> str:
        name = f"object_{len(self._names)}"
        self._names[id(value)] = name
        self._kept.append(value)
        class_name = self.expression(cls)
        self.lines.append(f"{name} = {class_name}.__new__({class_name})")
        for attribute, item in held.items():
            self.lines.append(f"object.__setattr__({name}, {attribute!r}, {self.expression(item)})")
        return name

    # -- definitions

    def define_function(self, function: FunctionType) -> str:
        """Add a function with all it names; what it is called."""
        if id(function) in self._names:
            return self._names[id(function)]
        name = function.__name__ if function.__name__.isidentifier() else f"function_{len(self._names)}"
        if name in self._defined or name in _OWN:
            name = f"{name}_{len(self._names)}"
        self._names[id(function)] = name
        self._kept.append(function)
        self._defined[name] = function
        try:
            source = read_function(function)
        except SourceUnavailable as problem:
            self.lines.append(f"{name} = None  # no source: {problem}")
            return name
        around = dict(function.__globals__)
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                around[variable] = cell.cell_contents
            except ValueError:
                continue
        wanted = {*names_in_code(function.__code__), *function.__code__.co_freevars, *_default_names(source.tree)}
        self._define_names([name for name in _names_in(source.tree) if name in wanted], around)
        text = _definition_text(source.tree, source.source_text, name)
        self.lines += ["", "", text, "", ""]
        return name

    def _define_class(self, cls: type[Any]) -> str:
        name = cls.__name__
        self._names[id(cls)] = name
        self._kept.append(cls)
        self._defined[name] = cls
        try:
            text = textwrap.dedent(inspect.getsource(cls))
            tree = ast.parse(text)
        except (OSError, TypeError, SyntaxError):
            self.lines.append(f"class {name}: pass  # no source")
            return name
        module = inspect.getmodule(cls)
        self._define_names(_names_in(tree), vars(module) if module is not None else {})
        self.lines += ["", "", text.rstrip(), "", ""]
        return name

    def _define_names(self, names: Iterable[str], around: Mapping[str, Any]) -> None:
        for name in names:
            if name not in around or name in self._defined:
                continue
            value = around[name]
            if name in _OWN and _plain_text(value):
                continue
            self._defined[name] = value
            self._define(name, value)

    def _define(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            self._add(f"import {value.__name__} as {name}" if value.__name__ != name else f"import {name}")
            return
        inner = undecorated(value)
        if isinstance(inner, FunctionType) and not is_foreign(inner) and inner.__name__ == name:
            self._defined.pop(name, None)  # it takes this name itself
        text = self.expression(inner)
        if text != name:
            self.lines.append(f"{name} = {text}")

    def _add(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)


# ---- text -----------------------------------------------------------------------------------------------------------


def tuple_text(items: list[str]) -> str:
    """A tuple of expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def literal(value: Any) -> str:
    """A number, or nested lists of numbers, exactly."""
    if isinstance(value, list):
        return f"[{', '.join(literal(item) for item in cast('list[Any]', value))}]"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _plain_text(value: Any) -> str:
    """Of a value that cannot change, text that makes it; nothing of others."""
    if value is None or value is Ellipsis or isinstance(value, bool | int | float | str | bytes | slice | range):
        return literal(value)
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    return _numpy_text(value) if _is_numpy_scalar(value) else ""


def _is_numpy_scalar(value: object) -> bool:
    return isinstance(value, np.generic | np.dtype)


def _numpy_text(value: Any) -> str:
    if isinstance(value, np.dtype):
        return f"np.dtype({cast('Any', value).str!r})"
    if value.dtype.kind not in "biufc":
        return ""
    return f"np.{value.dtype.name}({_plain_text(value.item())})"


def _importable(value: Any) -> tuple[str, str] | None:
    """The module and name under which a script finds the same object, if it is Python's or a library's."""
    if isinstance(value, ModuleType):
        return value.__name__, ""
    if isinstance(value, np.ufunc):
        return ("numpy", value.__name__) if getattr(np, value.__name__, None) is value else None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, FunctionType) and not is_foreign(value):
        return None
    if not isinstance(module, str) or not isinstance(name, str) or not name.isidentifier():
        return None
    if isinstance(value, type) and module != "builtins" and not _is_library(module):
        return None
    found = getattr(inspect.getmodule(value) or builtins, name, None)
    return (module, name) if found is value else None


def _is_library(module: str) -> bool:
    package = module.partition(".")[0]
    return package in sys.stdlib_module_names or package in ("numpy", "scipy", "weft")


def _names_in(tree: ast.AST) -> list[str]:
    return list(dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)))


def _default_names(tree: ast.FunctionDef | ast.Lambda) -> list[str]:
    defaults = (*tree.args.defaults, *tree.args.kw_defaults)
    return [name for default in defaults if default is not None for name in _names_in(default)]


def _definition_text(tree: ast.FunctionDef | ast.Lambda, text: str, name: str) -> str:
    """The function as it was written, without decorators and annotations; from its tree where that is not the same."""
    if isinstance(tree, ast.Lambda):
        return f"{name} = {ast.unparse(tree)}"
    bare = _undecorated_tree(tree)
    lines = text.splitlines()
    first = tree.lineno - min([tree.lineno, *(decorator.lineno for decorator in tree.decorator_list)])
    written = textwrap.dedent("\n".join(lines[first:])).rstrip()
    try:
        same = ast.dump(ast.parse(written).body[0]) == ast.dump(bare)
    except (SyntaxError, IndexError):
        same = False
    bare.name = name
    return written if same and tree.name == name else ast.unparse(ast.fix_missing_locations(bare))


def _undecorated_tree(tree: ast.FunctionDef) -> ast.FunctionDef:
    bare = cast("ast.FunctionDef", ast.parse(ast.unparse(tree)).body[0])
    bare.decorator_list = []
    bare.returns = None
    arguments = (*bare.args.posonlyargs, *bare.args.args, *bare.args.kwonlyargs)
    for argument in arguments:
        argument.annotation = None
    return bare
