"""`verify=True`: right programs pass, wrong ones are found and explained."""

from __future__ import annotations

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.driver.programs import NoSnapshots, NudgeConstants, SwapSubtractions, add_pass, checked, load
from tests.kernels.forms import ALIASES, USUAL, square
from tests.selection import one_of_each, title
from weft_bench.kernel import Kernel
from weft_bench.kernels import KERNELS

WAVE = """
def wave(A, B, n):
    B[:] = 3.0 * A - 1.0
    # the line that matters
    A[1:] = A[:-1] - B[1:]
    return A + B, n
"""


@pytest.fixture(autouse=True)
def reproducers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("WEFT_REPRODUCERS", str(tmp_path / "reproducers"))
    return tmp_path / "reproducers"


def run_script(path: Path | None) -> subprocess.CompletedProcess[str]:
    assert path is not None
    return subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, timeout=120)


# ---------------------------------------------------------------- right programs


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_kernels_agree(kernel: Kernel) -> None:
    program = checked(kernel.function)
    program(**kernel.inputs(USUAL[kernel.name]))

    assert program.stats.native_calls == 1


@pytest.mark.parametrize(
    ("kernel", "alias"),
    one_of_each([(kernel, alias) for alias in list(ALIASES.get(kernel.name, {}))[:4]] for kernel in KERNELS),
    ids=title,
)
def test_arguments_that_overlap_agree(kernel: Kernel, alias: str) -> None:
    program = checked(kernel.function, "warn")
    inputs = ALIASES[kernel.name][alias](kernel.inputs(square(kernel.name)))
    expected = ALIASES[kernel.name][alias](kernel.inputs(square(kernel.name)))
    with np.errstate(all="ignore"):
        kernel.function(**expected)
        program(**inputs)

    for name, value in expected.items():
        np.testing.assert_allclose(inputs[name], value, rtol=1e-9)


def test_the_same_array_twice_stays_the_same_array(tmp_path: Path) -> None:
    program = checked(load(tmp_path, WAVE).wave)
    x = np.arange(5.0)
    expected = np.arange(5.0)
    result, _ = program.py_func(expected, expected, 1)
    got, _ = program(x, x, 1)

    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(got, result)


def test_the_graph_of_other_aliases_is_not_taken(tmp_path: Path) -> None:
    program = checked(load(tmp_path, "def f(a, b):\n    b[:] = np.exp(b - a.sum())\n").f)
    for seed in range(5):
        x, y = np.random.default_rng(seed).standard_normal((2, 30))
        program(x, y)
        program(x, x)


def test_results_and_arguments_are_the_users_own(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a, t):\n    a += 1\n    return a, t\n")
    program = checked(module.f)
    a = np.zeros(3)

    assert program(a, "text")[0] is a
    np.testing.assert_array_equal(a, 1)


def test_numbers_that_are_none_agree(tmp_path: Path) -> None:
    module = load(
        tmp_path, "def f(a):\n    with_nan = np.sqrt(a) - a / a\n    return with_nan, np.log(a), a.max(), a.sum()\n"
    )
    program = checked(module.f)
    with pytest.warns(RuntimeWarning):
        first, _, largest, _ = program(np.array([-1.0, 0.0, np.inf, np.nan, -0.0]))

    assert np.isnan(first[:3]).all()
    assert np.isnan(largest)


def test_cancellation_is_no_difference(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
        def f(a):
            rest = a - a.mean()
            return rest.sum(), np.exp(a) - np.exp(a + 1e-12), 1.0 / (1.0 + rest.sum() * 1e8)
        """,
    )
    program = checked(module.f)
    for seed in range(5):
        program(np.random.default_rng(seed).standard_normal(1003))


def test_a_long_iteration_is_no_difference(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
        def f(x, n):
            for _ in range(n):
                x = 3.9 * np.exp(np.log(x)) * (1.0 - x)     # chaotic: errors double at every step
            return x
        """,
    )
    checked(module.f)(np.linspace(0.1, 0.9, 11), 30)


def test_exceptions_agree(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a, k):\n    a[0] = 7.0\n    a[k] = 8.0\n    a[1] = 9.0\n    return a\n")
    program = checked(module.f)
    a = np.zeros(3)
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        program(a, 5)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        program(a)

    np.testing.assert_array_equal(a, [7.0, 0.0, 0.0])


