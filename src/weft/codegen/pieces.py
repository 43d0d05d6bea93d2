"""A long C file in pieces that can be compiled at the same time.

before:  struct f_env_0 { ... };
         WEFT_OPAQUE static void f_body_0(void *raw, int64_t begin, int64_t end) { ... }

after:   struct f_env_0 { ... };
         WEFT_OPAQUE WEFT_HIDDEN void f_body_0(void *raw, int64_t begin, int64_t end);
         #if WEFT_PIECE(1)
         WEFT_OPAQUE WEFT_HIDDEN void f_body_0(void *raw, int64_t begin, int64_t end) { ... }
         #endif

The compiler does not look from one opaque function into another, so what it makes of each is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weft.support.records import record

# What takes a compiler as long as so many characters of a plain loop, of which it reads 200 in a millisecond: a loop
# that it vectorizes, a character of the kernel, which is one function, and what is worth a process of its own.
_VECTORIZED_CHARACTERS: Final = 1_200
_KERNEL_CHARACTERS: Final = 2
_PIECE_CHARACTERS: Final = 30_000
_MOST_PIECES: Final = 4


@record
class Pieces:
    """The texts of bodies, each in its piece, and how many pieces there are."""

    texts: tuple[str, ...]
    count: int


def cut(bodies: Sequence[str], kernels: str, *, alone: bool) -> Pieces:
    """Share out bodies, the longest first, each to the shortest piece; kernels are in piece 0. `alone`: all in one."""
    costs = [_cost(body) for body in bodies]
    kernel_cost = _KERNEL_CHARACTERS * _cost(kernels)
    count = 1 if alone or not bodies else min(_MOST_PIECES, (sum(costs) + kernel_cost) // _PIECE_CHARACTERS + 1)
    if count == 1:
        return Pieces(tuple(bodies), 1)
    lengths, numbers = [kernel_cost] + [0] * (count - 1), dict[int, int]()
    for place in sorted(range(len(bodies)), key=lambda place: -costs[place]):
        number = numbers[place] = lengths.index(min(lengths))
        lengths[number] += costs[place]
    return Pieces(tuple(_apart(body, numbers[place]) for place, body in enumerate(bodies)), count)


def _cost(text: str) -> int:
    return len(text) + _VECTORIZED_CHARACTERS * text.count("#pragma omp simd")


def in_piece(number: int, text: str, count: int) -> str:
    """What belongs to one piece alone."""
    return text if count == 1 else f"#if WEFT_PIECE({number})\n{text}#endif\n"


def _apart(body: str, number: int) -> str:
    """The function in its piece, its struct and its declaration in all."""
    struct, mark, function = body.partition("WEFT_OPAQUE ")
    function = mark + function.replace("static ", "WEFT_HIDDEN ", 1)
    return f"{struct}{function[: function.index('{')].rstrip()};\n#if WEFT_PIECE({number})\n{function}#endif\n"
