"""What `verify=True` compares, and what may differ: functions against others that stand for their compiled form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.driver.programs import Fake, load
from weft.driver.options import Options
from weft.driver.verifying import verified


def check(function: Callable[..., Any], compiled: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Verify a function against another one that stands for its compiled form."""
    return verified(function, Fake(compiled), Options(verify=True, **options))(*args)  # type: ignore[arg-type]


def difference(function: Callable[..., Any], compiled: Callable[..., Any], *args: Any) -> weft.VerificationError:
    with pytest.raises(weft.VerificationError) as caught:
        check(function, compiled, *args)
    return caught.value


@pytest.fixture(autouse=True)
def reproducers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_REPRODUCERS", "0")


def test_warnings_from_elsewhere_are_shown_too() -> None:
    def f(a):
        np.asmatrix(a)
        return a

    with pytest.warns(PendingDeprecationWarning, match="the matrix subclass"):
        check(f, f, np.zeros(2))


def test_every_output_is_compared(tmp_path: Path) -> None:
    def f(a, b):
        b[1] += a[0]
        return a.sum(), {"b": b.copy(), "l": [1, 2]}

    def wrong_argument(a, b):
        result = f(a, b)
        b[0] += 1
        return result

    def wrong_result(a, b):
        total, rest = f(a, b)
        rest["b"][1] = 0
        return total, rest

    def wrong_list(a, b):
        total, rest = f(a, b)
        return total, {**rest, "l": [1, 3]}

    def wrong_type(a, b):
        total, rest = f(a, b)
        return float(total), rest

    def longer(a, b):
        total, rest = f(a, b)
        return total, {**rest, "l": [1, 2, 3]}

    a, b = np.arange(3), np.zeros(2)
    assert difference(f, wrong_argument, a, b).output == "argument 'b'"
    assert difference(f, wrong_result, a + 1, b.copy()).output == "the result[1]['b']"
    assert difference(f, wrong_list, a, b.copy()).message.endswith(
        "the result[1]['l'][1] differs from Python's: 3 instead of 2"
    )
    assert "a float instead of a int64" in difference(f, wrong_type, a, b.copy()).message
    assert "3 items instead of 2" in difference(f, longer, a, b.copy()).message


def test_integers_and_bits_are_compared_exactly() -> None:
    def f(a):
        return a * 2

    def off(a):
        return a * 2 + np.asarray(1e-16 if a.dtype.kind == "f" else 1, a.dtype)

    assert "at [0]: 1 instead of 0" in difference(f, off, np.arange(3)).message
    assert difference(f, off, np.zeros(3)).output == "the result"
    assert "-0.0 instead of 0.0" in difference(f, lambda a: -(a * 2), np.zeros(3)).message
    assert "float32[3] instead of float64[3]" in difference(f, lambda a: (a * 2).astype("f4"), np.zeros(3)).message
    assert "strides" in difference(f, lambda a: np.asfortranarray(a * 2), np.zeros((2, 3))).message
    check(f, lambda a: np.where(np.isnan(a), -a, 2 * a), np.array([np.nan, 1.0]))


def test_sharing_memory_is_compared() -> None:
    message = difference(lambda a: a[1:], lambda a: a[1:].copy(), np.zeros(3)).message

    assert message.endswith(
        "the result differs from Python's: it is, or shares memory with, another argument than Python's"
    )


def test_exceptions_are_compared() -> None:
    def f(a, k):
        a[0] = 1
        return a[k]

    def other(a, k):
        a[0] = 1
        raise IndexError("no")

    def late(a, k):
        return f(a, k) + a.fill(3.0)

    def overdone(a, k):
        try:
            return f(a, k)
        finally:
            a[1] = 5

    error = difference(f, other, np.zeros(3), 4)
    assert error.output == "the exception"
    assert "Python raised IndexError: index 4 is out of bounds" in error.message
    assert "the compiled program raised IndexError: no" in error.message
    assert error.span.text.strip() == "return a[k]"
    assert isinstance(error.__cause__, IndexError)
    assert "Python raised IndexError" in difference(f, lambda a, k: None, np.zeros(3), 4).message
    assert "the compiled program raised TypeError" in difference(f, late, np.zeros(3), 0).message
    assert difference(f, overdone, np.zeros(3), 4).output == "argument 'a'"


def test_warnings_are_compared() -> None:
    def f(a):
        return 1.0 / a

    def silent(a):
        with np.errstate(all="ignore"):
            return 1.0 / a

    error = difference(f, silent, np.zeros(2))
    assert error.output == "the warnings"
    assert (
        "Python warns 'RuntimeWarning: divide by zero encountered in divide', the compiled program does not"
        in error.message
    )
    assert error.origin.startswith("no pass: warnings")
    error = difference(silent, f, np.zeros(2))
    assert (
        "the compiled program warns 'RuntimeWarning: divide by zero encountered in divide', Python does not"
        in error.message
    )
    check(f, silent, np.zeros(2), fast=True)


def test_functions_may_be_a_few_ulp_off(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a):\n    return np.exp(a) * 2.0\n\ndef g(a):\n    return np.sqrt(a) * 2.0\n")
    a = np.linspace(-300.0, 300.0, 100)

    def off(eps: float) -> Callable[[Any], Any]:
        return lambda a: np.exp(a) * 2.0 * (1 + eps * 2.0**-52)

    check(module.f, off(6), a)
    assert difference(module.f, off(500), a).output == "the result"
    with pytest.raises(weft.VerificationError):
        check(module.f, off(6), a, strict=True)
    with pytest.raises(weft.VerificationError):
        check(module.g, lambda a: np.sqrt(a) * 2.0 * (1 + 2.0**-52), np.abs(a))
    check(module.g, lambda a: np.sqrt(a) * 2.0 * (1 + 2.0**-52), np.abs(a), fast=True)


def test_sums_may_be_in_another_order(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a):\n    return a.sum(), a @ a, a.max(), (a > 0.0).sum()\n")
    a = np.random.default_rng(1).standard_normal(1000)

    def other_order(a):
        return np.float64(sum(a.tolist())), np.float64(sum((a * a).tolist())), a.max(), (a > 0.0).sum()

    def wrong(a):
        return a.sum() + 1e-9, a @ a, a.max(), (a > 0.0).sum()

    check(module.f, other_order, a)
    assert difference(module.f, wrong, a).output == "the result[0]"


def test_a_fault_in_a_call_too_large_to_measure_is_found(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(a):\n    return (a - a.mean()).sum()\n")
    a = np.random.default_rng(1).standard_normal(4_100_000)

    check(module.f, lambda a: module.f(a) + 1e-12, a)
    assert difference(module.f, lambda a: module.f(a) + 1e-5, a).output == "the result"


def test_a_refusal_to_explain_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr("weft.driver.attribution.find_targets", fail)
    monkeypatch.setattr("weft.driver.attribution.run_graph", fail)
    monkeypatch.setattr("weft.driver.reproducers.script", fail)
    error = difference(lambda a: a + 1, lambda a: a + 2, np.zeros(2, int))

    assert error.origin == "not found: RuntimeError: broken"
    assert error.reproducer is None
