"""A call through the interpreter: the graphs of a call, and what one of them makes of its arguments.

in:   a `Call`, and how its graph is made
out:  the program after every step of the compiler; the `Outcome` of interpreting one of them

Where a guard fails, the rest of the function runs in Python, as it does behind compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final, TypeAlias, cast

from weft.driver.comparison import Outcome
from weft.driver.compiler import Stage, generate
from weft.driver.fingerprints import identity_key
from weft.driver.kernels import GoesToPython, fits, slot_objects
from weft.driver.options import Options
from weft.driver.resume import Resumer
from weft.driver.snapshots import Call
from weft.frontend.continuation import run_frames
from weft.interp import MISSING, Left, Noise, interpret
from weft.ir.nodes import Program
from weft.runtime.dispatcher import signature_of
from weft.runtime.native import UNBOUND as NATIVE_UNBOUND
from weft.support.abi import Exit, Frame, KernelInfo, Unbound
from weft.support.errors import InternalError, WeftError

MakeStages: TypeAlias = Callable[[Sequence[Any]], list[Stage]]
_MAX_KEPT: Final = 8


def pipeline_stages(function: FunctionType, options: Options) -> MakeStages:
    """The way `weft.program` compiles: lowered, then every pass of the pipeline."""

    def make(params: Sequence[Any]) -> list[Stage]:
        return list(
            generate(
                function, params,
                strict=options.strict, lenient=options.fallback == "warn", without=options.without,
            ).stages
        )  # fmt: skip

    return make


class Graphs:
    """The graphs of one function, by the arguments they fit. `problem` says why there is none for the last call."""

    def __init__(self, function: FunctionType, make: MakeStages) -> None:
        self.function = function
        self.problem = ""
        self._make = make
        self._kept: list[tuple[tuple[int, ...], list[Stage]]] = []

    def of(self, call: Call) -> list[Stage] | None:
        """The program after each step, for a call; None where it is not compiled."""
        params = list(call.arguments.values())
        twins = identity_key(params)  # the same array twice is one container
        for known, stages in self._kept:
            if known == twins and self._fit(stages[0].program, params):
                return stages
        try:
            stages = self._make(params)
        except (WeftError, GoesToPython) as problem:
            self.problem = str(getattr(problem, "message", problem))
            return None
        self._kept = [(twins, stages), *self._kept[: _MAX_KEPT - 1]]
        return stages

    def _fit(self, program: Program, params: Sequence[Any]) -> bool:
        if len(params) != len(signature_of(self.function).names):
            return False
        objects = slot_objects(self.function, program.slots, params)
        return objects is not None and all(
            fits(spec, spec.value, obj) for spec, obj in zip(program.args, objects, strict=True)
        )


def run_graph(program: Program, call: Call, *, limit_s: float, noise: Noise | None = None) -> Outcome:
    """What the interpreter makes of a call, on its own arguments; raises WeftError (`TooSlow`, conflicts)."""
    slots = slot_objects(call.function, program.slots, list(call.arguments.values()))
    if slots is None:
        raise InternalError(f"the arguments of {program.name} are not those of its graph")
    try:
        ended = interpret(program, slots, seed=1, noise=noise, limit_s=limit_s)
    except WeftError:
        raise
    except Exception as problem:
        raise InternalError(f"the interpreter fails: {type(problem).__name__}: {problem}") from problem
    for target, value in zip(program.writebacks, ended.writebacks, strict=True):
        if value is not MISSING:
            setattr(slots[target.slot], target.name, value)
    if not isinstance(ended, Left):
        return Outcome(ended.value, None, call.arguments, call.outside)
    try:
        result = resumed(call.function, program, ended, slots)
    except Exception as problem:  # noqa: BLE001  (what the function raises is its outcome)
        return Outcome(None, problem, call.arguments, call.outside)
    return Outcome(result, None, call.arguments, call.outside)


def resumed(function: FunctionType, program: Program, left: Left, slots: Sequence[Any]) -> Any:
    """The rest of the function in Python."""
    frames = tuple(Frame(frame.function, frame.path, frame.names) for frame in left.frames)
    info = KernelInfo(
        program.name, "", program.slots, program.args, (Exit(Unbound(), frames),), 0, functions=program.functions
    )
    values = [[_marked(value) for value in frame.values] for frame in left.frames]
    return run_frames(Resumer(function, info).frames(0, values, slots))


def _marked(value: Any) -> Any:
    """The interpreter's sign for a name without a value, as kernels give it."""
    if type(value) is tuple:
        return tuple(_marked(item) for item in cast("tuple[Any, ...]", value))
    if type(value) is list:  # in place: several names may share it
        items = cast("list[Any]", value)
        items[:] = [_marked(item) for item in items]
        return items
    if type(value) is dict:
        table = cast("dict[Any, Any]", value)
        table.update({key: _marked(item) for key, item in table.items()})
        return table
    return NATIVE_UNBOUND if value is MISSING else value
