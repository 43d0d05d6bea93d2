"""Many programs on several processes, so that one that crashes takes only its own process with it.

in:   a seed, numbers of programs, how many processes
out:  one `Tally` of all
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.fuzz.buckets import Buckets
from tests.fuzz.generator import Case, make_case
from tests.fuzz.running import PLAIN, Build, Finding, Report, check_cases

BATCH = 50
CRASH = "crash"


_COUNTS = ("programs", "calls", "resumed", "raised", "missed", "unread", "overlaps", "sensitive")


@dataclass(slots=True)
class Tally:
    """What came of many programs."""

    programs: int = 0
    calls: int = 0
    native: int = 0
    resumed: int = 0
    raised: int = 0
    missed: int = 0
    unread: int = 0
    overlaps: int = 0
    sensitive: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    buckets: Buckets = field(default_factory=Buckets)

    def add(self, report: Report, programs: int) -> None:
        self.programs += programs
        self.native += len(report.native)
        for name in _COUNTS[1:]:
            setattr(self, name, getattr(self, name) + getattr(report, name))
        self.refused.update(reason for _, reason in report.refused)
        self.findings += report.findings
        self.buckets.add(report.native)

    def update(self, other: Tally) -> None:
        for name in ("native", *_COUNTS):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.refused.update(other.refused)
        self.findings += other.findings
        self.buckets.update(other.buckets)


def build_of(batch: int) -> Build:
    """The C compiler mostly does not optimise, sometimes a little, sometimes as for users; some batches use threads."""
    level = 3 if batch % 16 == 7 else 1 if batch % 4 == 1 else 0
    return Build(level, pieces=batch % 4 == 2)


def check_numbers(
    seed: int, numbers: Sequence[int], build: Build = PLAIN, note: Callable[[int], None] | None = None
) -> Tally:
    """One batch in this process."""
    tally = Tally()
    tally.add(check_cases([make_case(seed, number) for number in numbers], build, note), len(numbers))
    return tally


# ---- processes ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Worker:
    process: Any
    pipe: Connection
    numbers: tuple[int, ...] = ()
    last: int = -1  # the program that is running


def check_many(seed: int, programs: int, jobs: int, told: Callable[[Tally], None], first: int = 0) -> Tally:
    """All programs, in batches; `told` is called after each."""
    tally = Tally()
    pending = [
        tuple(range(start, min(start + BATCH, first + programs))) for start in range(first, first + programs, BATCH)
    ]
    pending.reverse()
    workers: list[_Worker] = []
    while pending or any(worker.numbers for worker in workers):
        while pending and len(workers) < jobs:
            workers.append(_start())
        for worker in workers:
            if not worker.numbers and pending:
                worker.numbers, worker.last = pending.pop(), -1
                worker.pipe.send((seed, worker.numbers, build_of(worker.numbers[0] // BATCH)))
        for ready in wait([worker.pipe for worker in workers if worker.numbers]):
            worker = next(worker for worker in workers if worker.pipe is ready)
            try:
                message = worker.pipe.recv()
            except (EOFError, ConnectionError):
                workers.remove(worker)
                _bury(worker, seed, pending, tally)
                continue
            if isinstance(message, Tally):
                worker.numbers = ()
                tally.update(message)
                told(tally)
            else:
                worker.last = message
    for worker in workers:
        worker.pipe.close()
        worker.process.join()
    return tally


def _start() -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(pipe: Connection) -> None:
    """What a process does: batches, as long as there are any."""
    while True:
        try:
            seed, numbers, build = pipe.recv()
        except (EOFError, ConnectionError):
            sys.exit(0)
        pipe.send(check_numbers(seed, numbers, build, pipe.send))


def _bury(worker: _Worker, seed: int, pending: list[tuple[int, ...]], tally: Tally) -> None:
    """A process died: the program it was at is a finding, the others of the batch are tried again."""
    worker.process.join()
    how = f"the process ended with status {worker.process.exitcode}"
    if worker.last < 0:
        raise RuntimeError(f"{how} before any program of {worker.numbers} ran")
    case: Case = make_case(seed, worker.last)
    tally.findings.append(Finding(case, case.inputs[0], CRASH, how))
    rest = tuple(number for number in worker.numbers if number != worker.last)
    if rest:
        pending.append(rest)
    time.sleep(0.1)
