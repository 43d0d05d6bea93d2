"""The state of an interpreted program, and what leaves it.

in:   a `Program` and the Python objects of its slots
out:  an `Outcome`; arrays among the slots are written in place
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from weft.interp.arrays import bind_extents, check_extents, compile_view
from weft.interp.memory import AnyArray, Bound, Memory
from weft.interp.outcome import MISSING, Left, LeftFrame, ResumeError
from weft.interp.scalars import Env, compile_expr, enter, keep, leave
from weft.ir.exprs import Expr, Value
from weft.ir.nodes import (
    NOTHING,
    Anew,
    Bundle,
    Choice,
    Constant,
    Listed,
    Missing,
    Pack,
    Program,
    Site,
    SlotObject,
    Storage,
    View,
)

if TYPE_CHECKING:
    from weft.interp.teams import Member

NO_ROOT = -1  # of a view of nothing


class Machine:
    """Values, memory, and the sites passed."""

    def __init__(self, program: Program, slots: Sequence[Any], seed: int, *, check: bool) -> None:
        self.program = program
        self.slots = slots
        self.env: Env = {}
        self.memory = Memory(program.containers, check=check)
        self.random = np.random.default_rng(seed)
        self.sites: dict[int, Callable[[Machine, str], Left]] = {}
        self.site_times: dict[int, int] = {}
        self.deadline = math.inf  # on the monotonic clock
        self.member: Member | None = None  # of a team, in its loop and outside of maps
        self.leaving: set[int] = set()  # roots of the arrays in the bundle being built
        self.shared: dict[int, Any] = {}  # objects in it that stand in several places

    def enter(self) -> None:
        """Take scalars and arrays from the slots."""
        for slot, value in self.program.scalars:
            self.env[value.id] = enter(self.slots[slot], value)
        arguments = [c for c in self.program.containers.values() if c.storage is Storage.ARGUMENT]
        for container in arguments:
            array: Any = self.slots[container.slot]
            if not isinstance(array, np.ndarray):
                raise TypeError(f"slot {container.slot} ({container.name}) must be an array, not {type(array)}")
            bind_extents(container, self.memory.adopt(container.name, cast("AnyArray", array)), self.env)
        for container in arguments:
            check_extents(container, self.memory.lookup(container.name), self.env)

    def bind(self, target: Value | str, item: Any) -> None:
        """Give a carry or a result of a branch its value or array."""
        if isinstance(target, str):
            container = self.program.containers[target]
            bound: Bound = item
            if bound.root == NO_ROOT:
                bound = Bound(bound.array.astype(container.dtype.numpy), NO_ROOT, 0)
            self.memory.bind(target, bound)
            bind_extents(container, bound, self.env)
        else:
            self.env[target.id] = keep(target, item)

    def leave(self, site: int, reason: str) -> Left:
        """Go back to a site."""
        left = self.sites[site](self, reason)
        arguments = {
            self.memory.lookup(c.name).root
            for c in self.program.containers.values()
            if c.storage is Storage.ARGUMENT
        }  # fmt: skip
        for root in arguments | self.leaving:
            if self.memory.last_write.get(root, 0) > self.site_times[site]:
                raise ResumeError(f"'{reason}' leaves for site {site}, but an array of it was written since")
        return left


Build: TypeAlias = Callable[[Machine], Any]


def compile_item(item: Expr | View, program: Program) -> Build:
    """A carried value: a number as it is computed, or an array in use."""
    if isinstance(item, View) and item.container == NOTHING:
        nothing = Bound(np.zeros([extent.constant or 0 for extent in item.shape]), NO_ROOT, 0)
        return lambda machine: nothing
    if isinstance(item, View):
        view = compile_view(item, program.containers[item.container])
        return lambda machine: view(machine.env, machine.memory)
    expr = compile_expr(item)
    return lambda machine: expr(machine.env)


def compile_bundle(bundle: Bundle, program: Program) -> Build:
    """A Python object that leaves the program."""
    match bundle:
        case Constant(index=index):
            return lambda machine: program.constants[index]
        case SlotObject(slot=slot):
            return lambda machine: machine.slots[slot]
        case Missing():
            return lambda machine: MISSING
        case Pack():
            return _compile_pack(bundle, program)
        case Listed(view=view, type=type_, share=share):
            elements = compile_view(view, program.containers[view.container])
            return _once(share, lambda machine: [leave(x, type_) for x in elements(machine.env, machine.memory).array])
        case Choice(tag=tag, items=items):
            chosen, builds = compile_expr(tag), [compile_bundle(item, program) for item in items]
            return lambda machine: builds[int(chosen(machine.env))](machine)
        case View() | Anew():
            return _compile_array(bundle if isinstance(bundle, View) else bundle.view, program)
        case _:
            expr, type_ = compile_expr(bundle), bundle.type
            return lambda machine: leave(expr(machine.env), type_)


def _compile_pack(pack: Pack, program: Program) -> Build:
    builds = [compile_bundle(item, program) for item in pack.items]
    if pack.cls >= 0:
        cls = program.constants[pack.cls]
        return _once(pack.share, lambda machine: cls(*(build(machine) for build in builds)))
    if pack.is_dict:
        pairs = list(zip(builds[::2], builds[1::2], strict=True))
        return _once(pack.share, lambda machine: {key(machine): value(machine) for key, value in pairs})
    if pack.is_list:
        return _once(pack.share, lambda machine: [build(machine) for build in builds])
    return lambda machine: tuple(build(machine) for build in builds)


def _once(share: int, build: Build) -> Build:
    """Build an object that stands in several places once per way out."""
    if not share:
        return build

    def shared(machine: Machine) -> Any:
        if share not in machine.shared:
            machine.shared[share] = build(machine)
        return machine.shared[share]

    return shared


def _compile_array(view: View, program: Program) -> Build:
    container = program.containers[view.container]
    evaluate = compile_view(view, container)

    def build(machine: Machine) -> Any:
        bound: Bound = evaluate(machine.env, machine.memory)
        machine.leaving.add(bound.root)
        # A fresh array is handed out itself; of anything else Python sees a view.
        return bound.array if container.storage is Storage.TRANSIENT else bound.array.view()

    return build


def compile_site(site: Site, program: Program) -> Callable[[Machine, str], Left]:
    """What a failed guard makes of a site."""
    frames = [(frame, [compile_bundle(value, program) for value in frame.values]) for frame in site.frames]
    writebacks = [compile_bundle(bundle, program) for bundle in site.writebacks]

    def build(machine: Machine, reason: str) -> Left:
        machine.leaving.clear()
        machine.shared.clear()
        left = tuple(
            LeftFrame(frame.function, frame.path, frame.names, tuple(value(machine) for value in values))
            for frame, values in frames
        )
        return Left(site.number, reason, left, tuple(bundle(machine) for bundle in writebacks))

    return build
