"""Write docs/bench_kernels.md: what every kernel of `weft bench` computes, at which sizes, and how much that is.

python tools/list_kernels.py           write the page
python tools/list_kernels.py --check   fail if it is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from weft_bench.kernel import Kernel, Preset
from weft_bench.kernels import KERNELS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "bench_kernels.md"
PRESETS: tuple[Preset, ...] = ("S", "M", "L", "paper")
_HEAD = """\
# The kernels of `weft bench`

Written by `tools/list_kernels.py` from `weft_bench.kernels`; a test keeps it true. Each kernel is one file of that
folder, `weft_bench/kernels/<name>.py`, whose head gives the whole formula.

- *Known as*: the name in tables of other compilers' speed.
- *Sizes*: presets S, M, L and paper, in this order. NumPy takes about 10 ms, 100 ms and 1 s on two cores at S, M and L;
  `paper` has the sizes of the paper that defined the comparison (Ziogas et al., ICS 2021, table 1), which may take
  minutes in NumPy and gigabytes. A size that is the same in all presets stands once.
- *Bytes*, in the kernel's largest type: every array argument read once and every output written once, without what is
  never looked at or is written before it is read. No program can move less.
- *Flops*: each `+ - * / min max` and comparison of the formula once, and a function (exp, sqrt, a power) once; a
  complex sum is 2, a complex product 6; integers count like floats. `weft_bench/work.py` has the rules, each kernel's
  `work` its own count. Where they depend on the data (mandelbrot, channel_flow, sparse_product) they are means.

The types are those in which a kernel can be measured; the last is the usual one.
"""


def page() -> str:
    """The text of the page: one table per domain, in the order in which the domains first appear."""
    parts = [_HEAD, f"{len(KERNELS)} kernels:\n"]
    for domain in dict.fromkeys(kernel.domain for kernel in KERNELS):
        rows = [_row(kernel) for kernel in KERNELS if kernel.domain == domain]
        parts.append(f"## {domain}\n\n{_table(rows)}\n")
    return "\n".join(parts)


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    headings = ("kernel", "known as", "what it computes", "dwarf", "types", "sizes", "bytes", "flops")
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _row(kernel: Kernel) -> tuple[str, ...]:
    assert kernel.work is not None
    dtype = np.dtype(kernel.dtypes[-1])
    works = [kernel.work(kernel.presets[preset], dtype) for preset in PRESETS]
    return (
        f"`{kernel.name}`",
        kernel.known_as,
        _summary(kernel),
        kernel.dwarf,
        ", ".join(kernel.dtypes),
        _sizes(kernel),
        " / ".join(_short(work.bytes) for work in works),
        " / ".join(_short(work.flops) for work in works),
    )


def _summary(kernel: Kernel) -> str:
    """The first paragraph of the kernel's file."""
    text = sys.modules[kernel.function.__module__].__doc__ or kernel.title
    return " ".join(text.split("\n\n")[0].split()).rstrip(".").replace("|", "\\|")


def _sizes(kernel: Kernel) -> str:
    """`rows` 600 / 1400 / 3100 / 2000, ..."""
    shown: list[str] = []
    for name in kernel.presets["S"]:
        numbers = [f"{kernel.presets[preset][name]}" for preset in PRESETS]
        shown.append(f"`{name}` {numbers[0] if len(set(numbers)) == 1 else ' / '.join(numbers)}")
    return ", ".join(shown)


def _short(number: int) -> str:
    """Three digits and the power of a thousand: 12.3 M."""
    power = 0
    value = float(number)
    while value >= 999.5 and power < len("kMGTP"):
        value, power = value / 1000.0, power + 1
    return f"{value:.3g} {' kMGTP'[power]}".strip()


def main() -> int:
    """Write or check the page."""
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
            return 0
        print("docs/bench_kernels.md is out of date: run python tools/list_kernels.py")
        return 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
