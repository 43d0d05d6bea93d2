"""How maps and loops run: on which threads, and when these wait for each other. No result depends on it."""

from __future__ import annotations

from enum import Enum

from weft.ir.exprs import Index
from weft.support.records import record


class Schedule(Enum):
    """How the iterations of a map run."""

    SEQUENTIAL = "sequential"
    SIMD = "simd"
    PARALLEL = "parallel"
    RARE = "rare"  # in order, and so few that they are not worth much of the C compiler's time
    JAMMED = "jammed"  # a few, one after the other without vectors: each has a place in what stands around


@record
class Team:
    """How threads run a loop together: each runs all its turns, and of the maps in it the points that are its own.

    The `rows`, from the first up to the last, are cut into as many runs of neighbours as there are threads, anywhere
    but within the first and the last two; a thread owns the points of maps whose `owner` is one of its rows. Those of a
    parallel map without owner, and the results of a parallel reduction, are cut in equal parts. What else writes is
    done by the first thread, and everything else by all. Before the nodes of the loop's body at the places `meets` the
    threads wait for each other. A loop inside has `meets` of its own, and the same rows.
    """

    rows: tuple[Index, Index]
    meets: tuple[int, ...]
