"""What a picture is made of, before and after it is laid out."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from weft.support.records import record


class Style(Enum):
    """What a box is: it decides its outline and its colours."""

    ARGUMENT = "argument"
    TRANSIENT = "transient"
    STACK = "stack"
    REF = "ref"
    ALIAS = "alias"
    TASKLET = "tasklet"
    OPERATION = "operation"  # on whole arrays
    NOTE = "note"
    LEAVE = "leave"  # return, yield, continue, break
    ENTRY = "entry"  # of a map
    EXIT = "exit"
    MAP = "map"
    LOOP = "loop"
    BRANCH = "branch"
    ARM = "arm"
    STATE = "state"
    PROGRAM = "program"


@record
class Box:
    """Something with an outline: text, and perhaps more boxes inside. `title` is the whole text, shown on a hover."""

    style: Style
    lines: tuple[str, ...]
    title: str
    inside: Content | None = None


class Tie(Enum):
    """What a link means."""

    DATA = "data"  # elements of a container
    VALUE = "value"  # scalars
    ORDER = "order"  # nothing moves: what comes first


@record
class Link:
    """An arrow between two boxes of a flow. Its text stands near the operation: its source, or its target."""

    source: int
    target: int
    lines: tuple[str, ...]
    title: str
    tie: Tie = Tie.DATA
    near_source: bool = False


@record
class Flow:
    """Boxes in layers, data flowing down."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


@record
class Column:
    """One after the other, in the order they run."""

    boxes: tuple[Box, ...]


@record
class Row:
    """Side by side, as long as there is room."""

    boxes: tuple[Box, ...]


Content: TypeAlias = Flow | Column | Row


# ---- with positions -------------------------------------------------------------------------------------------------

Point: TypeAlias = tuple[float, float]


@record
class Placed:
    """A box with its place in the frame around it; what is inside is relative to `inside_at` in the same frame."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    scene: Scene | None = None
    inside_at: Point = (0.0, 0.0)


@record
class Wire:
    """An arrow in one run of points, or in two with its label between them. Points that are not below each other are
    joined by a curve that is vertical at both ends.
    """

    runs: tuple[tuple[Point, ...], ...]
    tie: Tie
    title: str


@record
class Label:
    """The text of an arrow, `x` in the middle and `y` at its top."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    tie: Tie
    title: str


@record
class Scene:
    """What is inside one frame."""

    width: float
    height: float
    boxes: tuple[Placed, ...]
    wires: tuple[Wire, ...] = ()
    labels: tuple[Label, ...] = ()
