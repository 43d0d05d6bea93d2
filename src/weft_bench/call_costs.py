"""What a call costs by its arguments: tiny kernels through Weft, an empty Python function, a NumPy ufunc.

in:   `python -m weft_bench.call_costs ROUNDS TURNS [CASE...]`, in a process of its own
out:  one JSON list of `CallCost`, nanoseconds

The kernels touch one element of each array, so that what is left is the call: checking the arguments, choosing the
variant, making the result.
"""

from __future__ import annotations

import json
import sys
import timeit
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

import weft

# Programs as users write them: Weft takes the types from the values.
# ruff: noqa: ANN001, ANN201, D103
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false


def no_arguments():
    return 1.0


def one_array(a):
    a[0] = 1.0


def two_arrays(a, b):
    b[0] = a[0]


def three_arrays(a, b, c):
    c[0] = a[0] + b[0]


def four_arrays(a, b, c, d):
    d[0] = a[0] + b[0] + c[0]


def five_arrays(a, b, c, d, e):
    e[0] = a[0] + b[0] + c[0] + d[0]


def six_arrays(a, b, c, d, e, f):
    f[0] = a[0] + b[0] + c[0] + d[0] + e[0]


def new_array(a):
    return a + 1.0


def one_float(x):
    return x + 1.0


def array_and_scalars(a, x, n):
    a[0] = x + n


def keywords(a, b, x=1.0):
    b[0] = a[0] + x


def list_of_two(items):
    return items[0][0] + items[1][0]


def dictionary_of_two(items):
    return items["x"][0] + items["y"][0]


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel, the words between the parentheses of its call, and the call of NumPy that takes the same arrays."""

    name: str
    kernel: Callable[..., Any]
    words: str
    ufunc: str = ""


CASES = (
    Case("no arguments", no_arguments, ""),
    Case("1 array", one_array, "a", "negative(a, a)"),
    Case("2 arrays", two_arrays, "a, b", "negative(a, b)"),
    Case("3 arrays", three_arrays, "a, b, c", "add(a, b, c)"),
    Case("4 arrays", four_arrays, "a, b, c, d"),
    Case("5 arrays", five_arrays, "a, b, c, d, e"),
    Case("6 arrays", six_arrays, "a, b, c, d, e, f"),
    Case("1 array, returns a new one", new_array, "a", "add(a, 1.0)"),
    Case("a float, returns a float", one_float, "1.5", "add(1.5, 1.0)"),
    Case("an array, a float, an int", array_and_scalars, "a, 1.5, 3"),
    Case("2 arrays, 1 keyword", keywords, "a, b, x=2.0"),
    Case("3 keywords", keywords, "a=a, b=b, x=2.0", "negative(a, out=b)"),
    Case("a list of 2 arrays", list_of_two, "[a, b]"),
    Case("a dictionary of 2 arrays", dictionary_of_two, '{"x": a, "y": b}'),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """Nanoseconds of a call in the best round, for noise only adds; `numpy` is None where it has no such call."""

    name: str
    weft: float
    python: float
    numpy: float | None


def make_names() -> dict[str, Any]:
    """What the calls are about: arrays of four numbers."""
    names: dict[str, Any] = {letter: np.arange(4.0) + number for number, letter in enumerate("abcdef")}
    return names | {"negative": np.negative, "add": np.add}


def measure_case(case: Case, rounds: int, turns: int) -> CallCost:
    """Time the candidates in turn, a round of calls each, and take the empty loop off."""
    program = weft.program(case.kernel, fallback="error")
    parameters = ", ".join(case.kernel.__code__.co_varnames[: case.kernel.__code__.co_argcount])
    names = make_names() | {"program": program, "empty": eval(f"lambda {parameters}: None")}
    statements = ["pass", f"program({case.words})", f"empty({case.words})", case.ufunc or "pass"]
    timers = [timeit.Timer(statement, globals=names) for statement in statements]
    for timer in timers:
        timer.timeit(10)  # compiles
    times = [[timer.timeit(turns) / turns * 1e9 for timer in timers] for _ in range(rounds)]
    if program.stats.native_calls < rounds * turns:
        raise RuntimeError(f"{case.name}: Weft gave calls to Python: {program.stats.reasons}")
    nothing, native, python, ufunc = (min(column) for column in zip(*times, strict=True))
    return CallCost(
        name=case.name,
        weft=native - nothing,
        python=python - nothing,
        numpy=ufunc - nothing if case.ufunc else None,
    )


def measure_calls(rounds: int, turns: int, names: Sequence[str] = ()) -> list[CallCost]:
    """The cost of the cases named, of all of them by default."""
    return [measure_case(case, rounds, turns) for case in CASES if not names or case.name in names]


def read_costs(text: str) -> list[CallCost]:
    """What the module prints, as objects."""
    return [CallCost(**row) for row in cast("list[dict[str, Any]]", json.loads(text))]


if __name__ == "__main__":
    costs = measure_calls(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    print(json.dumps([asdict(cost) for cost in costs]))
