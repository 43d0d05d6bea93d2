"""The machine section of a run: what the machine is, and what it was measured to be able to do.

in:   this machine
out:  `describe()`, a JSON-able dictionary that is stored with every run

    describe()["triad_bytes_per_second"]["memory"]["2"]["nontemporal"]      3.1e10
    describe()["peak_flops_per_second"]["float64"]["2"]["fma"]              1.8e11
    describe()["noise"]["spread"]                                           0.02

Rates are the best of short runs: what the machine can do, not what it did on average. `limits` turns them into
the least time a kernel needs.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from weft_bench import rates
from weft_bench.blas import describe_blas, measure_gemm
from weft_bench.environments import home
from weft_bench.hardware import ROOT, read_gpus, read_hardware, team_order, usable_cpus
from weft_bench.probe import SOURCE, Probe, ProbeError, build_probe, describe_compiler, find_compiler

SCHEMA = 1  # of the dictionary; counts up when a key changes its meaning
SECONDS, QUICK_SECONDS = 0.06, 0.015  # for each number
TRIAD_SECONDS = 0.24  # for one kind of access at one level, over all thread counts
GEMM_SECONDS = 0.15
STEADY_SAMPLES, STEADY_SECONDS = 100, 0.1
# Beyond these the timings of a run are not to be believed to a few percent.
TRUSTED_SPREAD = TRUSTED_DRIFT = 0.05


def describe(measure: bool = True, *, quick: bool = False, cached: bool = False) -> dict[str, Any]:
    """The section; `quick` takes a quarter of the time and two thread counts.

    `cached` gives what was measured before, unless the machine was not steady then: it is measured again, and of the
    two the better rates are kept, as a busy machine does not show its best.
    """
    facts = read_facts()
    if not measure:
        return facts
    path = home() / "machine" / f"{identify(facts, quick)}.json"
    kept = read_kept(path) if cached else None
    if kept is not None and kept["noise"]["trusted"]:
        return kept
    section = facts | measure_all(facts, quick)
    if kept is not None and kept["measured_with"] == section["measured_with"]:
        section |= {key: better(kept[key], section[key], max) for key in section if key.endswith("_per_second")}
        section["page_fault"] = better(kept["page_fault"], section["page_fault"], min)
        section["gemm_fraction_of_peak"] = compare_with_peak(
            section["gemm_flops_per_second"], section["peak_flops_per_second"]
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(section), encoding="utf-8")
    return section


def better(old: Any, new: Any, choose: Callable[[Any, Any], Any]) -> Any:
    """Of two tables of the same keys, the number `choose` takes in each place."""
    if not isinstance(new, dict):
        return choose(old, new)
    before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
    return {key: better(before[key], value, choose) if key in before else value for key, value in after.items()}


def read_facts(root: Path = ROOT) -> dict[str, Any]:
    """What can be read without measuring."""
    compiler = find_compiler()
    return {
        "schema": SCHEMA,
        **read_hardware(root),
        "gpus": read_gpus(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "blas": describe_blas(),
        "compiler": describe_compiler(compiler) if compiler else None,
        "measured_with": None,
        "notes": [],
    }


def identify(facts: Mapping[str, Any], quick: bool) -> str:
    """A key that changes with the machine, its software and the way of measuring."""
    text = json.dumps([facts, quick, usable_cpus(), SOURCE.read_text(encoding="utf-8")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def read_kept(path: Path) -> dict[str, Any] | None:
    """What an earlier call measured; None if there is none that can be read."""
    try:
        return cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


# ---------------------------------------------------------------- measuring


def measure_all(facts: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    """The measured part of the section."""
    began = time.perf_counter()
    counts = rates.thread_counts(facts["cpu"]["logical_used"])
    chosen = sorted({counts[0], counts[-1]}) if quick else counts
    seconds = min(QUICK_SECONDS if quick else SECONDS, TRIAD_SECONDS / len(chosen))
    gemm = measure_gemm(sorted({counts[0], counts[-1]}), seconds if quick else GEMM_SECONDS)
    notes: list[str] = []
    try:
        found = measure_natively(facts, chosen, seconds, notes)
    except ProbeError as error:
        notes.append(f"{error}. Rates are estimates from NumPy's loops, one thread.")
        found = measure_with_numpy(facts, gemm, seconds)
    return found | {
        "gemm_flops_per_second": gemm,
        "gemm_fraction_of_peak": compare_with_peak(gemm, found["peak_flops_per_second"]),
        "timer": measure_timer(),
        "notes": [*notes, *find_warnings(facts, found)],
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "measuring_seconds": time.perf_counter() - began,
    }


def measure_natively(
    facts: Mapping[str, Any], counts: Sequence[int], seconds: float, notes: list[str]
) -> dict[str, Any]:
    """Everything the probe measures; the steadiness before and after, so that a drift shows."""
    probe = build_probe(json.dumps(facts["cpu"], sort_keys=True))
    plan = rates.Plan(
        probe=probe,
        levels=rates.find_levels(facts),
        cpus=team_order(ROOT, usable_cpus()),
        counts=counts,
        seconds=seconds,
    )
    before = sample_steadiness(probe)
    found: dict[str, Any] = {
        "measured_with": f"C, {probe.compiler}, {' '.join(probe.flags)}",
        "threads_measured": list(counts),
        "triad_bytes_per_second": rates.measure_triad(plan),
        "copy_bytes_per_second": rates.measure_copy(plan),
        "read_bytes_per_second": rates.measure_read(plan),
        "peak_flops_per_second": rates.measure_peak(plan),
        "page_fault": rates.measure_faults(probe, seconds, facts["transparent_huge_pages"]),
    }
    if "triad_stream" not in probe.kinds:
        notes.append("This compiler has no non-temporal stores for this processor.")
    return found | {"noise": summarise_noise(before, sample_steadiness(probe))}


def measure_with_numpy(
    facts: Mapping[str, Any], gemm: Mapping[str, Mapping[str, float]], seconds: float
) -> dict[str, Any]:
    """The same keys without a compiler, as far as NumPy can give them."""
    before = sample_python()
    found = rates.estimate_rates(rates.find_levels(facts), gemm, seconds)
    return found | {
        "measured_with": "NumPy",
        "threads_measured": [1],
        "page_fault": {},
        "noise": summarise_noise(before, sample_python()),
    }


def sample_steadiness(probe: Probe) -> tuple[float, ...]:
    """Seconds of a loop that always takes the same number of cycles, many times over."""
    return probe.numbers("steady", 1, STEADY_SAMPLES, STEADY_SECONDS)


def sample_python() -> tuple[float, ...]:
    """The same with a loop of Python's."""
    times: list[float] = []
    for _ in range(STEADY_SAMPLES):
        start = time.perf_counter()
        sum(range(40_000))
        times.append(time.perf_counter() - start)
    return tuple(times)


