"""The machine section: files of other machines, what is measured, and what happens without a compiler."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft_bench import blas, hardware, machine, probe, rates
from weft_bench.commands import machine as command
from weft_bench.rates import Level

# ---------------------------------------------------------------- files of other machines

INTEL = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Gold 6154 CPU @ 3.00GHz
flags\t\t: fpu sse4_2 avx avx2 fma avx512f

processor\t: 1
model name\t: Something else
"""
ARM = """\
processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU architecture: 8
CPU part\t: 0xd0c
"""
POWER = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2300.000000MHz\n"


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return root


def cache_files(index: int, level: int, kind: str, size: str, sharing: str) -> dict[str, str]:
    folder = f"{hardware.CPU_FOLDER}/cpu0/cache/index{index}"
    return {
        f"{folder}/level": str(level),
        f"{folder}/type": kind,
        f"{folder}/size": size,
        f"{folder}/shared_cpu_list": sharing,
        f"{folder}/coherency_line_size": "64",
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (INTEL, "Intel(R) Xeon(R) Gold 6154 CPU @ 3.00GHz"),
        (ARM, "ARM Neoverse-N1"),
        (ARM.replace("0xd0c", "0x123").replace("0x41", "0x99"), "implementer 0x99 part 0x123"),
        (POWER, "POWER9, altivec supported"),
    ],
)
def test_processors_are_named(text: str, name: str) -> None:
    assert hardware.name_cpu(hardware.parse_cpuinfo(text)) == name


def test_caches_of_instructions_and_broken_ones_are_skipped(tmp_path: Path) -> None:
    files = cache_files(0, 1, "Data", "32K", "0,32") | cache_files(1, 1, "Instruction", "64K", "0,32")
    files |= cache_files(3, 3, "Unified", "16M", "0-3,32-35") | cache_files(2, 2, "Unified", "512K", "0,32")
    files |= cache_files(4, 4, "Unified", "odd", "0-63") | cache_files(5, 5, "Unified", "0K", "0-63")

    caches = hardware.read_caches(write_files(tmp_path, files), 0)

    assert [(cache.level, cache.bytes, cache.shared_by) for cache in caches] == [
        (1, 32 << 10, 2),
        (2, 512 << 10, 2),
        (3, 16 << 20, 8),
    ]


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    found = hardware.read_hardware(tmp_path, [0, 1])

    assert found["caches"] == []
    assert found["cpu"]["cores_used"] == 2
    for key in ("memory_bytes", "memory_limit_bytes", "governor", "virtual_machine", "transparent_huge_pages"):
        assert found[key] is None, key
    assert json.loads(json.dumps(found)) == found


def test_a_whole_machine(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": INTEL.replace("fma", "fma hypervisor"),
        "proc/meminfo": "MemTotal:       24682416 kB\nMemFree:        23379632 kB",
        f"{hardware.CPU_FOLDER}/cpu0/cpufreq/scaling_governor": "powersave",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/fs/cgroup/cpu.max": "150000 100000",
        "sys/fs/cgroup/memory.max": "1073741824",
    }

    found = hardware.read_hardware(write_files(tmp_path, files), [0])

    assert found["memory_bytes"] == 24682416 * 1024
    assert found["memory_limit_bytes"] == 1 << 30
    assert found["governor"] == "powersave"
    assert found["transparent_huge_pages"] == "madvise"
    assert found["virtual_machine"] is True
    assert found["cpu"]["quota"] == 1.5
    assert found["cpu"]["simd"] == ["sse4_2", "avx", "avx2", "fma", "avx512f"]


