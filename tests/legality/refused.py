"""Programs of these themes that Weft does not compile: they run in Python, announced, with the right result.

When one of them compiles, its place is among the themes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import weft
from tests.end_to_end.outcome import MakeArguments, assert_same_outcome, run
from tests.legality.data import numbers

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Refused:
    """A program, arguments, and the words of the refusal."""

    function: Callable[..., Any]
    make: MakeArguments
    reason: str

    def check(self) -> None:
        """Announced, once per place, and as Python does it."""
        program = weft.program(self.function, fallback="warn")
        actual = run(program, self.make())
        assert_same_outcome(actual, run(self.function, self.make()))
        assert {warning.category for warning in actual.own_warnings} == {weft.FallbackWarning}
        assert self.reason in str(actual.own_warnings[0].message)


REFUSED: list[Refused] = []


def refused(make: MakeArguments, reason: str) -> Callable[[F], F]:
    """Note a program."""

    def note(function: F) -> F:
        REFUSED.append(Refused(function, make, reason))
        return function

    return note


@refused(lambda: (numbers(9),), "a list")
def results_in_a_list(a):
    # The list keeps every array of the loop alive.
    found = []
    for i in range(len(a)):
        found.append(a[i:] * 2)
        a += 1
    return found[0], found[-1]
