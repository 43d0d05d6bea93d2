"""The measuring program `native/probe.c`: compiled once for this processor, then run once per measurement.

in:   a C compiler, if there is one
out:  a `Probe`, whose `rate("triad", ...)` is one process and one number; or why there is none

A program, not a library: if the compiler takes the processor for a better one than the hypervisor offers, it is the
probe that dies of an illegal instruction and not a run of the suite.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft_bench.environments import home

SOURCE = Path(__file__).parent / "native" / "probe.c"
COMPILERS = ("gcc", "clang", "cc")
# The first that compiles and runs. Clang would split vectors of 512 bits in two without the second flag.
FLAG_SETS = (
    ("-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=fast", "-pthread"),
    ("-O3", "-march=native", "-ffp-contract=fast", "-pthread"),
    ("-O3", "-mcpu=native", "-ffp-contract=fast", "-pthread"),
    ("-O2", "-pthread"),
)
TRIED = frozenset({"triad_stream", "fma64"})
COMPILE_SECONDS = 120
PROBE_SECONDS = 60


class ProbeError(Exception):
    """A measurement failed, or nothing can be compiled; says why and the way out."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A compiled probe; `kinds` are the measurements this processor and compiler have."""

    path: Path
    compiler: str
    flags: tuple[str, ...]
    kinds: frozenset[str]

    def rate(self, kind: str, threads: int, thread_bytes: int, seconds: float, cpus: Sequence[int]) -> float:
        """Bytes or operations per second of all threads together, each on one of `cpus` in turn."""
        return self.numbers(kind, threads, thread_bytes, seconds, cpus)[0]

    def numbers(
        self, kind: str, threads: int, amount: int, seconds: float, cpus: Sequence[int] = ()
    ) -> tuple[float, ...]:
        """What one run of the probe prints."""
        words = (kind, str(threads), str(amount), str(seconds), *map(str, cpus))
        found = tuple(float(line) for line in run_probe(self.path, *words))
        if not found or not all(number > 0.0 for number in found):
            raise ProbeError(f"probe {' '.join(words)} printed {found or 'nothing'}")
        return found


def find_compiler() -> list[str] | None:
    """The command of a C compiler: $CC, then those on the PATH, then the one of the package ziglang."""
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen and shutil.which(chosen[0]):
        return chosen
    for name in COMPILERS:
        if path := shutil.which(name):
            return [path]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    return None


def describe_compiler(command: Sequence[str]) -> str:
    """The first line of its version."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return " ".join(command)
    lines = done.stdout.strip().splitlines()
    return lines[0] if lines else " ".join(command)


def build_probe(cpu: str, folder: Path | None = None) -> Probe:
    """The probe for the processor named `cpu`, from the cache if it is there."""
    command = find_compiler()
    if command is None:
        raise ProbeError("no C compiler found: install gcc or clang, or set CC, to measure bandwidth and peak exactly")
    version, source = describe_compiler(command), SOURCE.read_text(encoding="utf-8")
    reasons: list[str] = []
    for flags in FLAG_SETS:
        key = hashlib.sha256("\0".join((source, version, cpu, *command, *flags)).encode()).hexdigest()[:20]
        path = (folder or home()) / "probe" / key
        try:
            if not path.exists():
                compile_probe([*command, *flags], path)
            kinds = frozenset(run_probe(path, "kinds"))
            for kind in TRIED & kinds:
                run_probe(path, kind, "1", "8192", "0")  # dies here if the processor lacks an instruction
            return Probe(path, version, flags, kinds)
        except ProbeError as error:
            reasons.append(str(error))
    raise ProbeError(f"{' '.join(command)} cannot make the probe: {reasons[-1]}")


def compile_probe(command: Sequence[str], path: Path) -> None:
    """Compile beside its place and move it there: a probe that is there is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        made = Path(directory) / "probe"
        _run([*command, "-o", str(made), str(SOURCE)], COMPILE_SECONDS)
        made.replace(path)


def run_probe(path: Path, *words: str) -> list[str]:
    """The lines a run prints."""
    return _run([str(path), *words], PROBE_SECONDS).splitlines()


def _run(command: list[str], seconds: float) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProbeError(f"{Path(command[0]).name}: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"]
        raise ProbeError(f"{Path(command[0]).name}: {lines[-1]}")
    return done.stdout
