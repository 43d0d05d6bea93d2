"""The rates of a machine: bandwidth of every level by kind of access, arithmetic peak, cost of a page.

in:   the facts of `hardware`, and a `Probe` (or none: NumPy's loops give estimates)
out:  dictionaries by level ("L1", ..., "memory"), thread count (as text, for JSON) and kind

Rates are nominal: the bytes a program names. With ordinary stores a line that is written is first read from memory, so
the bus carries a third more than a triad names: that is `ordinary_with_write_allocate`. Within the first level
nothing has to be fetched, and the two are equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

import numpy as np

from weft_bench.probe import Probe

ByKind: TypeAlias = dict[str, float]
ByThreads: TypeAlias = dict[str, ByKind]
ByLevel: TypeAlias = dict[str, ByThreads]

MEMORY = "memory"
LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES = 64 << 20, 1 << 30
MEMORY_OVER_CACHE = 4  # the working set that is in memory for certain, in last-level caches
WRITE_ALLOCATE = 4 / 3  # a triad reads two arrays, fetches a third and writes it
FAULT_BYTES = 64 << 20
LARGE_LEVEL_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Level:
    """One cache level or the memory; `bytes` of a cache instance, which `shared_by` processors share."""

    name: str
    bytes: int
    shared_by: int

    def instances(self, threads: int) -> int:
        """How many of it a team of threads has."""
        return ceil(threads / self.shared_by)


def find_levels(hardware: Mapping[str, Any]) -> list[Level]:
    """The caches there are and the memory, from the nearest on."""
    caches = [Level(f"L{item['level']}", item["bytes"], item["shared_by"]) for item in hardware["caches"]]
    memory = hardware.get("memory_bytes") or 1 << 33
    limit = hardware.get("memory_limit_bytes") or memory
    return [*caches, Level(MEMORY, min(memory, limit), hardware["cpu"]["logical_total"] or 1)]


def working_set(levels: Sequence[Level], number: int, threads: int, logical: int) -> int | None:
    """Bytes for each thread that lie in the level and not in a nearer one; None if there is no such size.

    Half of a private cache, a quarter of a large one, of which neighbours on the machine hold their part too.
    """
    level = levels[number]
    if level.name == MEMORY:
        last = levels[number - 1].bytes * levels[number - 1].instances(threads) if number else 0
        wanted = max(LEAST_MEMORY_BYTES, MEMORY_OVER_CACHE * last)
        return min(wanted, MOST_MEMORY_BYTES, level.bytes // 8) // threads
    sharing = max(1, min(threads, ceil(threads * level.shared_by / logical)))
    portion = 4 if level.bytes >= LARGE_LEVEL_BYTES else 2
    size = level.bytes // portion // sharing
    nearer = levels[number - 1].bytes if number else 0
    return size if size >= nearer else None


def thread_counts(most: int) -> list[int]:
    """1, 2, 4, ... and all."""
    powers = [1 << exponent for exponent in range(most.bit_length()) if 1 << exponent < most]
    return [*powers, most]


# ---------------------------------------------------------------- with the probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure with: the probe, processors in the order threads take them, seconds for each number."""

    probe: Probe
    levels: Sequence[Level]
    cpus: Sequence[int]
    counts: Sequence[int]
    seconds: float

    @property
    def ends(self) -> Sequence[int]:
        """One thread and all of them: enough for what only rounds off the picture."""
        return sorted({self.counts[0], self.counts[-1]})

    def by_level(self, kinds: Mapping[str, str], counts: Sequence[int]) -> ByLevel:
        """The rates of the probe's `kinds`, by the names they are given."""
        found: ByLevel = {}
        for number, level in enumerate(self.levels):
            rows: ByThreads = {}
            for count in counts:
                size = working_set(self.levels, number, count, len(self.cpus))
                if size is not None:
                    rows[str(count)] = {
                        name: self.probe.rate(kind, count, size, self.seconds, self.cpus)
                        for name, kind in kinds.items()
                        if kind in self.probe.kinds
                    }
            if rows:
                found[level.name] = rows
        return found


