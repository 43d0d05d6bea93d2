"""A picture of a graph.

in:   a program at any stage
out:  SVG text, the same for equal programs

    contents.py    program -> boxes, frames and links           what is drawn
    movements.py   what an operation moves, and of a map what all its iterations move together
    layered.py     sizes and edges -> positions                 where it stands, numbers only
    arrange.py     boxes, frames and links -> a scene
    svg.py         a scene -> text
"""

from __future__ import annotations

from weft.driver.drawing.arrange import arrange_box
from weft.driver.drawing.contents import program_box
from weft.driver.drawing.svg import write_svg
from weft.ir.nodes import Program


def draw_program(program: Program) -> str:
    """The SVG text of a program."""
    return write_svg(arrange_box(program_box(program)), program.name)
