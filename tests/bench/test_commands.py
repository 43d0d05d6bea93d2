"""`weft bench` as it is typed: what it says, what it leaves behind, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import fakes
from tests.bench.test_runner import TINY
from tests.conftest import Golden
from weft_bench import frameworks, selection
from weft_bench.commands import COMMANDS, main
from weft_bench.commands import run as run_command
from weft_bench.store import open_store

KNOWN = dict(frameworks.load_frameworks())


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_BENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(run_command, "describe", describe)
    (tmp_path / "tiny.py").write_text(TINY, encoding="utf-8")
    return tmp_path


def describe(**_options: bool) -> dict[str, str]:
    """Measuring the machine takes longer than all of these tests; it has tests of its own."""
    return {"cpu": "some"}


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The status and everything printed, without what differs from run to run."""
    status = main(words)
    captured = capsys.readouterr()
    return f"$ weft bench {' '.join(words)}\n{captured.out}{captured.err}[{status}]\n"


# ---------------------------------------------------------------- words that are not understood

NOT_UNDERSTOOD = [
    ["rnu"],
    ["run", "jacobi2d"],
    ["run", "quite_other"],
    ["run", "jacobi_2d", "-p", "XL"],
    ["run", "tiny.py", "-p", "M"],
    ["run", "-f", "nmupy"],
    ["run", "jacobi_2d", "--dtype", "float46"],
    ["run", "--threads", "two"],
    ["run", "--threads", "0"],
    ["run", "--repetitions", "0"],
    ["run", "--time-limit", "0"],
    ["run", "--retry-failed"],
    ["run", "--without", "fuse-mops"],
    ["run", "nowhere.py"],
    ["setup", "numbaa"],
    ["setup", "--python", "python3"],
    ["list", "crc"],
]


def test_a_word_not_understood_gets_the_nearest_and_a_way_out(
    golden: Golden, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, working_folder: Path
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1})
    texts = [said(words, capsys) for words in NOT_UNDERSTOOD]

    assert all(text.endswith("[2]\n") for text in texts)
    assert "\n".join(texts).replace(str(working_folder), "FOLDER") == golden
    assert not (working_folder / "weft-bench.sqlite").exists(), "a mistake leaves no file behind"


def test_without_a_command_the_commands_are_listed(golden: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    assert said([], capsys) == golden


def test_a_command_that_is_not_there_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft_bench import commands

    monkeypatch.setattr(commands, "COMMANDS", {**COMMANDS, "dance": ("dancing", "no such module")})

    assert "`weft bench dance` is not part of this Weft" in said(["dance"], capsys)


def test_all_kernels_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--names"]) == 0
    assert len(capsys.readouterr().out.split()) == 54
    assert main(["list"]) == 0
    assert "54 kernels" in capsys.readouterr().out


def test_a_kernel_is_found_by_the_name_the_field_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "azimint_hist"]) == 0
    assert "azimuthal_histogram (azimint_hist)" in capsys.readouterr().out


# ---------------------------------------------------------------- files of results


