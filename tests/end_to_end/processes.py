"""Python in a process of its own, with a cache directory of its own.

in:   the text of a script
out:  what it printed; a script that fails fails the test, with its words
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

# In front of the scripts that need a program with a loop: `work.py` in the directory of the test.
WORK = """\
import numpy as np
import weft


@weft.program(fallback="error")
def work(v, n):
    total = 0.0
    for i in range(n):
        v[i % v.shape[0]] += i
        total += v[0]
    return total


def expected(n=10):
    v = np.arange(4.0)
    return work.py_func(v, n), v


def actual(n=10):
    v = np.arange(4.0)
    return work(v, n), v


def right():
    (one, v), (other, w) = expected(), actual()
    return one == other and type(one) is type(other) and v.tolist() == w.tolist()
"""


def environment(cache: Path | None = None, **more: str) -> dict[str, str]:
    """This process's environment without its settings of Weft, with those given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "PYTHONHASHSEED"))}
    return {**kept, **({"WEFT_CACHE_DIR": str(cache)} if cache else {}), **more}


def write_script(directory: Path, text: str, name: str = "script.py") -> Path:
    """The text as a file, and `work.py` beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "work.py").write_text(WORK, encoding="utf-8")
    path = directory / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def start_python(
    arguments: Sequence[str | Path], env: dict[str, str], directory: Path, text: str | None = None
) -> subprocess.Popen[str]:
    """Start an interpreter in a session of its own; `text` goes to its standard input."""
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=env, cwd=directory, text=True, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    if text is not None and process.stdin is not None:
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
    return process


def finish(process: subprocess.Popen[str], timeout_seconds: float = 120.0) -> str:
    """What the process prints; it must end well and in time."""
    try:
        out, err = process.communicate(timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode == 0, f"exit status {process.returncode}\n{out}\n{err}"
    return out


def run_script(directory: Path, text: str, env: dict[str, str] | None = None) -> str:
    """Run a script from a file; what it prints."""
    path = write_script(directory, text)
    return finish(start_python([path], env or environment(directory / "cache"), directory))


def shared_objects(cache: Path) -> set[Path]:
    """The compiled modules below a cache directory."""
    return {path for path in cache.rglob("*.so*") if path.is_file()}