def measure_triad(plan: Plan) -> ByLevel:
    """`a = b + s * c` by kind of store."""
    found = plan.by_level({"ordinary": "triad", "nontemporal": "triad_stream"}, plan.counts)
    for name, rows in found.items():
        for kinds in rows.values():
            factor = 1.0 if name == plan.levels[0].name != MEMORY else WRITE_ALLOCATE
            kinds["ordinary_with_write_allocate"] = kinds["ordinary"] * factor
    return found


def measure_copy(plan: Plan) -> ByLevel:
    """`a = b` by kind of store."""
    return plan.by_level({"ordinary": "copy", "nontemporal": "copy_stream"}, plan.ends)


def measure_read(plan: Plan) -> ByLevel:
    """Summing an array."""
    return plan.by_level({"ordinary": "read"}, plan.ends)


def measure_peak(plan: Plan) -> dict[str, ByThreads]:
    """Operations per second of independent chains in registers; the better of the vector widths there are."""
    found: dict[str, ByThreads] = {}
    for dtype, bits in (("float32", "32"), ("float64", "64")):
        found[dtype] = {}
        for count in plan.counts:
            found[dtype][str(count)] = {
                name: max(
                    plan.probe.rate(f"{kind}{bits}{width}", count, 0, plan.seconds, plan.cpus)
                    for width in ("", "_narrow")
                    if f"{kind}{bits}{width}" in plan.probe.kinds
                )
                for name, kind in (("fma", "fma"), ("no_fma", "plain"))
            }
    return found


def measure_faults(probe: Probe, seconds: float, huge_pages: str | None) -> dict[str, float]:
    """Seconds from the first touch of a page to its next instruction, by kind of page."""
    found = {"page_seconds": probe.numbers("fault", 1, FAULT_BYTES, seconds)[0]}
    if huge_pages in {"always", "madvise"}:
        found["huge_page_seconds"] = probe.numbers("fault_huge", 1, FAULT_BYTES, seconds)[0]
    return found


# ---------------------------------------------------------------- without it


def estimate_rates(levels: Sequence[Level], gemm: Mapping[str, Mapping[str, float]], seconds: float) -> dict[str, Any]:
    """What NumPy's own loops reach, one thread: a lower estimate of what the machine can do.

    The triad is an addition into a third array; the peak is BLAS's, which comes near it.
    """
    triad: ByLevel = {}
    copy: ByLevel = {}
    read: ByLevel = {}
    for number, level in enumerate(levels):
        size = working_set(levels, number, 1, 1)
        if size is None:
            continue
        a, b, c = (np.full(max(1, size // 24), float(value)) for value in (1, 2, 3))
        rate = 3 * a.nbytes / best_seconds(lambda a=a, b=b, c=c: np.add(b, c, out=a), seconds)
        factor = 1.0 if number == 0 and level.name != MEMORY else WRITE_ALLOCATE
        triad[level.name] = {"1": {"ordinary": rate, "ordinary_with_write_allocate": rate * factor}}
        copied = 2 * a.nbytes / best_seconds(lambda a=a, b=b: np.copyto(a, b), seconds)
        copy[level.name] = {"1": {"ordinary": copied}}
        read[level.name] = {"1": {"ordinary": b.nbytes / best_seconds(lambda b=b: np.max(b), seconds)}}
    peak = {
        dtype: {count: {"fma": rate, "no_fma": rate / 2} for count, rate in rows.items()}
        for dtype, rows in gemm.items()
    }
    return {
        "triad_bytes_per_second": triad,
        "copy_bytes_per_second": copy,
        "read_bytes_per_second": read,
        "peak_flops_per_second": peak,
    }


def best_seconds(action: Callable[[], object], seconds: float) -> float:
    """The shortest of at least three rounds of about 2 ms each, per action."""
    action()
    start = time.perf_counter()
    action()
    turns = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
    began, best, rounds = time.perf_counter(), float("inf"), 0
    while rounds < 3 or time.perf_counter() - began < seconds:
        start = time.perf_counter()
        for _ in range(turns):
            action()
        best = min(best, (time.perf_counter() - start) / turns)
        rounds += 1
    return best
