"""`weft bench overhead`: every case runs natively, and the starts are told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft_bench import fresh_process
from weft_bench.call_costs import CASES, CallCost, measure_calls, measure_case, read_costs
from weft_bench.commands import overhead
from weft_bench.fresh_process import ScriptError, run_script

THREE_ARRAYS = next(case for case in CASES if case.name == "3 arrays")


def test_the_cases_cover_the_kinds_of_arguments() -> None:
    names = [case.name for case in CASES]

    assert len(set(names)) == len(names)
    for words in ("no arguments", "6 arrays", "float", "keyword", "list", "dictionary"):
        assert any(words in name for name in names), words


def test_a_call_is_measured_in_this_process() -> None:
    cost = measure_case(THREE_ARRAYS, rounds=2, turns=50)

    assert cost.name == "3 arrays"
    assert cost.numpy is not None
    assert cost.weft < 1e6
    assert measure_calls(1, 10, ["no such case"]) == []


@pytest.mark.slow
def test_every_case_runs_natively() -> None:
    assert [cost.name for cost in measure_calls(1, 20)] == [case.name for case in CASES]


def test_costs_cross_as_json(tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    (cost,) = overhead.measure_costs(cache, 1, 20, "no arguments")

    assert cost.name == "no arguments"
    assert cost.numpy is None
    assert read_costs(json.dumps([{"name": "x", "weft": 1.0, "python": 2.0, "numpy": None}])) == [
        CallCost(name="x", weft=1.0, python=2.0, numpy=None)
    ]


def test_a_start_is_timed_to_the_line_and_not_to_the_end(tmp_path: Path) -> None:
    script = "import time\nprint(1.0, flush=True)\ntime.sleep(2)\n"

    assert overhead.time_start(script, tmp_path / "cache") < 2.0


@pytest.mark.parametrize(("script", "words"), [("raise ValueError('no luck')", "no luck"), ("print(3)", "printed '3")])
def test_a_start_that_fails_is_reported(script: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=words):
        overhead.time_start(script, tmp_path / "cache")


def test_scripts_have_the_cache_they_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_NUM_THREADS", "7")
    script = "import os\nprint([(k, v) for k, v in os.environ.items() if k.startswith('WEFT_')])"

    assert run_script(script, tmp_path / "cache").strip() == str([("WEFT_CACHE_DIR", str(tmp_path / "cache"))])


def test_a_script_that_ends_badly_says_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ScriptError, match="status 3"):
        run_script("import os; os._exit(3)", tmp_path / "cache")
    monkeypatch.setattr(fresh_process, "SECONDS", 0.2)
    with pytest.raises(ScriptError, match="no end within"):
        run_script("import time; time.sleep(30)", tmp_path / "cache")


def test_scripts_differ_by_their_text(tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    assert [run_script(f"print({number})", cache) for number in (1, 2, 1)] == ["1\n", "2\n", "1\n"]


def test_the_tables_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(overhead, "fresh_cache", lambda directory, name: directory / name)
    costs = [CallCost(name="3 arrays", weft=310.0, python=29.0, numpy=None)]
    monkeypatch.setattr(overhead, "measure_costs", lambda *_: costs)
    monkeypatch.setattr(overhead, "measure_starts", lambda *_: [overhead.Start("NumPy alone", 0.11)])

    assert overhead.run([]) == 0
    text = capsys.readouterr().out
    assert all(words in text for words in ("3 arrays", "310 ns", "29 ns", "NumPy alone", "110 ms"))
    assert overhead.run(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["starts"] == [{"name": "NumPy alone", "seconds": 0.11}]


def test_a_machine_without_a_compiler_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> Path:
        raise ScriptError("no C compiler found")

    monkeypatch.setattr(overhead, "fresh_cache", fail)

    assert overhead.run([]) == 1
    assert "no C compiler found" in capsys.readouterr().err


def test_no_repetitions_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        overhead.run(["--repetitions", "0"])
    assert "at least one" in capsys.readouterr().err


@pytest.mark.slow
def test_a_full_cache_starts_faster_than_an_empty_one(tmp_path: Path) -> None:
    starts = {start.name: start.seconds for start in overhead.measure_starts(tmp_path, 1)}

    assert starts["Weft, program in the disk cache"] < starts["Weft, empty cache"]
