"""The file of results: SQLite, every sample kept, written cell by cell.

in:   `open_store(path, create=True)`, `store.begin(command, machine)`, `store.add(run, cell)`
out:  `store.runs()` and `store.run(id)`, with the `Cell`s of cells.py

The schema (version 1, also in docs/bench.md) is `SCHEMA` below. The file says whose it is by `PRAGMA application_id`
(0x57454654, "WEFT") and `PRAGMA user_version`. A cell and its samples are one transaction: whenever the process ends,
what was finished is there. A file that is not ours is refused before anything is written.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from weft_bench.cells import Adaptation, Cell, Pair, Run, State, Work

DEFAULT_FILE: Final = "weft-bench.sqlite"
APPLICATION: Final = 0x57454654
VERSION: Final = 1

SCHEMA: Final = """
CREATE TABLE runs (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    started TEXT NOT NULL,      -- ISO 8601, UTC
    command TEXT NOT NULL,      -- as it can be typed again
    machine TEXT NOT NULL       -- JSON: processor, memory, libraries, calibration
);
CREATE TABLE cells (
    id             INTEGER PRIMARY KEY,
    run            INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    kernel         TEXT NOT NULL,
    framework      TEXT NOT NULL,
    preset         TEXT NOT NULL,
    dtype          TEXT NOT NULL,
    threads        INTEGER NOT NULL,
    state          TEXT NOT NULL,     -- ok, unsupported, compile, execution, validation, time limit, not available
    message        TEXT NOT NULL,     -- the last line of the error; of an "ok" what the framework warned of
    version        TEXT NOT NULL,     -- the framework's
    math           TEXT NOT NULL,     -- what it may do to floating point
    build_seconds  REAL,              -- Framework.build
    first_seconds  REAL,              -- the first call
    from_artefacts INTEGER NOT NULL,  -- 1: nothing was compiled, an earlier run had left it
    peak_bytes     INTEGER,           -- of a later call, above what was held before the first, without the arguments
    error_eps      REAL,              -- the largest error of an output, in units of epsilon
    numpy_lines    INTEGER,           -- code metrics, all five NULL where there are none
    lines          INTEGER,
    changed        INTEGER,
    kept           REAL,
    is_override    INTEGER,
    work_bytes     INTEGER,           -- the least the kernel must move and compute
    work_flops     INTEGER,
    UNIQUE (run, kernel, framework, preset, dtype, threads)
);
CREATE TABLE samples (
    cell      INTEGER NOT NULL REFERENCES cells (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL,  -- from 0; of even numbers NumPy ran first, of odd ones the framework
    numpy     REAL NOT NULL,     -- seconds
    framework REAL NOT NULL,     -- seconds, right beside it
    PRIMARY KEY (cell, number)
) WITHOUT ROWID;
"""
_TABLES: Final = frozenset({"runs", "cells", "samples"})
_COLUMNS: Final = (
    "run", "kernel", "framework", "preset", "dtype", "threads", "state", "message", "version", "math",
    "build_seconds", "first_seconds", "from_artefacts", "peak_bytes", "error_eps",
    "numpy_lines", "lines", "changed", "kept", "is_override", "work_bytes", "work_flops",
)  # fmt: skip


class StoreError(Exception):
    """The file of results cannot be used; `str()` names it and the way out. The file is as it was."""


@dataclass(frozen=True, slots=True)
class Store:
    """A file of results. Each call opens and closes it, so nothing is lost or locked between cells."""

    path: Path

    def begin(self, command: str, machine: dict[str, Any]) -> int:
        """A new run; its id."""
        started = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction() as database:
            cursor = database.execute(
                "INSERT INTO runs (started, command, machine) VALUES (?, ?, ?)", (started, command, json.dumps(machine))
            )
            return cast("int", cursor.lastrowid)

    def describe(self, run: int, facts: dict[str, Any]) -> None:
        """Add facts to what a run says of its machine: the calibration after it, say."""
        with self._transaction() as database:
            row = database.execute("SELECT machine FROM runs WHERE id = ?", (run,)).fetchone()
            machine = {**json.loads(row["machine"]), **facts}
            database.execute("UPDATE runs SET machine = ? WHERE id = ?", (json.dumps(machine), run))

    def add(self, run: int, cell: Cell) -> None:
        """Keep one cell with all of its samples; an earlier one for the same place in the run goes."""
        values = _row(run, cell)
        marks = ", ".join("?" for _ in _COLUMNS)
        key = "run = ? AND kernel = ? AND framework = ? AND preset = ? AND dtype = ? AND threads = ?"
        with self._transaction() as database:
            database.execute(f"DELETE FROM cells WHERE {key}", values[:6])
            cursor = database.execute(f"INSERT INTO cells ({', '.join(_COLUMNS)}) VALUES ({marks})", values)
            samples = [(cursor.lastrowid, number, p.numpy, p.framework) for number, p in enumerate(cell.pairs)]
            database.executemany("INSERT INTO samples VALUES (?, ?, ?, ?)", samples)

    def runs(self) -> list[Run]:
        """Every run with its cells, oldest first."""
        with self._reading() as database:
            rows = database.execute("SELECT * FROM runs ORDER BY id").fetchall()
            return [_run(database, row) for row in rows]

    def run(self, number: int) -> Run:
        """One run."""
        with self._reading() as database:
            row = database.execute("SELECT * FROM runs WHERE id = ?", (number,)).fetchone()
            if row is None:
                known = [str(item["id"]) for item in database.execute("SELECT id FROM runs ORDER BY id")]
                raise StoreError(f"{self.path}: there is no run {number}; there are {', '.join(known) or 'none'}")
            return _run(database, row)

    def last(self) -> Run | None:
        """The newest run, None in an empty file."""
        with self._reading() as database:
            row = database.execute("SELECT * FROM runs ORDER BY id DESC LIMIT 1").fetchone()
            return None if row is None else _run(database, row)

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        try:
            with closing(_connect(self.path)) as database:
                yield database
        except sqlite3.Error as error:
            raise _damaged(self.path, error) from error

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._reading() as database, database:
            yield database


def open_store(path: Path | str, *, create: bool = False) -> Store:
    """The store in a file, checked to be one; `create` makes the file where there is none."""
    place = Path(path)
    if place.is_dir():
        raise StoreError(f"{place} is a folder; a file of results is wanted (-o FILE)")
    if not place.exists() or place.stat().st_size == 0:
        if not create:
            raise StoreError(f"{place}: there is no such file of results; `weft bench run -o {place}` makes one")
        _create(place)
        return Store(place)
    _check(place)
    return Store(place)


def _connect(path: Path) -> sqlite3.Connection:
    """Never creates a file; reads one that cannot be written."""
    address = path.absolute().as_uri()
    try:
        database = sqlite3.connect(f"{address}?mode=rw", uri=True, timeout=30.0)
    except sqlite3.OperationalError:
        database = sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=30.0)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA foreign_keys = ON")
    return database


def _create(path: Path) -> None:
    try:
        with closing(sqlite3.connect(path)) as database:
            statements = [f"PRAGMA application_id = {APPLICATION};", f"PRAGMA user_version = {VERSION};", SCHEMA]
            database.executescript("BEGIN;\n" + "\n".join(statements) + "\nCOMMIT;")
    except sqlite3.Error as error:
        raise StoreError(f"{path}: the file of results cannot be made: {error}; choose another place by -o") from error


def _check(path: Path) -> None:
    """Whose file is it, and is it whole? Nothing is written to find out."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise StoreError(f"{path}: the file of results cannot be read: {error.strerror}") from error
    if head != b"SQLite format 3\0":
        raise StoreError(f"{path} is not a file of results (not SQLite); it is left as it is, choose another by -o")
    try:
        with closing(_connect(path)) as database:
            tables = {row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            application = database.execute("PRAGMA application_id").fetchone()[0]
            version = database.execute("PRAGMA user_version").fetchone()[0]
            complaints = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise _damaged(path, error) from error
    _refuse_foreign(path, tables, application, version)
    if complaints != "ok":
        raise _damaged(path, complaints)


def _refuse_foreign(path: Path, tables: Iterable[str], application: int, version: int) -> None:
    if application != APPLICATION or not set(tables) >= _TABLES:
        found = ", ".join(sorted(tables)[:4]) or "no tables"
        raise StoreError(
            f"{path} is an SQLite file of another program ({found}); it is left as it is, choose another by -o"
        )
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer Weft (schema {version}, this one knows {VERSION}); "
            f"use that Weft, or choose another file by -o"
        )


def _damaged(path: Path, reason: object) -> StoreError:
    return StoreError(
        f"{path} cannot be used: {reason}. It is left as it is; "
        f"`sqlite3 {path} .recover` may save what it holds, -o chooses another file"
    )


# ---------------------------------------------------------------- rows and cells


def _row(run: int, cell: Cell) -> tuple[Any, ...]:
    metrics, work = cell.adaptation, cell.work
    lines = (None,) * 5
    if metrics is not None:
        lines = (metrics.numpy_lines, metrics.lines, metrics.changed, metrics.kept, int(metrics.is_override))
    return (
        run, cell.kernel, cell.framework, cell.preset, cell.dtype, cell.threads, cell.state, cell.message,
        cell.version, cell.math, cell.build_seconds, cell.first_seconds, int(cell.from_artefacts), cell.peak_bytes,
        cell.error_eps, *lines, *((None, None) if work is None else (work.bytes, work.flops)),
    )  # fmt: skip


def _run(database: sqlite3.Connection, row: sqlite3.Row) -> Run:
    samples: dict[int, list[Pair]] = {}
    query = "SELECT s.* FROM samples s JOIN cells c ON s.cell = c.id WHERE c.run = ? ORDER BY s.cell, s.number"
    for sample in database.execute(query, (row["id"],)):
        samples.setdefault(sample["cell"], []).append(Pair(sample["numpy"], sample["framework"]))
    cells = database.execute("SELECT * FROM cells WHERE run = ? ORDER BY id", (row["id"],)).fetchall()
    return Run(
        id=row["id"],
        started=row["started"],
        command=row["command"],
        machine=json.loads(row["machine"]),
        cells=tuple(_cell(item, tuple(samples.get(item["id"], ()))) for item in cells),
    )


def _cell(row: sqlite3.Row, pairs: tuple[Pair, ...]) -> Cell:
    metrics = ("numpy_lines", "lines", "changed", "kept")
    adaptation = None
    if row["lines"] is not None:
        adaptation = Adaptation(**{name: row[name] for name in metrics}, is_override=bool(row["is_override"]))
    plain = ("kernel", "framework", "preset", "dtype", "threads", "message", "version", "math", "build_seconds",
             "first_seconds", "peak_bytes", "error_eps")  # fmt: skip
    return Cell(
        **{name: row[name] for name in plain},
        state=cast("State", row["state"]),
        pairs=pairs,
        from_artefacts=bool(row["from_artefacts"]),
        adaptation=adaptation,
        work=None if row["work_bytes"] is None else Work(bytes=row["work_bytes"], flops=row["work_flops"]),
    )
