"""Run small programs in processes of their own, with a cache of Weft's that is empty or holds what it should.

in:   the text of a script and a cache folder
out:  what the script prints; starting is part of what such scripts measure, so nothing may be left from before
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 300

# A program that is none of those measured: with it the dispatcher, which every program uses, is built.
WARM_UP = """
import numpy as np, weft

@weft.program(fallback="error")
def warm_up(v):
    return v + 1

warm_up(np.arange(3.0))
"""


class ScriptError(Exception):
    """A script did not end well; the last line it wrote, or why there is none."""


def environment(cache: Path) -> dict[str, str]:
    """This environment with another cache and no other setting of Weft."""
    # A user's Python keeps its compiled modules; without them every import would be a compilation.
    dropped = "PYTHONDONTWRITEBYTECODE"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_") and k != dropped}
    return {**kept, "WEFT_CACHE_DIR": str(cache)}


def write_script(script: str, cache: Path) -> Path:
    """The script as a file beside the cache: Weft reads the source of programs, as of users' files."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    path = cache.parent / f"script_{hashlib.sha256(script.encode()).hexdigest()[:12]}.py"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=cache.parent) as folder:  # moved when whole: several jobs may start it
            whole = Path(folder) / path.name
            whole.write_text(script, encoding="utf-8")
            whole.replace(path)
    return path


def run_script(script: str, cache: Path, *arguments: str) -> str:
    """What the script prints."""
    return run_python(cache, str(write_script(script, cache)), *arguments)


def run_python(cache: Path, *words: str) -> str:
    """What Python prints, started with these words."""
    try:
        done = subprocess.run(
            [sys.executable, *words],
            env=environment(cache), capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ScriptError(f"no end within {SECONDS} s") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise ScriptError(lines[-1] if lines else f"the process ended with status {done.returncode}")
    return done.stdout


def fresh_cache(directory: Path, name: str) -> Path:
    """A cache with the dispatcher in it and no kernel."""
    cache = directory / name / "cache"
    run_script(WARM_UP, cache)
    return cache
