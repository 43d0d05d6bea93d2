"""`python -m tests.fuzz --programs 200 --seed 1 --jobs 2`: random programs against CPython.

    --only K      the program of that number alone; shown, then shrunk
    --sanitize    generated code under the address and undefined-behaviour sanitizers
    --output DIR  where the reproducers of what differs are written (default: fuzz-findings)

Exit status 1: something differs. The same seed gives the same programs everywhere.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.generator import make_case
from tests.fuzz.reporting import report_finding, summary
from tests.fuzz.running import Build
from tests.fuzz.workers import CRASH, Tally, check_many, check_numbers

_MOST_SHRUNK = 12


def main() -> int:
    options = _options()
    os.environ["WEFT_REPRODUCERS"] = str(options.output.resolve())
    if options.sanitize and "WEFT_SANITIZE" not in os.environ:
        return _again_with_sanitizers()
    started = time.monotonic()
    if options.only is not None:
        print(make_case(options.seed, options.only).source)
        tally = check_numbers(options.seed, [options.only], Build(options.level, options.pieces))
    else:
        tally = check_many(options.seed, options.programs, options.jobs, _told(options.programs), options.first)
    print("\n".join(summary(tally, time.monotonic() - started)))
    seen: set[str] = set()
    for finding in tally.findings:
        known = finding.kind in seen
        shrinking = not known and len(seen) < _MOST_SHRUNK and finding.kind != CRASH and not options.quick
        print(report_finding(finding, shrinking=shrinking), flush=True)
        seen.add(finding.kind)
    return 1 if tally.findings else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random programs against CPython.")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=int, help="this program alone")
    parser.add_argument("--level", type=int, default=0, help="with --only: the level of the C compiler's optimiser")
    parser.add_argument("--pieces", action="store_true", help="with --only: every parallel map on two threads")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--quick", action="store_true", help="do not shrink")
    parser.add_argument("--output", type=Path, default=Path("fuzz-findings"))
    return parser.parse_args()


def _told(programs: int):
    def told(tally: Tally) -> None:
        if sys.stderr.isatty():
            print(f"\r{tally.programs} of {programs}, {len(tally.findings)} differ", end="", file=sys.stderr)

    return told


def _again_with_sanitizers() -> int:
    """The same command in a process where the sanitizers are loaded before Python."""
    from tests.codegen.test_sanitizers import library

    libraries = [library("libasan.so"), library("libubsan.so")]
    if not all(libraries):
        print("gcc has no sanitizers here", file=sys.stderr)
        return 2
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "WEFT_SANITIZE": "1",
        "WEFT_COMPILE_TIMEOUT": "600",
    }
    command = [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