def test_a_foreign_file_of_results_is_refused(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (working_folder / "notes.txt").write_text("mine")

    assert main(["run", "tiny.py", "-f", "numpy", "-o", "notes.txt"]) == 1
    assert "is not a file of results" in capsys.readouterr().err
    assert (working_folder / "notes.txt").read_text() == "mine"


def test_there_must_be_something_to_resume(working_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--resume"]) == 1
    assert "there is no such file of results" in capsys.readouterr().err
    open_store("weft-bench.sqlite", create=True)
    assert main(["run", "--resume"]) == 1
    assert "has no run to resume" in capsys.readouterr().err


# ---------------------------------------------------------------- runs


@pytest.fixture
def with_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**KNOWN, **{name: fakes.register(name) for name in fakes.FAKES}}
    monkeypatch.setattr(run_command, "load_frameworks", lambda: known)


@pytest.mark.usefixtures("with_fakes")
def test_a_run_goes_on_past_failures_and_tells_them(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "tiny.py", "-f", "crashes,plain,unsupported", "--repetitions", "2", "--threads", "1"]

    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "tiny crashes S: execution: the process was ended by SIGSEGV during 'first'" in printed
    assert "tiny unsupported S: unsupported: no loops, please" in printed
    run = open_store("weft-bench.sqlite").run(1)
    assert [(cell.framework, cell.state) for cell in run.cells] == [
        ("crashes", "execution"), ("plain", "ok"), ("unsupported", "unsupported"),
    ]  # fmt: skip
    assert "tiny.py -f crashes,plain,unsupported --repetitions 2 --threads 1" in run.command
    assert "calibration_before" in run.machine


@pytest.mark.usefixtures("with_fakes")
def test_a_resumed_run_measures_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", "tiny.py", "-f", "raises,plain", "--repetitions", "2", "--threads", "1"]) == 0
    measured: list[str] = []
    measure = run_command.measure

    def watched(plan, *others):
        measured.append(plan.framework.name)
        return measure(plan, *others)

    monkeypatch.setattr(run_command, "measure", watched)
    assert main(["run", "--resume"]) == 0
    assert measured == []
    assert main(["run", "--resume", "--retry-failed"]) == 0
    assert measured == ["raises"]
    assert main(["run", "--resume", "-f", "numpy"]) == 0
    assert measured == ["raises", "numpy"]
    assert "2 cells are there already" in capsys.readouterr().err
    assert len(open_store("weft-bench.sqlite").runs()) == 1


STARTED = """
import sys
from tests.bench.test_commands import describe
from weft_bench.commands import main, run
run.describe = describe
sys.exit(main(sys.argv[1:]))
"""


def started(*words: str) -> subprocess.Popen[str]:
    source = Path(frameworks.__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", STARTED, *words],
        env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{source.parent}"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_for_cells(path: Path, count: int) -> None:
    for _ in range(300):
        if path.exists() and path.stat().st_size:
            run = open_store(path).last()
            if run is not None and len(run.cells) >= count:
                return
        time.sleep(0.1)
    pytest.fail(f"no {count} cells within half a minute")


def workers_of(folder: Path) -> list[int]:
    """The processes whose environment names this test's folder, so that none of another test is counted."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"weft_bench.worker" in words and str(folder).encode() in environment:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_keeps_what_is_done_and_can_be_resumed(
    ending: signal.Signals, working_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        (working_folder / f"tiny{number}.py").write_text(TINY.replace("def tiny", f"def tiny{number}"))
    files = [f"tiny{number}.py" for number in range(4)]
    path = working_folder / "weft-bench.sqlite"
    process = started("run", *files, "-f", "numpy", "--repetitions", "2", "--threads", "1")
    wait_for_cells(path, 1)
    process.send_signal(ending)
    error = process.communicate(timeout=30)[1]

    kept = len(open_store(path).run(1).cells)
    assert 1 <= kept < 4
    for _ in range(200):
        if not workers_of(working_folder):
            break
        time.sleep(0.1)
    assert workers_of(working_folder) == []
    if ending == signal.SIGINT:
        assert process.returncode == 130
        assert re.search(rf"interrupted; {kept} of 4 cells are kept in weft-bench.sqlite", error)
        assert "weft bench run --resume -o weft-bench.sqlite" in error
    assert main(["run", "--resume"]) == 0
    assert len(open_store(path).run(1).cells) == 4
    assert f"{kept} cells are there already, {4 - kept} to go" in capsys.readouterr().err


def test_weft_without_a_pass_says_so_in_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watched(plan, settings, *others):
        seen.append(settings.without)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_command, "measure", watched)
    assert main(["run", "tiny.py", "-f", "weft", "--without", "fuse-maps"]) == 130
    assert seen == ["fuse-maps"]
    assert "--without fuse-maps" in open_store("weft-bench.sqlite").run(1).command


def test_second_spellings_are_kernels_of_their_own() -> None:
    programs = selection.second_spellings(selection.choose_kernels(["jacobi_2d"]))

    assert [program.label for program in programs] == ["jacobi_2d (second spelling)"]
    assert programs[0].path.name == "grids.py"


def test_a_broken_adapter_is_told_by_its_name() -> None:
    broken = replace(KNOWN["numpy"], framework=None, problem="framework numpy: its adapter cannot be loaded")

    with pytest.raises(selection.UsageError, match="its adapter cannot be loaded"):
        selection.choose_frameworks(["numpy"], {"numpy": broken})
