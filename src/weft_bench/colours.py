"""The colours of figures and page: one per domain and framework, and the scales from red to green.

A colour never stands alone: an arrow says faster or slower, a marker says which framework.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

from weft_bench.kernels import KERNELS

WHITE, GREEN, RED = (255, 255, 255), (74, 178, 118), (228, 108, 94)
FULL_COLOUR_AT = 20.0  # times faster or slower
INK, MUTED = "#1c2430", "#69727f"
DARK_BELOW = 0.42  # luminance under which text on a colour is white

DOMAIN_PALETTE = (
    "#1f6fb2",
    "#b4462d",
    "#2e7d32",
    "#7a3fa1",
    "#9a6a12",
    "#0b7c8f",
    "#bf2060",
    "#5c6b1c",
    "#4b50b8",
    "#875043",
    "#0d6b5e",
    "#a13d86",
    "#3f5d73",
    "#8a2f2f",
)
SERIES_PALETTE = (
    "#d1495b",
    "#0072b2",
    "#e08e0b",
    "#009e73",
    "#7b4fa3",
    "#56a5d8",
    "#8c6d46",
    "#555f6b",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_SUITE_DOMAINS = tuple(sorted({kernel.domain for kernel in KERNELS}))


def domain_colour(domain: str) -> str:
    """The same colour in every report; a domain that is not the suite's is grey."""
    if domain not in _SUITE_DOMAINS:
        return MUTED
    return DOMAIN_PALETTE[_SUITE_DOMAINS.index(domain) % len(DOMAIN_PALETTE)]


def series_styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each framework, by its place."""
    return {
        name: (SERIES_PALETTE[place % len(SERIES_PALETTE)], MARKERS[place % len(MARKERS)])
        for place, name in enumerate(names)
    }


def speedup_strength(ratio: float) -> float:
    """-1 (red) to 1 (green) on a logarithmic scale, 0 at NumPy's speed."""
    return max(-1.0, min(1.0, log(ratio) / log(FULL_COLOUR_AT)))


def speedup_colour(ratio: float) -> str:
    """White at NumPy's speed, green above it, red below."""
    strength = speedup_strength(ratio)
    return blend(WHITE, GREEN if strength >= 0.0 else RED, abs(strength))


def share_colour(share: float) -> str:
    """Green where all is kept, red where nothing is."""
    return blend(WHITE, GREEN, 2.0 * share - 1.0) if share >= 0.5 else blend(WHITE, RED, 1.0 - 2.0 * share)


def blend(low: tuple[int, int, int], high: tuple[int, int, int], weight: float) -> str:
    """A colour between two, as `#rrggbb`."""
    mixed = (round(a + (b - a) * weight) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def ink_on(colour: str) -> str:
    """Dark or white, whichever can be read on `colour`."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255.0 for place in (1, 3, 5))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#ffffff" if luminance < DARK_BELOW else INK