@pytest.mark.parametrize(
    ("answer", "gpus"),
    [
        (
            "echo 'NVIDIA H200, 143771, 580.159.04'",
            [{"model": "NVIDIA H200", "memory_bytes": 143771 << 20, "driver": "580.159.04"}],
        ),
        ("echo 'No devices were found'", []),
        ("echo 'Old, 1, 2'; exit 9", []),
    ],
)
def test_gpus_are_what_their_driver_tells(
    answer: str, gpus: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert hardware.read_gpus() == gpus


def test_limits_of_older_containers_and_none(tmp_path: Path) -> None:
    old = {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}
    old |= {"memory/memory.limit_in_bytes": "9223372036854771712"}
    root = write_files(tmp_path / "old", {f"sys/fs/cgroup/{name}": text for name, text in old.items()})
    free = write_files(tmp_path / "free", {"sys/fs/cgroup/cpu.max": "max 100000", "sys/fs/cgroup/memory.max": "max"})

    assert hardware.read_cpu_quota(root) == 0.5
    assert hardware.read_memory_limit(root) is None
    assert hardware.read_cpu_quota(free) is None
    assert hardware.read_memory_limit(free) is None


@pytest.mark.parametrize(
    ("files", "flags", "virtual"),
    [
        ({"sys/class/dmi/id/product_name": "KVM Virtual Machine"}, "", True),
        ({"sys/class/dmi/id/product_name": "PowerEdge R740"}, "", False),
        ({"sys/hypervisor/type": "xen"}, "", True),
        ({}, "fpu hypervisor", True),
        ({}, "fpu sse2", False),
        ({}, "", None),
    ],
)
def test_virtual_machines(files: dict[str, str], flags: str, virtual: bool | None, tmp_path: Path) -> None:
    info = {"flags": flags} if flags else {}

    assert hardware.is_virtual(write_files(tmp_path, files), info) is virtual


def test_threads_take_every_core_before_any_twice(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for cpu, core in enumerate((0, 0, 1, 1)):
        files[f"{hardware.CPU_FOLDER}/cpu{cpu}/topology/core_id"] = str(core)
        files[f"{hardware.CPU_FOLDER}/cpu{cpu}/topology/physical_package_id"] = "0"

    root = write_files(tmp_path, files)

    assert hardware.core_representatives(root, range(4)) == [0, 2]
    assert hardware.order_cpus(root, range(4)) == [0, 2, 1, 3]


def processor_files(cores: list[int], speeds: list[int], name: str) -> dict[str, str]:
    files: dict[str, str] = {}
    for cpu, (core, speed) in enumerate(zip(cores, speeds, strict=True)):
        folder = f"{hardware.CPU_FOLDER}/cpu{cpu}"
        files |= {f"{folder}/topology/core_id": str(core), f"{folder}/{name}": str(speed)}
    return files


@pytest.mark.parametrize(
    ("cores", "speeds", "threads", "chosen"),
    [
        ([0, 1, 2, 3], [1, 1, 1, 1], 1, [3]),
        ([0, 1, 2, 3], [1, 1, 1, 1], 2, [2, 3]),
        ([0, 0, 1, 1], [1, 1, 1, 1], 2, [1, 3]),  # hardware threads of one core have neighbouring numbers
        ([0, 1, 0, 1], [1, 1, 1, 1], 2, [2, 3]),
        ([0, 0, 1, 1, 2, 3], [9, 9, 9, 9, 5, 5], 2, [1, 3]),  # the last two are slow cores
        ([0, 0, 1, 1, 2, 3], [9, 9, 9, 9, 5, 5], 3, [1, 3, 5]),
        ([0, 1], [1, 1], 8, [0, 1]),
    ],
)
@pytest.mark.parametrize("name", ["cpu_capacity", "cpufreq/cpuinfo_max_freq"])
def test_a_team_is_bound_to_fast_cores_of_its_own(
    cores: list[int], speeds: list[int], threads: int, chosen: list[int], name: str, tmp_path: Path
) -> None:
    root = write_files(tmp_path, processor_files(cores, speeds, name))

    assert hardware.choose_cpus(threads, root, range(len(cores))) == chosen


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-2,8", [0, 1, 2, 8]), ("5", [5]), ("", []), ("x-2", []), ("0-3,32-33", [0, 1, 2, 3, 32, 33])],
)
def test_lists_of_processors(text: str, numbers: list[int]) -> None:
    assert hardware.parse_cpu_list(text) == numbers


# ---------------------------------------------------------------- sizes of what is measured

LEVELS = [Level("L1", 32 << 10, 2), Level("L2", 512 << 10, 2), Level("L3", 16 << 20, 8), Level("memory", 1 << 36, 16)]


@pytest.mark.parametrize("threads", [1, 2, 8, 16])
def test_working_sets_lie_in_their_level_and_in_no_nearer_one(threads: int) -> None:
    sizes = [rates.working_set(LEVELS, number, threads, 16) for number in range(4)]

    assert all(size is not None for size in sizes[:2])
    for number, size in enumerate(sizes[:3]):
        if size is not None:
            on_one = max(1, min(threads, -(-threads * LEVELS[number].shared_by // 16)))
            assert size * on_one <= LEVELS[number].bytes
            assert number == 0 or size >= LEVELS[number - 1].bytes
    assert sizes[3] is not None
    assert sizes[3] * threads >= 4 * LEVELS[2].bytes * LEVELS[2].instances(threads) - threads


def test_a_level_too_small_for_its_threads_is_left_out() -> None:
    levels = [
        Level("L1", 32 << 10, 1),
        Level("L2", 1 << 20, 1),
        Level("L3", 24 << 20, 64),
        Level("memory", 1 << 36, 64),
    ]

    assert rates.working_set(levels, 2, 1, 64) == 6 << 20
    assert rates.working_set(levels, 2, 64, 64) is None


def test_memory_is_not_filled() -> None:
    assert rates.working_set([Level("memory", 1 << 28, 1)], 0, 1, 1) == 1 << 25


@pytest.mark.parametrize(("most", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_thread_counts(most: int, counts: list[int]) -> None:
    assert rates.thread_counts(most) == counts


# ---------------------------------------------------------------- BLAS, noise, notes


def test_libraries_are_found_in_a_memory_map() -> None:
    maps = """\
7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/libscipy_openblas64_-6bb31eeb.so
7f01-7f02 r--p 00000000 08:01 1 /usr/lib/libscipy_openblas64_-6bb31eeb.so
7f02-7f03 r--p 00000000 08:01 2 /opt/intel/libmkl_rt.so.2
7f03-7f04 r--p 00000000 08:01 3 /usr/lib/libc.so.6
"""

    assert blas.parse_libraries(maps) == ["/usr/lib/libscipy_openblas64_-6bb31eeb.so", "/opt/intel/libmkl_rt.so.2"]


def test_the_threads_of_blas_are_put_back() -> None:
    before = blas.describe_blas()["threads"]

    with blas.blas_threads(1) as arranged:
        inside = blas.describe_blas()["threads"]

    assert blas.describe_blas()["threads"] == before
    assert inside == (1 if arranged else before)


def test_noise_has_known_answers() -> None:
    quiet = machine.summarise_noise([1.0] * 50, [1.0] * 50)
    slower = machine.summarise_noise([1.0] * 50, [1.2] * 50)
    jumpy = machine.summarise_noise([1.0, 2.0] * 25, [1.0, 2.0] * 25)

    assert (quiet["spread"], quiet["worst"], quiet["drift"], quiet["trusted"]) == (0.0, 0.0, 0.0, True)
    assert slower["drift"] == pytest.approx(0.2)
    assert not slower["trusted"]
    assert jumpy["worst"] == 1.0
    assert jumpy["drift"] == 0.0
    assert not jumpy["trusted"]


def test_warnings_say_the_way_out() -> None:
    facts = {"governor": "powersave", "cpu": {"quota": 1.5, "logical_used": 4}, "caches": []}
    noise = {"noise": {"trusted": False, "spread": 0.3, "drift": 0.1}}

    notes = " ".join(machine.find_warnings(facts, noise))

    assert "varied by 30%" in notes
    assert "cpupower" in notes
    assert "1.5 processors of 4" in notes
    assert "caches" in notes


def test_the_clock_moves() -> None:
    timer = machine.measure_timer()

    assert 0.0 < timer["resolution_seconds"] < 1e-3
    assert 0.0 < timer["read_seconds"] < 1e-3


# ---------------------------------------------------------------- the probe


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEFT_BENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def fake_compiler(folder: Path, script: str) -> str:
    path = folder / "fake-cc"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_probe_is_compiled_once(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    real = probe.find_compiler()
    assert real is not None
    monkeypatch.setenv("CC", fake_compiler(tmp_path, f'echo "$@" >> {log}; exec {" ".join(real)} "$@"'))

    first, second = probe.build_probe("cpu"), probe.build_probe("cpu")
    other = probe.build_probe("another cpu")

    assert first == second
    assert own_cache in first.path.parents
    assert other.path != first.path
    assert sum("probe.c" in line for line in log.read_text().splitlines()) == 2
    assert {"triad", "copy", "read", "fma32", "fma64", "plain32", "plain64"} <= first.kinds
    assert first.rate("triad", 2, 24 << 10, 0.001, [0]) > 1e6
    assert first.rate("fma64", 1, 0, 0.001, []) > 1e6
    assert len(first.numbers("steady", 1, 7, 0.001)) == 7
    with pytest.raises(probe.ProbeError, match="no kind nonsense"):
        first.rate("nonsense", 1, 1024, 0.001, [])
    with pytest.raises(probe.ProbeError, match="no memory for 10 bytes"):
        first.rate("triad", 1, 10, 0.001, [])


def test_flags_a_compiler_refuses_are_left_out(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = probe.find_compiler()
    assert real is not None
    script = f'case "$*" in *=native*) echo "unknown -march" >&2; exit 1;; esac; exec {" ".join(real)} "$@"'
    monkeypatch.setenv("CC", fake_compiler(tmp_path, script))

    assert probe.build_probe("cpu").flags == ("-O2", "-pthread")


def test_a_compiler_that_fails_says_why(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", fake_compiler(tmp_path, "echo no space left >&2; exit 1"))

    with pytest.raises(probe.ProbeError, match="cannot make the probe: fake-cc: no space left"):
        probe.build_probe("cpu")


def test_a_probe_that_dies_is_reported(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = "printf '#!/bin/sh\\n[ $1 = kinds ] && echo fma64 && exit\\nkill -ILL $$\\n' > probe.sh"
    script = f'[ "$1" = --version ] && exit 0; cd {tmp_path}; {dying}; chmod +x probe.sh\n'
    script += 'while [ "$1" != -o ]; do shift; done; cp probe.sh "$2"'
    monkeypatch.setenv("CC", fake_compiler(tmp_path, script))

    with pytest.raises(probe.ProbeError, match="ended with status -4"):
        probe.build_probe("cpu")


def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "find_compiler", lambda: None)
    monkeypatch.setattr(machine, "find_compiler", lambda: None)


def test_without_a_compiler_numpy_gives_estimates(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiler(monkeypatch)
    monkeypatch.setattr(blas, "ORDER", 64)
    monkeypatch.setattr(rates, "LEAST_MEMORY_BYTES", 1 << 22)
    monkeypatch.setattr(rates, "MEMORY_OVER_CACHE", 0)

    section = machine.describe(quick=True)

    assert section["measured_with"] == "NumPy"
    assert section["compiler"] is None
    assert "no C compiler found: install gcc" in section["notes"][0]
    assert section["triad_bytes_per_second"]["memory"]["1"]["ordinary"] > 0.0
    assert section["peak_flops_per_second"]["float64"]["1"]["fma"] > 0.0
    assert json.loads(json.dumps(section)) == section
    section["noise"]["trusted"] = True
    (kept,) = (own_cache / "machine").iterdir()
    kept.write_text(json.dumps(section), encoding="utf-8")
    assert machine.describe(quick=True, cached=True) == section


def test_facts_alone_measure_nothing(own_cache: Path) -> None:
    section = machine.describe(measure=False)

    assert section["measured_with"] is None
    assert section["numpy"] == np.__version__
    assert not own_cache.exists()


def section_of(rate: float, *, trusted: bool) -> dict[str, Any]:
    return {
        "measured_with": "C",
        "triad_bytes_per_second": {"L1": {"1": {"ordinary": rate}}},
        "peak_flops_per_second": {"float64": {"1": {"fma": 4.0}}},
        "gemm_flops_per_second": {"float64": {"1": rate}},
        "gemm_fraction_of_peak": {"float64": {"1": rate / 4.0}},
        "page_fault": {"page_seconds": 1.0 / rate},
        "noise": {"trusted": trusted},
    }


def test_what_a_busy_moment_measured_is_measured_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sections = iter([section_of(2.0, trusted=False), section_of(1.0, trusted=False), section_of(3.0, trusted=True)])
    monkeypatch.setattr(machine, "measure_all", lambda *_: next(sections))

    def rate(section: dict[str, Any]) -> float:
        return section["triad_bytes_per_second"]["L1"]["1"]["ordinary"]

    assert rate(machine.describe(cached=True)) == 2.0
    second = machine.describe(cached=True)
    assert rate(second) == 2.0  # the better of the two
    assert second["gemm_fraction_of_peak"] == {"float64": {"1": 0.5}}
    assert second["page_fault"] == {"page_seconds": 0.5}
    assert rate(machine.describe(cached=True)) == 3.0
    assert rate(machine.describe(cached=True)) == 3.0  # steady: kept, nothing is measured


def test_a_broken_cache_file_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"

    assert machine.read_kept(path) is None
    path.write_text("{", encoding="utf-8")
    assert machine.read_kept(path) is None


# ---------------------------------------------------------------- the command

SECTION: dict[str, Any] = {
    "cpu": {"model": "Some CPU", "cores_used": 2, "logical_used": 4, "logical_total": 8, "simd": ["avx2"]},
    "caches": [{"level": 1, "bytes": 49152, "shared_by": 1}, {"level": 3, "bytes": 48 << 20, "shared_by": 2}],
    "memory_bytes": 1 << 34,
    "memory_limit_bytes": None,
    "kernel": "Linux 6.1",
    "virtual_machine": None,
    "governor": None,
    "transparent_huge_pages": "madvise",
    "python": "CPython 3.11",
    "numpy": "2.4",
    "blas": {"name": "openblas", "version": "0.3", "threads": None},
    "compiler": "gcc 12",
    "measured_with": "C",
    "triad_bytes_per_second": {"L1": {"1": {"ordinary": 2e11}}},
    "copy_bytes_per_second": {},
    "read_bytes_per_second": {"L1": {"1": {"ordinary": 3e11}}},
    "peak_flops_per_second": {"float64": {"1": {"fma": 1e11, "no_fma": 5e10}}},
    "gemm_flops_per_second": {"float64": {"1": 8.5e10}},
    "gemm_fraction_of_peak": {"float64": {"1": 0.85}},
    "noise": {"loop_seconds": 1e-3, "spread": 0.01, "worst": 0.5, "drift": -0.02},
    "timer": {"resolution_seconds": 3e-8, "read_seconds": 4e-8},
    "page_fault": {"page_seconds": 2.5e-7},
    "notes": ["read this"],
}


def test_the_section_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[bool, bool, bool]] = []

    def describe(measure: bool, *, quick: bool, cached: bool) -> dict[str, Any]:
        asked.append((measure, quick, cached))
        return SECTION

    monkeypatch.setattr(command, "describe", describe)
    monkeypatch.setenv("COLUMNS", "120")

    assert command.run(["--quick", "--cached"]) == 0

    text = capsys.readouterr().out
    for words in ("Some CPU", "L3 48 MiB for 2", "16 GiB", "not told", "200", "300", "85%", "250 ns", "read this"):
        assert words in text, words
    assert command.run(["--json", "--facts"]) == 0
    assert json.loads(capsys.readouterr().out) == SECTION
    assert asked == [(True, True, True), (False, False, False)]


@pytest.mark.slow
def test_measured_rates_are_plausible(own_cache: Path) -> None:
    section = machine.describe()

    triad, peak = section["triad_bytes_per_second"], section["peak_flops_per_second"]
    assert section["measured_with"].startswith("C, ")
    levels = list(triad)
    assert levels[-1] == "memory"
    for count in triad["memory"]:
        assert triad[levels[0]][count]["ordinary"] >= triad["memory"][count]["ordinary"]
        assert peak["float32"][count]["fma"] >= 0.9 * peak["float64"][count]["fma"]
        assert all(rate > 1e8 for level in levels for rate in triad[level].get(count, {}).values())
    assert triad["memory"]["1"]["ordinary_with_write_allocate"] == pytest.approx(
        4 / 3 * triad["memory"]["1"]["ordinary"]
    )
    assert 0.0 < section["gemm_fraction_of_peak"]["float64"]["1"] <= 1.1
    assert section["page_fault"]["page_seconds"] < 1e-3
    assert section["measuring_seconds"] < 60  # a few seconds on a quiet machine
