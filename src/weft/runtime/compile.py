"""C text in, shared library or assembly out.

The compiler runs in a private folder, and the output appears under its name by rename: whole or not at all. What can be
compiled at the same time is: the pieces of a long text, and units that it is linked with. A unit is the same for many
kernels; its object is kept in the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Generator, Sequence
from pathlib import Path

from weft.runtime.cache import Cache
from weft.runtime.files import NATIVE_DIRECTORY, unique_name
from weft.runtime.process import CompilerFailed, run_compilers
from weft.runtime.toolchain import BuildOptions, Toolchain
from weft.support.records import record

DEFAULT_TIMEOUT_S = 120.0
_DEFAULT = BuildOptions()


@record
class Parts:
    """What a C text consists of beside itself: units it is linked with, kept in `cache`; and how many pieces it has."""

    units: tuple[str, ...] = ()
    pieces: int = 1
    cache: Cache | None = None


_ALONE = Parts()


def compile_c(
    toolchain: Toolchain,
    source: str,
    output: Path,
    *,
    parts: Parts = _ALONE,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    build: BuildOptions = _DEFAULT,
    extra: Sequence[str] = (),
) -> Path:
    """Compile `source` and its parts to the shared library `output`; `extra` flags come last and win."""
    with _workspace(output.parent) as folder:
        work = _Work(toolchain, folder, (*toolchain.options(build), *extra), timeout_s)
        count = min(parts.pieces, len(os.sched_getaffinity(0)))
        (folder / "kernel.c").write_text(source)
        made = _find_units(work, parts)
        if count == 1 and len(made) == len(parts.units):
            work.run([["kernel.c", *made, "-o", "kernel.out"]])
        else:
            _compile_apart(work, count, made, parts)
        (folder / "kernel.out").replace(output)
    return output


def disassemble(source: str, toolchain: Toolchain, *, build: BuildOptions = _DEFAULT) -> str:
    """The assembly text the compiler makes of `source`."""
    import tempfile

    options = [flag for flag in toolchain.options(build) if flag != "-shared" and not flag.startswith("-l")]
    with _workspace(Path(tempfile.gettempdir())) as folder:
        (folder / "kernel.c").write_text(source)
        work = _Work(toolchain, folder, (*options, "-S", "-fno-asynchronous-unwind-tables"), DEFAULT_TIMEOUT_S)
        work.run([["kernel.c", "-o", "kernel.out"]])
        return (folder / "kernel.out").read_text()


@record
class _Work:
    """A folder with C files, and how they are compiled."""

    toolchain: Toolchain
    folder: Path
    options: tuple[str, ...]
    timeout_s: float

    def run(self, jobs: Sequence[Sequence[str]]) -> None:
        """Commands, at the same time, that end with the name of the file they make."""
        commands = [
            [
                *self.toolchain.command,
                *job,
                f"-I{NATIVE_DIRECTORY}",
                *self.options,
                *(["-c"] if job[-1][-2:] == ".o" else []),
            ]
            for job in jobs
        ]
        for job, command, run in zip(jobs, commands, run_compilers(commands, self.folder, self.timeout_s), strict=True):
            if run.status != 0 or not (self.folder / job[-1]).exists():
                name = Path(command[0]).name
                raise CompilerFailed(f"{name} failed with status {run.status} on generated C text", command, run.output)

    def key(self, text: str) -> str:
        """Everything that decides the object of a text."""
        return hashlib.sha256(repr((text, self.toolchain.fingerprint, self.options)).encode()).hexdigest()


def _find_units(work: _Work, parts: Parts) -> list[str]:
    """The names of the objects that were in the cache, now in the folder."""
    found: list[str] = []
    for number, text in enumerate(parts.units):
        content = parts.cache.load_object(work.key(text)) if parts.cache else None
        if content is not None:
            (work.folder / f"unit{number}.o").write_bytes(content)
            found.append(f"unit{number}.o")
    return found


def _compile_apart(work: _Work, count: int, made: Sequence[str], parts: Parts) -> None:
    """Everything that is missing at the same time, then the library of it all."""
    pieces = [f"piece{number}.o" for number in range(count)]
    jobs = [
        ["kernel.c", *([f"-DWEFT_PIECE(number)=((number)%{count}=={place})"] if count > 1 else []), "-o", name]
        for place, name in enumerate(pieces)
    ]
    objects = {f"unit{number}.o": text for number, text in enumerate(parts.units)}
    missing = {name: text for name, text in objects.items() if name not in made}
    for name, text in missing.items():
        path = (work.folder / name).with_suffix(".c")
        path.write_text(text)
        jobs.append([path.name, "-o", name])
    work.run(jobs)
    if parts.cache is not None:
        for name, text in missing.items():
            parts.cache.store_object(work.key(text), (work.folder / name).read_bytes())
    work.run([[*pieces, *objects, "-o", "kernel.out"]])


@contextlib.contextmanager
def _workspace(parent: Path) -> Generator[Path]:
    """A private folder, on the same file system as the output."""
    import shutil

    folder = parent / unique_name(".compile-")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