def summarise_noise(before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    """How far a fixed amount of work varies in time.

    `spread`: from the 10th to the 90th percentile, relative to the median. `worst`: the longest over the shortest, less
    one. `drift`: how much longer the median took after the measurements than before them.
    """
    times = np.array([*before, *after])
    low, middle, high = (float(value) for value in np.percentile(times, [10, 50, 90]))
    drift = float(np.median(after) / np.median(before)) - 1.0
    spread = (high - low) / middle
    return {
        "samples": len(times),
        "loop_seconds": middle,
        "spread": spread,
        "worst": float(times.max() / times.min()) - 1.0,
        "drift": drift,
        "trusted": bool(spread <= TRUSTED_SPREAD and abs(drift) <= TRUSTED_DRIFT),
    }


def measure_timer() -> dict[str, float]:
    """Python's clock: the least step it shows, and what reading it costs."""
    readings = [time.perf_counter() for _ in range(5000)]
    steps = np.diff(np.array(readings))
    return {
        "resolution_seconds": float(steps[steps > 0].min()),
        "read_seconds": (readings[-1] - readings[0]) / (len(readings) - 1),
    }


def compare_with_peak(
    gemm: Mapping[str, Mapping[str, float]], peak: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> dict[str, dict[str, float]]:
    """The share of the arithmetic peak BLAS reaches, where both were measured."""
    return {
        dtype: {count: rate / peak[dtype][count]["fma"] for count, rate in rows.items() if count in peak[dtype]}
        for dtype, rows in gemm.items()
    }


def find_warnings(facts: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """What a reader of the numbers should know of this machine, with the way out."""
    notes: list[str] = []
    if not found["noise"]["trusted"]:
        spread, drift = found["noise"]["spread"], found["noise"]["drift"]
        notes.append(
            f"The machine is not steady: a fixed loop varied by {spread:.0%}, its median moved by {drift:+.0%}. "
            "Stop other programs; believe ratios of interleaved pairs only."
        )
    if facts["governor"] not in {None, "performance"}:
        notes.append(f"The clock follows the governor {facts['governor']}: cpupower frequency-set -g performance.")
    quota = facts["cpu"]["quota"]
    if quota is not None and quota < facts["cpu"]["logical_used"]:
        notes.append(f"The container may use {quota:g} processors of {facts['cpu']['logical_used']}: set the threads.")
    if not facts["caches"] and sys.platform == "linux":
        notes.append("The machine does not tell its caches: all data counts as being in memory.")
    return notes
