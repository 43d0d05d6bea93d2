"""Parameters of random programs, and sets of arguments for them.

A set says sizes, what values look like, and which arguments share memory; `make_arguments` gives new arrays every time,
equal and laid out alike. All sets of a program fit one compiled variant, but for overlaps, which Python takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.kinds import Kind

_LARGE = 0.4  # of the programs are also run with longer arrays
_SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, 1e-310, 3.4e38, -2.5, 1e300)
_SCALARS: Mapping[str, tuple[Any, ...]] = {
    "py_bool": (True, False), "py_int": (2, -1, 0, 3, 1), "py_float": (0.5, -1.25, 2.0, 0.0, 3.5),
    "py_complex": (1 + 2j, -0.5j, 2 + 0j),
}  # fmt: skip
_SPECIAL_SCALARS: Mapping[str, tuple[Any, ...]] = {
    "py_bool": (True, False), "py_int": (2**63 - 1, -(2**63), 2**62, 0, 1), "py_complex": (0j, 1 - 1j, -2.5j),
    "py_float": (float("nan"), float("inf"), -0.0, 0.0, 1e308, -1e-310),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter. `is_size`: the Python int that its name says, an extent of arrays."""

    name: str
    kind: Kind
    is_size: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """One set of arguments. `shared`: pairs of numbers of parameters; `how`: "same", "overlap" or ""."""

    name: str
    sizes: tuple[tuple[str, int], ...]
    values: str  # "whole": small whole numbers; "halves"; "random"; "special"
    seed: int
    how: str = ""
    shared: tuple[int, int] = (0, 0)


def choose_inputs(rng: Random, params: Sequence[Param], loops: int = 0) -> tuple[Inputs, ...]:
    """Sets of arguments of one variant; extents that are 1 are so in all of them. `loops`: how many in each other."""
    ones = {name for name in ("n", "m") if rng.random() < 0.12}
    pairs = [
        (j, k)
        for k, right in enumerate(params)
        for j, left in enumerate(params[:k])
        if left.kind.is_array and left.kind.same_type(right.kind) and left.kind.layout == right.kind.layout
        and left.kind.layout != "zero"
    ]  # fmt: skip
    same = bool(pairs) and rng.random() < 0.25
    shared = rng.choice(pairs) if pairs else (0, 0)

    def sizes(*choices: int) -> tuple[tuple[str, int], ...]:
        return tuple((name, 1 if name in ones else rng.choice(choices)) for name in ("n", "m"))

    def one(name: str, extents: tuple[tuple[str, int], ...], values: str, how: str = "") -> Inputs:
        how = how or ("same" if same else "")
        return Inputs(name, extents, values, rng.randrange(1 << 30), how, shared if how else (0, 0))

    found = [one("usual", sizes(4, 5, 6), "halves"), one("other", sizes(3, 4, 7), "whole")]
    found.append(one("random", sizes(5, 8, 9), "random"))
    found.append(one("special", sizes(3, 4, 6), "special"))
    found.append(one("empty", sizes(0, 0, 3), "halves"))
    if pairs and not same:
        found.append(one("overlap", sizes(4, 5), "halves", "overlap"))
    if rng.random() < _LARGE:
        extents = {"n": _line(rng, params, loops), "m": rng.choice((8, 17, 33))}
        chosen = tuple((name, 1 if name in ones else extent) for name, extent in extents.items())
        found.append(one("large", chosen, rng.choice(("whole", "halves", "random"))))
    return tuple(found)


def _line(rng: Random, params: Sequence[Param], loops: int) -> int:
    """A length beyond the blocks, lanes and strips of generated code.

    Matrices are below the size from which on NumPy overwrites temporaries, which decides the strides of results.
    """
    longest = (130, 300, 641) if all(param.kind.rank < 2 for param in params) else (65, 100, 127)
    return rng.choice((longest, longest[:2], (17, 33), (10, 18))[min(loops, 3)])


