"""A guard has failed: the rest of the program runs in Python.

in:   the exit the kernel took, the values of the live names, the objects of the call's slots
out:  what the program returns (or raises), as if Python had run all of it

The continuation is made from the source. This is the slow path, so the frontend is loaded here and not before.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from types import FunctionType
from typing import Any, Final, cast

from weft.driver.kernels import undecorated
from weft.frontend.context import AGAIN, HELD
from weft.frontend.continuation import UNBOUND, build_continuation
from weft.frontend.liveness import statement_at
from weft.frontend.normalise import normalise
from weft.frontend.source import FunctionSource, read_function
from weft.frontend.split import split_stores
from weft.frontend.trees import function_tree
from weft.runtime.native import UNBOUND as NATIVE_UNBOUND
from weft.support.abi import FunctionRef, KernelInfo
from weft.support.stand_ins import named_stand_in

_MAKER: Final = "__weft_maker"


class Resumer:
    """Builds and runs the continuations of one program; trees are made once."""

    def __init__(self, function: FunctionType, info: KernelInfo) -> None:
        self.function = function
        self.info = info
        self._sources: dict[int, tuple[ast.FunctionDef | ast.Lambda, FunctionSource, FunctionType]] = {}
        self._trees: dict[int, ast.FunctionDef] = {}
        self._definitions: dict[str, tuple[ast.stmt, ...]] = {}

    def frames(
        self, number: int, values: Sequence[Sequence[Any]], slots: Sequence[Any]
    ) -> list[tuple[FunctionType, tuple[Any, ...]]]:
        """The continuations of an exit and their values, outermost first; all but the last also take a result."""
        frames = self.info.exits[number].frames
        calls: list[tuple[FunctionType, tuple[Any, ...]]] = []
        for position, (frame, given) in enumerate(zip(frames, values, strict=True)):
            tree = self.tree(frame.function, slots)
            _, source, function = self._sources[frame.function]
            names = tuple(name for name in frame.names if not name.startswith(AGAIN))
            defined = (self._definition(name, slots) for name in frame.names if name.startswith(AGAIN))
            again = tuple(stmt for definition in defined for stmt in definition)
            pairs = zip(frame.names, given, strict=True)
            bound = tuple(
                UNBOUND if value is NATIVE_UNBOUND else value for name, value in pairs if not name.startswith(AGAIN)
            )
            continuation = build_continuation(
                tree,
                frame.path,
                names,
                prelude=again,
                after_call=position < len(frames) - 1,
                globals_dict=function.__globals__,
                filename=source.filename,
            )
            calls.append((continuation, bound))
        return calls

    def _definition(self, entry: str, slots: Sequence[Any]) -> tuple[ast.stmt, ...]:
        """The statements that define a nested function again; the same objects every time."""
        if entry not in self._definitions:
            name, _, place = entry[len(AGAIN) :].partition("@")
            number, line, column, held = place.split(":")
            found = _named_definition(name, _definition_at(self.tree(int(number), slots), int(line), int(column)))
            hidden = held.split(",") if held else []
            self._definitions[entry] = _with_held(name, found, {each: f"{HELD}{number}_{each}" for each in hidden})
        return self._definitions[entry]

    def tree(self, number: int, slots: Sequence[Any]) -> ast.FunctionDef:
        """The normalised tree of a function, the same object every time."""
        if number not in self._trees:
            reference = self.info.functions[number]
            original, _, _ = self._source(number, reference, slots)
            self._trees[number] = split_stores(normalise(original, frozenset(reference.calls)))
        return self._trees[number]

    def _source(
        self, number: int, reference: FunctionRef, slots: Sequence[Any]
    ) -> tuple[ast.FunctionDef | ast.Lambda, FunctionSource, FunctionType]:
        if number in self._sources:
            return self._sources[number]
        if reference.parent < 0:
            found = self._real(self.function)
        elif reference.steps[0][0] == "def":
            parent = self._source(reference.parent, self.info.functions[reference.parent], slots)
            _, line, column = reference.steps[0]
            found = (_definition_at(parent[0], int(line), int(column)), parent[1], parent[2])
        else:
            found = self._real(_reach(reference, slots))
        self._sources[number] = found
        return found

    @staticmethod
    def _real(function: FunctionType) -> tuple[ast.FunctionDef | ast.Lambda, FunctionSource, FunctionType]:
        source = read_function(function)
        return source.tree, source, function


def root_place(function: FunctionType, info: KernelInfo, path: Sequence[int]) -> tuple[int, int]:
    """Where the statement of the program itself stands that a path leads to."""
    tree = Resumer(function, info).tree(0, ())
    found = statement_at(tree, tuple(path))
    return found.lineno, found.col_offset


def _reach(reference: FunctionRef, slots: Sequence[Any]) -> FunctionType:
    """The function a reference leads to."""
    target: Any = None
    for kind, *rest in reference.steps:
        if kind == "slot":
            target = slots[int(rest[0])]
        elif kind == "stand-in":
            target = named_stand_in(str(rest[0]))
        else:
            found = vars_of(cast("type[Any]", type(target)), str(rest[0]))
            target = found.__func__ if isinstance(found, staticmethod) else found
    return undecorated(target)


def vars_of(cls: type, name: str) -> Any:
    """An attribute of a class as it is stored, not bound."""
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    raise AttributeError(name)


def _named_definition(name: str, found: ast.FunctionDef | ast.Lambda) -> ast.stmt:
    if isinstance(found, ast.Lambda):
        target = ast.copy_location(ast.Name(name, ast.Store()), found)
        return ast.copy_location(ast.Assign([target], found), found)
    renamed = copy.copy(found)
    renamed.name = name
    return renamed


def _with_held(name: str, definition: ast.stmt, held: dict[str, str]) -> tuple[ast.stmt, ...]:
    """The definition, where some variables go by other names: in a function of their own that has them as parameters.

    before:  def f(x): return x - a
    after:   def __weft_maker(a):                      f = __weft_maker(__weft_held0_a)
                 def f(x): return x - a
                 return f
    """
    if not held:
        return (definition,)
    maker = function_tree(_MAKER, [*held], [definition, ast.Return(ast.Name(name, ast.Load()))])
    given: list[ast.expr] = [ast.Name(other, ast.Load()) for other in held.values()]
    call = ast.Assign([ast.Name(name, ast.Store())], ast.Call(ast.Name(_MAKER, ast.Load()), given, []))
    return tuple(ast.fix_missing_locations(ast.copy_location(stmt, definition)) for stmt in (maker, call))


def _definition_at(tree: ast.AST, line: int, column: int) -> ast.FunctionDef | ast.Lambda:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda) and (node.lineno, node.col_offset) == (line, column):
            return node
    raise LookupError(f"no function at line {line}, column {column}")
