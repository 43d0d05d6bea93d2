"""Programs whose guards fail: each with arguments for which all goes well, and arguments for which one does not.

in:   a table of functions, noted with good and bad arguments
out:  a check: good calls run in compiled code, the bad one ends as in Python, good calls after it are compiled again
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

import weft
from tests.end_to_end.outcome import MakeArguments, assert_same_outcome, run, stats_of

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class GuardRow:
    """A function, arguments that keep every guard, arguments that break one."""

    function: Callable[..., Any]
    good: MakeArguments
    bad: tuple[MakeArguments, ...]
    resumes: bool  # the guard is inside: Python takes over from compiled code (otherwise any route will do)

    def check(self) -> None:
        name = self.function.__name__
        program = weft.program(self.function, fallback="error")
        expected_good = run(self.function, self.good())
        assert expected_good.error is None, expected_good.error
        assert_same_outcome(run(program, self.good()), expected_good, where=f"{name}, before:")
        assert stats_of(program)["resumes"] == stats_of(program)["fallback_calls"] == 0, stats_of(program)
        for number, make in enumerate(self.bad):
            before = stats_of(program)
            assert_same_outcome(run(program, make()), run(self.function, make()), where=f"{name}, bad {number}:")
            after = stats_of(program)
            if self.resumes:
                assert after["resumes"] == before["resumes"] + 1, (number, before, after)
                assert after["fallback_calls"] == before["fallback_calls"], (number, before, after)
            assert_same_outcome(run(program, self.good()), expected_good, where=f"{name}, after bad {number}:")
            assert stats_of(program)["resumes"] == after["resumes"], (number, stats_of(program), after)
        self.check_cold()

    def check_cold(self) -> None:
        """The bad arguments are the first ones the program ever sees."""
        for number, make in enumerate(self.bad):
            program = weft.program(self.function, fallback="error")
            expected = run(self.function, make())
            assert_same_outcome(run(program, make()), expected, where=f"{self.function.__name__}, cold {number}:")
            assert stats_of(program)["fallback_calls"] == 0 or not self.resumes, stats_of(program)


@dataclass(frozen=True, slots=True)
class GuardTable:
    """The rows noted so far."""

    rows: list[GuardRow] = field(default_factory=list)

    def add(self, good: MakeArguments, *bad: MakeArguments, resumes: bool = True) -> Callable[[F], F]:
        """Note a function with its good and its bad arguments."""

        def note(function: F) -> F:
            self.rows.append(GuardRow(function, good, bad, resumes))
            return function

        return note

    def parametrize(self) -> pytest.MarkDecorator:
        """The mark for a test with a parameter `row`; pytest reads the rows when it collects, so more may follow."""
        return pytest.mark.parametrize("row", self.rows, ids=lambda row: row.function.__name__)
