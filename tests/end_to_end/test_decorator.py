"""The decorator: what it keeps of the function, its options, where programs may stand, warnings and errors."""

from __future__ import annotations

import inspect
import linecache
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.end_to_end.data import f4, f8, i8
from tests.end_to_end.outcome import assert_native, assert_same, assert_same_outcome, check, run
from weft_bench.kernels import BY_NAME


def plain(a: Any, k: float = 2.0, *, shift: int = 1) -> Any:
    """Scale and shift."""
    return a * k + shift


# ---------------------------------------------------------------- the function is kept


def test_name_docstring_and_signature_are_kept() -> None:
    program: Any = weft.program(plain)

    assert program.py_func is plain
    assert program.__name__ == "plain"
    assert program.__qualname__ == plain.__qualname__
    assert program.__module__ == __name__
    assert program.__doc__ == plain.__doc__
    assert inspect.signature(program) == inspect.signature(plain)
    assert callable(program)


def test_the_three_ways_to_decorate() -> None:
    @weft.program
    def bare(v):
        return v + 1

    @weft.program(fallback="error", threads=1)
    def with_options(v):
        return v + 1

    by_call = weft.program(bare.py_func, fallback="error")
    empty = weft.program()(bare.py_func)

    for program in (bare, with_options, by_call, empty):
        assert_same(program(f8(3)), f8(3) + 1)
        assert_native(program)


@pytest.mark.parametrize(
    "options",
    [{"strict": True}, {"fast": True}, {"threads": 1}, {"threads": 2}, {"verify": True}, {"device": "cpu"}],
    ids=lambda options: next(iter(options)),
)
def test_options(options: dict[str, Any]) -> None:
    check(plain, lambda: (f8(5),), lambda: (i8(5), 3), **options)
    kernel = BY_NAME["jacobi_2d"]
    program = weft.program(kernel.function, fallback="error", **options)
    sizes = {"rows": 40, "columns": 50, "steps": 3}
    expected, actual = kernel.inputs(sizes), kernel.inputs(sizes)
    kernel.function(**expected)
    program(**actual)

    np.testing.assert_allclose(actual["A"], expected["A"], rtol=1e-14 if "fast" in options else 0.0)


def test_strict_gives_the_bits_of_numpy() -> None:
    def functions(x):
        return np.exp(x), np.log(x), np.sin(x), np.tanh(x), np.sqrt(x)

    check(functions, lambda: (np.linspace(0.1, 9.7, 1001),), strict=True)


@pytest.mark.parametrize("options", [{"fallback": "maybe"}, {"device": "abacus"}, {"threads": 0}, {"what": 1}])
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        weft.program(plain, **options)

    assert next(iter(options)) in str(caught.value)


@pytest.mark.parametrize("thing", [3, "text", int, len], ids=repr)
def test_what_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError):
        weft.program(thing)


def test_all_ways_to_pass_arguments() -> None:
    program = weft.program(plain, fallback="error")
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((f8(3),), {}),
        ((f8(3), 3.0), {}),
        ((f8(3),), {"k": 3.0}),
        ((), {"shift": 4, "a": f8(3)}),
        ((f8(3), 1.5), {"shift": -1}),
    ]
    for arguments, keywords in calls:
        assert_same_outcome(run(program, arguments, keywords), run(plain, arguments, keywords))

    assert_native(program, calls=len(calls))


# ---------------------------------------------------------------- classes


class Oscillator:
    """Decorated in all the ways a method can be."""

    scale = 2.0

    def __init__(self) -> None:
        self.position = f8(3)

    @weft.program(fallback="error")
    def step(self, by, twice=False):
        """One step."""
        self.position += by
        if twice:
            self.position += by
        return self.position.sum()

    @staticmethod
    @weft.program(fallback="error")
    def energy(v):
        return (v * v).sum() / 2

    @classmethod
    @weft.program
    def scaled(cls, v):
        return v * cls.scale


def test_methods() -> None:
    one, other = Oscillator(), Oscillator()

    assert_same(one.step(1.0), Oscillator.step.py_func(other, 1.0))
    assert_same(Oscillator.step(one, 2.0, twice=True), Oscillator.step.py_func(other, 2.0, twice=True))
    assert_same(one.position, other.position)
    assert_native(Oscillator.step, calls=2)
    assert Oscillator.step.__doc__ == "One step."


def test_methods_bound_early() -> None:
    one, other = Oscillator(), Oscillator()
    step = one.step
    step(1.0)
    Oscillator.step.py_func(other, 1.0)

    assert_same(one.position, other.position)


def test_static_and_class_methods() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.FallbackWarning)
        for holder in (Oscillator, Oscillator()):
            assert_same(holder.energy(f8(3)), (f8(3) * f8(3)).sum() / 2)
            assert_same(holder.scaled(f8(3)), f8(3) * 2.0)


# ---------------------------------------------------------------- sources without a file


