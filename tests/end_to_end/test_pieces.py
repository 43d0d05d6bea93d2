# pyright: reportPossiblyUnboundVariable=false
"""Functions of which Python runs some statements: the rest is compiled, and all is as CPython has it."""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.outcome import assert_same_outcome, run

Make = Callable[[], tuple[Any, ...]]
LOG = logging.getLogger("tests.pieces")
SEEN: list[Any] = []


def keep(value: Any) -> Any:
    """Something Python does with what it is given, and keeps it."""
    exec("SEEN.append(value)", globals(), {"value": value})
    return value


def opaque(value: Any) -> Any:
    """Not compiled: it looks at its own frame."""
    eval("0")
    return value


def prints_in_a_loop(a: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        b = np.sqrt(a * a + i) - a / 2
        total += b.sum() * 0.5
        LOG.debug("turn %d", i)
    return total, b * 2 + a


def random_start(a: Any, n: int) -> Any:
    rng = np.random.default_rng(n)
    x = rng.normal(size=a.shape)
    for _ in range(n):
        x = 0.5 * (x + a / (np.abs(x) + 1.0))
    return x, np.abs(x - a).max() * 2


def kept_arrays_stay_apart(a: Any, n: int) -> Any:
    SEEN.clear()
    b = a * 2 + n
    keep(b)
    b = b + 1 - a
    c = b * 2 + 1
    keep(c)
    c += b * 3
    return SEEN[0].copy(), SEEN[1] is c, c


def a_call_changes_its_argument(a: Any, n: int) -> Any:
    b = a * 2 + n
    view = b[1:]
    opaque(b).fill(3.0)
    c = view * 2 + b[:-1] * n
    return b, c


def a_result_that_is_the_argument(a: Any, n: int) -> Any:
    b = opaque(a)
    b[1:] += b[:-1] * 2 + n
    a[0] = b.sum() * 2 + 1
    return a is b, a, b


def caught(a: Any, n: int) -> Any:
    b = a * 2 + n
    try:
        c = opaque(b)[n] * 2 + 1
        b[n + 1] = c * 2 + 1
    except IndexError as problem:
        c = len(str(problem)) * 2 + n
    d = b * 2 + c
    return d - a * 2, c


def cleaned_up(a: Any, n: int) -> Any:
    order = []
    try:
        b = opaque(a) * 2 + a[n]
        order.append(1)
    finally:
        order.append(2)
    c = b * 2 + n
    return c, order


@contextlib.contextmanager
def doubled(values: Any) -> Iterator[Any]:
    values *= 2
    yield values
    values += 1


def under_a_manager(a: Any, n: int) -> Any:
    b = a * 2 + n
    with doubled(b) as c:
        d = c * 3 + b
    return b * 2 + d, c is b


def generated(a: Any, n: int) -> Any:
    for i in range(n):
        b = a * i + 1
        yield b.sum() * 2 + i


def recursive(a: Any, n: int) -> Any:
    if n <= 0:
        return a * 2 + 1
    b = recursive_program(a, n - 1)
    return b * 0.5 + a * n


recursive_program = weft.program(recursive)


class Model:
    """An object with methods of all kinds."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x * 2

    def __getattr__(self, name: str) -> Any:
        if name == "weight":
            return 3.0
        raise AttributeError(name)


MODEL = Model()


def callbacks(a: Any, n: int) -> Any:
    b = a * 2 + n
    for _ in range(n):
        b = MODEL(b) * MODEL.weight - a * 5
    return b * 2 + a


def breaks_and_returns(a: Any, n: int) -> Any:
    for i in range(10):
        b = a * i + n
        if i == n and i > 1:
            break
        if b.sum() > 40:
            return b * 2 + i, "early"
        opaque(i)
        for j in range(3):
            if j * i + n > 7:
                opaque(j)
                break
            b += j * 2 + 1
        else:
            continue
        b = b * 2 + 1
    return b * 2 + 1, i


def unbound_after(a: Any, n: int) -> Any:
    for i in range(n):
        last = a * i + 1
    opaque(n)
    return last * 2 + i


def left_without_a_value_nobody_needs(a: Any, n: int) -> Any:
    b = c = a * 2 + n
    for i in range(4):
        if i == n:
            break
        b = a * i + 1
        c = b * 2 - a
        opaque(b)
    return c * 2 + 1


def a_piece_that_python_finishes(a: Any, n: int) -> Any:
    for i in range(3):
        if n > 2:
            b = a * 2 + i
        a = np.roll(a * 1.5, 1) + 1
        big = (n + 7) ** 30 + 1
        opaque(big)
        if n > 2:
            a = b + 1
    return a


late = 5.0


def read_before_it_is_bound(a: Any, n: int) -> Any:
    b = a * 2 + n
    opaque(b)
    a *= b + late  # noqa: F823  # pyright: ignore[reportUnboundVariable] - not the module's
    late = a * 2 + b
    return late * 2 + 1


def nested_functions(a: Any, n: int) -> Any:
    scale = n * 2 + 1

    def change(u: Any) -> Any:
        return u * scale + 1

    b = change(a) * 2
    opaque(b)
    c = change(b) + change(a) * n
    scale = opaque(n)
    return change(c) * 2 + scale


def inner_function_of_a_long_list(a: Any, n: int) -> Any:
    many = [*range(130)]

    def find(k: int) -> int:
        while many[k] != k:
            k = many[k]
        return k

    for i in range(4):
        many.append(opaque(i))
    total = a * n + 1
    for i in range(2):
        for j in range(n):
            total += find(i * j) * 2 + a
    return total


def local_imports(a: Any, n: int) -> Any:
    from math import tau

    import numpy as xp

    opaque(n)
    return xp.sin(a * tau) + n * 2 + math.e


def warns_inside(a: Any, n: int) -> Any:
    opaque(n)
    b = a / (a - a[0]) + 1
    return b * 2 + n


def formatted(a: Any, n: int) -> Any:
    b = a * 2 + n
    text = f"{b.sum():.3f} of {n}"
    c = b * 2 - a
    return c * 2 + 1, text, f"{c[0]!r}"


def sets_and_slices(a: Any, n: int) -> Any:
    found = set()
    for i in range(n):
        b = a * i + 1
        found.add(round(float(b.sum()), 3))
    return sorted(found), b * 2 + 1


def raised(a: Any, n: int) -> Any:
    a[0] = n * 2 + 1
    opaque(n)
    a[1] = a[0] * 2 + 1
    if n == 2:
        raise KeyError(f"no {n * 2 + 1}")
    return a[n + 2] * 2 + a * n


PROGRAMS = [
    prints_in_a_loop, random_start, kept_arrays_stay_apart, a_call_changes_its_argument, a_result_that_is_the_argument,
    caught, cleaned_up, under_a_manager, callbacks, breaks_and_returns, unbound_after,
    left_without_a_value_nobody_needs, a_piece_that_python_finishes, read_before_it_is_bound, nested_functions,
    inner_function_of_a_long_list, local_imports, warns_inside, formatted, sets_and_slices, raised,
]  # fmt: skip


def make(n: int) -> tuple[Any, ...]:
    return np.array([1.5, -2.0, 3.25, 0.5]), n


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_cut_programs_do_what_python_does(function: Any) -> None:
    program: Any = weft.program(function)
    for n in (0, 1, 2, 3, 3, 5):
        assert_same_outcome(run(program, make(n)), run(function, make(n)), 4.0, f"n={n}")
    stats = program.stats
    assert stats.cut_calls > 0, stats
    assert stats.native_calls > 0, stats
    assert stats.fallback_calls == 0, stats


def test_a_generator_function_runs_in_python() -> None:
    program = weft.program(generated)
    with pytest.warns(weft.FallbackWarning, match="generator"):
        assert list(program(*make(3))) == list(generated(*make(3)))


def test_recursion_calls_the_program_itself() -> None:
    with pytest.warns(weft.FallbackWarning, match="recursive"):
        result = recursive_program(*make(4))

    def plain(a: Any, n: int) -> Any:
        return a * 2 + 1 if n <= 0 else plain(a, n - 1) * 0.5 + a * n

    assert np.array_equal(result, plain(*make(4)))
    assert recursive_program.stats.native_calls > 0


def test_each_place_is_announced_once_with_its_share_of_the_time() -> None:
    program = weft.program(prints_in_a_loop)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        program(*make(3))
        program(*make(3))

    (warning,) = [item for item in told if item.category is weft.FallbackWarning]
    assert warning.lineno == prints_in_a_loop.__code__.co_firstlineno + 5
    assert warning.filename == __file__
    assert "prints_in_a_loop runs this statement in Python: " in str(warning.message)
    assert "% of the time of this call" in str(warning.message)
    assert program.stats.python_statements == 1
    assert program.stats.compiled_statements >= 4


def test_fallback_error_names_the_statement() -> None:
    program = weft.program(prints_in_a_loop, fallback="error")
    with pytest.raises(weft.CompileError) as caught_error:
        program(*make(3))

    lines = str(caught_error.value).splitlines()
    assert any("LOG.debug" in line for line in lines)
    assert any("^" in line for line in lines)
    assert any("help:" in line for line in lines)


def test_explain_shows_the_three_classes() -> None:
    def three(a: Any, n: int) -> Any:
        b = a * 2 + n
        c = np.sort(b)
        for _ in range(n):
            c = c * 2 + b
        LOG.debug("done")
        return c * 2 + 1

    program = weft.program(three)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program(*make(3))
        program(*make(3))
    kinds = {line.split("|")[1].strip().split("   ")[0]: line.split("|")[0].split()[-1:] for line in
             program.explain().splitlines()[2:] if "|" in line}  # fmt: skip

    assert kinds["c = np.sort(b)"] == ["n"]
    assert kinds["c = c * 2 + b"] == ["="]
    assert kinds['LOG.debug("done")'] == ["!"]
    assert "calls numpy.sort" in program.explain()
    assert program.stats.numpy_calls == 2
    assert program.stats.numpy_statements == 1


def test_a_branch_that_is_not_compiled_is_left_to_python_until_it_is_reached_often() -> None:
    def branching(a: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            total += (a * i + 1).sum()
            if i == 4:
                LOG.debug("four")
        return total * 2 + a

    program = weft.program(branching)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (3, 3, 6, 6, 6, 3):
            assert np.array_equal(program(*make(n)), branching(*make(n)))
    stats = program.stats
    assert stats.resumes == 2
    assert stats.cut_calls == 2


def test_threads_share_a_cut_program() -> None:
    from concurrent.futures import ThreadPoolExecutor

    program = weft.program(random_start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: program(*make(3)), range(12)))
    expected = random_start(*make(3))
    assert all(np.array_equal(result[0], expected[0]) and result[1] == expected[1] for result in results)


def test_parts_that_are_views_stay_views_across_python() -> None:
    def through_a_loop(a: Any, n: int) -> Any:
        for i in range(n):
            part = a.real
            b = part * 2 + i
        opaque(n)
        part[0] = 5 + n * 2
        return b, a * 2 + 1

    def into_a_branch(a: Any, n: int) -> Any:
        part = a.imag
        b = part * 2 + n
        if n > 1:
            opaque(part).sort()
        return b, a * 2 + 1

    def returned(a: Any, n: int) -> Any:
        part = a.real
        for i in range(n):
            part = a.imag if i % 2 else a.real
        return part, a * 2 + n

    for function in (through_a_loop, into_a_branch, returned):
        program = weft.program(function)
        for n in (1, 2, 3, 3):
            expected = run(function, (np.array([3 + 2j, 1 - 1j, 2 + 5j]), n))
            assert_same_outcome(run(program, (np.array([3 + 2j, 1 - 1j, 2 + 5j]), n)), expected, 4.0, f"n={n}")


def shrinking(v: Any, seen: Any) -> Any:
    left = [float(x) for x in v.tolist()]
    total = 0.0
    while left:
        for x in left:
            total += x * 2 + v[0]
        seen.add(len(left))
        left = left[:-1]
    return total


def test_a_list_that_python_shortens_is_not_compiled_for_every_length() -> None:
    program = weft.program(shrinking)
    actual, expected = run(program, (np.arange(9.0), set())), run(shrinking, (np.arange(9.0), set()))
    assert_same_outcome(actual, expected)
    assert program.stats.variants <= 5
    assert any("changes its length" in reason for reason in program.stats.reasons)


def few_operations_in_a_loop(v: Any, names: Any) -> Any:
    a, b, total = 0, 1, 0.0
    for k in range(len(v)):
        if k % 2 == 1:
            continue
        a, b = b + k, a - k
        if a * b + v[k] > total - 1:
            names.add(str(k))
            total += v[k]
    return total, a, b


def test_what_is_too_little_for_a_kernel_costs_no_calls() -> None:
    program = weft.program(few_operations_in_a_loop)
    v = np.arange(40.0)
    expected = run(few_operations_in_a_loop, (v, set()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        for _ in range(5):
            assert_same_outcome(run(program, (v, set())), expected)
        called: list[str] = []
        sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
        try:
            program(v, set())
        finally:
            sys.setprofile(None)
    assert called.count(few_operations_in_a_loop.__name__) == 1


class Swarm:
    """Moves, and keeps a log."""

    def __init__(self) -> None:
        self.places = np.linspace(-1.0, 1.0, 24).reshape(8, 3)
        self.pushes = 0
        self.log: dict[str, list[Any]] = {"energy": [], "turns": []}

    def step(self, rate: float) -> Any:
        apart = self.places[:, None] - self.places[None]
        self.places = self.places + rate * np.tanh(apart).sum(axis=1)
        self.pushes += 1
        return (self.places**2).sum()

    def turns(self) -> int:
        return self.pushes


def logged(swarm: Swarm, n: int) -> Any:
    energy = 0.0
    for k in range(n):
        energy = swarm.step(0.5 / (k + 1))
        swarm.log["energy"].append(energy)
        turns = swarm.turns()
        swarm.log["turns"].append(turns)
    return energy, swarm


def spread(swarm: Swarm, rate: float) -> Any:
    return swarm.step(rate) + np.exp(swarm.places).sum()


def logged_by_a_function(swarm: Swarm, n: int) -> Any:
    for _ in range(n):
        found = spread(swarm, 0.25)
        swarm.log["energy"].append(found)
    return swarm


@pytest.mark.parametrize("function", [logged, logged_by_a_function], ids=lambda function: function.__name__)
def test_one_call_of_a_method_between_statements_of_python_is_compiled(function: Any) -> None:
    program: Any = weft.program(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        for n in (3, 0, 5):
            assert_same_outcome(run(program, (Swarm(), n)), run(function, (Swarm(), n)), ulps=16)
    assert program.stats.native_calls >= 8, program.stats
