"""Truth values counted in lanes of a byte, which are added up before one of them can be full.

while (end - at >= 64) {
    uint8_t lane[64] = {0};
    for (; at + 64 <= last; at += 64)      // up to 255 times
        for (l = 0; l < 64; ++l)
            lane[l] += m[at + l];
    for (l = 0; l < 64; ++l)
        total += lane[l];
}
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.kernel import Kernel

_LANES = 64
_FULL = 255  # as many as a lane can count


def emit_flag_count(kernel: Kernel, turn: str, span: tuple[str, str], total: str, flag: Callable[[], str]) -> None:
    """Add to `total` for how many values of the C variable `turn` within a span the flag that is written is 1."""
    lane, at, last, number = (kernel.names.claim(name) for name in ("lane", "at", "last", "l"))
    begin, end = span
    each = f"for (int {number} = 0; {number} < {_LANES}; ++{number})"
    kernel.line(f"int64_t {at} = {begin};")
    with kernel.block(f"while ({end} - {at} >= {_LANES})"):
        most = _LANES * _FULL
        kernel.line(f"const int64_t {last} = {end} - {at} > {most} ? {at} + {most} : {end};")
        kernel.line(f"uint8_t {lane}[{_LANES}];")
        kernel.line("#pragma omp simd")
        kernel.line(each)
        kernel.line(f"    {lane}[{number}] = 0;")
        with kernel.block(f"for (; {at} + {_LANES} <= {last}; {at} += {_LANES})"):
            kernel.line("#pragma omp simd")
            with kernel.block(each):
                kernel.line(f"const int64_t {turn} = {at} + {number};")
                kernel.line(f"{lane}[{number}] = (uint8_t)({lane}[{number}] + {flag()});")
        kernel.line(each)
        kernel.line(f"    {total} += {lane}[{number}];")
    with kernel.block(f"for (int64_t {turn} = {at}; {turn} < {end}; ++{turn})"):
        kernel.line(f"{total} += {flag()};")
