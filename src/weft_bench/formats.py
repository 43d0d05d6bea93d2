"""How numbers are written, the same in tables, figures and pages: `112 ms`, `↑3.21`, `48 MiB`."""

from __future__ import annotations

from weft_bench.statistics import Estimate

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
NO_INTERVAL = "one sample, no interval"
WIDTH_SHOWN_FROM = 1.0  # percent; the paper leaves out what is smaller


def show_seconds(seconds: float) -> str:
    """Three digits and a unit: `112 ms`."""
    unit, factor = ("s", 1.0) if seconds >= 1.0 else ("ms", 1e-3) if seconds >= 1e-3 else ("us", 1e-6)
    return f"{show_number(seconds / factor)} {unit}"


def show_number(number: float) -> str:
    """Three digits: `3.21`, `32.1`, `321`."""
    digits = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
    return f"{number:.{digits}f}"


def show_factor(ratio: float) -> str:
    """As in the paper: `↑3.21` is 3.21 times faster than NumPy, `↓3.21` as many times slower."""
    return f"↑{show_number(ratio)}" if ratio >= 1.0 else f"↓{show_number(1.0 / ratio)}"


def show_range(speedup: Estimate) -> str:
    """The interval of a speed-up, written as the speed-up is: `↓1.08 to ↑1.20`."""
    if not speedup.is_bounded:
        return NO_INTERVAL
    return f"{show_factor(speedup.low)} to {show_factor(speedup.high)}"


def show_interval(estimate: Estimate) -> str:
    """The interval of any other number: `2.96 to 3.40`, or why there is none."""
    if not estimate.is_bounded:
        return NO_INTERVAL
    return f"{show_number(estimate.low)} to {show_number(estimate.high)}"


def show_width(estimate: Estimate) -> str:
    """The interval's size as a superscript, in percent; nothing below 1 %, `?` where there is no interval."""
    if not estimate.is_bounded:
        return "?"
    if estimate.width_percent < WIDTH_SHOWN_FROM:
        return ""
    return f"{estimate.width_percent:.0f}".translate(SUPERSCRIPTS)


def show_bytes(size: float) -> str:
    """Three digits and a unit of 1024: `48.0 MiB`."""
    units = ("B", "KiB", "MiB", "GiB")
    power = 0
    while size >= 1024.0 and power < len(units) - 1:
        size, power = size / 1024.0, power + 1
    return f"{size:.0f} B" if power == 0 else f"{show_number(size)} {units[power]}"
