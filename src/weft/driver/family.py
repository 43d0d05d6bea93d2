"""A program and the pieces it is cut into: which statements Python runs, and for how long.

in:   what the engines of the pieces found, calls of the cut function
out:  one FallbackWarning per statement that Python runs, with its share of the time of the first call
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import field
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from weft.support.errors import CompileError, FallbackWarning
from weft.support.records import record

if TYPE_CHECKING:
    from weft.driver.engine import Engine

Place: TypeAlias = tuple[int, int]


@record(frozen=False)
class PythonPlace:
    """A statement that Python runs: where, why, and how long it took in the calls that were timed."""

    file: str
    line: int
    reason: str
    hint: str
    seconds: float = 0.0
    turns: int = 0
    share: float | None = None  # of the time of the first call, compiling left out
    is_told: bool = False

    def is_at(self, other: PythonPlace) -> bool:
        """Whether the other is the same place for the same reason."""
        return (self.file, self.line, self.reason) == (other.file, other.line, other.reason)

    def words(self) -> str:
        """The reason with the way out and the share of the time."""
        details = [self.hint] if self.hint else []
        if self.share is not None:
            details.append(f"{self.share:.0%} of the time of this call")
        return f"{self.reason} ({'; '.join(details)})" if details else self.reason


@record(frozen=False)
class Family:
    """A program and all the pieces it is cut into."""

    name: str
    engines: list[Engine] = field(default_factory=list["Engine"])  # of the pieces
    places: list[PythonPlace] = field(default_factory=list[PythonPlace])
    marks: dict[Place, CompileError] = field(default_factory=dict["Place", CompileError])  # of all that was cut
    little: set[Place] = field(default_factory=set["Place"])  # where pieces began that do too little for a call
    preparing_s: float = 0.0  # all time spent in getting kernels
    timed_calls: int = 0
    replaced: list[tuple[CellType, Callable[..., Any]]] = field(
        default_factory=list[tuple[CellType, Callable[..., Any]]]
    )

    @property
    def is_settled(self) -> bool:
        """Whether all that Python runs is announced, and no clocks are running."""
        return not self.timed_calls and all(place.is_told for place in self.places)

    def call(self, function: CutFunction, apply: Callable[[Callable[..., Any]], Any]) -> Any:
        """Call the cut function with `apply`; the first time with clocks, and say after it what Python ran."""
        if self.timed_calls:
            return apply(function.timed)
        if all(place.is_told for place in self.places):
            return apply(function.plain)
        self.timed_calls += 1
        start, preparing = time.perf_counter(), self.preparing_s
        try:
            return apply(function.timed)
        except Exception as error:
            from weft.driver.advice import advise

            advise(error, function.plain.__code__.co_filename)
            raise
        finally:
            self.timed_calls -= 1
            self.tell(time.perf_counter() - start - (self.preparing_s - preparing))

    def leave(self, function: FunctionType, problem: CompileError) -> None:
        """Note a piece that Python runs as it is."""
        code = function.__code__
        line = problem.place[0] if problem.place is not None else code.co_firstlineno
        new = PythonPlace(code.co_filename, line, problem.message, problem.hint)
        if not any(new.is_at(known) for known in self.places):
            self.places.append(new)

    def note_little(self, function: FunctionType) -> None:
        """Note a piece that is not worth a call."""
        from weft.driver.patchwork import piece_place

        self.little.add(piece_place(function))

    def tell(self, seconds: float) -> None:
        """Announce the places not announced so far; clocks are taken out."""
        for cell, plain in self.replaced:
            cell.cell_contents = plain
        self.replaced.clear()
        for place in self.places:
            if place.is_told:
                continue
            place.is_told = True
            if place.turns:
                place.share = min(place.seconds / seconds, 1.0) if seconds > 0 else 1.0
            message = f"{self.name} runs this statement in Python: {place.words()}"
            warnings.warn_explicit(message, FallbackWarning, place.file, max(place.line, 1))


class CutFunction(NamedTuple):
    """A cut function, without clocks and with them."""

    plain: FunctionType
    timed: FunctionType
