"""Where a framework's workers run, and what reaches them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import fakes
from weft_bench import environments, frameworks
from weft_bench.environments import SetupError, create, interpreter_of, unavailable, worker_environment
from weft_bench.frameworks import Registered

PINNED = replace(fakes.FAKES["plain"], requirements=("somepackage==1.2",))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEFT_BENCH_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of a setup, noted and not run; `venv` leaves an interpreter behind."""
    seen: list[list[str]] = []

    def run(command, **_options):
        seen.append(command)
        if "venv" in command:
            interpreter = Path(command[-1]) / "bin" / "python"
            interpreter.parent.mkdir(parents=True)
            interpreter.touch()
        failed = "broken==1" in command
        return subprocess.CompletedProcess(command, int(failed), "", "a\nERROR: No matching distribution\n")

    monkeypatch.setattr(environments.subprocess, "run", run)
    return seen


def test_an_environment_is_made_once_for_the_same_requirements(commands: list[list[str]]) -> None:
    told: list[str] = []

    assert create(PINNED, told.append)
    assert [command[1:3] for command in commands] == [["-m", "venv"], ["-m", "pip"]]
    assert commands[1][-1] == "somepackage==1.2"
    assert unavailable(PINNED) == ""
    assert not create(PINNED, told.append)
    assert create(replace(PINNED, requirements=("somepackage==1.3",)), told.append)
    assert create(PINNED, told.append, again=True)
    assert len(commands) == 6
    assert told[0].startswith("plain: making ")
    assert any(text.startswith("plain: ready in ") for text in told)


def test_a_setup_that_fails_says_at_which_step_and_leaves_nothing_that_looks_ready(commands: list[list[str]]) -> None:
    broken = replace(PINNED, requirements=("broken==1",))

    with pytest.raises(SetupError) as caught:
        create(broken, lambda _text: None)
    assert "plain: pip install failed (is a package index reachable?)" in str(caught.value)
    assert "  ERROR: No matching distribution" in str(caught.value)
    assert unavailable(broken) == "its environment is unfinished or out of date: weft bench setup plain"


def test_a_framework_without_requirements_runs_here(commands: list[list[str]]) -> None:
    plain = fakes.FAKES["plain"]

    assert not create(plain, lambda _text: None)
    assert commands == []
    assert interpreter_of(plain) == Path(sys.executable)
    assert unavailable(plain) == ""


def test_a_framework_for_gpus_is_not_available_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = replace(PINNED, needs_gpu=True)
    monkeypatch.setattr(environments, "has_gpu", lambda: False)
    assert unavailable(gpu) == "no GPU: neither nvidia-smi nor /dev/nvidia0 shows one"
    monkeypatch.setattr(environments, "has_gpu", lambda: True)
    assert unavailable(gpu) == "not installed: weft bench setup plain"


def test_nothing_but_our_package_reaches_an_environment() -> None:
    registered = Registered("plain", "weft_bench.frameworks.plain_numpy:NUMPY", PINNED)

    path = worker_environment(registered, 2)["PYTHONPATH"]

    assert os.listdir(path) == ["weft_bench"]
    assert (Path(path) / "weft_bench").resolve() == Path(frameworks.__file__).parents[1]


def test_an_adapter_of_another_package_is_found_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "some_adapter.py").write_text("FRAMEWORK = None\n")
    monkeypatch.syspath_prepend(str(place))
    registered = Registered("plain", "some_adapter:FRAMEWORK", PINNED)

    ours, theirs = worker_environment(registered, 2)["PYTHONPATH"].split(os.pathsep)

    assert os.listdir(ours) == ["weft_bench"]
    assert theirs == str(place)


def test_threads_are_fixed_for_every_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.setenv("WEFT_WITHOUT", "fuse-maps")
    given = worker_environment(fakes.register("plain"), 2)

    assert {given[name] for name in environments.THREAD_VARIABLES} == {"2"}
    assert given["FAKE_THREADS"] == "2"
    assert "WEFT_WITHOUT" not in given
    assert worker_environment(fakes.register("plain"), 2, "fuse-maps")["WEFT_WITHOUT"] == "fuse-maps"


def test_a_worker_needs_none_of_our_packages() -> None:
    """What an environment with NumPy alone can import: everything else of ours would fail there."""
    code = (
        "import sys, weft_bench.worker, weft_bench.exchange, weft_bench.loading, weft_bench.timing, "
        "weft_bench.sensitivity, weft_bench.frameworks.protocol\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'weft', 'rich', 'islpy', 'scipy'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
