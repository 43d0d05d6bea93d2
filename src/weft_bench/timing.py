"""Interleaved timing: one run of each candidate in turn, so that a slow moment of the machine hits all of them.

in:   functions and a maker of fresh arguments
out:  per function, the seconds of every run
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, cast

import numpy as np

from weft_bench.kernel import Inputs
from weft_bench.resting import come_to_rest


def fresh(inputs: Inputs) -> Inputs:
    """Arguments for one run that nobody has touched: copies of every array, as a wrong program may write to any."""
    return {name: _copied(value) for name, value in inputs.items()}


def _copied(value: Any) -> Any:
    """In the memory order it has; inside lists, tuples and dicts too."""
    if isinstance(value, np.ndarray):
        return cast("np.ndarray[Any, Any]", value).copy(order="K")
    if type(value) in (list, tuple):
        return type(value)(_copied(item) for item in value)
    if type(value) is dict:
        return {key: _copied(item) for key, item in cast("dict[Any, Any]", value).items()}
    return value


def run_once(function: Callable[..., Any], arguments: Inputs) -> tuple[Any, float]:
    """The result and the seconds it took."""
    start = time.perf_counter()
    result = function(**arguments)
    return result, time.perf_counter() - start


def time_interleaved(
    functions: Sequence[Callable[..., Any]], make_arguments: Callable[[], Inputs], repetitions: int
) -> list[float]:
    """The median seconds of each function; all of them have run before."""
    return [median(times) for times in time_every_run(functions, make_arguments, repetitions)]


def time_every_run(
    functions: Sequence[Callable[..., Any]], make_arguments: Callable[[], Inputs], repetitions: int
) -> list[list[float]]:
    """The seconds of each function in every turn; a turn runs all of them, on fresh arguments made outside the time.

    Each begins when the threads of the one before have come to rest.
    """
    seconds: list[list[float]] = [[] for _ in functions]
    for _ in range(repetitions):
        for function, times in zip(functions, seconds, strict=True):
            arguments = make_arguments()
            come_to_rest()
            times.append(run_once(function, arguments)[1])
    return seconds
