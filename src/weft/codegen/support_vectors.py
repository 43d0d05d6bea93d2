"""C for rows in whole vectors: their types, windows on two of them, and where a row is cut.

A file that is compiled for a processor without long vectors has short ones in their place, which nobody uses.
"""

from __future__ import annotations

from typing import Final


def _window(lanes: int) -> str:
    """The macro that takes a vector out of two, from their element `first` on."""
    picked = ", ".join(f"(first) + {lane}" if lane else "(first)" for lane in range(lanes))
    return f"#define weft_window_$S(a, b, first) __builtin_shufflevector(a, b, {picked})"


VECTOR_FUNCTIONS: Final = {
    # A vector, one that may lie anywhere, and how many elements it has.
    "vector": f"""
#if 8 * WEFT_ROW_BYTES == 16 * $B
{_window(16)}
#elif 8 * WEFT_ROW_BYTES == 8 * $B
{_window(8)}
#elif 8 * WEFT_ROW_BYTES == 4 * $B
{_window(4)}
#else
#define weft_window_$S(a, b, first) (a)
#endif
#define weft_lanes_$S (WEFT_ROW_BYTES ? 8 * WEFT_ROW_BYTES / $B : 4)
typedef $T weft_vector_$S __attribute__((vector_size(WEFT_ROW_BYTES ? WEFT_ROW_BYTES : 32)));
typedef $T weft_loose_$S __attribute__((vector_size(WEFT_ROW_BYTES ? WEFT_ROW_BYTES : 32), aligned($B / 8), may_alias));
""",
}

ROW_FUNCTIONS: Final = {
    # Bytes of the vectors that rows are computed in: 0 if there are none that pay, or that can be taken apart.
    "row_bytes": """
#if !defined(__has_builtin)
#define WEFT_ROW_BYTES 0
#elif !__has_builtin(__builtin_shufflevector)
#define WEFT_ROW_BYTES 0
#elif defined(WEFT_LONG_VECTORS)
#define WEFT_ROW_BYTES 64
#elif defined(__AVX__)
#define WEFT_ROW_BYTES 32
#else
#define WEFT_ROW_BYTES 0
#endif
""",
    # Where a row of at least four vectors is computed in vectors that begin where a line of memory does, with another
    # one before and behind each: from the first such place that is a vector after the beginning, and to where more than
    # one and at most two are left.
    "first_line": """
static inline int64_t weft_first_line(const void *to, int64_t begin, int64_t lanes)
{
    const int64_t bytes = WEFT_ROW_BYTES ? WEFT_ROW_BYTES : 32;
    return begin + lanes + (int64_t)(-(uintptr_t)to & (uintptr_t)(bytes - 1)) / (bytes / lanes);
}
""",
    "last_line": """
static inline int64_t weft_last_line(int64_t first, int64_t end, int64_t lanes)
{
    return first + ((end - first) / lanes - 1) * lanes;
}
""",
}
