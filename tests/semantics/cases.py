"""The table of the promise: programs that each hold many cases, run compiled and in Python and compared in full.

in:   a function and the arguments of its calls, or the text of a function that is written by a loop
out:  nothing, or an AssertionError that says where the two differ

A function is compiled once for all its calls: a case is picked by an argument, so that a compilation pays for many.
"""

from __future__ import annotations

import itertools
import linecache
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

import weft
from tests.end_to_end.outcome import MakeArguments, assert_same_outcome, run, stats_of

Need: TypeAlias = Literal["native", "compiled", "right"]

DTYPES = ("?", "b", "h", "i", "l", "B", "H", "I", "L", "f", "d", "F", "D")
NUMBERS = {
    "b": [True, False, True, True],
    "i": [-7, 3, 0, 5],
    "u": [7, 3, 0, 250],
    "f": [-1.5, 0.0, 2.5, -0.0],
    "c": [1 + 2j, -1j, 0, 2.5],
}
_numbers = itertools.count()


def sample(dtype: str) -> np.ndarray:
    """Four numbers of a type: signs, zeros, one that is large for a byte."""
    return np.array(NUMBERS[np.dtype(dtype).kind]).astype(dtype)


def define(text: str, **names: Any) -> Callable[..., Any]:
    """The function `f` of a text, with its source where Weft looks for it."""
    file = f"<semantics {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np, **names}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def is_legal(expression: str, **operands: Any) -> bool:
    """Whether NumPy has an answer at all."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(expression, {"np": np}, operands)
        except Exception:  # noqa: BLE001 - whatever it is
            return False
    return True


def agree(function: Callable[..., Any], *makers: MakeArguments, need: Need = "compiled", ulps: float = 0.0) -> None:
    """One program for all the calls, each against Python: result, arguments, exception, warnings."""
    program = weft.program(function, fallback="warn" if need == "right" else "error")
    for number, make in enumerate(makers):
        before = stats_of(program)
        expected, actual = run(function, make()), run(program, make())
        where = f"{function.__name__}, call {number}:"
        if isinstance(actual.error, weft.CompileError):
            raise actual.error
        assert_same_outcome(actual, expected, ulps, where)
        after = stats_of(program)
        if need == "right":
            continue
        assert after["fallback_calls"] == before["fallback_calls"], (where, after)
        if need == "native" and expected.error is None:
            assert after["resumes"] == before["resumes"], (where, after)


def choices(count: int, *makers: Callable[[], Sequence[Any]]) -> list[MakeArguments]:
    """For every case `k` of a function and every maker: the arguments `k, *make()`."""
    return [lambda k=k, make=make: (k, *make()) for k in range(count) for make in makers]
