"""A cell comes out whatever a framework does, and says rightly what that was."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.bench import fakes
from weft_bench import resting
from weft_bench.cells import Cell
from weft_bench.environments import worker_environment
from weft_bench.frameworks import load_frameworks
from weft_bench.hardware import choose_cpus
from weft_bench.runner import Inputs, Plan, Program, Settings, measure
from weft_bench.selection import choose_kernels

TINY = """
import numpy as np

def tiny(A):
    A += 1

def make_inputs(n=10):
    return {"A": np.arange(n) / 7}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Program:
    path = tmp_path / "tiny.py"
    path.write_text(TINY, encoding="utf-8")
    return choose_kernels([str(path)])[0]


def run(name: str, program: Program, folder: Path, time_limit: float = 60.0) -> Cell:
    plan = Plan(program=program, framework=fakes.register(name), preset="S", dtype="float64", threads=1)
    settings = Settings(
        repetitions=3, time_limit_seconds=time_limit, artefacts=folder / "artefacts", errors=folder / "errors"
    )
    return measure(plan, settings, Inputs(folder / "inputs"), load_frameworks()["numpy"])


@pytest.mark.parametrize("name", ["plain", "prints", "returns", "on_device", "drops_late"])
def test_a_framework_that_works_is_measured(name: str, tiny: Program, tmp_path: Path) -> None:
    cell = run(name, tiny, tmp_path)

    assert (cell.state, cell.message, cell.error_eps) == ("ok", "", 0.0)
    assert len(cell.pairs) == 3
    assert all(pair.numpy > 0 and pair.framework > 0 for pair in cell.pairs)
    assert cell.version == "1.0"
    assert cell.build_seconds is not None
    assert cell.first_seconds is not None
    assert cell.adaptation is not None


FAILURES = [
    ("unsupported", "unsupported", "no loops, please"),
    ("cannot_compile", "compile", "SyntaxError: last line of the compiler"),
    ("compiles_late", "compile", "OwnCompilerError: cannot type 'A'"),
    ("raises", "execution", "IndexError: index 7 is out of bounds"),
    ("wrong", "validation", "eps, 4096 eps allowed (first call)"),
    ("wrong_later", "validation", "eps, 4096 eps allowed (last call)"),
    ("returns_narrow", "validation", "A: dtype float32, NumPy gives float64 (first call)"),
    ("crashes", "execution", "the process was ended by SIGSEGV during 'first'"),
    ("leaves", "compile", "the process left with status 3 during 'build'"),
]


@pytest.mark.parametrize(("name", "state", "message"), FAILURES, ids=[name for name, *_ in FAILURES])
def test_a_failure_has_its_kind_and_the_last_line_of_its_error(
    name: str, state: str, message: str, tiny: Program, tmp_path: Path
) -> None:
    cell = run(name, tiny, tmp_path)

    assert cell.state == state
    assert message in cell.message
    assert (tmp_path / "errors" / f"tiny-{name}-S.txt").exists()


def test_what_hangs_is_ended_with_all_that_it_started(tiny: Program, tmp_path: Path) -> None:
    start = time.monotonic()
    cell = run("hangs", tiny, tmp_path, time_limit=4.0)

    assert (cell.state, cell.message) == ("time limit", "no answer to 'first' within 4 s")
    assert time.monotonic() - start < 20.0
    child = int((tmp_path / "artefacts" / "child").read_text())
    assert is_gone(child)


def is_gone(process: int) -> bool:
    """Whether a process has ended; a zombie that nobody has waited for has."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


def test_artefacts_are_found_again_until_the_source_changes(tiny: Program, tmp_path: Path) -> None:
    first, second = run("cached", tiny, tmp_path), run("cached", tiny, tmp_path)
    tiny.path.write_text(TINY.replace("A += 1", "A += 2"), encoding="utf-8")

    assert [first.from_artefacts, second.from_artefacts] == [False, True]
    assert run("cached", tiny, tmp_path).from_artefacts is False


def test_a_missing_environment_is_not_available(tiny: Program, tmp_path: Path) -> None:
    from dataclasses import replace

    fake = replace(fakes.FAKES["plain"], requirements=("no-such-package",))
    registered = replace(fakes.register("plain"), framework=fake)
    plan = Plan(program=tiny, framework=registered, preset="S", dtype="float64", threads=1)

    cell = measure(plan, Settings(), Inputs(tmp_path), load_frameworks()["numpy"])

    assert (cell.state, cell.message) == ("not available", "not installed: weft bench setup plain")


def test_a_worker_runs_on_the_processors_it_was_given() -> None:
    allowed = sorted(os.sched_getaffinity(0))

    assert choose_cpus(1) == allowed[-1:]
    assert choose_cpus(len(allowed)) == allowed


def test_arguments_that_cannot_be_made_are_told_and_end_nothing(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    path.write_text(
        "import numpy as np\nPRESETS = {'S': {'n': 3}, 'M': {'n': 1 << 55}}\n"
        "def large(A): A += 1\ndef make_inputs(n): return np.ones(n)\n",
        encoding="utf-8",
    )
    plan = Plan(
        program=choose_kernels([str(path)])[0],
        framework=fakes.register("plain"),
        preset="M",
        dtype="float64",
        threads=1,
    )

    cell = measure(plan, Settings(errors=tmp_path), Inputs(tmp_path / "inputs"), load_frameworks()["numpy"])

    assert cell.state == "execution"
    assert cell.message.startswith("NumPy itself: ")
    assert "Unable to allocate" in cell.message


def test_workers_keep_their_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    assert "PYTHONDONTWRITEBYTECODE" not in worker_environment(fakes.register("plain"), 1)


def test_weft_says_whether_it_compiled(tmp_path: Path, tiny: Program) -> None:
    """Measured twice: compiled, then found again; the part of Weft that all programs share is in neither's time."""
    known = load_frameworks()
    plan = Plan(program=tiny, framework=known["weft"], preset="S", dtype="float64", threads=1)
    settings = Settings(repetitions=2, artefacts=tmp_path / "artefacts", errors=tmp_path)
    cells = [measure(plan, settings, Inputs(tmp_path / "inputs"), known["numpy"]) for _ in range(2)]

    assert [(cell.state, cell.message) for cell in cells] == [("ok", ""), ("ok", "")]
    assert [cell.from_artefacts for cell in cells] == [False, True]
    assert [cell.error_eps for cell in cells] == [0.0, 0.0]


class Clocks:
    """Time that passes in sleep alone, of a process whose threads spin for some of it."""

    def __init__(self, spins: float) -> None:
        self.now = 0.0
        self.spins = spins

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return min(self.now, self.spins)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("spins", "least", "most"), [(0.0, 0.0, 0.02), (0.1, 0.1, 0.13), (9.0, 0.29, 0.32)])
def test_a_turn_ends_when_no_thread_runs_any_more(
    spins: float, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks(spins)
    monkeypatch.setattr(resting, "time", clocks)
    resting.come_to_rest()

    assert least <= clocks.now <= most
