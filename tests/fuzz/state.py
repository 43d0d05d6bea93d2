"""What the generator knows while it writes one function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from tests.fuzz.kinds import Expr, Kind, broadcast, element_of
from tests.fuzz.rules import Rule

Use: TypeAlias = tuple[str, str, str]  # rule, element type, layout of an operand

_GROWS = frozenset(("*", "**2", "**3", "<<", "multiply", "**"))  # a Python int, in a loop: without end


@dataclass(frozen=True, slots=True)
class Counter:
    """A loop variable: `low` to `extent - high`, the end excluded."""

    extent: str
    low: int
    high: int


@dataclass(slots=True)
class Shared:
    """What the functions of one program have in common."""

    rng: Random
    free: bool  # whether operations may be used whose last bits are open
    wild: bool  # whether indices may be out of bounds, slices clipped, read-only arrays written
    patterns: bool  # whether there are statements of several lines that passes look for
    uses: set[Use] = field(default_factory=set[Use])
    helpers: list[str] = field(default_factory=list[str])
    names: int = 0
    deepest: int = 0  # loops in each other

    def new_name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"


@dataclass(slots=True)
class State:
    """One function that is being written: its names with their kinds, its lines."""

    shared: Shared
    names: dict[str, Kind]
    sizes: dict[str, str] = field(default_factory=dict[str, str])  # extents that parameters hold
    counters: dict[str, Counter] = field(default_factory=dict[str, Counter])
    locked: set[str] = field(default_factory=set[str])  # names that must keep their value
    mixed: set[str] = field(default_factory=set[str])  # names whose type depends on the way taken: only to be returned
    lines: list[str] = field(default_factory=list[str])
    indent: int = 1
    loops: int = 0
    budget: int = 10

    @property
    def rng(self) -> Random:
        return self.shared.rng

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def write(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def use(self, rule: str, *kinds: Kind) -> None:
        """Count an operation for the buckets."""
        self.shared.uses.update((rule, kind.element, kind.layout if kind.is_array else "scalar") for kind in kinds)

    def arrays(self, rank: int | None = None) -> list[str]:
        return [name for name, kind in self.names.items() if kind.is_array and rank in (None, kind.rank)]

    def scalars(self) -> list[str]:
        return [name for name, kind in self.names.items() if not kind.is_array and name not in self.counters]

    def choose(self, rules: Sequence[Rule]) -> Rule:
        allowed = [rule for rule in rules if self.shared.free or not rule.free]
        return self.rng.choices(allowed, [rule.weight for rule in allowed])[0]

    def apply(self, rule: Rule, *operands: Expr, **more: str) -> Expr | None:
        """An element-wise operation; None where NumPy does not take these operands."""
        if not all(operand.kind.letter in rule.letters for operand in operands) or self._grows(rule, operands):
            return None
        shape = broadcast([operand.kind.shape for operand in operands])
        found = element_of(rule.template, *((operand.kind.element, operand.kind.rank) for operand in operands))
        if shape is None or found is None or found[1] != len(shape):
            return None
        self.use(rule.name, *(operand.kind for operand in operands))
        return Expr(rule.template.format(*(operand.text for operand in operands), **more), Kind(found[0], shape))

    def _grows(self, rule: Rule, operands: Sequence[Expr]) -> bool:
        """Whether Python's ints may become longer and longer."""
        if not self.loops or rule.name not in _GROWS:
            return False
        return all(operand.kind.element in ("py_int", "py_bool") for operand in operands) and not any(
            operand.text.isdigit() or operand.text in self.counters for operand in operands
        )

    @contextmanager
    def block(self, *, loop: bool = False) -> Iterator[None]:
        """Statements one step further in; names made there are gone afterwards."""
        before, counters = dict(self.names), dict(self.counters)
        locked = set(self.locked)
        start = len(self.lines)
        self.indent += 1
        self.loops += loop
        self.shared.deepest = max(self.shared.deepest, self.loops)
        yield
        if len(self.lines) == start:
            self.write("pass")
        self.indent -= 1
        self.loops -= loop
        self.names, self.counters, self.locked = before, counters, locked
