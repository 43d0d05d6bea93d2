"""Programs of these themes that Weft does not compile: they run in Python, announced, with the right result.

When one of them compiles, its place is among the themes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

import weft
from tests.end_to_end.outcome import MakeArguments, assert_same_outcome, run
from tests.legality.data import numbers, positions

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Refused:
    """A program, arguments, and the words of the refusal."""

    function: Callable[..., Any]
    make: MakeArguments
    reason: str

    def check(self) -> None:
        """Announced once, and as Python does it."""
        program = weft.program(self.function, fallback="warn")
        actual = run(program, self.make())
        assert_same_outcome(actual, run(self.function, self.make()))
        assert [warning.category for warning in actual.own_warnings] == [weft.FallbackWarning]
        assert self.reason in str(actual.own_warnings[0].message)


REFUSED: list[Refused] = []


def refused(make: MakeArguments, reason: str) -> Callable[[F], F]:
    """Note a program."""

    def note(function: F) -> F:
        REFUSED.append(Refused(function, make, reason))
        return function

    return note


@refused(lambda: (np.minimum(positions(9, 9), np.arange(9)),), "indexing with arrays or lists is not compiled yet")
def find_from_the_loop_variable(parent):
    # x is a Python int first and a NumPy int after: not an index yet (and the message speaks of arrays).
    for i in range(len(parent)):
        x = i
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]


@refused(lambda: (numbers(9), positions(9, 9), numbers(9, seed=1)), "indexing with arrays or lists is not compiled yet")
def scatter_at_once(a, idx, b):
    # Repeated indices count once here, unlike in the loop.
    a[idx] += b


@refused(lambda: (numbers(9), positions(9, 9)), "indexing with arrays or lists is not compiled yet")
def gather_from_itself(a, idx):
    # The right side is a copy: all reads come first.
    a[:] = a[idx] + a


@refused(lambda: (numbers(9),), "indexing with arrays or lists is not compiled yet")
def masked_update(a):
    # The mask is from before the write.
    a[a > 0] -= 5


@refused(lambda: (numbers(9), positions(9, 9), numbers(9, seed=1)), "method 'at' is not compiled")
def scatter_add_at(a, idx, b):
    # Every repetition counts.
    np.add.at(a, idx, b)


@refused(lambda: (numbers(9), 4.0), "break and continue in a loop over a tuple are not compiled")
def break_out_of_a_tuple(a, limit):
    # A loop over a tuple is unrolled.
    for shift in (1, 2, 3):
        if a[shift] > limit:
            break
        a[shift:] += a[:-shift]


@refused(lambda: (numbers(9), numbers(9, seed=1)), "'try' statements are not compiled")
def caught_in_the_middle(a, b):
    # The exception ends the loop, not the function.
    try:
        for i in range(len(a)):
            a[i] = b[i + 1]
    except IndexError:
        a[0] = -1


@refused(lambda: (numbers(9),), "method 'append' is not compiled")
def results_in_a_list(a):
    # The list keeps every array of the loop alive.
    found = []
    for i in range(len(a)):
        found.append(a[i:] * 2)
        a += 1
    return found[0], found[-1]


@refused(lambda: (numbers(9), numbers(9, seed=1), numbers(9, np.bool_)), "keyword 'where' of numpy.add is not compiled")
def masked_ufunc(a, b, mask):
    # Elements outside the mask keep what they had.
    np.add(a[:-1], b[1:], out=a[1:], where=mask[1:])