def test_warnings_are_shown_once(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a):\n    return 1.0 / a\n")
    program = checked(module.f)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        program(np.zeros(3))
        with np.errstate(divide="ignore"):
            program(np.zeros(3))

    assert [(item.category, str(item.message), item.lineno) for item in told] == [
        (RuntimeWarning, "divide by zero encountered in divide", 4)
    ]


def test_a_refusal_is_not_a_difference(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a):\n    return set(a)\n")
    with pytest.raises(weft.CompileError):
        checked(module.f)(np.zeros(3))


def test_what_runs_in_python_agrees_with_itself(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a):\n    return np.random.normal(size=3) + min({0.0, 1.0})\n")
    program = checked(module.f, "warn")
    np.random.seed(3)
    with pytest.warns(weft.FallbackWarning):
        got = program(np.zeros(3))

    np.random.seed(3)
    np.testing.assert_array_equal(got, np.random.normal(size=3))


def test_globals_and_closures_change_once(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
        COUNTS = np.zeros(3)

        def make():
            seen = np.zeros(2)

            def f(a):
                COUNTS[0] += a[0]
                seen[1] += 1.0
                return COUNTS[0] + seen[1]

            return f, seen
        """,
    )
    function, seen = module.make()
    program = checked(function)

    assert [program(np.ones(1)) for _ in range(3)] == [2.0, 4.0, 6.0]
    np.testing.assert_array_equal(module.COUNTS, [3.0, 0.0, 0.0])
    np.testing.assert_array_equal(seen, [0.0, 3.0])


def test_objects_change_once(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
        class Cloud:
            def __init__(self, n):
                self.x, self.steps = np.arange(float(n)), 0

            @weft.program(verify=True, fallback="error")
            def move(self, dt):
                self.x = self.x + dt
                self.steps = self.steps + 1
                return self.x.sum()
        """,
    )
    cloud = module.Cloud(4)
    cloud.move(0.5)

    assert cloud.steps == 1
    np.testing.assert_array_equal(cloud.x, np.arange(4.0) + 0.5)