def test_exec_with_linecache() -> None:
    source = "def from_a_cell(v):\n    total = 0.0\n    for x in v:\n        total += x\n    return total\n"
    name = "<ipython-input-7-abcdef>"
    lines: list[str] = [*source.splitlines(keepends=True)]
    linecache.cache[name] = (len(source), None, lines, name)
    namespace: dict[str, Any] = {}
    exec(compile(source, name, "exec"), namespace)
    function: Any = namespace["from_a_cell"]

    program: Any = weft.program(function, fallback="error")

    assert_same(program(f8(4)), function(f8(4)))
    assert_native(program)


def test_a_source_that_cannot_be_found_runs_in_python() -> None:
    namespace: dict[str, Any] = {}
    exec(compile("def lost(v):\n    return v + 1\n", "<nowhere>", "exec"), namespace)
    program = weft.program(namespace["lost"])

    outcome = run(program, (f8(3),))

    assert_same(outcome.result, f8(3) + 1)
    assert [item.category for item in outcome.own_warnings] == [weft.FallbackWarning]


def test_two_functions_on_one_line_are_told_apart() -> None:
    one, other = lambda v: v + 1, lambda v: v - 1

    functions: list[Any] = [one, other]
    for function in functions:
        outcome = run(weft.program(function), (f8(3),))
        assert_same(outcome.result, function(f8(3)))


# ---------------------------------------------------------------- what cannot be compiled


def unsupported(a):
    b = a + 1
    c = eval("20 + 1")  # the line that is meant
    return b.sum() * c


def line_of(text: str) -> int:
    """The number of the line of this file with that text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_fallback_is_announced_once_with_the_place() -> None:
    program = weft.program(unsupported)
    outcomes = [run(program, (f8(3),)) for _ in range(3)]

    for outcome in outcomes:
        assert_same(outcome.result, unsupported(f8(3)))
    seen = [item for outcome in outcomes for item in outcome.own_warnings]
    assert len(seen) == 1
    assert seen[0].category is weft.FallbackWarning
    place = f"{seen[0].filename}:{seen[0].lineno}\n{seen[0].message}"
    assert Path(__file__).name in place
    assert str(line_of("# the line that is meant")) in place
    assert program.stats.fallback_calls == 3
    assert program.stats.native_calls == 0


def test_fallback_as_an_error_shows_line_caret_and_help() -> None:
    program = weft.program(unsupported, fallback="error")

    with pytest.raises(weft.CompileError) as caught:
        program(f8(3))

    text = str(caught.value)
    lines = text.splitlines()
    assert len(lines) <= 10
    assert f"{Path(__file__).name}:{line_of('# the line that is meant')}" in text
    source = next(number for number, line in enumerate(lines) if "eval(" in line and "|" in line)
    carets = lines[source + 1]
    assert carets.strip(" |").strip("^") == ""
    assert lines[source][carets.index("^") :].startswith("eval")
    assert "help" in text


def test_an_error_is_an_error_every_time() -> None:
    program = weft.program(unsupported, fallback="error")
    for _ in range(2):
        with pytest.raises(weft.CompileError):
            program(f8(3))


# ---------------------------------------------------------------- looking inside


def test_inspection_gives_text() -> None:
    def add_up(v):
        total = 0.0
        for x in v:
            total += x
        return total

    program = weft.program(add_up, fallback="error")
    program(f8(3))

    assert "add_up" in program.inspect_source()
    assert "for" in program.inspect_source()
    assert "ret" in program.inspect_asm()
    assert "add_up" in program.inspect_graph("array")
    assert "add_up" in str(program.to_graph(f8(3)))


def test_stats_count() -> None:
    program = weft.program(plain, fallback="error")
    assert program.stats.variants == program.stats.native_calls == 0
    program(f8(3))
    program(f8(4))
    assert program.stats.variants == 1
    assert program.stats.compiles + program.stats.cache_hits == 1
    assert program.stats.native_calls == 2
    assert (program.stats.compile_seconds > 0.0) == (program.stats.compiles > 0)
    program(f4(3))
    assert program.stats.variants == 2


def test_verify_agrees_with_numpy() -> None:
    program = weft.program(BY_NAME["floyd_warshall"].function, verify=True, fallback="error")
    inputs = BY_NAME["floyd_warshall"].inputs({"nodes": 9})
    expected = inputs["path"].copy()
    BY_NAME["floyd_warshall"].function(expected)
    program(inputs["path"])

    assert_same(inputs["path"], expected)


# ---------------------------------------------------------------- threads


def test_many_threads_call_one_program() -> None:
    def relax(v, n):
        for _ in range(n):
            v[1:-1] = (v[:-2] + v[2:]) / 2
        return v.sum()

    program = weft.program(relax, fallback="error")
    expected = f8(2000)
    relax(expected, 50)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(5):
            v = f8(2000)
            program(v, 50)
            if not np.array_equal(v, expected):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert_native(program, calls=40)
    assert program.stats.compiles <= 1


def test_many_threads_see_their_own_exceptions() -> None:
    def fill(v, n):
        for i in range(n):
            v[i] = i

    program = weft.program(fill, fallback="error")
    seen: dict[int, str] = {}

    def work(n: int) -> None:
        try:
            program(f8(n), n + n % 2)
        except IndexError as error:
            seen[n] = str(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == {n: f"index {n} is out of bounds for axis 0 with size {n}" for n in (1, 3, 5, 7)}
