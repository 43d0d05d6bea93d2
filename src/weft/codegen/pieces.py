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

# What is worth a process of its own: a compiler takes a tenth of a second for as many characters.
_PIECE_CHARACTERS: Final = 24_000
_MOST_PIECES: Final = 4


@record
class Pieces:
    """The texts of bodies, each in its piece, and how many pieces there are."""

    texts: tuple[str, ...]
    count: int


def cut(bodies: Sequence[str], *, alone: bool) -> Pieces:
    """Share out bodies, the longest first, each to the piece that is shortest. `alone`: all in one."""
    count = 1 if alone else min(_MOST_PIECES, sum(map(len, bodies)) // _PIECE_CHARACTERS + 1)
    if count == 1:
        return Pieces(tuple(bodies), 1)
    lengths, numbers = [0] * count, dict[int, int]()
    for place in sorted(range(len(bodies)), key=lambda place: -len(bodies[place])):
        number = numbers[place] = lengths.index(min(lengths))
        lengths[number] += len(bodies[place])
    return Pieces(tuple(_apart(body, numbers[place]) for place, body in enumerate(bodies)), count)


def in_piece(number: int, text: str, count: int) -> str:
    """What belongs to one piece alone."""
    return text if count == 1 else f"#if WEFT_PIECE({number})\n{text}#endif\n"


def _apart(body: str, number: int) -> str:
    """The function in its piece, its struct and its declaration in all."""
    struct, mark, function = body.partition("WEFT_OPAQUE ")
    function = mark + function.replace("static ", "WEFT_HIDDEN ", 1)
    return f"{struct}{function[: function.index('{')].rstrip()};\n#if WEFT_PIECE({number})\n{function}#endif\n"
