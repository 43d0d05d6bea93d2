"""`f.explain()`: the source of a program, line by line, with what became of it.

in:   the engines of a program and its pieces after some calls
out:  text: each line with its class and a note

    4 = |     b = np.sqrt(a) * 2 + 1        a loop over 1 axis, in parallel
    5 n |     w = np.sort(b)                calls numpy.sort
    6 ! |     print(w[0])                   Python: builtins.print is not compiled (12% of the time of the first call)
    7   |     k = 0                         (Python, too little to compile)

`=` is compiled, `n` a call of NumPy itself from compiled code, `!` runs in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from weft.driver.engine import Engine
from weft.driver.inspection import stages
from weft.frontend.cutting import Place, place_of
from weft.frontend.liveness import blocks, statements
from weft.frontend.source import FunctionSource, SourceUnavailable, read_function
from weft.ir.nodes import Loop, Map, MatMul, Node, NumpyCall, Reduce, Scan, Schedule, While
from weft.ir.traverse import all_nodes
from weft.support.errors import CompileError, WeftError

COMPILED, NUMPY, PYTHON, LITTLE = "=", "n", "!", " "
_SOURCE_WIDTH = 72
_LEGEND = "= compiled   n call of NumPy itself   ! runs in Python"


@dataclass(slots=True)
class Line:
    """What is known of one line: its class, and notes in order."""

    kind: str = ""
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> None:
        """Add a note once."""
        if text not in self.notes:
            self.notes.append(text)


def explain(engine: Engine) -> str:
    """The annotated source of a program, as far as it was called."""
    name = engine.function.__qualname__
    try:
        source = read_function(engine.function)
    except SourceUnavailable as problem:
        return f"{name} runs in Python: no source: {problem}"
    lines = _classify(engine, source)
    counts = {kind: sum(line.kind == kind for line in lines.values()) for kind in (COMPILED, NUMPY, PYTHON)}
    if not any(counts.values()) and not engine.stats.reasons:
        return f"{name} has not been compiled yet: call it first"
    head = f"{name} ({source.filename}:{source.first_line}): {counts[COMPILED]} lines compiled, " \
           f"{counts[NUMPY]} with calls of NumPy, {counts[PYTHON]} in Python"  # fmt: skip
    return "\n".join([head, _LEGEND, *_shown(source, lines)])


def _shown(source: FunctionSource, lines: dict[int, Line]) -> Iterator[str]:
    texts = source.source_text.splitlines()
    width = min(max((len(text) for text in texts), default=0), _SOURCE_WIDTH)
    digits = len(str(source.first_line + len(texts)))
    for number, text in enumerate(texts, start=source.first_line):
        line = lines.get(number, Line())
        notes = "; ".join(line.notes)
        yield f"{number:>{digits}} {line.kind or ' '} | {text:<{width}}   {notes}".rstrip()


def _classify(engine: Engine, source: FunctionSource) -> dict[int, Line]:
    found: dict[int, Line] = {}
    engines = [engine, *engine.family.engines]
    native = [each for each in engines if each.infos]
    for place, is_compound in _own_places(source).items():
        line = found.setdefault(place[0], Line())
        is_compiled = bool(engine.infos) or any(place in _own_places(read_function(e.function)) for e in native)
        line.kind = line.kind or (COMPILED if is_compiled else LITTLE)
        if not is_compiled:
            line.note("(Python, what is inside is compiled)" if is_compound else "(Python, too little to compile)")
    for each in native:
        _annotate(each, source, found)
    for place in engine.family.places:
        if place.line in found:
            found[place.line] = Line(PYTHON, [f"Python: {place.words()}"])
    _whole(engine, found)
    return found


def _annotate(engine: Engine, source: FunctionSource, found: dict[int, Line]) -> None:
    """What the nodes of a kernel say of their lines."""
    for node in _final_nodes(engine):
        span, words = getattr(node, "span", None), _words(node)
        if span is None or not words or span.file != source.filename or span.line not in found:
            continue
        found[span.line].note(words)
        if isinstance(node, NumpyCall):
            found[span.line].kind = NUMPY
    for remark in engine.infos[-1].remarks:
        if remark.line in found:
            found[remark.line].note(remark.text)


def _whole(engine: Engine, found: dict[int, Line]) -> None:
    """Where no kernel was made at all, every line is Python's, and the first says why."""
    if engine.infos or engine.family.places or not engine.stats.reasons:
        return
    for number in found:
        found[number] = Line(PYTHON)
    if found:
        found[min(found)].note(f"Python: {engine.stats.reasons[0]}")


def _own_places(source: FunctionSource) -> dict[Place, bool]:
    """The places of all statements, and whether each has others inside."""
    if not isinstance(source.tree, ast.FunctionDef):
        return {(source.tree.lineno, source.tree.col_offset): False}
    return {place_of(stmt): any(blocks(stmt)) for _, stmt in statements(source.tree) if not _is_text(stmt)}


def _is_text(stmt: ast.stmt) -> bool:
    """A docstring."""
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _final_nodes(engine: Engine) -> Iterable[Node]:
    """The nodes of the newest variant after all passes."""
    try:
        return list(all_nodes(stages(engine)[-1].program.body))
    except (CompileError, WeftError):  # arguments of other types than the stand-ins show: no notes then
        return []


def _words(node: Node) -> str:
    match node:
        case Map(params=params, schedule=schedule):
            axes = f"{len(params)} ax{'is' if len(params) == 1 else 'es'}"
            manner = {Schedule.PARALLEL: ", in parallel", Schedule.SIMD: ", vectorized"}.get(schedule, "")
            return f"a loop over {axes}{manner}"
        case Reduce(op=op, schedule=schedule):
            return f"a reduction ({op}){', in parallel' if schedule is Schedule.PARALLEL else ''}"
        case Scan(op=op):
            return f"a running {op}"
        case MatMul():
            return "a matrix product, by NumPy's BLAS"
        case NumpyCall(function=function):
            return f"calls {function}"
        case Loop() | While():
            return "a loop in order"
        case _:
            return ""
