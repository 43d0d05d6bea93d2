"""Are two runs of one call the same?

in:   the `Outcome` of a run and that of Python; what may differ (`Permits`, see bounds.py)
out:  the first `Difference`, or None

Compared are the exception with its words, the arguments and what else the function can change, the result (types,
dtypes, shapes, order of strides, bits; which argument it is, or shares memory with), and the warnings. Any NaN is equal
to any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any, Protocol, cast

import numpy as np

from weft.driver.snapshots import attributes, is_atom, unrepeated
from weft.support.records import record


@record
class Place:
    """Where something stands: "argument", "outside" (a global or closure variable), "result"; then the way into it."""

    kind: str
    name: str = ""
    path: tuple[str, ...] = ()

    def inside(self, step: str) -> Place:
        """A part of it: ".x", "[0]", "['key']"."""
        return replace(self, path=(*self.path, step))

    @property
    def text(self) -> str:
        """As a person would say it."""
        way = "".join(self.path)
        match self.kind:
            case "argument":
                return f"argument '{self.name}'{way}"
            case "outside":
                return f"the variable '{self.name}'{way}"
            case _:
                return f"the {self.kind}{way}"


RESULT = Place("result")
EXCEPTION = Place("exception")
WARNINGS = Place("warnings")


@record
class Difference:
    """The first thing that differs, and how."""

    place: Place
    text: str


@record
class Outcome:
    """What a call left behind. `warnings` are pairs of category and text."""

    value: Any
    error: Exception | None
    arguments: dict[str, Any]
    outside: dict[str, Any]
    warnings: frozenset[tuple[str, str]] = frozenset()

    def outputs(self) -> Iterator[tuple[Place, Any]]:
        """Everything the function may have changed or made."""
        for name, value in self.arguments.items():
            yield Place("argument", name), value
        if self.error is None:
            yield RESULT, self.value
        for name, value in self.outside.items():
            yield Place("outside", name), value


class Permits(Protocol):
    """Which differences of floats are no fault."""

    def permits(self, place: Place, got: Any, want: Any) -> Any:
        """A mask: the elements that may differ as they do. The arrays have one dtype (float or complex) and shape."""
        ...


class SameBits:
    """No difference is allowed."""

    def permits(self, place: Place, got: Any, want: Any) -> Any:
        return np.zeros(want.shape, np.bool_)


def compare_outcomes(
    got: Outcome, want: Outcome, allowed: Permits, *, surface: bool = True, who: str = "the compiled program"
) -> Difference | None:
    """The first difference. Without `surface` (strides, sharing, warnings) only numbers and exceptions count."""
    if _error_text(got.error) != _error_text(want.error):
        return Difference(EXCEPTION, f"Python {_ended(want)}, {who} {_ended(got)}")
    comparison = _Comparison(allowed, surface)
    theirs = dict(want.outputs())
    for place, value in got.outputs():
        if place in theirs:
            found = comparison.values(place, value, theirs[place])
            if found is not None:
                return found
    return _compare_surface(got, want, who) if surface else None


def _error_text(error: Exception | None) -> str:
    return "" if error is None else f"{type(error).__module__}.{type(error).__qualname__}: {error}"


def _ended(outcome: Outcome) -> str:
    if outcome.error is None:
        return "returned"
    return f"raised {type(outcome.error).__name__}: {outcome.error}"


def _compare_surface(got: Outcome, want: Outcome, who: str) -> Difference | None:
    if relations(got) != relations(want):
        return Difference(RESULT, "it is, or shares memory with, another argument than Python's")
    if got.warnings == want.warnings:
        return None
    missing, extra = want.warnings - got.warnings, got.warnings - want.warnings
    told = [f"Python warns '{category}: {text}', {who} does not" for category, text in sorted(missing)]
    told += [f"{who} warns '{category}: {text}', Python does not" for category, text in sorted(extra)]
    return Difference(WARNINGS, told[0])


def relations(outcome: Outcome) -> list[tuple[bool, bool]]:
    """For every array in the result and every array that came in: are they one, may they share memory?"""
    made = [array for _, array in leaves(RESULT, outcome.value) if is_array(array)]
    given = [
        array
        for place, value in outcome.outputs()
        if place.kind != "result"
        for _, array in leaves(place, value)
        if is_array(array)
    ]
    return [(a is b, bool(a.size) and bool(np.may_share_memory(a, b))) for a in made for b in given]


def leaves(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """The numbers and arrays in a value, with their places."""
    seen: set[int] = set()
    pending: list[tuple[Place, Any]] = [(place, value)]
    while pending:
        where, current = pending.pop()
        inner = None if is_atom(current) or is_array(current) else steps_into(current)
        if inner is None:
            yield where, current
        elif id(current) not in seen:
            seen.add(id(current))
            pending += [(where.inside(step), item) for step, item in reversed(inner.items())]


def is_array(value: object) -> bool:
    """A predicate that narrows nothing: an array stays `Any` to the type checker."""
    return isinstance(value, np.ndarray)


def steps_into(value: Any) -> dict[str, Any] | None:
    """What stands in a container or object, by the text that leads there; None for anything else."""
    if isinstance(value, list | tuple):
        return {f"[{number}]": item for number, item in enumerate(cast("list[Any]", value))}
    if isinstance(value, dict):
        return {f"[{key!r}]": item for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, np.random.Generator):
        return {".bit_generator.state": value.bit_generator.state}
    if isinstance(value, np.random.RandomState):
        return {".get_state()": value.get_state(legacy=False)}
    held = attributes(value)
    return {f".{name}": item for name, item in held.items()} if held else None


@record(frozen=False)
class _Comparison:
    allowed: Permits
    surface: bool
    seen: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def values(self, place: Place, got: Any, want: Any) -> Difference | None:
        if type(got) is not type(want):
            return Difference(place, f"a {_type_name(got)} instead of a {_type_name(want)}")
        if isinstance(want, np.ndarray | np.generic | float | complex):
            return self.arrays(place, got, want)
        inner = None if is_atom(want) else steps_into(want)
        if inner is not None:
            return self.containers(place, got, want)
        return None if _equal(got, want) else Difference(place, f"{got!r} instead of {want!r}")

    def containers(self, place: Place, got: Any, want: Any) -> Difference | None:
        if (id(got), id(want)) in self.seen:
            return None
        self.seen.add((id(got), id(want)))
        ours, theirs = steps_into(got) or {}, steps_into(want) or {}
        if list(ours) != list(theirs):
            missing = [step for step in theirs if step not in ours] or [step for step in ours if step not in theirs]
            return Difference(place, f"{len(ours)} items instead of {len(theirs)}: {(missing or list(theirs))[0]}")
        for step, item in ours.items():
            found = self.values(place.inside(step), item, theirs[step])
            if found is not None:
                return found
        return None

    def arrays(self, place: Place, got: Any, want: Any) -> Difference | None:
        left, right = np.asarray(got), np.asarray(want)
        if left.dtype != right.dtype or left.shape != right.shape:
            return Difference(place, f"{_array_type(left)} instead of {_array_type(right)}")
        if left.dtype.hasobject:
            return self.values(place, left.tolist(), right.tolist())
        if self.surface and (_order(left) != _order(right) or left.flags.writeable != right.flags.writeable):
            return Difference(
                place,
                f"strides {left.strides}, writeable {left.flags.writeable} "
                f"instead of strides {right.strides}, writeable {right.flags.writeable}",
            )
        once = unrepeated(left, right)
        left, right = left[once], right[once]
        different = bits_differ(left, right)
        if left.dtype.kind in "fc" and different.any():
            different &= ~self.allowed.permits(place, left, right)
        return Difference(place, _show(left, right, different)) if different.any() else None


def bits_differ(left: Any, right: Any) -> Any:
    """A mask of the elements that are not the same."""
    if left.dtype.kind == "c":
        return bits_differ(left.real, right.real) | bits_differ(left.imag, right.imag)
    if left.dtype.kind == "f":
        differ: Any = (left != right) & ~(np.isnan(left) & np.isnan(right))
        return np.asarray(differ | ((left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right))))
    if left.dtype.kind in "mM":
        return np.asarray((left != right) & ~(np.isnat(left) & np.isnat(right)))
    return np.asarray(left != right)


def _order(array: Any) -> list[tuple[int, bool]]:
    """The axes longer than 1 from the slowest to the fastest, and which run backwards; nothing of an empty array."""
    axes = [axis for axis, extent in enumerate(array.shape) if extent > 1 and array.size]
    axes.sort(key=lambda axis: -abs(array.strides[axis]))
    return [(axis, array.strides[axis] < 0) for axis in axes]


def _show(left: Any, right: Any, different: Any) -> str:
    if not left.shape:
        return f"{left[()]} instead of {right[()]}"
    place = tuple(int(i) for i in np.argwhere(different)[0])
    count = int(np.count_nonzero(different))
    others = f" ({count} of {left.size} elements differ)" if left.size > 1 else ""
    return f"at {list(place)}: {left[place]} instead of {right[place]}{others}"


def _array_type(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _type_name(value: object) -> str:
    return type(value).__qualname__


def _equal(got: Any, want: Any) -> bool:
    """Of anything else: what its class says, where it says something other than "the very same object"."""
    if got is want or type(want).__eq__ is object.__eq__ or callable(want):
        return True
    try:
        return bool(got == want)
    except Exception:  # noqa: BLE001  (a class may compare as it likes)
        return True
