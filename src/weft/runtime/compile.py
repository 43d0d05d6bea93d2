"""C text in, shared library or assembly out.

The compiler runs in a private folder, and the output appears under its name by rename: whole or not at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path

from weft.runtime.files import NATIVE_DIRECTORY, unique_name
from weft.runtime.process import CompilerFailed, run_compiler
from weft.runtime.toolchain import BuildOptions, Toolchain

DEFAULT_TIMEOUT_S = 120.0
_DEFAULT = BuildOptions()


def compile_c(
    toolchain: Toolchain,
    source: str,
    output: Path,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    build: BuildOptions = _DEFAULT,
    extra: Sequence[str] = (),
) -> Path:
    """Compile `source` to the shared library `output`; `extra` flags come last and win."""
    with _workspace(output.parent) as folder:
        _compile(toolchain, source, folder, (*toolchain.options(build), *extra), timeout_s)
        (folder / "kernel.out").replace(output)
    return output


def disassemble(source: str, toolchain: Toolchain, *, build: BuildOptions = _DEFAULT) -> str:
    """The assembly text the compiler makes of `source`."""
    import tempfile

    options = [flag for flag in toolchain.options(build) if flag != "-shared" and not flag.startswith("-l")]
    with _workspace(Path(tempfile.gettempdir())) as folder:
        _compile(toolchain, source, folder, (*options, "-S", "-fno-asynchronous-unwind-tables"), DEFAULT_TIMEOUT_S)
        return (folder / "kernel.out").read_text()


def _compile(toolchain: Toolchain, source: str, folder: Path, options: Sequence[str], timeout_s: float) -> None:
    (folder / "kernel.c").write_text(source)
    command = [*toolchain.command, "kernel.c", "-o", "kernel.out", f"-I{NATIVE_DIRECTORY}", *options]
    run = run_compiler(command, folder, timeout_s)
    if run.status != 0 or not (folder / "kernel.out").exists():
        name = Path(toolchain.command[0]).name
        raise CompilerFailed(f"{name} failed with status {run.status} on generated C text", command, run.output)


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
