"""Loops over a range, as text."""

from __future__ import annotations

from weft.support.records import record


@record
class Span:
    """The variable of a loop and its range."""

    name: str
    low: str
    high: str

    @property
    def head(self) -> str:
        """The first line of the loop."""
        return f"for (int64_t {self.name} = {self.low}; {self.name} < {self.high}; ++{self.name})"
