"""Options from pyproject.toml, and the parser that is only loaded for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = "import sys, weft; print(weft.config.fast, weft.config.threads, 'tomllib' in sys.modules)"


def options_in(folder: Path) -> str:
    """`fast`, `threads` and whether the parser was loaded, of a process started there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "text",
    [
        "[tool.weft]\nfast = true\nthreads = 3\nother = 1\n",
        "  [ tool . 'weft' ] # ours\nfast = true\nthreads = 3\n",
        "[tool] # all of them\nweft.fast = true\nweft.threads = 3\n",
        "[tool]\nweft = {fast = true, threads = 3}\n",
        "tool.weft = {fast = true, threads = 3}\n",
        "tool = {weft = {fast = true, threads = 3}}\n",
    ],
)
def test_a_table_is_read_however_it_is_written(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    (tmp_path / "inner").mkdir()
    assert options_in(tmp_path) == "True 3 True"
    assert options_in(tmp_path / "inner") == "True 3 True"


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[project]\nname = "weft"\ndependencies = ["weft"]\n\n[tool.ruff]\nsrc = ["tools"]\nfast = true\n',
        "[weft]\nfast = true\n",
        "this is no TOML",
    ],
)
def test_without_one_the_parser_is_not_loaded(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert options_in(tmp_path) == "False None False"


def test_a_file_that_cannot_be_read_has_no_options(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.weft\nfast = true\n")
    assert options_in(tmp_path).startswith("False None")
