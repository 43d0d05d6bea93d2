"""How the C compiler runs below the tests: no text twice.

Programs that differ for the dispatcher (flags, options, names of files) often have the same C text: its library is kept
for the session, for all worker processes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from weft.runtime.files import unique_name
from weft.runtime.process import CompilerRun

Run = Callable[[Sequence[Sequence[str]], Path, float], list[CompilerRun]]


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


def session_folder() -> Path:
    """Where the session keeps what its processes share."""
    return Path(os.environ["WEFT_CACHE_DIR"]) / "compiled-for-tests"