def make_arguments(params: Sequence[Param], inputs: Inputs) -> list[Any]:
    """The arguments, new."""
    with np.errstate(all="ignore"):
        return _make(params, inputs)


def _make(params: Sequence[Param], inputs: Inputs) -> list[Any]:
    rng = np.random.default_rng(inputs.seed)
    sizes = dict(inputs.sizes)
    found: list[Any] = []
    for number, param in enumerate(params):
        if param.is_size:
            found.append(sizes[param.name])
        elif not param.kind.is_array:
            found.append(_scalar(rng, param.kind, inputs.values))
        elif inputs.how and number == inputs.shared[1]:
            found.append(_sharing(found[inputs.shared[0]], inputs.how))
        else:
            later = inputs.how == "overlap" and number == inputs.shared[0]
            found.append(_array(rng, param.kind, sizes, inputs.values, spare=later))
    return found


def _sharing(first: Any, how: str) -> Any:
    """The very same array, or one that shares all but one row with it (its base has a row to spare)."""
    if how == "same":
        return first
    offset = first.__array_interface__["data"][0] - first.base.__array_interface__["data"][0] + abs(first.strides[0])
    return np.ndarray(first.shape, first.dtype, first.base, offset, first.strides)


def _array(rng: np.random.Generator, kind: Kind, sizes: Mapping[str, int], values: str, *, spare: bool) -> Any:
    shape = tuple(sizes[extent] if extent in sizes else int(extent) for extent in kind.shape)
    numbers = _numbers(rng, kind, shape, values)
    if spare:
        memory = np.zeros((shape[0] + 1, *shape[1:]), kind.element)
        view = memory[:-1] if kind.layout != "neg" else memory[:-1][::-1]
        view[...] = numbers
        return np.ndarray(view.shape, view.dtype, memory, _offset(view, memory), view.strides)
    match kind.layout:
        case "F":
            return np.asfortranarray(numbers)
        case "S":
            memory = np.zeros((*shape[:-1], 2 * shape[-1]), kind.element)
            memory[..., ::2] = numbers
            return memory[..., ::2]
        case "neg":
            return np.ascontiguousarray(numbers[::-1])[::-1]
        case "zero":
            return np.broadcast_to(numbers[..., :1], shape) if 0 not in shape else numbers
        case _:
            return numbers


def _offset(view: Any, memory: Any) -> int:
    return view.__array_interface__["data"][0] - memory.__array_interface__["data"][0]


def _numbers(rng: np.random.Generator, kind: Kind, shape: tuple[int, ...], values: str) -> Any:
    letter, dtype = kind.letter, np.dtype(kind.element)
    if letter == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if letter == "c":  # no infinities: NumPy's formulas differ there between one number and many
        parts, values = Kind("float64", kind.shape), "random" if values == "special" else values
        made = np.empty(shape, np.complex128)
        made.real, made.imag = _numbers(rng, parts, shape, values), _numbers(rng, parts, shape, values)
        return made.astype(dtype)
    if values == "special":
        return _special(rng, dtype, shape)
    if letter in "iu":
        low, high = (-9, 10) if letter == "i" else (0, 12)
        return rng.integers(low, high, shape).astype(dtype)
    if values == "random":
        return rng.standard_normal(shape).astype(dtype)
    return (rng.integers(-8, 9, shape) / (2 if values == "halves" else 1)).astype(dtype)


def _special(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    if dtype.kind == "f":
        return rng.choice(np.array(_SPECIAL), shape).astype(dtype)
    limits = np.iinfo(dtype)
    choices = np.array([limits.min, limits.max, limits.max - 1, 0, 1, 2, 3], dtype)
    return rng.choice(choices, shape)


def _scalar(rng: np.random.Generator, kind: Kind, values: str) -> Any:
    if kind.is_python:
        choices = (_SPECIAL_SCALARS if values == "special" else _SCALARS)[kind.element]
        return choices[int(rng.integers(len(choices)))]
    return _numbers(rng, Kind(kind.element, ("1",)), (1,), values)[0]
