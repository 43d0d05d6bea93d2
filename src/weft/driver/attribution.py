"""Where a wrong answer comes from: the source line, and the first pass after which the interpreter's answer changes.

in:   a call before it was made, Python's outcome, the difference that was found
out:  a `Span`; a sentence about the pass

The interpreter evaluates the graph after every step of the compiler on copies of the arguments, and each answer is
compared with Python's by the same rules as the compiled one. It is slow, so a call on large arrays is cut down first;
if the difference does not show on the small ones, the search is given up, and the sentence says so.
"""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Final

from weft.driver.bounds import Bounds
from weft.driver.comparison import EXCEPTION, RESULT, WARNINGS, Difference, Outcome, Permits, compare_outcomes
from weft.driver.compiler import Stage
from weft.driver.graph_runs import Graphs, run_graph
from weft.driver.options import Options
from weft.driver.output_places import find_targets, last_return, last_writer
from weft.driver.shrinking import shrink
from weft.driver.snapshots import Call
from weft.interp import TooSlow
from weft.ir.nodes import Program
from weft.support.abi import SlotKind
from weft.support.errors import WeftError
from weft.support.spans import Span

MAX_ELEMENTS: Final = 100_000
_LIMIT_S: Final = 2.0


class Attribution:
    """Looks for the origin of differences of one function. `run_python` and `run_compiled` make a call anew."""

    def __init__(
        self,
        graphs: Graphs,
        options: Options,
        run_python: Callable[[Call], Outcome],
        run_compiled: Callable[[Call], Outcome],
    ) -> None:
        self.graphs, self.options = graphs, options
        self.run_python, self.run_compiled = run_python, run_compiled

    # -- the line

    def line(self, before: Call, difference: Difference, errors: Sequence[Exception | None]) -> Span:
        """The statement that last wrote what differs; for an exception, the one that raised it."""
        function: FunctionType = self.graphs.function
        if difference.place == EXCEPTION:
            for error in errors:
                span = raised_at(function, error)
                if span is not None:
                    return span
        stages = self.graphs.of(before)
        if not stages:
            return Span.from_code(function.__code__)
        program = stages[0].program
        found = last_writer(program, find_targets(program, function, difference.place))
        if found is None and difference.place.kind == RESULT.kind:
            found = last_return(program)
        return found or Span.from_code(function.__code__)

    # -- the pass

    def origin(self, before: Call, expected: Outcome, difference: Difference, bounds: Permits) -> str:
        """A sentence: which pass changes the answer, or why that is not known."""
        if difference.place == WARNINGS:
            return "no pass: warnings are found by the generated code and given by the dispatcher"
        stages = self.graphs.of(before)
        if not stages:
            return f"no graph: the call runs in Python ({self.graphs.problem}), so its two runs in Python differ"
        elements = sum(array.size for array in before.arrays())
        if elements <= MAX_ELEMENTS:
            try:
                return self.search(stages, before, expected, bounds)
            except TooSlow:
                reason = f"the interpreter takes more than {_LIMIT_S:.0f} s for these arguments"
        else:
            reason = f"{elements} elements are too many for the interpreter"
        return self.search_small(before, reason)

    def search_small(self, before: Call, reason: str) -> str:
        """The same on small arrays, if the difference shows there."""
        stages, small = self.graphs.of(before), shrink(before)
        skipped = f"not searched for the pass: {reason}"
        if small is None or not stages or _changes_globals(stages[0].program):
            return f"{skipped}, and they cannot be cut down"
        expected, got = self.run_python(small.copied()), self.run_compiled(small.copied())
        bounds = Bounds(self.graphs, small, self.options)
        stages = self.graphs.of(small)
        if not stages or compare_outcomes(got, expected, bounds) is None:
            return f"{skipped}, and on small arrays there is no difference"
        try:
            return f"{self.search(stages, small, expected, bounds)} (seen on arrays cut down to a few elements)"
        except TooSlow:
            return skipped

    def search(self, stages: Sequence[Stage], before: Call, expected: Outcome, bounds: Permits) -> str:
        """Step by step; raises TooSlow."""
        end = time.monotonic() + _LIMIT_S
        for number, stage in enumerate(stages):
            if number and stage.program is stages[number - 1].program:
                continue  # a pass that had nothing to do
            problem = _answer(stage, before, expected, bounds, end - time.monotonic())
            if not problem:
                continue
            if number == 0:
                which = "before any pass" if len(stages) > 1 else "that is compiled"
                return f"the graph {which} already differs: {problem}"
            return f"'{stage.name}' is the first pass after which the interpreter's answer changes: {problem}"
        return (
            "no pass: the interpreter agrees after every pass, "
            "so the difference is in the code generator or the C compiler"
        )


def _answer(stage: Stage, before: Call, expected: Outcome, bounds: Permits, limit_s: float) -> str:
    """How the interpreter's answer differs from Python's; nothing if it does not."""
    try:
        outcome = run_graph(stage.program, before.copied(), limit_s=limit_s)
    except TooSlow:
        raise
    except WeftError as problem:
        return str(problem).splitlines()[0]
    found = compare_outcomes(outcome, expected, bounds, surface=False, who="the interpreter")
    return "" if found is None else f"{found.place.text}, {found.text}"


def _changes_globals(program: Program) -> bool:
    """Whether running the program again would change something of the user's."""
    outside = (SlotKind.GLOBAL, SlotKind.CELL, SlotKind.MAPPING)
    return any(arg.written for slot, arg in zip(program.slots, program.args, strict=True) if slot.kind in outside)


def raised_at(function: FunctionType, error: Exception | None) -> Span | None:
    """The innermost line of the function's file that an exception passed through."""
    file = function.__code__.co_filename
    line = 0
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    if not line:
        return None
    text = linecache.getline(file, line).rstrip()
    start = len(text) - len(text.lstrip())
    return Span(file, line, start, max(len(text), start + 1), text)
