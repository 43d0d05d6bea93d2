"""Two runs, cell by cell: what became faster or slower beyond the noise.

in:   two `Run`s
out:  a `Comparison`: per kernel and framework the ratio of the two speed-ups over NumPy with its 95 % interval

Speed-ups are compared and not seconds: each was measured beside NumPy, so a slower day or another machine cancels. A
change is told as one when its interval excludes 1 and it is larger than NumPy differs from itself in the two runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, log
from typing import Literal, TypeAlias

from weft_bench.cells import Cell, Run
from weft_bench.matrix import NUMPY
from weft_bench.statistics import Estimate, estimate_noise, ratio_of_speedups, ratio_of_times, speedup

Key: TypeAlias = tuple[str, str, str, str, int]
Verdict: TypeAlias = Literal["faster", "slower", "same"]


@dataclass(frozen=True, slots=True)
class Change:
    """One cell in both runs; the estimates are None unless it is right in both."""

    before: Cell
    after: Cell
    old: Estimate | None
    new: Estimate | None
    ratio: Estimate | None
    verdict: Verdict

    @property
    def is_news(self) -> bool:
        """Whether anything changed: the speed beyond the noise, or how the cell ends."""
        return self.verdict != "same" or self.before.state != self.after.state


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that is in both runs, and how many cells are in one of them alone."""

    changes: tuple[Change, ...]
    means: Mapping[str, tuple[Estimate, int]]
    noise: float
    numpy_ratio: Estimate | None
    only_before: int
    only_after: int


def compare_runs(before: Run, after: Run) -> Comparison:
    """Match the cells by kernel, framework, preset, dtype and threads."""
    old, new = _by_key(before.cells), _by_key(after.cells)
    shared = [key for key in old if key in new]
    noise = exp(hypot(*(log(1.0 + estimate_noise(run.cells).spread) for run in (before, after)))) - 1.0
    changes = tuple(_compare(old[key], new[key], noise) for key in shared if key[1] != NUMPY)
    return Comparison(
        changes=changes,
        means=_means(changes),
        noise=noise,
        numpy_ratio=_numpy_ratio([(old[key], new[key]) for key in shared]),
        only_before=len(old) - len(shared),
        only_after=len(new) - len(shared),
    )


def _by_key(cells: Iterable[Cell]) -> dict[Key, Cell]:
    return {(cell.kernel, cell.framework, cell.preset, cell.dtype, cell.threads): cell for cell in cells}


def _is_right(cell: Cell) -> bool:
    return cell.state == "ok" and bool(cell.pairs)


def _compare(before: Cell, after: Cell, noise: float) -> Change:
    old = speedup(before.pairs) if _is_right(before) else None
    new = speedup(after.pairs) if _is_right(after) else None
    if old is None or new is None:
        return Change(before, after, old, new, None, "same")
    ratio = ratio_of_speedups([before.pairs], [after.pairs])
    return Change(before, after, old, new, ratio, _judge(ratio, noise))


def _judge(ratio: Estimate, noise: float) -> Verdict:
    if not ratio.excludes(1.0) or abs(log(ratio.value)) <= log(1.0 + noise):
        return "same"
    return "faster" if ratio.value > 1.0 else "slower"


def _means(changes: Sequence[Change]) -> dict[str, tuple[Estimate, int]]:
    """Per framework the geometric mean of the ratios, and over how many cells."""
    means: dict[str, tuple[Estimate, int]] = {}
    for framework in dict.fromkeys(change.after.framework for change in changes):
        right = [c for c in changes if c.after.framework == framework and c.ratio is not None]
        if right:
            mean = ratio_of_speedups([c.before.pairs for c in right], [c.after.pairs for c in right])
            means[framework] = (mean, len(right))
    return means


def _numpy_ratio(cells: Sequence[tuple[Cell, Cell]]) -> Estimate | None:
    """How many times faster NumPy itself was in the second run: another day, another machine."""
    right = [(old, new) for old, new in cells if _is_right(old) and _is_right(new)]
    if not right:
        return None
    before, after = ([[pair.numpy for pair in cell.pairs] for cell in side] for side in zip(*right, strict=True))
    return ratio_of_times(before, after)
