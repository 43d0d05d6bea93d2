"""Results stay: whatever ends the process, whatever the file was before."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from weft_bench.cells import Adaptation, Cell, Pair, Work
from weft_bench.store import SCHEMA, Store, StoreError, open_store

CELL = Cell(
    kernel="jacobi_2d",
    framework="weft",
    preset="S",
    dtype="float64",
    threads=2,
    state="ok",
    message="",
    version="0.1.0",
    math="NumPy's results",
    pairs=(Pair(0.011, 0.002), Pair(0.012, 0.003)),
    build_seconds=0.5,
    first_seconds=0.25,
    from_artefacts=True,
    peak_bytes=1 << 40,
    error_eps=0.0,
    adaptation=Adaptation(numpy_lines=5, lines=7, changed=2, kept=1.0, is_override=False),
    work=Work(bytes=1 << 35, flops=123),
)
FAILED = Cell(
    kernel="lu", framework="weft", preset="S", dtype="float64", threads=2, state="compile", message="E1: no"
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "results.sqlite", create=True)


def test_what_was_added_is_read_back(store: Store) -> None:
    run = store.begin("weft bench run", {"cpu": "some"})
    store.add(run, CELL)
    store.add(run, FAILED)
    store.describe(run, {"calibration_after": [1, 2]})

    found = open_store(store.path).run(run)

    assert found.cells == (CELL, FAILED)
    assert (found.command, found.machine) == ("weft bench run", {"cpu": "some", "calibration_after": [1, 2]})


def test_a_cell_measured_again_takes_the_place_of_the_earlier_one(store: Store) -> None:
    run = store.begin("", {})
    store.add(run, FAILED)
    store.add(run, replace(FAILED, state="ok", message="", pairs=(Pair(1.0, 2.0),)))

    assert [cell.state for cell in store.run(run).cells] == ["ok"]


def test_runs_come_oldest_first_and_an_unknown_one_is_told(store: Store) -> None:
    assert store.last() is None
    first, second = store.begin("a", {}), store.begin("b", {})

    assert [run.id for run in store.runs()] == [first, second]
    assert store.last() == store.run(second)
    with pytest.raises(StoreError, match="there is no run 7; there are 1, 2"):
        store.run(7)


KILLED = """
import os, signal, sys
from tests.bench.test_store import CELL
from weft_bench.store import open_store
import weft_bench.store as module

store = open_store(sys.argv[1], create=True)
run = store.begin("", {})
store.add(run, CELL)

class Dies(tuple):  # the second cell: killed between its row and its samples
    def __iter__(self):
        os.kill(os.getpid(), signal.SIGKILL)

from dataclasses import replace
store.add(run, replace(CELL, kernel="other", pairs=Dies(CELL.pairs)))
"""


def test_a_killed_process_leaves_every_finished_cell(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, cwd=Path(__file__).parents[2])

    assert done.returncode == -9
    assert open_store(path).run(1).cells == (CELL,)


def test_a_missing_file_is_told_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none.sqlite"

    with pytest.raises(StoreError, match=r"there is no such file of results; `weft bench run -o .*` makes one"):
        open_store(path)
    assert not path.exists()


def make_foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE songs (name TEXT)")
        database.commit()


def make_newer(path: Path) -> None:
    open_store(path, create=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")


def make_text(path: Path) -> None:
    path.write_text("kernel,framework\njacobi_2d,weft\n")


def make_torn(path: Path) -> None:
    store = open_store(path, create=True)
    run = store.begin("", {})
    for number in range(40):
        store.add(run, replace(CELL, kernel=f"kernel {number}"))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def make_scrambled(path: Path) -> None:
    open_store(path, create=True)
    whole = bytearray(path.read_bytes())
    whole[100:3000] = bytes(2900)
    path.write_bytes(bytes(whole))


OTHERS = [
    (make_foreign, r"is an SQLite file of another program \(songs\); it is left as it is, choose another by -o"),
    (make_newer, r"was written by a newer Weft \(schema 99, this one knows 1\)"),
    (make_text, r"is not a file of results \(not SQLite\); it is left as it is, choose another by -o"),
    (make_torn, r"cannot be used: .*\. It is left as it is"),
    (make_scrambled, r"cannot be used: .*\. It is left as it is"),
]


@pytest.mark.parametrize(("make", "message"), OTHERS, ids=[make.__name__ for make, _ in OTHERS])
@pytest.mark.parametrize("create", [False, True])
def test_a_file_that_is_not_ours_or_not_whole_is_refused_and_left_alone(
    make: object, message: str, create: bool, tmp_path: Path
) -> None:
    path = tmp_path / "file.sqlite"
    make(path)  # type: ignore[operator]
    before = path.read_bytes()

    with pytest.raises(StoreError, match=message):
        open_store(path, create=create)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["file.sqlite"]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        open_store(tmp_path)


def test_the_documented_schema_is_the_one_in_use() -> None:
    page = (Path(__file__).parents[2] / "docs" / "bench.md").read_text(encoding="utf-8")

    assert SCHEMA.strip() in page
