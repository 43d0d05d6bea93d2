"""A table of programs: a decorator notes a function with its arguments, one test runs them all.

TABLE = Table()

@TABLE.add(lambda: (f8(3), 2), lambda: (f8(0), 2))
def scale(a, k):
    return a * k
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

import pytest

import weft
from tests.end_to_end.outcome import MakeArguments, assert_same_outcome, run, stats_of

F = TypeVar("F", bound=Callable[..., Any])

# What is asked of a row beyond the right outcome: compiled code does all of it; it is compiled, but a guard may hand
# over to Python; nothing more (the whole function may run in Python).
Need: TypeAlias = Literal["native", "compiled", "right"]


@dataclass(frozen=True, slots=True)
class Row:
    """One program and the arguments it is run with."""

    function: Callable[..., Any]
    makers: tuple[MakeArguments, ...]
    ulps: float
    need: Need

    def check(self) -> None:
        """Each set of arguments in a program of its own, then all in one, in turn."""
        fallback = "warn" if self.need == "right" else "error"
        together = weft.program(self.function, fallback=fallback)
        for number, make in enumerate(self.makers):
            where = f"{self.function.__name__}, arguments {number}:"
            expected = run(self.function, make())
            program = weft.program(self.function, fallback=fallback)
            assert_same_outcome(run(program, make()), expected, self.ulps, where)
            assert_same_outcome(run(program, make()), expected, self.ulps, f"{where} second call:")
            assert_same_outcome(run(together, make()), expected, self.ulps, f"{where} after others:")
            self.check_counters(stats_of(program), raised=expected.error is not None, where=where)

    def check_counters(self, counters: dict[str, int], raised: bool, where: str) -> None:
        """Compiled code did as much as is asked; exceptions are always Python's."""
        if self.need == "right":
            return
        assert counters["fallback_calls"] == 0, (where, counters)
        assert counters["native_calls"] + counters["resumes"] > 0, (where, counters)
        if self.need == "native" and not raised:
            assert counters["resumes"] == 0, (where, counters)


@dataclass(frozen=True, slots=True)
class Table:
    """The rows noted so far."""

    rows: list[Row] = field(default_factory=list)

    def add(self, *makers: MakeArguments, ulps: float = 0.0, need: Need = "native") -> Callable[[F], F]:
        """Note a function; without makers it is called with no arguments."""

        def note(function: F) -> F:
            self.rows.append(Row(function, makers or (tuple,), ulps, need))
            return function

        return note

    def parametrize(self) -> pytest.MarkDecorator:
        """The mark for a test with a parameter `row`; pytest reads the rows when it collects, so more may follow."""
        return pytest.mark.parametrize("row", self.rows, ids=lambda row: row.function.__name__)
