"""Can this machine be trusted?

in:   a calibration before a run and one after it, and the cells in which NumPy was measured against itself
out:  sentences with numbers; none says "cannot be trusted" unless something is off

The calibration is a loop of plain arithmetic (the processor's speed) and a triad (the memory's), each some times: the
spread of the repetitions and the drift from before to after are the machine's, not a framework's. NumPy against NumPy
goes through all of the measuring; its ratio should be 1 (`statistics.estimate_noise`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

import numpy as np

from weft_bench.cells import Cell
from weft_bench.statistics import estimate_noise

REPETITIONS: Final = 7
TRIAD_ELEMENTS: Final = 2_000_000
SPIN_STEPS: Final = 100_000
TRUSTED: Final = 0.10  # a spread or a drift beyond this is told


@dataclass(frozen=True, slots=True)
class Calibration:
    """Seconds of every repetition of two loops that always do the same."""

    spin: tuple[float, ...]
    triad: tuple[float, ...]

    def facts(self) -> dict[str, Any]:
        """For the machine's section of a run."""
        return asdict(self)


def calibrate() -> Calibration:
    """A fifth of a second of known work."""
    rng = np.random.default_rng(1)
    b, c = rng.random(TRIAD_ELEMENTS), rng.random(TRIAD_ELEMENTS)
    a = np.zeros(TRIAD_ELEMENTS)

    def triad() -> None:
        np.multiply(c, 1.5, out=a)
        np.add(a, b, out=a)

    return Calibration(_repeat(_spin), _repeat(triad))


def _spin() -> None:
    total = 0
    for number in range(SPIN_STEPS):
        total ^= number


def _repeat(work: Callable[[], None]) -> tuple[float, ...]:
    work()
    seconds: list[float] = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return tuple(seconds)


def judge(before: Calibration, after: Calibration, cells: Sequence[Cell]) -> list[str]:
    """The sentences to print under a table: NumPy against itself, then the loops if they were not steady."""
    sentences = [*_judge_loop("processor", before.spin, after.spin), *_judge_loop("memory", before.triad, after.triad)]
    told = [estimate_noise(cells).text]
    if sentences:
        told.append(f"The machine cannot be trusted with small differences: {'; '.join(sentences)}.")
    return told


def _judge_loop(what: str, before: tuple[float, ...], after: tuple[float, ...]) -> list[str]:
    drift = median(after) / median(before)
    spread = max(median(times) / min(times) - 1.0 for times in (before, after))
    sentences: list[str] = []
    if abs(drift - 1.0) > TRUSTED:
        sentences.append(f"the same {what} loop took {drift:.2f} times as long after the run as before it")
    if spread > TRUSTED:
        sentences.append(f"the {what} loop's median lies {spread:.0%} above its best time")
    return sentences
