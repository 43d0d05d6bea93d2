"""How far compiled floats may lie from Python's: the promise of the design, as numbers for one call.

in:   a call before it was made, and its graphs
out:  `Bounds.permits`: for each element that differs, whether it may

1. An output that only operations with one right answer reach (`+ - * / sqrt`, comparisons, casts...; all that
   `analysis/exactness.py` does not call free, at any stage of the compiler) must have the same bits. Integers and bools
   always must. The sign of a zero does not count in programs with min and max, where NumPy's own varies.
2. Otherwise an element may be off by a few eps of its own size: 8 for every function on the way (4 ulp on either side),
   twice NumPy's bound for every sum, 2 n for a matrix product of inner length n.
3. Where that is exceeded, the freedom is measured: the interpreter evaluates the graph again and again with each free
   operation moved at random within its own bound (`interp/noise.py`). An element may differ by 16 times the largest
   movement it made in eight runs or, where that is not enough, in 64. One that moved by more than a quarter of its
   size, and not just around zero, has no digit that could be compared. So cancellation, division by small numbers and
   long iterations are accounted for, as far as samples show them: next to a pole a right program may be called wrong.
4. Where the interpreter would take more than two seconds, the bound of 2, times the turns of the loops around each
   operation, is taken relative to the largest magnitude in the output and among the arguments. That is a rule of thumb:
   it may let a small fault in a small element pass.

2 and 4 never allow more than half of the digits. With `fast=True` all arithmetic of floats is free, and what Python
finds infinite or not a number is not compared.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from weft.analysis.exactness import Exactness, Rules, find_exactness, free_operations, is_free_sum
from weft.codegen.strict_functions import is_strict
from weft.driver.comparison import Outcome, Place, leaves
from weft.driver.compiler import Stage
from weft.driver.graph_runs import Graphs, run_graph
from weft.driver.kernels import slot_objects
from weft.driver.options import Options
from weft.driver.output_places import find_targets
from weft.driver.snapshots import Call, unrepeated
from weft.interp import Noise
from weft.ir.exprs import Index, Value
from weft.ir.nodes import Loop, MatMul, Node, Program, Reduce, Region, Storage, While
from weft.ir.traverse import inner_regions
from weft.support.errors import WeftError
from weft.support.records import record

_RUNS: Final = (8, 64)  # the second where the first do not show enough
_SAFETY: Final = 16.0
_MAX_ELEMENTS: Final = 4_000_000


def rules_of(options: Options) -> Rules:
    """What is free under these options."""
    return Rules(is_strict, options.fast) if options.strict else Rules(fast=options.fast)


@record(frozen=False)
class Bounds:
    """The bounds for one call. `everywhere`: part of it ran in Python, so its graph does not show what flows where."""

    graphs: Graphs
    before: Call
    options: Options
    everywhere: bool = False
    limit_s: float = 2.0  # for the interpreter
    _found: list[tuple[Stage, Exactness]] | None = None
    _movements: dict[tuple[int, int], dict[Place, Any] | None] = field(
        default_factory=dict[tuple[int, int], "dict[Place, Any] | None"]
    )

    def permits(self, place: Place, got: Any, want: Any) -> Any:
        """A mask of the elements that may differ as they do."""
        same: Any = got == want  # zeros of either sign
        stage = self._first_free(place)
        if stage < 0:
            signs = any(not exactness.signed_zeros for _, exactness in self._stages())
            return same if signs else np.zeros(want.shape, np.bool_)
        with np.errstate(all="ignore"):
            distance, size = _distance(got, want), np.abs(want)
            relative = self._relative(want, loops=False)
            permitted: Any = same | (distance <= relative * size)
            if self.options.fast:
                permitted |= ~np.isfinite(want)
            if permitted.all():
                return permitted
            for runs in _RUNS:
                movement = self._movement(stage, place, want, runs)
                if movement is None:
                    return permitted | (distance <= self._relative(want, loops=True) * self._scale(want))
                permitted |= np.isinf(movement) | (distance <= _SAFETY * movement + relative * size)
                if permitted.all():
                    break
            return permitted

    def is_free(self, place: Place) -> bool:
        """Whether what stands there depends on an operation whose last bits are open."""
        return self._first_free(place) >= 0

    def is_exact(self) -> bool:
        """Whether no operation of the program leaves a bit open."""
        return all(exactness.exact for _, exactness in self._stages())

    def is_open(self) -> bool:
        """Whether some output has no digit that could be compared: then its warnings are as open as its value."""
        free = (number for number, (_, exactness) in enumerate(self._stages()) if not exactness.exact)
        movements = self._movements_of(next(free, -1), _RUNS[-1])
        return any(np.isinf(movement).any() for movement in (movements or {}).values())

    # -- which rule

    def _stages(self) -> list[tuple[Stage, Exactness]]:
        if self._found is None:
            rules = rules_of(self.options)
            self._found = [(stage, find_exactness(stage.program, rules)) for stage in self.graphs.of(self.before) or ()]
        return self._found

    def _first_free(self, place: Place) -> int:
        """The first stage at which a place is free; -1 if it never is."""
        for number, (stage, exactness) in enumerate(self._stages()):
            targets = find_targets(stage.program, self.graphs.function, place)
            if not targets or self.everywhere:
                free = not exactness.exact
            else:
                free = any(exactness.is_free(target) for target in targets)
            if free:
                return number
        return -1

    # -- by counting

    def _relative(self, want: Any, *, loops: bool) -> float:
        """Rule 2: the allowed error relative to an element; rule 4 with the turns of loops."""
        eps = float(np.finfo(want.dtype).eps)
        rules, params = rules_of(self.options), list(self.before.arguments.values())
        counted = [0.0]
        for stage, _ in self._stages():
            slots = slot_objects(self.graphs.function, stage.program.slots, params)
            if slots is not None:
                counted.append(_Count(stage.program, slots, rules, loops).region(stage.program.body, 1.0))
        return min(max(counted) + 4 * eps, math.sqrt(eps))

    def _scale(self, want: Any) -> float:
        """Rule 4: the largest magnitude in sight."""
        largest = 0.0
        for array in (want, *(array for array in self.before.arrays() if array.dtype.kind in "fc")):
            once = np.asarray(array[unrepeated(array)])
            largest = max(largest, float(np.max(np.abs(once[np.isfinite(once)]), initial=0.0)))
        return largest

    # -- by measuring

    def _movement(self, stage: int, place: Place, want: Any, runs: int) -> Any:
        """Rule 3: how far each element of a place moves, infinitely if no digit stays; None where that is not known."""
        found = (self._movements_of(stage, runs) or {}).get(place)
        return found if found is not None and found.shape == want.shape else None

    def _movements_of(self, stage: int, runs: int) -> dict[Place, Any] | None:
        key = stage, runs
        if stage >= 0 and key not in self._movements:
            try:
                self._movements[key] = self._measure(self._stages()[stage][0].program, runs)
            except WeftError:
                self._movements[key] = self._movements.get((stage, _RUNS[0]))
        return self._movements.get(key)

    def _measure(self, program: Program, runs: int) -> dict[Place, Any] | None:
        if sum(array.size for array in self.before.arrays()) > _MAX_ELEMENTS:
            return None
        end = time.monotonic() + self.limit_s
        rules = rules_of(self.options)
        center = _floats(run_graph(program, self.before.copied(), limit_s=self.limit_s))
        movements = {place: np.zeros(value.shape) for place, value in center.items()}
        for seed in range(runs):
            noise = Noise(rules.is_free, seed)
            limit_s = max(end - time.monotonic(), 0.0)
            moved = _floats(run_graph(program, self.before.copied(), limit_s=limit_s, noise=noise))
            for place, value in center.items():
                other = moved.get(place)
                if other is None or other.shape != value.shape:
                    movements[place] = np.full(value.shape, np.inf)  # the freedom decides about the shape
                else:
                    movements[place] = np.maximum(movements[place], _distance(other, value))
        return {place: self._undetermined(moved, center[place]) for place, moved in movements.items()}

    def _undetermined(self, movement: Any, center: Any) -> Any:
        size = np.abs(center)
        least = np.maximum(0.25 * size, math.sqrt(float(np.finfo(center.dtype).eps)) * self._scale(center))
        return np.where((movement > least) & np.isfinite(size), np.inf, movement)


def _floats(outcome: Outcome) -> dict[Place, Any]:
    found: dict[Place, Any] = {}
    for start, value in outcome.outputs():
        for place, leaf in leaves(start, value):
            array = np.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic | float | complex) else None
            if array is not None and array.dtype.kind in "fc":
                found[place] = array.copy()
    return found


def _distance(left: Any, right: Any) -> Any:
    """How far apart numbers are: 0 for equal infinities and two NaNs, else infinite where one is not finite."""
    if left.dtype.kind == "c":
        return np.hypot(_distance(left.real, right.real), _distance(left.imag, right.imag))
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(all="ignore"):
        apart = np.abs(left - right)
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


class _Count:
    """The errors that free operations may add up to, relative to what they work on."""

    def __init__(self, program: Program, slots: Sequence[Any], rules: Rules, loops: bool) -> None:
        self.program, self.rules, self.loops = program, rules, loops
        self.sizes: dict[Value, int] = {}
        for slot, value in program.scalars:
            if isinstance(slots[slot], int):
                self.sizes[value] = int(slots[slot])
        for container in program.containers.values():
            if container.storage is Storage.ARGUMENT:
                for extent, actual in zip(container.shape, slots[container.slot].shape, strict=True):
                    for value in extent.values:
                        self.sizes[value] = int(actual)
        self.largest = max(self.sizes.values(), default=2)  # in place of what is not known beforehand

    def region(self, region: Region, turns: float) -> float:
        return sum(self.node(node, turns) for node in region.nodes)

    def node(self, node: Node, turns: float) -> float:
        total = 8 * sum(_eps(op.type.dtype.numpy) for op in free_operations(node, self.rules))
        if is_free_sum(node, self.program) and isinstance(node, Reduce | MatMul):
            total += self.sum_error(node)
        inside = turns * self.turns(node) if self.loops else turns
        return turns * total + sum(self.region(inner, inside) for inner in inner_regions(node))

    def sum_error(self, node: Reduce | MatMul) -> float:
        eps = _eps(self.program.containers[node.output.container].dtype.numpy)
        if isinstance(node, MatMul):
            return 2 * eps * self.value(node.lhs.shape[-1])
        length = math.prod(self.value(node.input.shape[axis]) for axis in node.axes)
        if node.op == "multiply":
            return 2 * eps * length
        return 2 * eps * (16 + math.log2(length) + math.sqrt(length))

    def turns(self, node: Node) -> float:
        match node:
            case Loop(start=start, stop=stop, step=step):
                return max(1.0, abs(self.value(stop - start)) / abs(self.value(step)))
            case While():
                return self.largest
            case _:
                return 1.0

    def value(self, index: Index) -> float:
        total = 0
        for monomial, coefficient in index.terms:
            total += coefficient * math.prod(self.sizes.get(value, self.largest) for value in monomial)
        return float(max(total, 1))


def _eps(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0
