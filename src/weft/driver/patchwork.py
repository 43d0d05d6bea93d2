"""A program of which Python runs some statements: the function, cut around them, and its pieces.

in:   a function, and what stood in the way of compiling it as a whole
out:  a Python function that does the same, in which the statements that can be compiled are programs of their own

    f(a) --> Engine: does not compile, statement 3 is the reason
               cut (weft.frontend.cutting)
             def f(a):  piece0, statement 3, piece1         Python's own statements, the pieces called between them
                          |                    |
                        Engine               Engine         each compiled for what it is really given, or cut in turn

No type is guessed across a statement that Python runs: a piece is compiled when it is reached, for the objects that are
there, and its dispatcher checks types, layouts and overlap on every call like that of any program. Whatever is handed
to Python is an ordinary object, so nothing has to be known about what Python does with it.

A piece of plain arithmetic without a loop runs in Python the first time: most such code runs once, and a kernel takes
half a second. Other functions and sums are compiled at once: what NumPy gives for them may differ in the last bits, and
all calls are to give the same.
"""

from __future__ import annotations
import __future__

import ast
import copy
import time
from collections.abc import Callable
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, Final

from weft.driver.family import CutFunction, PythonPlace
from weft.frontend.absent_names import NO_NAME, NO_VALUE
from weft.frontend.apart import calls_of_users, with_calls_apart
from weft.frontend.cutting import CLOCK, SPENT, Cut, Piece, Place, cut, places_naming, statement_place
from weft.frontend.source import FunctionSource, SourceUnavailable, read_function, remember_source
from weft.frontend.trees import LOCAL, function_tree, inner_code, local_value
from weft.support.absent import NoValue
from weft.support.errors import CompileError

if TYPE_CHECKING:
    from weft.driver.engine import Engine

_MAX_MARKS: Final = 24
_MAX_SETTLED: Final = 4
_EXACT: Final = (LOCAL, "len", "int", "float", "bool", "abs", "min", "max", "range", "isinstance")


class Patchwork:
    """Cuts one function again and again, as reasons to are found."""

    def __init__(self, engine: Engine, start: Callable[[FunctionType, CellType], Callable[..., Any]]) -> None:
        self.engine, self.start = engine, start
        self.marks: dict[Place, CompileError] = {}
        self.function: CutFunction | None = None
        self._cells: dict[str, CellType] = {}  # of the pieces, by their text and place
        self._little: frozenset[Place] = frozenset()
        self._times_settled = 0

    def refuse(self, problem: CompileError) -> CutFunction | None:
        """The function cut around what `problem` says; None where Python runs all of it."""
        try:
            source = read_function(self.engine.function)
        except SourceUnavailable:
            return None
        if not isinstance(source.tree, ast.FunctionDef) or len(self.marks) > _MAX_MARKS:
            return None
        found = dict.fromkeys(_places(source.tree, problem), problem)
        if not found:
            return None
        if not found.keys() - self.marks.keys():  # for the same reason, with other types
            return self.function
        self.marks = {**found, **self.marks}
        self.engine.family.marks = {**found, **self.engine.family.marks}
        return self._cut(source)

    def settled(self, function: CutFunction) -> CutFunction:
        """The same with the pieces of pieces in it: what was found by cutting those is known before the next call.

        before:  while queue: u = queue.popleft(); piece0(u)      piece0: for v in ...: piece1(v)
        after:   while queue: u = queue.popleft(); for v in ...: ...

        A statement in an inner loop is not worth a call of Python for every piece around it. Nor is a piece that does
        too little for a kernel: its statements stand where it was called.
        """
        family = self.engine.family
        is_same = len(family.marks) == len(self.marks) and len(family.little) == len(self._little)
        if is_same or self._times_settled >= _MAX_SETTLED:
            return self.function or function
        self._times_settled += 1
        self.marks, self._little = {**family.marks}, frozenset(family.little)
        whole = self.engine.function
        self.function = self._cut(read_function(whole)) or CutFunction(whole, whole)
        return self.function

    def _cut(self, source: FunctionSource) -> CutFunction | None:
        assert isinstance(source.tree, ast.FunctionDef)
        marked = frozenset(self.marks)
        tree = with_calls_apart(source.tree, marked, self.engine.function)
        made = cut(tree, marked, self._little, calls_of_users(tree, self.engine.function))
        if made is not None and any(_is_whole(piece, tree) for piece in made.pieces):
            made = None  # nothing was cut off: that piece would be refused again, and for ever
        self.function = self._build(source, made) if made is not None else None
        return self.function

    def _build(self, source: FunctionSource, made: Cut) -> CutFunction:
        family, function = self.engine.family, self.engine.function
        cells = {piece.variable: self._piece(source, piece) for piece in made.pieces}
        places = [self._place(source, place) for place in made.python]
        family.places += [place for place in places if place not in family.places]
        known = {**cells, CLOCK: CellType(time.perf_counter), SPENT: CellType(_spending(places)), **COMMON}
        plain = make_function(made.plain, function, known, source.filename)
        timed = make_function(made.timed, function, known, source.filename)
        return CutFunction(plain, timed)

    def _place(self, source: FunctionSource, place: Place) -> PythonPlace:
        inner = [mark for mark in self.marks if mark >= place]
        problem = self.marks[place] if place in self.marks else self.marks[min(inner)]
        new = PythonPlace(source.filename, place[0], problem.message, problem.hint)
        return next((old for old in self.engine.family.places if old.is_at(new)), new)

    def _piece(self, source: FunctionSource, piece: Piece) -> CellType:
        text = ast.dump(piece.tree, include_attributes=True)
        if text not in self._cells:
            self._cells[text] = self._new_piece(source, piece)
        return self._cells[text]

    def _new_piece(self, source: FunctionSource, piece: Piece) -> CellType:
        function = make_function(piece.tree, self.engine.function, COMMON, source.filename)
        line = piece.tree.lineno
        remember_source(
            function.__code__,
            FunctionSource(piece.tree, source.lines, source.filename, line, ast.unparse(piece.tree)),
        )
        cell = CellType()
        start = self.start(function, cell)
        waits = not self.engine.is_piece and _may_wait(piece.tree)
        cell.cell_contents = _later(function, cell, start) if waits else start
        return cell


