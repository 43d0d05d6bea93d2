"""What has really run in compiled code, from beginning to end: operation by element type, layout and kind of input.

in:   the uses of each case (operation, element type, layout of an operand) and the inputs that ran natively
out:  counts, and a table of them with the emptiest named
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.fuzz import rules
from tests.fuzz.arguments import Inputs
from tests.fuzz.generator import ELEMENTS, Case

LAYOUTS = ("C", "F", "S", "neg", "zero", "temp")
CONDITIONS = ("usual", "empty", "one", "alias")
_STATEMENTS = (
    "slice", "slice backwards", "T", "newaxis", "view", "element", "store", "element store", "rebind", "swap", "out=",
    "mask", "mask store", "gather", "scatter",
    "fill", "copyto", "conditional", "zeros", "ones", "full", "arange", "@", "for in", "for enumerate", "for reversed",
    "for zip", *(f"{operator}=" for operator in ("+", "-", "*", "/", "//", "%", "&", "|")),
)  # fmt: skip
_OPERATIONS = (*rules.BINARY, *rules.COMPARISONS, *rules.UNARY, *rules.ARRAY_UNARY, *rules.SCANS, *rules.REDUCTIONS)


@dataclass(slots=True)
class Buckets:
    """Counts by (operation, element type, layout, condition)."""

    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter[tuple[str, str, str, str]])

    def add(self, ran: Iterable[tuple[Case, Inputs]]) -> None:
        for case, inputs in ran:
            conditions = conditions_of(case, inputs)
            self.counts.update((*use, condition) for use in case.uses for condition in conditions)

    def update(self, other: Buckets) -> None:
        self.counts.update(other.counts)

    def totals(self, *axes: int) -> Counter[tuple[str, ...]]:
        """The counts, added up over the other axes."""
        found: Counter[tuple[str, ...]] = Counter()
        for key, count in self.counts.items():
            found[tuple(key[axis] for axis in axes)] += count
        return found

    def lines(self, most: int = 12) -> Iterator[str]:
        """A table to read."""
        yield f"buckets: {len(self.counts)} of operation x type x layout x input were filled natively"
        for title, axes, universe in (
            ("operation x type", (0, 1), _typed()),
            ("operation x layout", (0, 2), [(name, layout) for name in _names() for layout in LAYOUTS]),
            ("operation x input", (0, 3), [(name, condition) for name in _names() for condition in CONDITIONS]),
        ):
            totals = self.totals(*axes)
            counts = {key: totals[key] for key in universe}
            empty = sum(count == 0 for count in counts.values())
            least = sorted(counts, key=lambda key: (counts[key], key))[:most]
            yield f"{title}: {len(counts) - empty} of {len(counts)}; the emptiest:"
            yield "    " + ", ".join(f"{' '.join(key)} {counts[key]}" for key in least)


def conditions_of(case: Case, inputs: Inputs) -> tuple[str, ...]:
    """What is special about a set of arguments."""
    named = {extent for param in case.params for extent in param.kind.shape}
    sizes = [size for name, size in inputs.sizes if name in named]
    found = [
        name for name, holds in (("empty", 0 in sizes), ("one", 1 in sizes), ("alias", inputs.how == "same")) if holds
    ]
    return tuple(found) or ("usual",)


def _names() -> list[str]:
    return sorted({rule.name for rule in _OPERATIONS} | set(_STATEMENTS))


def _typed() -> list[tuple[str, str]]:
    letters = {name: _letter(name) for name in ELEMENTS}
    pairs = {(rule.name, element) for rule in _OPERATIONS for element in ELEMENTS if letters[element] in rule.letters}
    return sorted(pairs | {(name, element) for name in _STATEMENTS[:18] for element in ELEMENTS})


def _letter(element: str) -> str:
    return {"bool": "b", "uint": "u", "int": "i", "float": "f", "complex": "c"}[element.rstrip("0123456789")]
