"""All themes."""

from __future__ import annotations

from tests.legality import (
    aliases,
    carried,
    controls,
    exits,
    gathers,
    hoisting,
    indices,
    overlaps,
    producers,
    recurrences,
    reductions,
    scatters,
    swaps,
    triangles,
    wishes,
)
from tests.legality.harness import Case, Theme

THEMES: tuple[Theme, ...] = (
    aliases.THEME,
    carried.THEME,
    controls.THEME,
    exits.THEME,
    gathers.THEME,
    hoisting.THEME,
    indices.THEME,
    overlaps.THEME,
    producers.THEME,
    recurrences.THEME,
    reductions.THEME,
    scatters.THEME,
    swaps.THEME,
    triangles.THEME,
    wishes.THEME,
)
CASES: tuple[Case, ...] = tuple(case for theme in THEMES for case in theme.cases)
BY_NAME = {case.name: case for case in CASES}
assert len(BY_NAME) == len(CASES)
