"""CSV and JSON hold every cell, JSON every sample; `report` writes its files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.synthetic import make_cell, make_failure, make_run
from tests.bench.test_compare import keep
from weft_bench.cells import Run
from weft_bench.commands import main
from weft_bench.commands.export import export
from weft_bench.figures import canvas
from weft_bench.statistics import speedup


def odd_run() -> Run:
    cells = (
        make_cell("lu", "numpy", ratio=1.0),
        make_cell("lu", "numba", error_eps=float("inf"), peak_bytes=None, adaptation=None, work=None),
        make_failure("nbody", "jax", "compile", 'a, "quoted"\nline; ünïcode'),
        make_cell("my_own", "numba", pairs=make_cell("lu", "numba").pairs[:1]),
    )
    return replace(make_run(kernels=["lu"]), cells=cells)


def test_csv_has_one_row_for_each_cell_with_the_statistics() -> None:
    run = odd_run()
    rows = list(csv.DictReader(io.StringIO(export([run], "csv"))))

    assert [(row["kernel"], row["framework"], row["state"]) for row in rows] == [
        (cell.kernel, cell.framework, cell.state) for cell in run.cells
    ]
    found = speedup(run.cells[1].pairs)
    assert [float(rows[1][name]) for name in ("speedup", "speedup_low", "speedup_high")] == [
        found.value,
        found.low,
        found.high,
    ]
    assert rows[1]["domain"] == "Linear algebra"
    assert rows[1]["work_bytes"] == ""
    assert rows[2]["message"] == 'a, "quoted"\nline; ünïcode'
    assert rows[2]["speedup"] == ""
    assert rows[0]["is_override"] == "0"
    assert (rows[3]["domain"], rows[3]["speedup_low"]) == ("", "")


def test_json_has_every_sample_and_no_infinity() -> None:
    run = odd_run()

    (document,) = json.loads(export([run], "json"), parse_constant=pytest.fail)

    assert document["machine"]["cpu"] == run.machine["cpu"]
    assert document["cells"][0]["pairs"] == [[pair.numpy, pair.framework] for pair in run.cells[0].pairs]
    assert document["cells"][1]["error_eps"] is None
    assert document["cells"][3]["speedup_high"] is None


def test_command_writes_one_run_or_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = keep(tmp_path / "r.sqlite", odd_run(), odd_run())

    assert main(["export", str(path), "--format", "json"]) == 0
    assert [found["run"] for found in json.loads(capsys.readouterr().out)] == [1, 2]
    assert main(["export", f"{path}#2", "-o", str(tmp_path / "out.csv")]) == 0
    written = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert {row["run"] for row in csv.DictReader(io.StringIO(written))} == {"2"}
    assert main(["export", str(path), "-o", str(tmp_path / "no" / "out.csv")]) == 2
    assert "choose another file by -o" in capsys.readouterr().err


def test_report_writes_page_and_figures_and_prints_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra weft[bench]")
    path = keep(tmp_path / "r.sqlite", make_run(kernels=["lu", "softmax"], frameworks=("numpy", "numba")))

    assert main(["report", str(path), "-o", str(tmp_path / "out")]) == 0

    assert {found.name for found in (tmp_path / "out").iterdir()} == {
        "report.html",
        *(f"{name}.{suffix}" for name in ("heatmap", "adaptation", "compile") for suffix in ("svg", "png")),
    }
    told = capsys.readouterr()
    assert "softmax" in told.out
    assert "scaling: one preset" in told.err


def test_report_without_matplotlib_still_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(canvas, "import_module", missing)
    path = keep(tmp_path / "r.sqlite", odd_run())

    assert main(["report", str(path), "-o", str(tmp_path / "out")]) == 0

    assert [found.name for found in (tmp_path / "out").iterdir()] == ["report.html"]
    assert "pip install" in capsys.readouterr().err
    assert "pip install" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_report_that_cannot_be_written_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = keep(tmp_path / "r.sqlite", odd_run())
    (tmp_path / "file").touch()

    assert main(["report", str(path), "--no-figures", "-o", str(tmp_path / "file")]) == 2
    assert "choose another folder by -o" in capsys.readouterr().err
