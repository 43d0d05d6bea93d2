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
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from weft_bench.cells import Cell, Pair

Verdict: TypeAlias = Literal["quiet", "noisy", "not to be trusted", "unknown"]
Draws: TypeAlias = NDArray[np.float64]

SEED = 20210614
RESAMPLES = 2000
BEFORE, AFTER = 0, 1
KEPT = 2048  # cells whose resamples are not drawn again for the next mean
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
    value, draws = _log_medians(tuple(samples), BEFORE)
    return _mean_of_logs([(value, draws)], smallest=len(samples))


def speedup(pairs: Sequence[Pair]) -> Estimate:
    """How many times faster than NumPy: the ratio of the two medians."""
    return geometric_mean([pairs])


def geometric_mean(kernels: Sequence[Sequence[Pair]]) -> Estimate:
    """The geometric mean of the kernels' ratios; each kernel's samples are drawn anew, the kernels stay."""
    logs = [_log_ratios(tuple(pairs), BEFORE) for pairs in kernels]
    return _mean_of_logs(logs, smallest=min(len(pairs) for pairs in kernels))


def ratio_of_speedups(before: Sequence[Sequence[Pair]], after: Sequence[Sequence[Pair]]) -> Estimate:
    """Geometric mean over kernels of `after`'s ratio over `before`'s; above 1, it became faster."""
    logs: list[tuple[float, Draws]] = []
    for old, new in zip(before, after, strict=True):
        (old_value, old_draws), (new_value, new_draws) = _log_ratios(tuple(old), BEFORE), _log_ratios(tuple(new), AFTER)
        logs.append((new_value - old_value, new_draws - old_draws))
    return _mean_of_logs(logs, smallest=min(len(pairs) for pairs in (*before, *after)))


def ratio_of_times(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> Estimate:
    """Geometric mean over kernels of how many times shorter `after` is; the two were not measured side by side."""
    logs: list[tuple[float, Draws]] = []
    for old, new in zip(before, after, strict=True):
        (old_value, old_draws), (new_value, new_draws) = (
            _log_medians(tuple(old), BEFORE),
            _log_medians(tuple(new), AFTER),
        )
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


@lru_cache(maxsize=KEPT)
def _log_ratios(pairs: tuple[Pair, ...], salt: int) -> tuple[float, Draws]:
    """The logarithm of the ratio of medians: of the samples, and of every resample."""
    numpy, framework = _sides(pairs)
    chosen = _resamples(np.concatenate([numpy, framework]), len(pairs), salt)
    return _log_ratio(pairs), np.log(_medians(numpy[chosen]) / _medians(framework[chosen]))


def _log_medians(samples: tuple[float, ...], salt: int) -> tuple[float, Draws]:
    seconds = _seconds(samples)
    draws = np.log(_medians(seconds[_resamples(seconds, len(seconds), salt)]))
    return float(np.log(np.median(seconds))), draws


def _medians(draws: Draws) -> Draws:
    """The median of each row; sorting short rows is several times faster than `np.median`, which selects."""
    ordered = np.sort(draws, axis=1)
    middle = draws.shape[1] // 2
    return 0.5 * (ordered[:, (draws.shape[1] - 1) // 2] + ordered[:, middle])


def _resamples(samples: Draws, count: int, salt: int) -> NDArray[Any]:
    """Indices of `RESAMPLES` draws with replacement.

    The samples themselves choose the stream: that of one kernel has nothing to do with that of another, or the errors
    in a mean would align, and it is the same wherever the kernel stands. `salt` parts the two sides of a comparison.
    """
    stream = crc32(samples.tobytes())
    return np.random.default_rng((SEED, stream, salt)).integers(0, count, (RESAMPLES, count))


def _mean_of_logs(logs: Sequence[tuple[float, Draws]], smallest: int) -> Estimate:
    value = float(np.exp(np.mean([value for value, _ in logs])))
    if smallest < 2:
        return Estimate(value, 0.0, float("inf"))
    draws = np.exp(np.mean([draws for _, draws in logs], axis=0))
    low, high = np.percentile(draws, OUTER_PERCENT)
    return Estimate(value, float(low), float(high))
