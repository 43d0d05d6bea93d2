"""The runner's end of a worker: start it, ask it, notice when it hangs or dies, end it with all it started.

in:   an interpreter, an environment, a request (see `worker`)
out:  the answers; a `FailureError` with the state of the cell where there is none
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from weft_bench.cells import State

_SLICE_SECONDS: Final = 0.5  # how often a silent worker is looked at: a child of it may hold the pipe open
_GRACE_SECONDS: Final = 2.0


class FailureError(Exception):
    """A cell that ends here: its state and the last line of the error."""

    def __init__(self, state: State, message: str) -> None:
        super().__init__(f"{state}: {message}")
        self.state: State = state
        self.message = message


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment at which a cell's time is over."""

    limit_seconds: float
    moment: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """From now."""
        return cls(seconds, time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds until then, never negative."""
        return max(self.moment - time.monotonic(), 0.0)


class WorkerProcess:
    """A running worker. Its output goes to `log`; its pipes are not its standard streams."""

    def __init__(
        self, interpreter: Path, environment: Mapping[str, str], request: Mapping[str, Any], folder: Path
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        request_file = folder / "request.json"
        request_file.write_text(json.dumps(request), encoding="utf-8")
        self.log = folder / "output.txt"
        commands_read, self._commands = os.pipe()
        self._replies, replies_write = os.pipe()
        command = [str(interpreter), "-P", "-m", "weft_bench.worker", str(request_file)]
        try:
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(
                    [*command, str(commands_read), str(replies_write)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=folder,
                    env=dict(environment),
                    pass_fds=(commands_read, replies_write),
                    start_new_session=True,  # Ctrl-C is ours to handle, and the whole group can be ended
                )
        finally:
            os.close(commands_read)
            os.close(replies_write)
        self._unread = b""

    def ask(self, deadline: Deadline, do: str, **details: Any) -> dict[str, Any]:
        """One command and its answer."""
        try:
            os.write(self._commands, (json.dumps({"do": do, **details}) + "\n").encode())
        except BrokenPipeError:
            raise self._death(do) from None
        answer = json.loads(self._read_line(deadline, do))
        if "state" in answer:
            raise FailureError(answer["state"], answer["message"])
        return answer

    def _read_line(self, deadline: Deadline, do: str) -> bytes:
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._replies], [], [], min(deadline.left, _SLICE_SECONDS))
            if ready:
                part = os.read(self._replies, 1 << 16)
                if not part:
                    raise self._death(do)
                self._unread += part
            elif deadline.left == 0.0:
                self.stop()
                raise FailureError("time limit", f"no answer to {do!r} within {deadline.limit_seconds:.0f} s")
            elif self._process.poll() is not None:
                raise self._death(do)
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _death(self, do: str) -> FailureError:
        """What to say of a worker that is gone: the signal or the status, and the last thing it said."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_SECONDS)
        status = self._process.returncode
        self.stop()
        if status is None:
            ended = "the process closed its pipe"
        elif status < 0:
            ended = f"the process was ended by {_signal_name(-status)}"
        else:
            ended = f"the process left with status {status}"
        said = last_words(self.log)
        state: State = "compile" if do == "build" else "execution"
        return FailureError(state, f"{ended} during {do!r}{f': {said}' if said else ''}")

    def stop(self) -> None:
        """End the process and all it started."""
        for number in (self._commands, self._replies):
            with contextlib.suppress(OSError):
                os.close(number)
        self._commands = self._replies = -1
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def quit(self) -> None:
        """Let it go in peace, for a moment; then `stop`."""
        with contextlib.suppress(OSError):
            os.write(self._commands, b'{"do": "quit"}\n')
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_SECONDS)
        self.stop()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_words(log: Path) -> str:
    """The last line a worker wrote that holds anything, shortened."""
    try:
        text = log.read_bytes()[-4096:].decode(errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(letter for letter in lines[-1] if letter.isprintable())[:200] if lines else ""
