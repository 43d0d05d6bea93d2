"""The least time a kernel needs, with machines small enough to reckon by hand."""

from __future__ import annotations

from typing import Any

import pytest

from weft_bench.cells import Work
from weft_bench.limits import Limit, counts_up_to, find_bandwidth, find_peak, fraction, limit_seconds

# Two cores with a private L1 of 32 KiB and a shared L2 of 1 MiB.
MACHINE: dict[str, Any] = {
    "cpu": {"logical_total": 2},
    "caches": [{"level": 1, "bytes": 32 << 10, "shared_by": 1}, {"level": 2, "bytes": 1 << 20, "shared_by": 2}],
    "memory_bytes": 1 << 34,
    "memory_limit_bytes": None,
    "triad_bytes_per_second": {
        "L1": {"1": {"ordinary": 100e9}, "2": {"ordinary": 200e9}},
        "L2": {"1": {"ordinary": 40e9}, "2": {"ordinary": 50e9}},
        "memory": {
            "1": {"ordinary": 6e9, "ordinary_with_write_allocate": 8e9, "nontemporal": 9e9},
            "2": {"ordinary": 9e9, "ordinary_with_write_allocate": 12e9, "nontemporal": 11e9},
        },
    },
    "read_bytes_per_second": {"memory": {"1": {"ordinary": 10e9}, "2": {"ordinary": 11e9}}},
    "peak_flops_per_second": {
        "float32": {"1": {"fma": 64e9, "no_fma": 32e9}, "2": {"fma": 128e9, "no_fma": 64e9}},
        "float64": {"1": {"fma": 32e9, "no_fma": 16e9}, "2": {"fma": 64e9, "no_fma": 32e9}},
    },
}


def test_a_triad_is_bound_by_memory() -> None:
    numbers = 10_000_000

    limit = limit_seconds(Work(bytes=24 * numbers, flops=2 * numbers), MACHINE, 2, "float64")

    assert limit == Limit(
        seconds=24 * numbers / 12e9,
        bound="memory",
        level="memory",
        bytes_per_second=12e9,
        flops_per_second=64e9,
    )
    assert limit is not None
    assert fraction(limit, 2 * limit.seconds) == pytest.approx(0.5)


def test_a_product_is_bound_by_arithmetic() -> None:
    order = 1000

    limit = limit_seconds(Work(bytes=3 * 8 * order**2, flops=2 * order**3), MACHINE, 1, "float64")

    assert limit is not None
    assert (limit.bound, limit.seconds) == ("arithmetic", 2e9 / 32e9)


def test_single_precision_has_twice_the_peak() -> None:
    work = Work(bytes=8, flops=10**9)
    double, single = (limit_seconds(work, MACHINE, 1, dtype) for dtype in ("float64", "float32"))

    assert double is not None
    assert single is not None
    assert double.seconds == 2 * single.seconds


@pytest.mark.parametrize(
    ("size_bytes", "threads", "level", "rate"),
    [
        (32 << 10, 1, "L1", 100e9),
        ((32 << 10) + 1, 1, "L2", 40e9),
        (64 << 10, 2, "L1", 200e9),  # half of it in each core's cache
        ((64 << 10) + 1, 2, "L2", 50e9),
        (1 << 20, 2, "L2", 50e9),  # shared: there is one of it
        ((1 << 20) + 1, 2, "memory", 12e9),
        (1 << 40, 1, "memory", 10e9),  # the read is the best there
        (0, 1, "L1", 100e9),
    ],
)
def test_the_smallest_level_that_holds_the_bytes(size_bytes: int, threads: int, level: str, rate: float) -> None:
    assert find_bandwidth(size_bytes, MACHINE, threads) == (level, rate)


def test_a_level_that_was_not_measured_is_passed_over() -> None:
    triad = {"memory": MACHINE["triad_bytes_per_second"]["memory"]}

    assert find_bandwidth(100, MACHINE | {"triad_bytes_per_second": triad}, 1) == ("memory", 10e9)


@pytest.mark.parametrize(
    ("dtype", "rate"),
    [
        ("float64", 32e9),
        ("complex128", 32e9),
        ("float32", 64e9),
        ("complex64", 64e9),
        ("int64", 16e9),
        ("uint32", 32e9),
        ("int16", 64e9),
        ("uint8", 128e9),
        ("bool", 128e9),
    ],
)
def test_the_peak_by_dtype(dtype: str, rate: float) -> None:
    assert find_peak(MACHINE, 1, dtype) == rate


@pytest.mark.parametrize(
    ("threads", "counts"),
    [(1, ["1"]), (2, ["1", "2"]), (3, ["1", "2", "4"]), (4, ["1", "2", "4"]), (64, ["1", "2", "4", "8"])],
)
def test_thread_counts_between_those_measured(threads: int, counts: list[str]) -> None:
    assert counts_up_to({"8": 0, "1": 0, "2": 0, "4": 0}, threads) == counts
    assert counts_up_to({"default": 0}, threads) == ["default"]
    assert counts_up_to({}, threads) == []


def test_a_team_is_not_slower_than_one_of_it() -> None:
    slow = {"1": {"ordinary": 9e9}, "2": {"ordinary": 5e9}}
    machine = MACHINE | {"triad_bytes_per_second": {"memory": slow}, "read_bytes_per_second": {}}

    assert find_bandwidth(1 << 40, machine, 2) == ("memory", 9e9)


def test_a_machine_that_was_not_measured_has_no_limit() -> None:
    facts = {key: value for key, value in MACHINE.items() if not key.endswith("_per_second")}

    assert limit_seconds(Work(bytes=8, flops=8), facts, 1, "float64") is None


def test_a_time_of_zero_is_refused() -> None:
    limit = limit_seconds(Work(bytes=8, flops=8), MACHINE, 1, "float64")

    assert limit is not None
    with pytest.raises(ValueError, match="was the kernel measured"):
        fraction(limit, 0.0)
