"""`f.explain()`: the source of a program, line by line, with what became of it.

in:   the engines of a program and its pieces after some calls
out:  text: each line with its class and a note

    4  60% = |     b = np.sqrt(a) * 2 + 1     a loop over 1 axis, in parallel (16 bytes, ...)
    5  20% n |     w = np.sort(b)             calls numpy.sort
    6  12% ! |     print(w[0])                Python: builtins.print is not compiled (12% of the time of the first call)
    7        |     k = 0                      (Python, too little to compile)

`=` is compiled, `n` a call of NumPy itself from compiled code, `!` runs in Python. What a line takes is estimated from
what its loops move and compute where all extents are 1000; for lines in Python it was measured in the first call. The
last line of all says which change would help most: what keeps the dearest of the lines that could be faster from it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from weft.analysis.compactions import collects
from weft.analysis.traffic import Traffic, traffic_of
from weft.driver.engine import Engine
from weft.driver.inspection import generated
from weft.driver.listing import COMPILED, LITTLE, NUMPY, PYTHON, Explanation, Line, Listing
from weft.frontend.cutting import Place, place_of
from weft.frontend.liveness import blocks, statements
from weft.frontend.source import FunctionSource, SourceUnavailable, read_function
from weft.ir.nodes import (
    Alloc,
    Loop,
    Map,
    MatMul,
    Node,
    NumpyCall,
    Program,
    Reduce,
    Scan,
    Schedule,
    Storage,
    While,
)
from weft.ir.traverse import all_nodes
from weft.passes.base import Record
from weft.support.errors import CompileError, WeftError
from weft.support.spans import Span

_WORTH_SAYING = 0.05
# The passes whose refusals cost time; what others left alone is no loss, or said by these as well.
_TELLING = frozenset(("loop-to-map", "inline-producers", "loops-inward", "block-calls"))
# The passes of whose work a line tells, and those that make something of a loop that stayed one before.
_TOGETHER = re.compile(r"^(?:.* is computed where it is read, in|two maps over the same points are one, with that of) ")
_MOVING = frozenset((
    "strip-loops", "jam-lines", "loops-inward", "private-bins", "private-arrays", "split-loops", "recurrences-outward",
    "sums-forward", "distribute-loops", "team-loops", "block-calls",
))  # fmt: skip
_SAYING = _MOVING | {
    "fuse-rows",
    "jam-rows",
    "slide-rows",
    "mirror-pairs",
    "fuse-reductions",
    "common-results",
    "add-products",
    "sweep-matrices",
    "block-products",
}
_INNER_NUMBER = re.compile(r"(?<=\w)\.\d+")


def explain(engine: Engine) -> Explanation:
    """The annotated source of a program, as far as it was called."""
    name = engine.function.__qualname__
    try:
        source = read_function(engine.function)
    except SourceUnavailable as problem:
        return _said(f"{name} runs in Python: no source: {problem}")
    lines = _classify(engine, source)
    counts = {kind: sum(line.kind == kind for line in lines.values()) for kind in (COMPILED, NUMPY, PYTHON)}
    if not any(counts.values()) and not engine.stats.reasons:
        return _said(f"{name} has not been compiled yet: call it first")
    head = f"{name} ({source.filename}:{source.first_line}): {counts[COMPILED]} lines compiled, " \
           f"{counts[NUMPY]} with calls of NumPy, {counts[PYTHON]} in Python"  # fmt: skip
    _share_out(engine, lines)
    texts = source.source_text.splitlines()
    return Explanation.of(Listing(head, source.first_line, texts, lines, _advice(source, lines)))


def _said(text: str) -> Explanation:
    return Explanation.of(Listing(text, 0, (), {}))


def _share_out(engine: Engine, lines: dict[int, Line]) -> None:
    """The shares of the time: measured ones of Python's lines, and of what is left, estimates."""
    for place in engine.family.places:
        if place.line in lines:
            lines[place.line].share = max(lines[place.line].share, place.share or 0.0)
    left = max(1.0 - sum(line.share for line in lines.values()), 0.0)
    total = sum(line.nanoseconds for line in lines.values())
    for line in lines.values():
        if not line.share and total:
            line.share = left * line.nanoseconds / total


