"""Find a C compiler and know how to talk to it.

in:   what the user asked for (`WEFT_CC`, read by the driver) or nothing
out:  a `Toolchain` whose flags were tried on this machine

Identifying a compiler costs two processes, so the answer is remembered in a file of the cache directory, keyed by the
compiler's path, size and time of change.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

from weft.runtime.files import replace_file
from weft.runtime.process import CompilerFailed, run_compiler
from weft.support.errors import WeftError
from weft.support.records import record

Kind = Literal["gcc", "clang", "zig"]

# -fwrapv: array integers wrap as NumPy's do. -nostartfiles: nothing of ours needs them, linking is quicker, and with
# -ffast-math gcc would link start-up code that changes the floating-point mode of the whole process.
COMMON_FLAGS = (
    "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-fopenmp-simd",
    "-std=gnu11", "-fPIC", "-shared", "-w", "-nostartfiles",
)  # fmt: skip
# Parts of -O3 that take gcc a fifth of its time and do nothing for loops that are already fused and unit-stride.
QUICKER = (
    "-fno-tree-slp-vectorize", "-fno-tree-pre", "-fno-gcse", "-fno-unswitch-loops", "-fno-split-loops",
    "-fno-split-paths", "-fno-tree-loop-distribution",
)  # fmt: skip
# gcc would make one call of a sine and a cosine of the same angle, of which there is no vector variant.
APART = ("-fno-builtin-sin", "-fno-builtin-cos", "-fno-builtin-sinf", "-fno-builtin-cosf")
# Elements at positions are loaded one by one: since processors were mended to keep secrets, the instructions that
# gather several take five times as long, and before they were no faster.
NO_GATHERS = "-mtune-ctrl=^use_gather_2parts,^use_gather_4parts,^use_gather"
# Tried in this order and dropped one at a time where the compiler or the C library does not know them.
OPTIONAL_FLAGS: dict[Kind, tuple[str, ...]] = {
    "gcc": (*QUICKER, *APART, NO_GATHERS, "-pipe", "-fno-use-linker-plugin", "-lmvec", "-lm"),
    "clang": ("-fveclib=libmvec", "-lmvec", "-lm"),
    "zig": ("-fveclib=libmvec", "-fno-sanitize=all", "-g0", "-lm"),
}
FAST_FLAGS = ("-ffast-math",)
SANITIZE_FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover", "-g", "-O1")
AUTOMATIC = ("gcc", "clang", "cc", "ziglang")
_WAY_OUT = "install gcc or clang, or `pip install ziglang` (a whole compiler in a Python package)"
_PROBE = "double exp(double); double weft_probe(double x) { return exp(x); }\n"
_PROBE_TIMEOUT_S = 60.0  # the first run of zig builds its C library


class ToolchainError(WeftError):
    """There is no usable C compiler; the message says what is missing and the way out."""


@record
class BuildOptions:
    """How one kernel is compiled. `level` is that of -O: lower where time is short."""

    fast: bool = False
    sanitize: bool = False
    level: int = 3


@record
class Toolchain:
    """A C compiler that was found to work, with the flags it understands."""

    command: tuple[str, ...]
    kind: Kind
    version: str
    flags: tuple[str, ...]

    def options(self, build: BuildOptions) -> tuple[str, ...]:
        """The flags for one compile, in the order the compiler needs them (a later -O wins)."""
        flags = self.flags
        if build.level != 3:
            flags = (*flags, f"-O{build.level}")
        if build.fast:
            flags = (*flags, *FAST_FLAGS)
        if build.sanitize:
            flags = (*(flag for flag in flags if flag != "-nostartfiles"), *SANITIZE_FLAGS)
        return flags

    @property
    def fingerprint(self) -> str:
        """What of the toolchain and the processor decides the machine code, for cache keys."""
        text = "\0".join((*self.command, self.kind, self.version, *self.flags, processor_fingerprint()))
        return hashlib.sha256(text.encode()).hexdigest()


def processor_fingerprint() -> str:
    """What `-march=native` depends on: the model and the instruction sets of the first processor."""
    wanted = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags", b"Features", b"CPU")
    try:
        with Path("/proc/cpuinfo").open("rb") as file:
            first = file.read(8192).split(b"\n\n", 1)[0]
    except OSError:
        first = b""
    lines = [line for line in first.split(b"\n") if line.startswith(wanted)]
    return hashlib.sha256(os.uname().machine.encode() + b"\n".join(lines)).hexdigest()[:16]


def find_toolchain(preferred: str | None = None, memory: Path | None = None) -> Toolchain:
    """The compiler the user asked for, or the first that works of gcc, clang, cc and the ziglang wheel.

    `memory` is a file (in a private directory) where answers are kept between processes.
    """
    if preferred:
        command = _command_of(preferred)
        if command is None:
            raise ToolchainError(f"WEFT_CC={preferred}: no such compiler; name another one, or {_WAY_OUT}")
        return _identify(command, memory)
    problems: list[str] = []
    for command in _automatic_commands():
        try:
            return _identify(command, memory)
        except ToolchainError as error:
            problems.append(str(error))
    found = "; ".join(problems) or f"none of {', '.join(AUTOMATIC)} was found"
    raise ToolchainError(f"no working C compiler: {found}; {_WAY_OUT}")


def _automatic_commands() -> Iterator[tuple[str, ...]]:
    for name in AUTOMATIC:
        command = _command_of(name)
        if command is not None:
            yield command


def _command_of(text: str) -> tuple[str, ...] | None:
    """`gcc`, `/usr/bin/cc -m64`, `zig`, `ziglang` as a command with a full path, or None."""
    import shlex
    import shutil

    words = shlex.split(text)
    if not words:
        return None
    if words[0] == "ziglang":
        return (sys.executable, "-m", "ziglang", "cc", *words[1:]) if _ziglang_file() else None
    path = shutil.which(words[0])
    if path is None:
        return None
    rest = words[1:]
    if Path(path).name.startswith("zig") and rest[:1] != ["cc"]:
        rest = ["cc", *rest]
    return (path, *rest)


def _ziglang_file() -> Path | None:
    from importlib.util import find_spec

    spec = find_spec("ziglang")
    return Path(spec.origin) if spec and spec.origin else None


def _identify(command: tuple[str, ...], memory: Path | None) -> Toolchain:
    key = _memory_key(command)
    known = _recall(memory)
    remembered = known.get(key)
    if isinstance(remembered, list):
        kind, version, flags = cast("list[Any]", remembered)
        return Toolchain(command, kind, version, tuple(flags))
    version = _version_of(command)
    kind = _kind_of(command, version)
    toolchain = Toolchain(command, kind, version, _working_flags(command, kind))
    _remember(memory, {**known, key: [kind, version, list(toolchain.flags)]})
    return toolchain


def _memory_key(command: tuple[str, ...]) -> str:
    program = _ziglang_file() if "ziglang" in command else Path(command[0])
    try:
        status = program.stat() if program else None
    except OSError:
        status = None
    stamp = f"{status.st_mtime_ns} {status.st_size}" if status else "?"
    flags = hashlib.sha256(repr((COMMON_FLAGS, OPTIONAL_FLAGS)).encode()).hexdigest()[:16]
    return f"{' '.join(command)} {stamp} {flags}"


def _recall(memory: Path | None) -> dict[str, Any]:
    import json

    if memory is None:
        return {}
    try:
        known = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", known) if isinstance(known, dict) else {}


def _remember(memory: Path | None, known: dict[str, Any]) -> None:
    import json

    if memory is not None:
        replace_file(memory, json.dumps(known, indent=1).encode())


def _version_of(command: tuple[str, ...]) -> str:
    result = run_compiler([*command, "--version"], Path("/"), _PROBE_TIMEOUT_S)
    if result.status != 0 or not result.output.strip():
        raise ToolchainError(f"`{' '.join(command)} --version` failed")
    return result.output.strip().splitlines()[0]


def _kind_of(command: tuple[str, ...], version: str) -> Kind:
    if "ziglang" in command or Path(command[0]).name.startswith("zig"):
        return "zig"
    return "clang" if "clang" in version.lower() else "gcc"


def _working_flags(command: tuple[str, ...], kind: Kind) -> tuple[str, ...]:
    """All flags that a trial compile accepts; the common ones must be among them."""
    optional = OPTIONAL_FLAGS[kind]
    complaint = _complaint(command, (*COMMON_FLAGS, *optional))
    if complaint is None:
        return (*COMMON_FLAGS, *optional)
    complaint = _complaint(command, COMMON_FLAGS)
    if complaint is not None:
        raise ToolchainError(f"`{' '.join(command)}` does not compile a trivial file: {complaint.splitlines()[0]}")
    flags = COMMON_FLAGS
    for flag in optional:
        if _complaint(command, (*flags, flag)) is None:
            flags = (*flags, flag)
    return flags


def _complaint(command: tuple[str, ...], flags: tuple[str, ...]) -> str | None:
    """What the compiler says against these flags, None when it accepts them."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="weft-probe-") as directory:
        folder = Path(directory)
        (folder / "probe.c").write_text(_PROBE)
        try:
            result = run_compiler([*command, "probe.c", "-o", "probe.so", *flags], folder, _PROBE_TIMEOUT_S)
        except CompilerFailed as error:
            return str(error)
        if result.status == 0 and (folder / "probe.so").exists():
            return None
        return result.output.strip() or f"exit status {result.status}"
