"""A function typed at Python's own prompt is compiled: its source comes from the history of the line editor."""

from __future__ import annotations

import os
import pty
import select
import sys
import time

import pytest

LINES = (
    "import numpy as np, weft",
    "@weft.program",
    "def f(a):",
    "    s = 0.0",
    "    for x in a:",
    "        s += x",
    "    return s",
    "",
    "print('result', f(np.arange(4.0)), f.stats.native_calls, f.stats.reasons)",
)


def read_until(descriptor: int, wanted: str, seconds: float) -> str:
    seen = ""
    end = time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < end:
        if select.select([descriptor], [], [], 0.1)[0]:
            try:
                seen += os.read(descriptor, 4096).decode(errors="replace")
            except OSError:
                break
    return seen


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="a newer prompt keeps what is typed")
def test_a_function_typed_at_the_prompt_is_compiled() -> None:
    pytest.importorskip("readline")
    child, descriptor = pty.fork()
    if child == 0:
        os.environ["TERM"] = "dumb"
        os.execv(sys.executable, [sys.executable, "-q"])
    try:
        seen = read_until(descriptor, ">>>", 30)
        for line in LINES:
            os.write(descriptor, f"{line}\n".encode())
            seen += read_until(descriptor, "\n", 5)
        seen += read_until(descriptor, "result 6.0", 60)
        seen += read_until(descriptor, "]", 10)
    finally:
        os.write(descriptor, b"exit()\n")
        os.close(descriptor)
        os.waitpid(child, 0)
    assert "result 6.0 1 []" in seen, seen
