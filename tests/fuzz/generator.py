"""A random program and the arguments it is called with.

in:   a seed and a number
out:  a `Case`: the source of a function `program`, its parameters, sets of arguments; the same on every machine
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from tests.fuzz.arguments import Inputs, Param, choose_inputs
from tests.fuzz.expressions import array, combined_shape, number
from tests.fuzz.kinds import Kind
from tests.fuzz.state import Shared, State, Use
from tests.fuzz.statements import statements

T = TypeVar("T", str, tuple[str, ...])
HEAD = "import math\n\nimport numpy as np\n\nimport weft\n"
_PATTERNS = 0.35  # of the programs
ELEMENTS: Mapping[str, float] = {
    "float64": 10, "int64": 5, "float32": 3, "int32": 2, "bool": 1, "uint8": 1, "int8": 0.7, "int16": 0.4,
    "uint16": 0.3, "uint32": 0.5, "uint64": 0.6, "complex128": 1, "complex64": 0.4,
}  # fmt: skip
_SHAPES: Mapping[tuple[str, ...], float] = {
    ("n",): 10, ("m",): 3, ("n", "m"): 7, ("n", "n"): 2, ("m", "n"): 1, ("1", "m"): 0.6, ("n", "1"): 0.6,
    ("n", "m", "3"): 0.8, ("3",): 0.3, ("2", "n", "m"): 0.4,
}  # fmt: skip
_SCALARS: Mapping[str, float] = {
    "py_int": 3, "py_float": 4, "py_bool": 0.5, "float64": 1, "float32": 0.7, "int64": 0.7, "int32": 0.4, "uint8": 0.3,
    "py_complex": 0.2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One program. `uses` are the operations in it, by element type and layout."""

    seed: int
    number: int
    source: str
    params: tuple[Param, ...]
    inputs: tuple[Inputs, ...]
    uses: tuple[Use, ...]


def make_case(seed: int, number: int) -> Case:
    """The program of that number."""
    rng = Random(f"{seed}/{number}")
    params = _choose_params(rng)
    # Programs of small seeds stay those by which faults are found (test_faults.py).
    patterns = seed >= 1000 and Random(f"passes {seed}/{number}").random() < _PATTERNS
    shared = Shared(rng, free=rng.random() < 0.3, wild=rng.random() < 0.12, patterns=patterns)
    state = State(shared, {}, budget=rng.choice((2, 3, 4, 5, 6, 8, 10)))
    for param in params:
        if param.is_size:
            state.sizes[param.name] = param.name
        state.names[param.name] = param.kind
        if param.is_size:
            state.locked.add(param.name)
    statements(state, 20)
    _write_return(state)
    own = "\n".join([f"def program({', '.join(param.name for param in params)}):", *state.lines])
    source = "\n\n\n".join([HEAD.rstrip("\n"), *shared.helpers, own]) + "\n"
    inputs = choose_inputs(rng, params, shared.deepest)
    return Case(seed, number, source, params, inputs, tuple(sorted(shared.uses)))


def _choose_params(rng: Random) -> tuple[Param, ...]:
    main = _pick(rng, ELEMENTS)
    shapes = dict(_SHAPES)
    shapes[_pick(rng, _SHAPES)] += 12
    params: list[Param] = []
    if rng.random() < 0.6:
        params.append(Param("n", Kind("py_int"), is_size=True))
    for name in "abcd"[: rng.choice((1, 2, 2, 3, 3, 4))]:
        shape = _pick(rng, shapes)
        element = main if rng.random() < 0.6 else _pick(rng, ELEMENTS)
        params.append(Param(name, Kind(element, shape, _choose_layout(rng, len(shape)))))
    for name in "xy"[: rng.choice((0, 0, 1, 1, 2))]:
        params.append(Param(name, Kind(_pick(rng, _SCALARS))))
    return tuple(params)


def _choose_layout(rng: Random, rank: int) -> str:
    return rng.choices(("C", "F" if rank > 1 else "C", "S", "neg", "zero"), (11, 3, 2, 2.5, 0.4))[0]


def _pick(rng: Random, table: Mapping[T, float]) -> T:
    return rng.choices(list(table), list(table.values()))[0]


def _write_return(state: State) -> None:
    """Most of what was made leaves the program: what nobody looks at is not computed."""
    given = {*state.sizes, *"abcdxy"}
    parts = [name for name in state.names if name not in given]
    if state.chance(0.5):
        parts = state.rng.sample(parts, len(parts) // 2)
    parts = parts[-6:] + sorted(state.mixed - given)[:2]
    for _ in range(state.rng.choice((0, 1, 1, 2))):
        value = array(state, combined_shape(state), 2) if state.arrays() and state.chance(0.5) else None
        parts.append((value or number(state, 2)).text)
    if state.chance(0.2):
        parts.append(state.rng.choice(list(state.names) or ["None"]))
    if parts and state.chance(0.97):
        state.write(f"return {', '.join(parts)}")
