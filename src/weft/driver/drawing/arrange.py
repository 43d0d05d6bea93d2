"""From boxes, frames and links to a scene: sizes from the inside out, then places.

in:   a `Box` with all that is in it
out:  a `Placed` box; every scene inside has coordinates of its own, from (0, 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import assert_never

from weft.driver.drawing.layered import Edge, Layout, Shelf, Size, layered
from weft.driver.drawing.scene import (
    Box,
    Column,
    Content,
    Flow,
    Label,
    Link,
    Placed,
    Row,
    Scene,
    Style,
    Tie,
    Wire,
)
from weft.driver.drawing.texts import LINE_HEIGHT, text_width

_FRAME = 14.0  # between a frame and what is inside
_TEXT_X, _TEXT_Y = 12.0, 7.0
_COLUMN_SPACE = 24.0
_EXIT_HEIGHT = 14.0


def arrange_box(box: Box) -> Placed:
    """A box at (0, 0), all of its inside arranged."""
    header = _text_size(box)
    if box.inside is None:
        return Placed(box, 0.0, 0.0, header.width, header.height)
    scene = _arrange(box.inside)
    width = max(header.width, scene.width + 2 * _FRAME)
    top = max(header.height, 0.0) + _FRAME
    at = ((width - scene.width) / 2, top)
    return Placed(box, 0.0, 0.0, width, top + scene.height + _FRAME, scene, at)


def _text_size(box: Box) -> Size:
    if box.style is Style.EXIT:
        return Size(60.0, _EXIT_HEIGHT)
    if not box.lines:
        return Size(0.0, 0.0)
    slant = 24.0 if box.style is Style.ENTRY else 0.0
    return Size(text_width(box.lines) + 2 * _TEXT_X + slant, len(box.lines) * LINE_HEIGHT + 2 * _TEXT_Y)


def _arrange(content: Content) -> Scene:
    match content:
        case Flow():
            return _flow(content)
        case Column():
            return _column(content)
        case Row():
            return _row(content)
        case _:
            assert_never(content)


def _moved(placed: Placed, x: float, y: float, *, width: float | None = None) -> Placed:
    """The box somewhere else, perhaps wider."""
    at = (placed.inside_at[0] + x, placed.inside_at[1] + y)
    return Placed(placed.box, x, y, width or placed.width, placed.height, placed.scene, at)


# ---- one after the other, side by side ------------------------------------------------------------------------------


def _column(column: Column) -> Scene:
    made = [arrange_box(box) for box in column.boxes]
    width = max((placed.width for placed in made), default=0.0)
    y = 0.0
    boxes: list[Placed] = []
    for placed in made:
        boxes.append(_moved(placed, (width - placed.width) / 2, y))
        y += placed.height + _COLUMN_SPACE
    wires = tuple(
        Wire((((width / 2, upper.y + upper.height), (width / 2, lower.y)),), Tie.ORDER, "then")
        for upper, lower in pairwise(boxes)
    )
    return Scene(width, max(y - _COLUMN_SPACE, 0.0), tuple(boxes), wires)


def _row(row: Row) -> Scene:
    shelf = Shelf()
    boxes: list[Placed] = []
    for box in row.boxes:
        placed = arrange_box(box)
        boxes.append(_moved(placed, *shelf.take(Size(placed.width, placed.height))))
    return Scene(shelf.size.width, shelf.size.height, tuple(boxes))


# ---- layers ---------------------------------------------------------------------------------------------------------


def _flow(flow: Flow) -> Scene:
    made = [arrange_box(box) for box in flow.boxes]
    edges = [Edge(link.source, link.target, _label_size(link), link.near_source) for link in flow.links]
    found = layered([Size(placed.width, placed.height) for placed in made], edges)
    boxes = tuple(
        _moved(placed, x - placed.width / 2, y - placed.height / 2)
        for placed, (x, y) in zip(made, found.boxes, strict=True)
    )
    wires = tuple(Wire(route, link.tie, link.title) for link, route in zip(flow.links, found.routes, strict=True))
    return Scene(found.size.width, found.size.height, boxes, wires, _labels(flow.links, found))


def _labels(links: Sequence[Link], found: Layout) -> tuple[Label, ...]:
    labels: list[Label] = []
    for link, place in zip(links, found.labels, strict=True):
        size = _label_size(link)
        if size is not None and place is not None:
            x, y = place
            labels.append(Label(x, y - size.height / 2, size.width, size.height, link.lines, link.tie, link.title))
    return tuple(labels)


def _label_size(link: Link) -> Size | None:
    return Size(text_width(link.lines) + 8.0, len(link.lines) * LINE_HEIGHT) if link.lines else None
