from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, EntryPoints, version
from pathlib import Path

import pytest

from weft.cli import main as command_line
from weft.cli.main import main
from weft.support.errors import InternalError


def bench(argv: Sequence[str]) -> int:
    """Stands for a command that another package brings."""
    print("bench", *argv)
    return 7


@pytest.fixture
def added_command(monkeypatch: pytest.MonkeyPatch) -> None:
    added = EntryPoints([EntryPoint("bench", f"{__name__}:bench", command_line.ENTRY_POINTS)])
    monkeypatch.setattr(command_line, "entry_points", added.select)


def test_info_prints_aligned_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    facts = dict(line.split(maxsplit=1) for line in lines)

    assert facts["weft"] == version("weft")
    assert facts["numpy"] == version("numpy")
    assert facts.keys() >= {"python", "compiler", "processor", "threads", "blas", "cache"}
    assert len({len(line) - len(line.split(maxsplit=1)[1]) for line in lines}) == 1


@pytest.mark.parametrize(("typed", "meant"), [("inof", "info"), ("cahce", "cache"), ("caches", "cache")])
def test_an_unknown_command_suggests_the_nearest(typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([typed]) == 2
    assert capsys.readouterr().err == f"weft: there is no command '{typed}'; did you mean '{meant}'?\n"


def test_an_unknown_command_near_to_none_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["xyzzy"]) == 2
    assert "there are info, cache" in capsys.readouterr().err


def test_nothing_asked_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out = capsys.readouterr().out
    assert "  info " in out
    assert "  cache " in out


@pytest.mark.parametrize("words", [["--help"], ["info", "--help"], ["cache", "--help"]])
def test_help_is_no_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(words)
    assert exit_.value.code == 0
    assert "usage: weft" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"weft {version('weft')}\n"


def test_surplus_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["info", "everything"])
    assert exit_.value.code == 2
    assert "weft info: error" in capsys.readouterr().err


@pytest.mark.usefixtures("added_command")
def test_other_packages_add_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--kernel", "softmax"]) == 7
    assert capsys.readouterr().out == "bench --kernel softmax\n"


@pytest.mark.usefixtures("added_command")
def test_added_commands_are_listed_and_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert "  bench " in capsys.readouterr().out
    assert main(["bnech"]) == 2
    assert "did you mean 'bench'?" in capsys.readouterr().err


def test_our_errors_are_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(argv: Sequence[str]) -> int:
        raise InternalError("no container")

    monkeypatch.setattr(command_line, "COMMANDS", {"fail": fail})

    assert main(["fail"]) == 1
    assert capsys.readouterr().err.startswith("internal error: no container\n")


@pytest.mark.parametrize("command", [[sys.executable, "-m", "weft"], [str(Path(sys.executable).parent / "weft")]])
def test_the_command_and_the_module_are_the_same(command: list[str]) -> None:
    result = subprocess.run([*command, "cahce"], capture_output=True, text=True, check=False, timeout=60)

    assert (result.returncode, result.stdout) == (2, "")
    assert "did you mean 'cache'?" in result.stderr