def _advice(source: FunctionSource, lines: dict[int, Line]) -> str:
    """The one change that would help most; of a loop, with all that is in it."""
    ends = {stmt.lineno: stmt.end_lineno or stmt.lineno for stmt in ast.walk(source.tree) if isinstance(stmt, ast.stmt)}
    slow: list[tuple[float, int, Line]] = []
    for number, line in lines.items():
        if line.kind == PYTHON or line.hindrance:
            inside = range(number, ends.get(number, number) + 1)
            slow.append((sum(lines[at].share for at in inside if at in lines), number, line))
    share, number, line = max(slow, key=lambda item: (round(item[0], 3), -item[1]), default=(0.0, 0, Line()))
    if share < _WORTH_SAYING:
        return ""
    reason = line.hindrance or (line.notes[0] if line.notes else "runs in Python")
    return f"Most could be won at line {number} (about {share:.0%} of the time): {reason}"


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
    """What the nodes of a kernel, and the passes that made them, say of their lines."""
    try:
        made = generated(engine)
    except (CompileError, WeftError):  # arguments of other types than the stand-ins show: no notes then
        return
    program = made.stages[-1].program
    traffic = {getattr(node, "id", -1): amount for node, amount in traffic_of(program)}
    for node in all_nodes(program.body):
        amount = traffic.get(getattr(node, "id", -1))
        line, words = _line_of(getattr(node, "span", None), source, found), _words(node, program, amount)
        if line is not None and words:
            _tell(line, node, words, amount)
    _tell_records(made.session.records, source, found)


def _tell_records(records: Sequence[Record], source: FunctionSource, found: dict[int, Line]) -> None:
    """What the passes did with a line, and why it is no faster: what they said last of a loop holds."""
    moved = {record.span.line for record in records if record.done and record.step in _MOVING and record.span}
    for record in records:
        line, text = _line_of(record.span, source, found), _INNER_NUMBER.sub("", record.text)
        if line is None or record.span is None:
            continue
        if record.done:
            if _TOGETHER.match(text):
                line.note(f"fused with {_TOGETHER.sub('', text)}")
            elif record.step in _SAYING:
                line.note(text)
        elif record.wish or (record.step in _TELLING and record.span.line not in moved):
            line.note(text)
            line.hindrance = line.hindrance or text


def _line_of(span: Span | None, source: FunctionSource, found: dict[int, Line]) -> Line | None:
    return found.get(span.line) if span is not None and span.file == source.filename else None


def _tell(line: Line, node: Node, words: str, amount: Traffic | None) -> None:
    if amount is not None:
        line.nanoseconds += amount.nanoseconds
        moved = amount.words() if isinstance(node, Map | Reduce) or _is_swept(node) else ""
        words = f"{words} {moved}" if moved else words
    line.note(words)
    if isinstance(node, NumpyCall):
        line.kind = NUMPY


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
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)


def _words(node: Node, program: Program, amount: Traffic | None) -> str:
    match node:
        case Alloc(container=name) if program.containers[name].storage is Storage.TRANSIENT:
            rank = program.containers[name].rank
            return f"memory for an array of {rank} ax{'is' if rank == 1 else 'es'}" if rank else ""
        case Map(params=params, schedule=schedule):
            axes = f"{len(params)} ax{'is' if len(params) == 1 else 'es'}"
            manner = {Schedule.PARALLEL: ", in parallel", Schedule.SIMD: ", vectorized"}.get(schedule, "")
            return f"a loop over {axes}{manner}"
        case Reduce(op=op, schedule=schedule):
            return f"a reduction ({op}){', in parallel' if schedule is Schedule.PARALLEL else ''}"
        case Scan(op=op):
            return f"a running {op}"
        case MatMul() if _is_swept(node) and amount is not None:
            return f"a matrix times a vector{'' if amount.bytes else ', in the sweep of what stands before'}"
        case MatMul():
            return "a matrix product, by NumPy's BLAS"
        case NumpyCall(function=function):
            manner = (
                "calls for some turns at once, on threads," if node.tried else "draws by" if node.changes else "calls"
            )
            return f"{manner} {function}"
        case Loop() if collects(node):
            return "a loop that collects, in blocks and on threads"
        case Loop() | While():
            return "a loop in order"
        case _:
            return ""


def _is_swept(node: Node) -> bool:
    return isinstance(node, MatMul) and node.sweep
