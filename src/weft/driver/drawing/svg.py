"""A scene as SVG text.

Coordinates inside a frame are relative to it; every text is escaped; class names begin with `weft-`, since the styles
of a picture in a notebook hold for the whole page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from weft.driver.drawing.scene import Label, Placed, Point, Scene, Style, Tie, Wire
from weft.driver.drawing.texts import FONT_SIZE, LINE_HEIGHT

_MARGIN = 16.0
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CENTRED = (Style.ARGUMENT, Style.TRANSIENT, Style.STACK, Style.REF, Style.ALIAS, Style.LEAVE, Style.ENTRY)
_CONTAINERS = (Style.ARGUMENT, Style.TRANSIENT, Style.STACK, Style.REF, Style.ALIAS)
_FRAMES = (Style.LOOP, Style.BRANCH, Style.ARM, Style.PROGRAM, Style.MAP)

# style: fill, stroke, more
_LOOKS = {
    Style.ARGUMENT: ("#e3effc", "#3a74b8", ""),
    Style.TRANSIENT: ("#fff3d6", "#b98a1e", ""),
    Style.STACK: ("#fde9d9", "#bf6d2c", ""),
    Style.REF: ("#f1e8fb", "#7a51b5", "; stroke-dasharray: 5 3"),
    Style.ALIAS: ("#e4f5e6", "#3f8f52", "; stroke-dasharray: 5 3"),
    Style.TASKLET: ("#ffffff", "#4b5563", ""),
    Style.OPERATION: ("#eef0f4", "#4b5563", "; stroke-width: 2"),
    Style.NOTE: ("#fffbe0", "#c8b85a", ""),
    Style.LEAVE: ("#374151", "#374151", ""),
    Style.ENTRY: ("#cfeae2", "#2c8570", ""),
    Style.EXIT: ("#cfeae2", "#2c8570", ""),
    Style.MAP: ("#f3fbf8", "#2c8570", "; stroke-width: 1.5"),
    Style.LOOP: ("#f8fafc", "#64748b", "; stroke-width: 1.5"),
    Style.BRANCH: ("#fdf8f4", "#b4713d", "; stroke-width: 1.5"),
    Style.ARM: ("#ffffff", "#d9b797", ""),
    Style.STATE: ("#ffffff", "#d4d8de", ""),
    Style.PROGRAM: ("#ffffff", "#94a3b8", "; stroke-width: 1.5"),
}
_WIRES = {Tie.DATA: ("#374151", ""), Tie.VALUE: ("#7a51b5", ""), Tie.ORDER: ("#9ca3af", "; stroke-dasharray: 3 3")}


def write_svg(root: Placed, name: str) -> str:
    """The whole document."""
    width, height = _number(root.width + 2 * _MARGIN), _number(root.height + 2 * _MARGIN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'class="weft-graph" xml:space="preserve">',
            f"<title>{_text(name)}</title>",
            f"<style>{_styles()}</style>",
            f"<defs>{''.join(_marker(tie) for tie in Tie)}</defs>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<g transform="translate({_number(_MARGIN)},{_number(_MARGIN)})">',
            *_box(root),
            "</g>",
            "</svg>",
            "",
        ]
    )


def _styles() -> str:
    rules = [
        f".weft-graph text {{ font: {_number(FONT_SIZE)}px 'DejaVu Sans Mono', Menlo, Consolas, monospace; "
        "fill: #1f2937 }",
        ".weft-graph .weft-name { font-weight: bold }",
        ".weft-graph .weft-leave text { fill: #ffffff }",
        ".weft-graph .weft-note text { fill: #6b5d12 }",
        ".weft-graph .weft-label text { fill: #334155 }",
    ]
    for style, (fill, stroke, more) in _LOOKS.items():
        rules.append(f".weft-{style.value} > .weft-outline {{ fill: {fill}; stroke: {stroke}{more} }}")
    for tie, (colour, more) in _WIRES.items():
        rules.append(f".weft-wire-{tie.value} {{ fill: none; stroke: {colour}{more} }}")
    return "\n".join(rules)


def _marker(tie: Tie) -> str:
    return (
        f'<marker id="weft-arrow-{tie.value}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" fill="{_WIRES[tie][0]}"/></marker>'
    )


# ---- boxes ----------------------------------------------------------------------------------------------------------


def _box(placed: Placed) -> Iterator[str]:
    box = placed.box
    yield f'<g class="weft-{box.style.value}">'
    if box.title:
        yield f"<title>{_text(box.title)}</title>"
    yield _outline(placed)
    yield from _lines(placed)
    if placed.scene is not None:
        x, y = placed.inside_at
        yield f'<g transform="translate({_number(x)},{_number(y)})">'
        yield from _scene(placed.scene)
        yield "</g>"
    yield "</g>"


def _scene(scene: Scene) -> Iterator[str]:
    for wire in scene.wires:
        yield _wire(wire)
    for placed in scene.boxes:
        yield from _box(placed)
    for label in scene.labels:
        yield from _label(label)


def _outline(placed: Placed) -> str:
    left, top, right, bottom = placed.x, placed.y, placed.x + placed.width, placed.y + placed.height
    match placed.box.style:
        case Style.ENTRY:
            return _polygon([(left + 12, top), (right - 12, top), (right, bottom), (left, bottom)])
        case Style.EXIT:
            return _polygon([(left, top), (right, top), (right - 12, bottom), (left + 12, bottom)])
        case Style.TASKLET:
            cut = 6.0
            corners = [(left + cut, top), (right - cut, top), (right, top + cut), (right, bottom - cut)]
            corners += [(right - cut, bottom), (left + cut, bottom), (left, bottom - cut), (left, top + cut)]
            return _polygon(corners)
        case Style.NOTE:
            fold = 9.0
            corners = [(left, top), (right - fold, top), (right, top + fold), (right, bottom), (left, bottom)]
            crease = [(right - fold, top), (right - fold, top + fold), (right, top + fold)]
            return _polygon(corners) + f'<path class="weft-outline" d="{_path(crease[:2])} L{_pair(crease[2])}"/>'
        case style:
            radius = _radius(style, placed.height)
            return (
                f'<rect class="weft-outline" x="{_number(left)}" y="{_number(top)}" width="{_number(placed.width)}" '
                f'height="{_number(placed.height)}" rx="{_number(radius)}"/>'
            )


def _radius(style: Style, height: float) -> float:
    if style in _CONTAINERS:
        return min(22.0, height / 2)
    if style is Style.LEAVE:
        return min(12.0, height / 2)
    return 2.0 if style is Style.OPERATION else 7.0


def _polygon(corners: Sequence[Point]) -> str:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in corners)
    return f'<polygon class="weft-outline" points="{points}"/>'


def _lines(placed: Placed) -> Iterator[str]:
    box = placed.box
    if not box.lines:
        return
    centred = box.style in _CENTRED
    x = placed.x + (placed.width / 2 if centred else 12.0)
    room = placed.height if placed.scene is None else len(box.lines) * LINE_HEIGHT + 14.0
    y = placed.y + (room - len(box.lines) * LINE_HEIGHT) / 2
    bold = box.style in _CONTAINERS or box.style in _FRAMES
    yield from _text_lines(box.lines, x, y, middle=centred, bold=bold)


def _text_lines(lines: Sequence[str], x: float, y: float, *, middle: bool, bold: bool = False) -> Iterator[str]:
    anchor = ' text-anchor="middle"' if middle else ""
    for number, line in enumerate(lines):
        name = ' class="weft-name"' if bold and number == 0 else ""
        baseline = y + number * LINE_HEIGHT + LINE_HEIGHT * 0.75
        yield f'<text x="{_number(x)}" y="{_number(baseline)}"{anchor}{name}>{_text(line)}</text>'


# ---- arrows ---------------------------------------------------------------------------------------------------------


def _wire(wire: Wire) -> str:
    title = f"<title>{_text(wire.title)}</title>" if wire.title else ""
    path = " ".join(_path(run) for run in wire.runs)
    return (
        f'<path class="weft-wire-{wire.tie.value}" marker-end="url(#weft-arrow-{wire.tie.value})" '
        f'd="{path}">{title}</path>'
    )


def _path(points: Sequence[Point]) -> str:
    steps = [f"M{_pair(points[0])}"]
    for before, after in pairwise(points):
        if _pair(before) == _pair(after):
            continue
        if before[0] == after[0]:
            steps.append(f"L{_pair(after)}")
        else:
            middle = (before[1] + after[1]) / 2
            steps.append(f"C{_pair((before[0], middle))} {_pair((after[0], middle))} {_pair(after)}")
    return " ".join(steps)


def _label(label: Label) -> Iterator[str]:
    yield '<g class="weft-label">'
    yield f"<title>{_text(label.title)}</title>"
    yield from _text_lines(label.lines, label.x, label.y, middle=True)
    yield "</g>"


# ---- text -----------------------------------------------------------------------------------------------------------


def _text(text: str) -> str:
    """Escaped; what XML has no characters for is replaced."""
    return escape(_NOT_XML.sub("\ufffd", text))


def _pair(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    """At most one digit after the point."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
