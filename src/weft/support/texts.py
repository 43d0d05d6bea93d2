"""The characters of a string as numbers, for programs that count and compare them.

in:   "GATTACA"
out:  [71, 65, 84, 84, 65, 67, 65], uint32, not to be written

convert.c does the same when a program is called.
"""

from __future__ import annotations

from typing import Any, Final

from weft.support.generators import BIT_GENERATOR, KEPT_NORMAL, bit_generator_words, kept_normal_words
from weft.support.number_lists import LIST, numbers_in

TEXT: Final = "text"  # the function of such a conversion, beside those of NumPy


def code_points(text: str) -> Any:
    """The code points of a string, lone surrogates as they are."""
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def text_of(codes: Any) -> str:
    """The string of these code points."""
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def convert(function: str, value: Any) -> Any:
    """What a slot of a converted object holds: its code points, numbers or words, or what NumPy makes of it."""
    import numpy as np

    if function == BIT_GENERATOR:
        return bit_generator_words(value)
    if function == KEPT_NORMAL:
        return kept_normal_words(value)
    if function.startswith(LIST):
        return numbers_in(function, value)
    return code_points(value) if function == TEXT else getattr(np, function)(value)
