"""`weft bench compile-time`: cold is cold, the cache is the cache, and what fails does not stop the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench import fakes
from weft_bench.build_times import BuildTimes, make_times, measure_builds
from weft_bench.cells import Cell
from weft_bench.commands import compile_time, main
from weft_bench.commands.compile_time import (
    CompileTimes,
    FirstCall,
    make_framework_table,
    measure_kernel,
    summarise,
    summarise_framework,
)
from weft_bench.frameworks import load_frameworks
from weft_bench.fresh_process import ScriptError
from weft_bench.runner import Plan
from weft_bench.selection import choose_kernels


def call(seconds: float, *, compiled: bool) -> FirstCall:
    return FirstCall(
        seconds=seconds,
        compile_seconds=seconds / 2 if compiled else 0.0,
        legality_seconds=seconds / 8 if compiled else 0.0,
        compiles=int(compiled),
        cache_hits=int(not compiled),
    )


def times(kernel: str, cold: list[float], warm: list[float]) -> CompileTimes:
    return CompileTimes(
        kernel=kernel,
        cold=tuple(call(seconds, compiled=True) for seconds in cold),
        warm=tuple(call(seconds, compiled=False) for seconds in warm),
    )


ROWS = [times("lu", [0.5, 0.3, 0.4], [0.01]), times("lenet", [2.0], [0.02]), times("crc16", [0.2], [0.05])]


def test_medians_and_the_worst() -> None:
    text = summarise([*ROWS, CompileTimes(kernel="nbody", problem="no luck")])

    assert text.splitlines() == [
        "median of 3 kernels: 400 ms, the worst lenet with 2.00 s",
        "from the disk cache: 20.0 ms, the worst crc16 with 50.0 ms",
    ]
    assert summarise([]) == "no kernel could be compiled"


def answers(monkeypatch: pytest.MonkeyPatch, *calls: FirstCall) -> None:
    left = iter(calls)
    monkeypatch.setattr(compile_time, "time_first_call", lambda *_: next(left))


def test_a_kernel_is_compiled_and_then_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = call(1.0, compiled=True), call(0.1, compiled=False)
    answers(monkeypatch, first, second)

    assert measure_kernel("lu", "S", [tmp_path]) == CompileTimes(kernel="lu", cold=(first,), warm=(second,))


def test_a_cold_call_from_the_cache_is_no_measurement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers(monkeypatch, call(1.0, compiled=False), call(0.1, compiled=False))

    assert "not compiled" in measure_kernel("lu", "S", [tmp_path]).problem


def test_a_warm_call_that_compiles_is_no_measurement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers(monkeypatch, call(1.0, compiled=True), call(1.0, compiled=True))

    assert "did not come from the disk cache" in measure_kernel("lu", "S", [tmp_path]).problem


def test_a_kernel_that_fails_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def time_first_call(kernel: str, _preset: str, cache: Path) -> FirstCall:
        if kernel == "lu":
            raise ScriptError("CompileError: something")
        marker = cache.parent / kernel
        compiled = not marker.exists()
        marker.touch()
        return call(0.25, compiled=compiled)

    def fresh_cache(directory: Path, name: str) -> Path:
        (directory / name).mkdir()
        return directory / name / "cache"

    monkeypatch.setattr(compile_time, "time_first_call", time_first_call)
    monkeypatch.setattr(compile_time, "fresh_cache", fresh_cache)
    monkeypatch.setenv("COLUMNS", "120")

    assert compile_time.run(["lu", "crc16", "--jobs", "2", "--repetitions", "2"]) == 1
    text = capsys.readouterr().out
    assert "CompileError: something" in text
    assert "median of 1 kernels: 250 ms" in text
    assert compile_time.run(["crc16", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["kernel"], row["cold"][0]["compiles"], row["warm"][0]["cache_hits"]) == ("crc16", 1, 1)


def test_a_real_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_time.run(["crc16", "--json"]) == 0

    (row,) = json.loads(capsys.readouterr().out)
    (cold,), (warm,) = row["cold"], row["warm"]
    assert row["problem"] == ""
    assert cold["compiles"] == 1
    assert 0.0 < cold["compile_seconds"] < cold["seconds"]
    assert (warm["compiles"], warm["compile_seconds"]) == (0, 0.0)


def test_the_nearest_kernel_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile-time", "jacobi2d"]) == 2
    assert "did you mean 'jacobi_2d'?" in capsys.readouterr().err
    assert main(["compile-time", "-f", "nunba"]) == 2
    assert "did you mean 'numba'?" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--repetitions", "0"], ["--jobs", "0"]])
def test_less_than_one_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        compile_time.run(words)
    assert "at least one" in capsys.readouterr().err


def test_a_machine_without_a_compiler_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> Path:
        raise ScriptError("no C compiler found")

    monkeypatch.setattr(compile_time, "fresh_cache", fail)

    assert compile_time.run(["crc16"]) == 1
    assert "no C compiler found" in capsys.readouterr().err


# ---------------------------------------------------------------- several frameworks


def cell(*, state: str = "ok", build: float = 1.0, first: float = 0.5, kept: bool = False) -> Cell:
    return Cell(
        kernel="lu",
        framework="numba",
        preset="S",
        dtype="float64",
        threads=1,
        state=state,  # type: ignore[arg-type]
        message="" if state == "ok" else "why",
        build_seconds=build,
        first_seconds=first,
        from_artefacts=kept,
    )


def test_building_and_the_first_call_are_added() -> None:
    times = make_times(cell(), cell(build=0.25, first=0.25, kept=True))

    assert (times.cold, times.kept, times.state) == (1.5, 0.5, "ok")


def test_a_failure_has_no_times() -> None:
    times = make_times(cell(state="compile"), None)

    assert (times.cold, times.kept, times.state, times.message) == (None, None, "compile", "why")


def test_a_first_process_that_compiled_nothing_is_no_measurement() -> None:
    times = make_times(cell(kept=True), cell(kept=True))

    assert times.cold is None
    assert "folder was empty" in times.message


def test_frameworks_side_by_side() -> None:
    good = BuildTimes(
        kernel="lu", framework="numba", state="ok", build_seconds=1.0, first_seconds=1.0, kept_build_seconds=0.0,
        kept_first_seconds=0.25,
    )  # fmt: skip
    bad = BuildTimes(kernel="crc16", framework="numba", state="compile", message="why")
    away = BuildTimes(kernel="lu", framework="dace", state="not available", message="not installed")

    assert summarise_framework("numba", [good, bad]) == (
        "numba: median of 1 kernels 2.00 s, the worst lu with 2.00 s; 1 compile"
    )
    assert summarise_framework("dace", [away]) == "dace: nothing; 1 not available (not installed)"
    columns = [list(column.cells) for column in make_framework_table([good, bad, away]).columns]
    assert columns == [
        ["lu", "crc16"],
        ["2.00 s", "[red]compile[/]"],
        ["250 ms", ""],
        ["[red]not available[/]", ""],
        ["", ""],
    ]


@pytest.mark.slow
def test_frameworks_are_measured_in_workers(tmp_path: Path) -> None:
    (program,) = choose_kernels(["crc16"])
    plans = [
        Plan(program=program, framework=fakes.register(name), preset="S", dtype=program.kernel.dtypes[-1], threads=1)
        for name in ("plain", "raises")
    ]

    good, bad = measure_builds(plans, load_frameworks()["numpy"], tmp_path)

    assert good.state == "ok"
    assert good.cold is not None
    assert good.kept is not None
    assert (bad.state, bad.message) == ("execution", "IndexError: index 7 is out of bounds")
