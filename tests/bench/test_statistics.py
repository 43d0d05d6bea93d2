"""The statistics have known answers, and the intervals hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bench.synthetic import make_cell, make_failure, make_pairs
from weft_bench.cells import Pair
from weft_bench.statistics import (
    estimate_noise,
    geometric_mean,
    median_estimate,
    ratio_of_speedups,
    ratio_of_times,
    speedup,
)


def test_speedup_is_the_ratio_of_the_medians_not_the_median_of_the_ratios() -> None:
    pairs = [Pair(1.0, 1.0), Pair(4.0, 2.0), Pair(6.0, 1.5)]

    assert speedup(pairs).value == pytest.approx(4.0 / 1.5)  # the median of the ratios is 2


def test_equal_samples_have_an_interval_of_no_width() -> None:
    estimate = speedup([Pair(3.0, 1.0)] * 10)

    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((3.0, 3.0, 3.0))
    assert estimate.width_percent == pytest.approx(0.0, abs=1e-9)


def test_one_sample_has_no_interval() -> None:
    estimate = speedup([Pair(3.0, 1.0)])

    assert estimate.value == pytest.approx(3.0)
    assert not estimate.is_bounded
    assert not estimate.excludes(1.0)


def test_the_same_samples_give_the_same_interval() -> None:
    pairs = make_pairs(0.01, 2.0, 10, 0.1, seed=3)

    assert speedup(pairs) == speedup(list(pairs))


def test_what_slows_both_sides_of_a_pair_does_not_widen_the_interval() -> None:
    slow = np.linspace(1.0, 3.0, 21)
    together = [Pair(2.0 * factor, factor) for factor in slow]
    apart = [Pair(2.0 * factor, other) for factor, other in zip(slow, slow[::-1], strict=True)]

    assert speedup(together).width_percent < 1e-6
    assert speedup(apart).width_percent > 10.0


def test_interval_width_is_in_percent_of_the_median() -> None:
    estimate = median_estimate([1.0] * 50 + [1.1] * 51 + [1.2] * 50)

    assert estimate.value == 1.1
    assert estimate.low >= 1.0
    assert estimate.high <= 1.2
    assert estimate.width_percent == pytest.approx(100.0 * (estimate.high - estimate.low) / 1.1)


@pytest.mark.parametrize("count", [7, 10, 20])
def test_nineteen_intervals_in_twenty_hold_the_true_ratio(count: int) -> None:
    rng = np.random.default_rng(11)
    runs = 400
    held = 0
    for _ in range(runs):
        sides = np.exp(rng.normal(0.0, 0.1, (count, 2))) * (2.0, 1.0)
        held += not speedup([Pair(*side) for side in sides]).excludes(2.0)

    assert 0.92 <= held / runs <= 0.995


def test_geometric_mean_of_two_and_eight_is_four() -> None:
    assert geometric_mean([[Pair(2.0, 1.0)] * 5, [Pair(8.0, 1.0)] * 5]).value == pytest.approx(4.0)


def test_errors_of_different_kernels_average_out() -> None:
    one = geometric_mean([make_pairs(1.0, 2.0, 9, 0.2, seed=0)])
    many = geometric_mean([make_pairs(1.0, 2.0, 9, 0.2, seed=seed) for seed in range(50)])

    assert many.width_percent < one.width_percent / 3.0


def test_kernels_that_drift_alike_are_still_drawn_apart() -> None:
    drift = np.linspace(1.0, 1.5, 15)
    kernels = [[Pair(2.0, float(seconds) * scale) for seconds in drift] for scale in np.linspace(1.0, 2.0, 40)]

    assert geometric_mean(kernels).width_percent < geometric_mean(kernels[:1]).width_percent / 3.0


def test_nineteen_intervals_in_twenty_hold_the_true_mean() -> None:
    rng = np.random.default_rng(12)
    runs, held = 300, 0
    for _ in range(runs):
        sides = np.exp(rng.normal(0.0, 0.1, (6, 10, 2))) * (3.0, 1.0)
        held += not geometric_mean([[Pair(*side) for side in kernel] for kernel in sides]).excludes(3.0)

    assert 0.92 <= held / runs <= 0.995


def test_ratio_of_times_is_what_a_call_became_shorter_by() -> None:
    assert ratio_of_times([[4.0] * 5], [[2.0] * 5]).value == pytest.approx(2.0)


def test_ratio_of_speedups_compares_with_what_was_before() -> None:
    before, after = [[Pair(2.0, 1.0)] * 5], [[Pair(3.0, 1.0)] * 5]

    assert ratio_of_speedups(before, after).value == pytest.approx(1.5)
    same = [make_pairs(1.0, 2.0, 9, 0.1, seed=4)]
    assert ratio_of_speedups(same, same).low < 1.0 < ratio_of_speedups(same, same).high


def test_a_clock_that_did_not_move_is_no_division_by_zero() -> None:
    assert np.isfinite(speedup([Pair(1.0, 0.0)] * 5).value)


@pytest.mark.parametrize(("noise", "verdict"), [(0.01, "quiet"), (0.12, "noisy"), (0.6, "not to be trusted")])
def test_verdict_follows_what_numpy_differs_from_itself(noise: float, verdict: str) -> None:
    cells = [make_cell(f"k{seed}", "numpy", pairs=make_pairs(0.01, 1.0, 9, noise, seed)) for seed in range(30)]
    other = [make_cell(f"k{seed}", "jax", ratio=9.0) for seed in range(30)]

    found = estimate_noise([*cells, *other])

    assert found.verdict == verdict
    assert found.cells == 30
    assert found.bias is not None
    assert found.bias.value == pytest.approx(1.0, abs=0.1)


def test_without_numpy_against_itself_the_noise_is_unknown() -> None:
    noise = estimate_noise([make_cell("lu", "jax"), make_failure("lu", "numpy", "execution", "killed")])

    assert noise.verdict == "unknown"
    assert "add the framework numpy" in noise.text


def test_one_bad_kernel_names_itself_but_does_not_spoil_the_verdict() -> None:
    cells = [make_cell(f"k{seed}", "numpy", ratio=1.0, seed=seed) for seed in range(30)]
    cells.append(make_cell("odd_one", "numpy", ratio=1.6))

    noise = estimate_noise(cells)

    assert noise.verdict == "quiet"
    assert noise.worst_kernel == "odd_one"