def piece_place(function: FunctionType) -> Place:
    """Where the first statement of a piece stands."""
    tree = read_function(function).tree
    return tree.lineno, tree.col_offset


def _places(tree: ast.FunctionDef, problem: CompileError) -> frozenset[Place]:
    if problem.culprit:
        return places_naming(tree, problem.culprit)
    place = statement_place(tree, *problem.place) if problem.place is not None else None
    return frozenset() if place is None else frozenset((place,))


def _is_whole(piece: Piece, tree: ast.FunctionDef) -> bool:
    return ast.dump(ast.Module(piece.tree.body, [])) == ast.dump(ast.Module(tree.body, []))


def _may_wait(tree: ast.FunctionDef) -> bool:
    """Whether Python may run a piece the first time: without loops it takes no longer than once.

    It must give the bits that a kernel gives later, so there may be nothing in it but arithmetic.
    """
    nodes = list(ast.walk(tree))
    inexact = any(isinstance(node, ast.MatMult | ast.Pow) for node in nodes)
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    exact = all(isinstance(called, ast.Name) and called.id in _EXACT for called in calls)
    return exact and not inexact and not any(isinstance(node, ast.For | ast.While) for node in nodes)


def _later(function: FunctionType, cell: CellType, start: Callable[..., Any]) -> Callable[..., Any]:
    """The piece in Python, once."""

    def first(*args: Any) -> Any:
        cell.cell_contents = start
        return function(*args)

    return first


def _spending(places: list[PythonPlace]) -> Callable[[int, float], None]:
    clock = time.perf_counter

    def spent(number: int, since: float) -> None:
        place = places[number]
        place.seconds += clock() - since
        place.turns += 1

    return spent


COMMON: Final = {LOCAL: CellType(local_value), NO_VALUE: CellType(NoValue), NO_NAME: CellType(NameError)}


def make_function(
    tree: ast.FunctionDef, original: FunctionType, known: dict[str, CellType], filename: str
) -> FunctionType:
    """A function from a tree, with the globals, free variables and defaults of the original."""
    cells = {**dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True)), **known}
    inner = copy.copy(tree)
    inner.args, inner.decorator_list, inner.returns = _without_defaults(tree.args), [], None
    inner.name = "__weft_inner"  # what the text calls by the name of the original is the original
    outer = function_tree("__weft_make", list(cells), [ast.copy_location(inner, tree)])
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, tree)], []))
    flags = original.__code__.co_flags & _FUTURE
    compiled = compile(module, filename, "exec", flags=flags, dont_inherit=True)
    code = inner_code(inner_code(compiled))
    code = code.replace(co_name=original.__name__, co_qualname=original.__qualname__)
    closure = tuple(cells[name] for name in code.co_freevars)
    same = code.co_argcount == original.__code__.co_argcount
    made = FunctionType(code, original.__globals__, original.__name__, original.__defaults__ if same else None, closure)
    made.__kwdefaults__ = original.__kwdefaults__ if same else None
    made.__module__, made.__qualname__ = original.__module__, original.__qualname__
    return made


def _without_defaults(args: ast.arguments) -> ast.arguments:
    """Parameters alone: defaults were evaluated when the original was defined, annotations do not matter."""
    new = copy.copy(args)
    new.posonlyargs = [ast.arg(arg.arg) for arg in args.posonlyargs]
    new.args = [ast.arg(arg.arg) for arg in args.args]
    new.kwonlyargs = [ast.arg(arg.arg) for arg in args.kwonlyargs]
    new.vararg, new.kwarg = (ast.arg(arg.arg) if arg else None for arg in (args.vararg, args.kwarg))
    new.defaults, new.kw_defaults = [], [None] * len(args.kwonlyargs)
    return new


_FUTURE: Final = sum({int(getattr(__future__, name).compiler_flag) for name in __future__.all_feature_names})
