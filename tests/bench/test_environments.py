"""Where a framework's workers run, and what reaches them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.bench import fakes
from weft_bench import environments, frameworks
from weft_bench.environments import SetupError, create, interpreter_of, register, unavailable, worker_environment
from weft_bench.frameworks import Registered
from weft_bench.words import UsageError

NUMPY_PLACE = "weft_bench.frameworks.plain_numpy:NUMPY"
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


def script(folder: Path, text: str) -> str:
    path = folder / "some-python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_an_interpreter_that_has_the_framework_is_used_as_it_is(tmp_path: Path) -> None:
    told: list[str] = []
    python = tmp_path / "linked"
    python.symlink_to(script(tmp_path, f'exec "{sys.executable}" "$@"'))  # a virtual environment is found by its link

    register(Registered("plain", NUMPY_PLACE, PINNED), str(python), told.append)
    assert told == [f"plain: ready in {python}, with Fake {np.__version__}"]
    assert interpreter_of(PINNED) == python
    assert unavailable(PINNED) == ""
    assert unavailable(replace(PINNED, requirements=("somepackage==1.3",))) == ""  # nothing of ours is pinned there


def test_a_registered_interpreter_is_kept_until_told_otherwise(commands: list[list[str]], tmp_path: Path) -> None:
    folder = environments.folder_of(PINNED)
    folder.mkdir(parents=True)
    python = Path(script(tmp_path, ""))
    (folder / "weft-bench.json").write_text(json.dumps({"interpreter": str(python)}))
    told: list[str] = []

    assert not create(PINNED, told.append)
    assert told == [f"plain: ready in {python}, which --python named; --again makes an environment of its own"]
    assert commands == []
    python.unlink()
    assert unavailable(PINNED).startswith(f"its interpreter {python} is gone: weft bench setup plain")
    assert create(PINNED, told.append)
    assert interpreter_of(PINNED) == folder / "bin" / "python"
    assert unavailable(PINNED) == ""


def test_registering_takes_the_place_of_an_environment_and_not_of_what_a_link_leads_to(tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.mkdir()
    (others / "kept").touch()
    folder = environments.folder_of(PINNED)
    folder.parent.mkdir(parents=True)
    folder.symlink_to(others)

    register(Registered("plain", NUMPY_PLACE, PINNED), sys.executable, lambda _text: None)

    assert os.listdir(others) == ["kept"]
    assert os.listdir(folder) == ["weft-bench.json"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("echo \"ModuleNotFoundError: No module named 'cupy'\" >&2; exit 1", "  ModuleNotFoundError: No module named"),
        ("echo 'unknown option -P' >&2; exit 2", "it must be a Python from 3.11 on"),
        ("exit 0", "  nothing was said; the status is 0"),
    ],
)
def test_an_interpreter_without_the_framework_is_refused(answer: str, expected: str, tmp_path: Path) -> None:
    python = script(tmp_path, answer)

    with pytest.raises(SetupError) as caught:
        register(Registered("plain", NUMPY_PLACE, PINNED), python, lambda _text: None)
    assert str(caught.value).startswith(f"plain: {python} does not load it; ")
    assert expected in str(caught.value)
    assert unavailable(PINNED) == "not installed: weft bench setup plain"


def test_what_is_no_interpreter_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="--python /no/such/python is no program here"):
        register(Registered("plain", NUMPY_PLACE, PINNED), "/no/such/python", lambda _text: None)
    with pytest.raises(SetupError, match="runs in Weft's own interpreter"):
        register(fakes.register("plain"), sys.executable, lambda _text: None)


# ---------------------------------------------------------------- frameworks of a checkout


def test_without_being_installed_a_checkout_knows_its_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {name: item.place for name, item in frameworks.load_frameworks().items()}
    monkeypatch.setattr(frameworks, "entry_points", lambda **_group: ())

    found = frameworks.load_frameworks()

    assert {name: item.place for name, item in found.items()} == {
        name: place for name, place in installed.items() if place.startswith("weft_bench.")
    }
    assert list(found) == list(frameworks.ORDER)


def test_without_any_entry_points_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frameworks, "entry_points", lambda **_group: ())
    monkeypatch.setattr(frameworks, "PROJECT_FILE", tmp_path / "pyproject.toml")

    with pytest.raises(UsageError, match="Weft is not installed here"):
        frameworks.load_frameworks()


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
