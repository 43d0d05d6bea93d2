"""A site stands in front of every loop: guards of its body may move there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.driver.compiler import lower
from weft.ir.nodes import Loop, Node, Region, Site, While
from weft.ir.traverse import inner_regions


def over_ranges(a, n):
    total = 0.0
    for i in range(n):
        for j in range(i):
            total += a[j]
    return total


def over_elements(a, n):
    total = 0.0
    for x in a:
        total += x
    return total


def until(a, n):
    i = 0
    while i < n and a[i] > 0:
        i += 1
    return i


@pytest.mark.parametrize("function", [over_ranges, over_elements, until], ids=lambda function: function.__name__)
def test_every_loop_has_a_site_in_front(function: Callable[..., Any]) -> None:
    program = lower(function, (np.ones(4), 3)).program
    found = list(fronts(program.body))
    assert found
    for front in found:
        assert any(isinstance(node, Site) for node in front)


def fronts(region: Region) -> list[list[Node]]:
    """What stands above each loop, back to the loop before it."""
    found: list[list[Node]] = []
    above: list[Node] = []
    for node in region.nodes:
        if isinstance(node, Loop | While):
            found.append(above)
            above = []
        above.append(node)
        for inner in inner_regions(node):
            found += fronts(inner)
    return found
