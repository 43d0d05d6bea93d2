"""From samples to numbers that say how sure they are.

in:   the pairs of a cell (NumPy's seconds and, right beside them, the framework's)
out:  `Estimate`: a median, a ratio of medians or a geometric mean, with its bootstrapped 95 % interval

A resample draws whole pairs, so that a slow moment of the machine, which hits both sides, cancels in the ratio. The
draws come from a fixed seed: the same samples give the same interval every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft_bench.cells import Cell, Pair

Verdict: TypeAlias = Literal["quiet", "noisy", "not to be trusted", "unknown"]
Draws: TypeAlias = NDArray[np.float64]

SEED = 20210614
RESAMPLES = 2000
OUTER_PERCENT = (2.5, 97.5)
NOISE_QUANTILE = 0.9  # what nine cells in ten stay below
QUIET_UP_TO, NOISY_UP_TO = 0.05, 0.15
SHORTEST_SECONDS = 1e-9  # a clock that did not move must not divide by zero


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and the interval that holds it with 95 % confidence; of one sample alone, 0 to infinity."""

    value: float
    low: float
    high: float

    @property
    def is_bounded(self) -> bool:
        """Whether there were samples enough for an interval."""
        return bool(np.isfinite(self.high))

    @property
    def width_percent(self) -> float:
        """The paper's measure of dispersion: the size of the interval in percent of the number."""
        return 100.0 * (self.high - self.low) / self.value

    def excludes(self, number: float) -> bool:
        """Whether the samples speak against `number`."""
        return not self.low <= number <= self.high


@dataclass(frozen=True, slots=True)
class Noise:
    """What NumPy against itself says of the machine.

    Both sides of such a pair are the same program, so every ratio should be 1. `spread` is the deviation that nine
    kernels in ten stay below (0.04: 4 %), `worst` the largest and `worst_kernel` where; `bias` is the geometric mean of
    the ratios, None without cells.
    """

    cells: int
    spread: float
    worst: float
    worst_kernel: str
    bias: Estimate | None

    @property
    def verdict(self) -> Verdict:
        """Whether the numbers of the run can be trusted."""
        if not self.cells:
            return "unknown"
        if self.spread <= QUIET_UP_TO:
            return "quiet"
        return "noisy" if self.spread <= NOISY_UP_TO else "not to be trusted"

    @property
    def text(self) -> str:
        """The verdict in a sentence, with what to do about it."""
        if not self.cells:
            return "Noise unknown: this run has no NumPy against NumPy; add the framework numpy to the next one."
        found = (
            f"NumPy against itself differs by up to {self.spread:.1%} in nine kernels of ten "
            f"(most in {self.worst_kernel}: {self.worst:.1%}; {self.cells} measured)"
        )
        match self.verdict:
            case "quiet":
                return f"The machine was quiet: {found}."
            case "noisy":
                return f"The machine was noisy: {found}. Differences of that size mean nothing."
            case _:
                return f"Do not trust single numbers of this run: {found}. Repeat it on an idle machine."


def median_estimate(samples: Sequence[float]) -> Estimate:
    """The median of some seconds, and the interval of that median."""
    seconds = _seconds(samples)
    draws = _medians(seconds[_resamples(len(seconds), 0)])
    return _estimate(float(np.median(seconds)), draws, smallest=len(seconds))


def speedup(pairs: Sequence[Pair]) -> Estimate:
    """How many times faster than NumPy: the ratio of the two medians."""
    return geometric_mean([pairs])


def geometric_mean(kernels: Sequence[Sequence[Pair]]) -> Estimate:
    """The geometric mean of the kernels' ratios; each kernel's samples are drawn anew, the kernels stay."""
    logs = [_log_ratios(pairs, stream) for stream, pairs in enumerate(kernels)]
    return _mean_of_logs(logs, smallest=min(len(pairs) for pairs in kernels))


