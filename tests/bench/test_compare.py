"""Comparing two runs: changes beyond the noise are told, others are not, and what cannot be compared says why."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.bench.synthetic import make_cell, make_failure, make_run
from tests.conftest import Golden
from weft_bench.cells import Cell, Run
from weft_bench.commands import main
from weft_bench.commands.compare import print_comparison
from weft_bench.commands.sources import split_number
from weft_bench.comparison import compare_runs
from weft_bench.store import open_store


def run_of(*cells: Cell, number: int = 1) -> Run:
    return replace(make_run(kernels=["lu"], number=number), cells=cells)


BEFORE = run_of(
    make_cell("lu", "numpy", ratio=1.0, seed=1),
    make_cell("lu", "weft", ratio=2.0, seed=2),
    make_cell("softmax", "weft", ratio=4.0, seed=3),
    make_cell("nbody", "weft", ratio=4.0, seed=4),
    make_failure("crc16", "weft", "compile", "no"),
    make_cell("crc16", "jax", ratio=0.5, seed=5),
    make_cell("durbin", "jax", ratio=0.5, seed=6),
)
AFTER = run_of(
    make_cell("lu", "numpy", ratio=1.0, seed=11),
    make_cell("lu", "weft", ratio=3.0, seed=12),
    make_cell("softmax", "weft", ratio=4.01, seed=13),
    make_cell("nbody", "weft", ratio=2.0, seed=14),
    make_cell("crc16", "weft", ratio=9.0, seed=15),
    make_failure("crc16", "jax", "validation", "[bold]wrong"),
    number=2,
)


def show(before: Run, after: Run, *, changed_only: bool = False) -> str:
    console = Console(file=io.StringIO(), width=120, no_color=True, force_terminal=False)
    print_comparison(compare_runs(before, after), before, after, console, changed_only=changed_only)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_verdicts_follow_the_interval_and_the_noise() -> None:
    verdicts = {(c.after.kernel, c.after.framework): c.verdict for c in compare_runs(BEFORE, AFTER).changes}

    assert verdicts == {
        ("lu", "weft"): "faster",
        ("softmax", "weft"): "same",
        ("nbody", "weft"): "slower",
        ("crc16", "weft"): "same",
        ("crc16", "jax"): "same",
    }


def test_a_noisy_machine_takes_the_verdicts_back() -> None:
    odd = [make_cell(f"k{place}", "numpy", ratio=2.0, seed=place) for place in range(5)]
    noisy = replace(BEFORE, cells=(*BEFORE.cells, *odd))

    assert {change.verdict for change in compare_runs(noisy, AFTER).changes} == {"same"}


def test_comparison_is_a_table_with_means_and_what_could_not_be_compared(golden: Golden) -> None:
    assert show(BEFORE, AFTER) == golden


def test_only_changes_are_shown_on_demand() -> None:
    text = show(BEFORE, AFTER, changed_only=True)

    assert "softmax" not in text
    assert "other outcome" in text


def test_names_are_not_read_as_colours() -> None:
    cell = make_cell("[bold red]lu[/]", "weft")

    assert "[bold red]lu[/]" in show(run_of(cell), run_of(cell, number=2))


def keep(path: Path, *runs: Run) -> Path:
    store = open_store(path, create=True)
    for run in runs:
        number = store.begin(run.command, run.machine)
        for cell in run.cells:
            store.add(number, cell)
    return path


def test_runs_of_one_file_are_named_by_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = keep(tmp_path / "r.sqlite", BEFORE, AFTER)

    assert main(["compare", f"{path}#1", str(path)]) == 0
    assert "1 faster, 1 slower of 5" in capsys.readouterr().out
    assert main(["compare", f"{path}#1", f"{path}#1"]) == 0
    assert "0 faster, 0 slower" in capsys.readouterr().out


def test_a_number_sign_may_be_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "r#1"
    path.touch()

    assert split_number(str(path)) == (str(path), None)
    assert split_number(f"{path}#2") == (str(path), 2)


def test_runs_that_share_nothing_say_what_each_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = keep(tmp_path / "one.sqlite", run_of(make_cell("lu", "weft", threads=1)))
    two = keep(tmp_path / "two.sqlite", run_of(make_cell("lu", "weft", threads=2)))

    assert main(["compare", str(one), str(two)]) == 2
    assert "A has weft at S with 1 threads; B has weft at S with 2 threads" in capsys.readouterr().err


def test_missing_foreign_and_empty_files_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = keep(tmp_path / "good.sqlite", BEFORE)
    foreign = tmp_path / "notes.txt"
    foreign.write_text("not a database", encoding="utf-8")
    empty = tmp_path / "empty.sqlite"
    open_store(empty, create=True)

    for path, words in (
        (tmp_path / "no.sqlite", "no such file"),
        (foreign, "not a file of results"),
        (empty, "no run"),
    ):
        assert main(["compare", str(good), str(path)]) != 0
        assert words in capsys.readouterr().err
    assert main(["compare", str(good), f"{good}#7"]) != 0
    assert "there is no run 7" in capsys.readouterr().err
