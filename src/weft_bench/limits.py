"""The least time a kernel can take on a machine, and which fraction of that limit a result reaches.

in:   the `Work` of a kernel (the bytes and operations it cannot avoid) and the section of `machine.describe()`
out:  a `Limit`: the longer of moving the bytes and doing the arithmetic, and which of the two it is

    limit = limit_seconds(Work(bytes=3 * 8 * n, flops=2 * n), machine, threads=2, dtype="float64")
    fraction(limit, measured_seconds)       0.82: no program can be more than 1 / 0.82 times faster

The bytes move at the best rate measured in the smallest level that holds them, whatever the mix of loads and stores: a
limit must not be beaten by a kernel that reads more than a triad does. So 1.0 is out of reach for a kernel
that writes much with ordinary stores; `docs/bench.md` says how to read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from weft_bench.cells import Work
from weft_bench.rates import MEMORY, find_levels

Bound: TypeAlias = Literal["memory", "arithmetic"]
BANDWIDTHS = ("triad_bytes_per_second", "copy_bytes_per_second", "read_bytes_per_second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The least seconds, what sets them, the level the bytes fit into and the rates that were taken."""

    seconds: float
    bound: Bound
    level: str
    bytes_per_second: float
    flops_per_second: float


def limit_seconds(work: Work, machine: Mapping[str, Any], threads: int, dtype: str) -> Limit | None:
    """The limit; None if the machine was described without being measured."""
    found = find_bandwidth(work.bytes, machine, threads)
    peak = find_peak(machine, threads, dtype)
    if found is None or peak is None:
        return None
    level, bandwidth = found
    moving, computing = work.bytes / bandwidth, work.flops / peak
    return Limit(
        seconds=max(moving, computing),
        bound="memory" if moving >= computing else "arithmetic",
        level=level,
        bytes_per_second=bandwidth,
        flops_per_second=peak,
    )


def fraction(limit: Limit, seconds: float) -> float:
    """The share of the limit that was reached: 1 is as fast as this machine can be."""
    if seconds <= 0.0:
        raise ValueError(f"a time is positive, not {seconds}: was the kernel measured?")
    return limit.seconds / seconds


def find_bandwidth(size_bytes: int, machine: Mapping[str, Any], threads: int) -> tuple[str, float] | None:
    """The smallest level that holds the bytes and was measured, and its best rate.

    A team of threads has as many private caches as threads: together they hold more than one does.
    """
    for level in find_levels(machine):
        holds = level.name == MEMORY or size_bytes <= level.bytes * level.instances(threads)
        rates = list(rates_of_level(machine, level.name, threads))
        if holds and rates:
            return level.name, max(rates)
    return None


def rates_of_level(machine: Mapping[str, Any], level: str, threads: int) -> Iterator[float]:
    """Every rate measured there with this many threads or fewer."""
    for name in BANDWIDTHS:
        rows: Mapping[str, Mapping[str, float]] = machine.get(name, {}).get(level, {})
        for count in counts_up_to(rows, threads):
            yield from rows[count].values()


def find_peak(machine: Mapping[str, Any], threads: int, dtype: str) -> float | None:
    """Operations per second: those of the float of the same width, of short integers as many more as fit a vector."""
    kind = np.dtype(dtype)
    width = kind.itemsize // 2 if kind.kind == "c" else kind.itemsize
    name, lanes = ("float64", 1.0) if width >= 8 else ("float32", max(1.0, 4 / width))
    rows: Mapping[str, Mapping[str, float]] = machine.get("peak_flops_per_second", {}).get(name, {})
    found = [rows[count] for count in counts_up_to(rows, threads)]
    if not found:
        return None
    if kind.kind in "fc":
        return max(max(rates.values()) for rates in found)
    return max(rates["no_fma"] for rates in found) * lanes  # most vector units have no multiply-add of integers


def counts_up_to(rows: Mapping[str, Any], threads: int) -> list[str]:
    """The thread counts measured up to the least that is not below `threads`.

    One more than asked keeps the limit a limit. Fewer count too: a team can do what a part of it did, though on a busy
    machine it may not have shown it.
    """
    counts = sorted(int(count) for count in rows if count.isdigit())
    last = next((count for count in counts if count >= threads), counts[-1] if counts else 0)
    # "default": without a compiler the peak is BLAS's, whose threads may not be known.
    return [str(count) for count in counts if count <= last] or list(rows)
