"""What counts as a right result of a framework that never promised NumPy's bits, and what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench import fakes
from weft_bench.exchange import read_values, write_values
from weft_bench.frameworks import load_frameworks
from weft_bench.kernels import BY_NAME
from weft_bench.sensitivity import Sensitivity, measure_sensitivity, perturb
from weft_bench.validation import FACTOR, LEAST_EPS, validate

EPS = float(np.finfo(np.float64).eps)
ONE = np.linspace(0.5, 1.0, 8)
PLAIN, FAST = fakes.FAKES["plain"], fakes.FAST
WEFT = load_frameworks()["weft"].loaded()


def verdict(expected: Any, actual: Any, framework: Any = PLAIN, sensitivity: Sensitivity | None = None) -> str:
    return validate(framework, {"x": expected}, {"x": actual}, 0.0, sensitivity or Sensitivity()).reason


RIGHT = [
    ((ONE, 3), [ONE, np.int64(3)]),
    (3, np.int32(3)),
    (np.float64(2.0), np.array(2.0)),
    (np.array(2.0), 2.0),
    (ONE, (ONE,)),
    (np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int64)),
    (ONE.astype(np.float32), ONE.astype(np.float32).astype(np.float64)),
    (ONE, ONE * (1 + 8 * EPS)),
]
WRONG = [
    (ONE, ONE.astype(np.float32), "x: dtype float32, NumPy gives float64"),
    (np.arange(3), np.arange(3.0), "x: dtype float64, NumPy gives int64"),
    (np.array([1, 0]), np.array([True, False]), "x: dtype bool, NumPy gives int64"),
    (np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int64) + (1 << 32), "x: 3 of 3 numbers differ"),
    (ONE, ONE[:7], "x: shape (7,), NumPy gives (8,)"),
    ((ONE, ONE), (ONE,), "x: 1 values, NumPy gives 2"),
    ((ONE, ONE), (ONE, ONE + 1), "x[1]: error"),
    (ONE, (ONE, ONE), "x: 2 values, NumPy gives one"),
    (ONE, None, "x: nothing on one side"),
    (ONE, ONE * np.nan, "x: other infinities or NaNs"),
    (ONE, ONE * (1 + 80 * EPS), "x: error 80 eps, 64 eps allowed"),
]


@pytest.mark.parametrize(("expected", "actual"), RIGHT)
def test_containers_wider_types_and_roundings_may_differ(expected: Any, actual: Any) -> None:
    assert verdict(expected, actual) == ""


@pytest.mark.parametrize(("expected", "actual", "reason"), WRONG)
def test_values_kinds_and_narrower_types_may_not(expected: Any, actual: Any, reason: str) -> None:
    assert verdict(expected, actual).startswith(reason)


def test_weft_is_held_to_bits_and_types() -> None:
    assert verdict(ONE, ONE * (1 + EPS), WEFT, Sensitivity(eps=1e6)) != ""
    assert verdict(3, np.int64(3), WEFT) == "x: type int64, NumPy gives int"


def test_fast_math_is_allowed_more_by_a_stated_factor() -> None:
    moved = ONE * (1 + 0.9 * FACTOR * LEAST_EPS * EPS)

    assert verdict(ONE, moved, FAST) == ""
    assert verdict(ONE, moved, PLAIN) != ""
    assert verdict(ONE, ONE * (1 + 1.2 * FACTOR * LEAST_EPS * EPS), FAST) != ""


def test_what_a_kernel_leaves_open_is_allowed_and_no_more() -> None:
    counts = np.arange(1000)
    moved = counts.copy()
    moved[:3] += 1

    assert verdict(counts, moved) == "x: 3 of 1000 numbers differ"
    assert verdict(counts, moved, sensitivity=Sensitivity(share=0.003)) == ""
    assert verdict(counts, moved, sensitivity=Sensitivity(share=0.002)) != ""
    assert verdict(ONE, ONE * (1 + 900 * EPS), sensitivity=Sensitivity(eps=1000.0)) == ""


def sensitivity_of(name: str) -> Sensitivity:
    kernel = BY_NAME[name]
    true, moved = kernel.inputs("S"), perturb(kernel.inputs("S"), "float64")
    return measure_sensitivity(
        kernel.collect(kernel.function(**true), true), kernel.collect(kernel.function(**moved), moved)
    )


def test_an_iteration_that_blows_errors_up_is_told_from_a_product() -> None:
    assert sensitivity_of("mandelbrot_masks").eps > 1e4
    assert sensitivity_of("matrix_product").eps < 100


def test_no_sensitivity_excuses_a_result_that_is_simply_wrong() -> None:
    found = measure_sensitivity({"x": ONE, "n": np.arange(10)}, {"x": -ONE, "n": np.arange(10) + 1})

    assert verdict(ONE, ONE[::-1], FAST, found) != ""
    assert verdict(np.arange(10), np.arange(10)[::-1], FAST, found) != ""


def test_perturbing_keeps_types_and_integers() -> None:
    given = {"a": ONE.astype(np.float32), "n": 3, "f": 0.1, "s": np.float64(0.3), "i": np.arange(3), "z": 1j * ONE}
    moved = perturb(given, "float64")

    assert {name: type(value) for name, value in moved.items()} == {name: type(v) for name, v in given.items()}
    assert moved["a"].dtype == np.float32
    assert moved["i"] is not given["i"]
    assert (moved["i"] == given["i"]).all()
    assert moved["f"] != 0.1
    assert moved["f"] == pytest.approx(0.1, rel=4 * EPS)


VALUES = {
    "array": np.arange(6.0).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty": np.zeros((0, 3), dtype=np.complex64),
    "scalar": np.float32(1.5),
    "zero": np.array(2.5),
    "int": 1 << 80,
    "bool": True,
    "truth": np.True_,
    "float": float("inf"),
    "complex": 1 - 0.0j,
    "none": None,
    "text": "forward",
    "nested": (1, [2.0, (np.int8(3),)]),
}


def test_values_cross_with_their_types(tmp_path: Path) -> None:
    found = read_values(write_values(VALUES, tmp_path), tmp_path)

    for name, value in VALUES.items():
        assert type(found[name]) is type(value), name
        assert repr(found[name]) == repr(value), name
    assert found["fortran"].flags.f_contiguous


def test_what_would_need_a_pickle_does_not_cross(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="f: a value of type function cannot cross between processes"):
        write_values({"f": verdict}, tmp_path)
    with pytest.raises(ValueError, match="allow_pickle"):
        write_values({"f": np.array([verdict])}, tmp_path)


def test_the_fast_weft_is_not_held_to_bits() -> None:
    fast = load_frameworks()["weft-fast"].loaded()

    assert verdict(ONE, ONE * (1 + 100 * EPS), fast) == ""
    assert verdict(ONE, ONE * (1 + 100 * EPS), replace(FAST, name="weft")) != ""
