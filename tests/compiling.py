"""How the C compiler runs below the tests: no text twice, and plainly where nothing depends on how hard it works.

Programs that differ for the dispatcher (flags, options, names of files) often have the same C text: its library is kept
for the session, for all worker processes. `PLAINLY` is for modules of many programs that test what the graph and its C
text mean: in `make test` they are compiled at -O0, in a third of the time, in `make test-all` as for users.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from weft.runtime.files import unique_name
from weft.runtime.process import CompilerRun
from weft.runtime.toolchain import Toolchain

Run = Callable[[Sequence[Sequence[str]], Path, float], list[CompilerRun]]
PLAINLY = pytest.mark.usefixtures("plain_compiler")


def each_text_once(run: Run, store: Path) -> Run:
    """As `run_compilers` of `weft.runtime.compile`; what the same command made of the same files is copied."""
    store.mkdir(parents=True, exist_ok=True)

    def run_or_copy(commands: Sequence[Sequence[str]], folder: Path, timeout_s: float) -> list[CompilerRun]:
        kept = [store / _key(command, folder) for command in commands]
        made = [folder / command[command.index("-o") + 1] for command in commands]
        missing = [number for number, path in enumerate(kept) if not path.exists()]
        runs = dict(zip(missing, run([commands[number] for number in missing], folder, timeout_s), strict=True))
        for number, path in enumerate(kept):
            done = runs.get(number)
            if done is None:
                shutil.copyfile(path, made[number])
            elif done.status == 0 and not done.output and made[number].exists():
                new = store / unique_name("new-")
                shutil.copyfile(made[number], new)
                new.replace(path)
        return [runs.get(number, CompilerRun(0, "")) for number in range(len(commands))]

    return run_or_copy


def _key(command: Sequence[str], folder: Path) -> str:
    """Everything that decides what a command makes: its words, and the files they name."""
    digest = hashlib.sha256("\0".join(command).encode())
    for word in command:
        if (folder / word).is_file():
            digest.update(b"\0" + (folder / word).read_bytes())
    return digest.hexdigest()


def plain_compiler(toolchain: Toolchain, folder: Path) -> Path | None:
    """A compiler to be named by WEFT_CC, which keeps its kernels apart: the same one at -O0. None where it is none."""
    if toolchain.kind == "zig":
        return None
    script = folder / "plain-cc"
    if not script.exists():
        new = folder / unique_name("new-")
        new.write_text(f'#!/bin/sh\nexec {shlex.join(toolchain.command)} "$@" -O0\n', encoding="utf-8")
        new.chmod(0o700)
        new.replace(script)
    return script


def session_folder() -> Path:
    """Where the session keeps what its processes share."""
    return Path(os.environ["WEFT_CACHE_DIR"]) / "compiled-for-tests"
