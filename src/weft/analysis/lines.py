"""Lines of memory that the elements of a map move along with one of its parameters.

in:   a memlet, a parameter
out:  whether it moves the element, and to its neighbour; the line, and the place on it: A[i, j - 1] and A[i, j + 2] are
      on one line of j, at -1 and 2
"""

from __future__ import annotations

from weft.ir.exprs import Index, Value
from weft.ir.nodes import Container, Layout, Memlet
from weft.support.records import record


@record
class Line:
    """A container, and what is left of the coordinates without their place along the parameter."""

    container: str
    coordinates: tuple[Index, ...]


def is_moved(memlet: Memlet, param: Value) -> bool:
    """Whether the parameter moves the element."""
    return any(param in coordinate.values for coordinate in memlet.index)


def line_of(memlet: Memlet, param: Value) -> tuple[Line, int]:
    """The line of an element that the parameter moves in one of its coordinates, and the place on it."""
    place = 0
    coordinates: list[Index] = []
    for coordinate in memlet.index:
        if param in coordinate.values:
            place = sum(coefficient for monomial, coefficient in coordinate.terms if not monomial)
            coordinates.append(coordinate - place)
        else:
            coordinates.append(coordinate)
    return Line(memlet.container, tuple(coordinates)), place


def goes_along(memlet: Memlet, param: Value, container: Container) -> bool:
    """Whether the parameter moves the element to its neighbour in memory.

    Where strides are known at run time only, it is taken for granted that elements are neighbours along the last axis.
    """
    near = 0 if container.layout is Layout.F else len(memlet.index) - 1
    if [axis for axis, coordinate in enumerate(memlet.index) if param in coordinate.values] != [near]:
        return False
    return [term for term in memlet.index[near].terms if param in term[0]] == [((param,), 1)]
