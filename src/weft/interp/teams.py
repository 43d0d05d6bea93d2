"""Loops that a team runs: some threads, one after the other up to each meeting, in an order drawn from the seed.

Between two meetings all accesses are recorded like those of the iterations of a map: two threads that touch an element,
one of them writing, are a `ConflictError`. What is shared without an owner is done by one of them, not the first.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Semaphore, Thread
from typing import Any, TypeAlias

import numpy as np

from weft.interp.machine import Machine
from weft.interp.memory import MapRecord, Point
from weft.interp.scalars import Env, compile_index
from weft.ir.exprs import Index
from weft.ir.nodes import Loop, Map, Reduce, Schedule, Storage, While
from weft.ir.schedules import Team
from weft.support.errors import InternalError

_TOGETHER = 2  # rows at each end that have one owner
_OUTSIDE = 1 << 60

Step: TypeAlias = Callable[[Machine], Any]


class Member:
    """One thread of a team: its rows, and when it may go on."""

    def __init__(self, machine: Machine, rank: int, width: int, rows: tuple[int, int]) -> None:
        self.machine = machine
        self.rank = rank
        self.shares = rank == min(1, width - 1)  # what could be cut in any way is all of it for one of them
        self.first, self.last = rows
        self.goes, self.waits = Semaphore(0), Semaphore(0)
        self.ended = self.left = False
        self.error: BaseException | None = None

    def meet(self) -> None:
        """Wait until all others are here, too."""
        self.waits.release()
        self.goes.acquire()
        if self.left:
            raise InternalError("a thread of a team was left behind")

    def leave(self) -> None:
        """End a thread that waits for others."""
        self.left = True
        self.goes.release()

    def owns(self, row: int) -> bool:
        """Whether what belongs to a row is this thread's."""
        return self.first <= row < self.last

    def run(self, body: Step) -> None:
        """The body of the thread."""
        self.goes.acquire()
        if self.left:  # before it began
            return
        try:
            with np.errstate(all="ignore"):
                body(self.machine)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that asked
            self.error = error
        self.ended = True
        self.waits.release()


def compile_loop(node: Loop | While, turns: Step) -> Step:
    """A loop, by a team where one is to run it; `turns` is all of it as one thread does it."""
    team = node.team if isinstance(node, Loop) else None
    together = _compile_team(team, turns) if team is not None else None

    def run(machine: Machine) -> Any:
        member = machine.member
        if together is not None and member is None and not machine.memory.records:
            return together(machine)
        if together is not None or member is None:
            return turns(machine)
        if member.rank:  # the first thread does it for all
            return None
        machine.member = None
        signal = turns(machine)
        machine.member = member
        return signal

    return run


def meet(machine: Machine) -> None:
    """Wait for the other threads of a team."""
    if machine.member is not None:
        machine.member.meet()


def _compile_team(team: Team, body: Step) -> Callable[[Machine], None]:
    low, high = (compile_index(row) for row in team.rows)

    def run(machine: Machine) -> None:
        cuts = _cuts(machine, int(low(machine.env)), int(high(machine.env)))
        width = len(cuts) - 1
        members = [Member(_split(machine), rank, width, rows) for rank, rows in enumerate(pairwise(cuts))]
        threads = [Thread(target=member.run, args=(body,)) for member in members]
        for member, thread in zip(members, threads, strict=True):
            member.machine.member = member
            thread.start()
        try:
            _until_the_end(members, machine)
        finally:
            for member in members:
                member.leave()
            for thread in threads:
                thread.join()

    return run


def _until_the_end(members: Sequence[Member], machine: Machine) -> None:
    while not any(member.ended for member in members):
        record = MapRecord("team", ("thread",), [(member.rank,) for member in members])
        order: list[int] = machine.random.permutation(len(members)).tolist()
        for place in order:
            member = members[place]
            member.machine.memory.records[0] = record
            record.iteration = place
            member.goes.release()
            member.waits.acquire()
            if member.error is not None:
                raise member.error
    if not all(member.ended for member in members):
        raise InternalError("the threads of a team meet in different places")


def _cuts(machine: Machine, low: int, high: int) -> list[int]:
    """Where the rows of each thread begin: anywhere, but not next to the ends."""
    if high - low < 2 * _TOGETHER:
        return [-_OUTSIDE, _OUTSIDE]
    width = int(machine.random.integers(2, 4))
    inner = machine.random.integers(low + _TOGETHER, high - _TOGETHER + 1, width - 1)
    return [-_OUTSIDE, *sorted(inner.tolist()), _OUTSIDE]


def _split(machine: Machine) -> Machine:
    """A machine with the same memory, values of its own, and a place for what is recorded."""
    other = copy.copy(machine)
    other.env = dict(machine.env)
    other.memory = machine.memory.split()
    return other


# ---- what one member does of a node ---------------------------------------------------------------------------------


def compile_part(node: Map) -> Callable[[Machine, list[Point]], list[Point]]:
    """The points of a map that are a thread's."""
    owner = _compile_owner(node, node.owner) if node.owner is not None else None

    def part(machine: Machine, points: list[Point]) -> list[Point]:
        member = machine.member
        if member is None:
            return points
        if owner is not None:
            return [point for point in points if member.owns(owner(machine.env, point))]
        return points if (member.shares if node.schedule is Schedule.PARALLEL else member.rank == 0) else []

    return part


def _compile_owner(node: Map, owner: Index) -> Callable[[Env, Point], int]:
    evaluate, first = compile_index(owner), node.params[0]

    def row(env: Env, point: Point) -> int:
        return int(evaluate({**env, first.id: np.int64(point[0])}))

    return row


def is_for_member(machine: Machine, node: Reduce) -> bool:
    """Whether a thread does a reduction: all do that of a number of their own, one that of an array."""
    member = machine.member
    if member is None or machine.program.containers[node.output.container].storage is Storage.STACK:
        return True
    return member.shares if len(node.axes) < len(node.input.shape) else member.rank == 0


def writes_for_all(machine: Machine) -> bool:
    """Whether the writes of a tasklet are a thread's."""
    return machine.member is None or machine.member.rank == 0
