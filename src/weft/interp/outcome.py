"""How an interpreted program ends."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from weft.support.errors import WeftError
from weft.support.records import record


class _Missing:
    """The value of a name that has none."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


@record
class Returned:
    """The program returned; one write-back per `Program.writebacks`, MISSING where nothing is to be assigned."""

    value: Any
    writebacks: tuple[Any, ...] = ()


@record
class LeftFrame:
    """One Python activation at a resume point, with the values of its live names."""

    function: int
    path: tuple[int, ...]
    names: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def live(self) -> dict[str, Any]:
        """Values by name, without the names that have none."""
        pairs = zip(self.names, self.values, strict=True)
        return {name: value for name, value in pairs if value is not MISSING}


@record
class Left:
    """A guard failed: Python goes on from `frames`, outermost first."""

    site: int
    reason: str
    frames: tuple[LeftFrame, ...]
    writebacks: tuple[Any, ...] = ()


Outcome: TypeAlias = Returned | Left


class ResumeError(WeftError):
    """A guard failed after memory that Python can see was written: going back to its site would do that twice."""


class TooSlow(WeftError):  # noqa: N818  (no fault of the program)
    """The time given to the interpreter is over."""