def ratio_of_speedups(before: Sequence[Sequence[Pair]], after: Sequence[Sequence[Pair]]) -> Estimate:
    """Geometric mean over kernels of `after`'s ratio over `before`'s; above 1, it became faster."""
    logs: list[tuple[float, Draws]] = []
    for stream, (old, new) in enumerate(zip(before, after, strict=True)):
        old_value, old_draws = _log_ratios(old, 2 * stream)
        new_value, new_draws = _log_ratios(new, 2 * stream + 1)
        logs.append((new_value - old_value, new_draws - old_draws))
    return _mean_of_logs(logs, smallest=min(len(pairs) for pairs in (*before, *after)))


def ratio_of_times(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> Estimate:
    """Geometric mean over kernels of how many times shorter `after` is; the two were not measured side by side."""
    logs: list[tuple[float, Draws]] = []
    for stream, (old, new) in enumerate(zip(before, after, strict=True)):
        old_value, old_draws = _log_medians(old, 2 * stream)
        new_value, new_draws = _log_medians(new, 2 * stream + 1)
        logs.append((old_value - new_value, old_draws - new_draws))
    return _mean_of_logs(logs, smallest=min(len(samples) for samples in (*before, *after)))


def estimate_noise(cells: Sequence[Cell]) -> Noise:
    """The noise of a run, from the cells of the framework "numpy" among its cells."""
    same = [cell for cell in cells if cell.framework == "numpy" and cell.state == "ok" and cell.pairs]
    if not same:
        return Noise(0, 0.0, 0.0, "", None)
    deviations = np.array([abs(_log_ratio(cell.pairs)) for cell in same])
    worst = int(np.argmax(deviations))
    spread = float(np.quantile(deviations, NOISE_QUANTILE, method="higher"))
    bias = geometric_mean([cell.pairs for cell in same])
    return Noise(len(same), float(np.expm1(spread)), float(np.expm1(deviations[worst])), same[worst].kernel, bias)


def _seconds(samples: Sequence[float]) -> Draws:
    return np.maximum(np.asarray(samples, dtype=np.float64), SHORTEST_SECONDS)


def _sides(pairs: Sequence[Pair]) -> tuple[Draws, Draws]:
    return _seconds([pair.numpy for pair in pairs]), _seconds([pair.framework for pair in pairs])


def _log_ratio(pairs: Sequence[Pair]) -> float:
    numpy, framework = _sides(pairs)
    return float(np.log(np.median(numpy) / np.median(framework)))


def _log_ratios(pairs: Sequence[Pair], stream: int) -> tuple[float, Draws]:
    """The logarithm of the ratio of medians: of the samples, and of every resample."""
    numpy, framework = _sides(pairs)
    chosen = _resamples(len(pairs), stream)
    draws = np.log(_medians(numpy[chosen]) / _medians(framework[chosen]))
    return _log_ratio(pairs), draws


def _log_medians(samples: Sequence[float], stream: int) -> tuple[float, Draws]:
    seconds = _seconds(samples)
    return float(np.log(np.median(seconds))), np.log(_medians(seconds[_resamples(len(seconds), stream)]))


def _medians(draws: Draws) -> Draws:
    """The median of each row; sorting short rows is several times faster than `np.median`, which selects."""
    ordered = np.sort(draws, axis=1)
    middle = draws.shape[1] // 2
    return 0.5 * (ordered[:, (draws.shape[1] - 1) // 2] + ordered[:, middle])


@lru_cache(maxsize=256)
def _resamples(count: int, stream: int) -> NDArray[Any]:
    """Indices of `RESAMPLES` draws with replacement; another stream for every kernel, or their errors would align."""
    return np.random.default_rng((SEED, stream)).integers(0, count, (RESAMPLES, count))


def _mean_of_logs(logs: Sequence[tuple[float, Draws]], smallest: int) -> Estimate:
    value = float(np.exp(np.mean([value for value, _ in logs])))
    draws = np.exp(np.mean([draws for _, draws in logs], axis=0))
    return _estimate(value, draws, smallest)


def _estimate(value: float, draws: Draws, smallest: int) -> Estimate:
    if smallest < 2:
        return Estimate(value, 0.0, float("inf"))
    low, high = np.percentile(draws, OUTER_PERCENT)
    return Estimate(value, float(low), float(high))
