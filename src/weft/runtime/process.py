"""Run the compiler as a process that never outlives its time.

It runs in a session of its own: a time-out or Ctrl-C ends it with everything it started.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.support.errors import WeftError
from weft.support.records import record

if TYPE_CHECKING:
    from subprocess import Popen


class CompilerFailed(WeftError):  # noqa: N818 - says what happened
    """The C compiler did not accept our C text, or took too long. `output` has its own words, for those who ask."""

    def __init__(self, message: str, command: Sequence[str] = (), output: str = "", timed_out: bool = False) -> None:
        super().__init__(message, tuple(command), output, timed_out)
        self.message, self.command, self.output, self.timed_out = message, tuple(command), output, timed_out

    def __str__(self) -> str:
        return self.message


@record
class CompilerRun:
    """Exit status and everything the compiler printed."""

    status: int
    output: str


def run_compiler(command: Sequence[str], folder: Path, timeout_s: float) -> CompilerRun:
    """Run to the end or to the time-out; nothing the command started outlives this call."""
    return run_compilers([command], folder, timeout_s)[0]


def run_compilers(commands: Sequence[Sequence[str]], folder: Path, timeout_s: float) -> list[CompilerRun]:
    """Several at the same time, in their order; the time-out is for all of them together."""
    import time

    deadline = time.monotonic() + timeout_s
    processes: list[Popen[bytes]] = []
    try:
        for command in commands:
            processes.append(_start(command, folder))
        return [
            _wait(process, command, deadline, timeout_s) for process, command in zip(processes, commands, strict=True)
        ]
    except BaseException:
        for process in processes:
            _end_session(process)
        raise


def _start(command: Sequence[str], folder: Path) -> Popen[bytes]:
    import subprocess

    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise CompilerFailed(f"the C compiler {command[0]} cannot be started: {error}", command) from error


def _wait(process: Popen[bytes], command: Sequence[str], deadline: float, timeout_s: float) -> CompilerRun:
    import subprocess
    import time

    try:
        printed, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise CompilerFailed(f"the C compiler took more than {timeout_s:g} s", command, timed_out=True) from error
    return CompilerRun(process.returncode, printed.decode(errors="replace"))


def _end_session(process: Popen[bytes]) -> None:
    import signal

    if process.returncode is not None:
        return
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
