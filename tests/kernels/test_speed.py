"""The tool that holds the kernels to their bars of speed can say no, and the comparison of results can too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import speed
from weft_bench.agreement import compare_values
from weft_bench.kernels import BY_NAME

ROW = speed.Row("jacobi_2d", 0.1, 0.02, 5.0, 4.8, 5.3, 0.3)


def test_the_classes_name_kernels() -> None:
    assert BY_NAME.keys() >= speed.PRODUCTS | speed.SCALAR_LOOPS
    assert not speed.PRODUCTS & speed.SCALAR_LOOPS


def test_the_interval_is_around_the_ratio() -> None:
    turns = np.linspace(0.9, 1.1, 11)

    ratio, low, high = speed.compare_times(list(4.0 * turns), list(turns[::-1]))

    assert ratio == pytest.approx(4.0)
    assert low < ratio < high
    assert speed.compare_times([4.0] * 5, [2.0] * 5) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        (ROW, True),
        (replace(ROW, ratio=1.0, low=0.95), True),
        (replace(ROW, ratio=1.0, low=0.94), False),
        (replace(ROW, problem="A: other infinities or NaNs"), False),
    ],
)
def test_what_passes(row: speed.Row, kept: bool) -> None:
    assert row.kept is kept
    assert str(row).startswith("PASS" if kept else "FAIL")


def test_the_bars_over_all_kernels() -> None:
    rows = [ROW, replace(ROW, name="crc16", ratio=20.0, compile_seconds=0.5)]
    rows += [replace(ROW, name="two_products", ratio=1.0, compile_seconds=2.5, legality_seconds=1.0)]
    failed = replace(ROW, name="lu", ratio=0.0, problem="no compiler")

    mean, middle, worst, share = speed.summarise([*rows, failed])

    assert (mean.value, mean.kept) == (pytest.approx(10.0), True)
    assert "element by element 5 x" in mean.note
    assert (middle.value, middle.kept) == (0.5, True)
    assert (worst.value, worst.note, worst.kept) == (2.5, "two_products", False)
    assert (share.value, share.kept) == (0.4, False)
    assert speed.summarise([failed]) == []


def test_a_kernel_is_measured(tmp_path: Path) -> None:
    chosen = speed.read_arguments(["--preset", "S", "--repetitions", "2", "--threads", "1"])

    row = speed.measure_apart("seidel_2d", tmp_path / "cache", chosen)

    assert row.problem == ""
    assert row.low <= row.ratio <= row.high
    assert min(row.numpy_seconds, row.weft_seconds, row.compile_seconds) > 0.0


def test_tuples_are_compared_item_by_item() -> None:
    left, right = np.arange(3.0), np.arange(4.0)

    assert compare_values((left, right), (left.copy(), right.copy()), 0.0).ok
    assert compare_values((left, right), (left, right + 1.0), 0.0).reason.startswith("[1]: error")
    assert compare_values((left, right), (left,), 0.0).reason == "1 values, NumPy gives 2"
    assert not compare_values((left, right), left, 0.0).ok