def test_objects_that_are_globals_change_once(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
        class Study:
            def __init__(self):
                self.rng, self.x = np.random.default_rng(3), np.zeros(2)

        STUDY = Study()
        RNG = STUDY.rng

        def f(n):
            for i in range(n):
                STUDY.x[0] += STUDY.rng.random() - RNG.normal()
            return STUDY.x[0]
        """,
    )
    program, rng, expected = checked(module.f), np.random.default_rng(3), 0.0
    for n in (3, 2):
        for _ in range(n):
            expected += rng.random() - rng.normal()
        assert program(n) == expected
    assert module.RNG.bit_generator.state == rng.bit_generator.state


def test_threads_may_call_a_verified_program(tmp_path: Path) -> None:
    program = checked(load(tmp_path, "def f(a):\n    a += 1.0\n    return np.exp(a)\n").f, "warn")
    arrays = [np.zeros(100) for _ in range(4)]
    filters = list(warnings.filters)

    def work(array: Any) -> None:
        for _ in range(5):
            program(array)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, arrays))

    assert all((array == 5.0).all() for array in arrays)
    assert filters == warnings.filters


# ---------------------------------------------------------------- wrong compilers


def test_a_wrong_pass_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_pass(monkeypatch, SwapSubtractions())
    program = checked(load(tmp_path, WAVE).wave)
    A, B = np.arange(4.0) + 1.0, np.zeros(4)
    with pytest.raises(weft.VerificationError) as caught:
        program(A, B, 3)

    error, file = caught.value, tmp_path / "programs.py"
    assert error.output == "argument 'A'"
    # 3 A - 1 is wrong as well, but A stands first among the arguments.
    assert error.message == (
        "wave: argument 'A' differs from Python's: at [1]: -6.0 instead of -4.0 (3 of 4 elements differ)"
    )
    assert error.span.line == 7
    assert error.origin == (
        "'swap-subtractions' is the first pass after which the interpreter's answer changes: "
        "argument 'A', at [1]: -6.0 instead of -4.0 (3 of 4 elements differ)"
    )
    assert str(error).splitlines() == [
        error.message,
        f" --> {file}:7:5",
        "7 |     A[1:] = A[:-1] - B[1:]",
        "  |     ^^^^^^^^^^^^^^^^^^^^^^",
        f"  = origin: {error.origin}",
        f"  = reproducer: {error.reproducer}",
    ]


def test_the_reproducer_runs_and_agrees_without_the_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_pass(monkeypatch, SwapSubtractions())
    program = checked(load(tmp_path, WAVE).wave)
    with pytest.raises(weft.VerificationError) as caught:
        program(np.arange(4.0), np.zeros(4), 3)
    done = run_script(caught.value.reproducer)

    assert (done.returncode, done.stdout.splitlines()) == (0, ["Python and Weft agree"]), done.stderr
    assert caught.value.message in Path(caught.value.reproducer or "").read_text()


def test_a_constant_off_in_the_ninth_digit_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_pass(monkeypatch, NudgeConstants())
    module = load(tmp_path, "def f(a):\n    b = np.exp(a)\n    return b.sum(), 0.3 * b\n")
    with pytest.raises(weft.VerificationError) as caught:
        checked(module.f)(np.linspace(0.0, 1.0, 50))

    assert caught.value.output == "the result[1]"
    assert caught.value.span.line == 5
    assert "whose last bits are open, but lies outside of their bounds" in caught.value.message
    assert caught.value.origin.startswith("'nudge-constants' is the first pass")


def test_a_missing_snapshot_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_pass(monkeypatch, NoSnapshots())
    module = load(tmp_path, "def f(a):\n    a[1:] = a[:-1]\n")
    with pytest.raises(weft.VerificationError) as caught:
        checked(module.f, threads=1)(np.arange(6.0))

    assert caught.value.output == "argument 'a'"
    assert caught.value.span.line == 4
    assert caught.value.origin.startswith("'expand-elementwise' is the first pass")


def test_a_wrong_code_generator_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("weft.codegen.scalars").codegen.scalars._FLOAT, "subtract", "{1} - {0}")
    program = checked(load(tmp_path, WAVE).wave)
    with pytest.raises(weft.VerificationError) as caught:
        program(np.arange(4.0), np.zeros(4), 3)

    assert caught.value.origin == (
        "no pass: the interpreter agrees after every pass, so the difference is in the code generator or the C compiler"
    )
    assert run_script(caught.value.reproducer).returncode == 0


def test_a_wrong_frontend_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.driver import compiler

    lower = compiler.lower

    def wrong(*args: Any, **kwargs: Any) -> Any:
        from dataclasses import replace

        lowered = lower(*args, **kwargs)
        return replace(lowered, program=NudgeConstants().everywhere(lowered.program))

    monkeypatch.setattr(compiler, "lower", wrong)
    module = load(tmp_path, "def f(a):\n    return a * 0.3\n")
    with pytest.raises(weft.VerificationError) as caught:
        checked(module.f)(np.ones(3))

    assert caught.value.origin.startswith("the graph before any pass already differs: the result, at [0]: 0.3000000")


def test_large_arrays_are_cut_down_for_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_pass(monkeypatch, SwapSubtractions())
    module = load(tmp_path, "def f(a, b, n):\n    a[:n] = a[:n] - b[1:]\n")
    with pytest.raises(weft.VerificationError) as caught:
        checked(module.f)(np.arange(2e5), np.ones(200_001), 200_000)
    done = run_script(caught.value.reproducer)

    assert caught.value.origin.startswith("'swap-subtractions' is the first pass")
    assert caught.value.origin.endswith("(seen on arrays cut down to a few elements)")
    assert caught.value.reproducer is not None
    assert caught.value.reproducer.with_suffix(".npz").exists()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_search_that_is_given_up_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_pass(monkeypatch, SwapSubtractions())
    module = load(tmp_path, "def f(a):\n    if a.size > 100:\n        a[:] = 1.0 - a\n")
    program = checked(module.f)
    with pytest.raises(weft.VerificationError) as caught:
        program(np.arange(2e5))

    assert caught.value.origin == (
        "not searched for the pass: 200000 elements are too many for the interpreter, "
        "and on small arrays there is no difference"
    )


def test_a_graph_of_the_users_own_is_verified(tmp_path: Path) -> None:
    module = load(tmp_path, WAVE)
    arguments = np.arange(4.0), np.zeros(4), 3
    graph = checked(module.wave).to_graph(*arguments)

    good = graph.compile(verify=True)
    good(*arguments)
    wrong = graph.optimize().apply(SwapSubtractions()).compile(verify=True)
    with pytest.raises(weft.VerificationError, match="the graph that is compiled already differs"):
        wrong(*arguments)
