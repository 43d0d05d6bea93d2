"""NumPy's generators of random numbers, as compiled programs see them.

in:   a `numpy.random.Generator` or `RandomState`
out:  five words, the `bitgen_t` of its bit generator: where its state is, and four functions that take numbers from it;
      of a RandomState also two words inside the object: whether it keeps a normal number for the next draw, and that

The words stand for the state behind them: a program that draws is said to change them. generators.c does the same when
a program is called, and holds the generator's lock while the kernel runs.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, Final

BIT_GENERATOR: Final = "bit generator"  # functions of such conversions, beside those of NumPy
KEPT_NORMAL: Final = "kept normal number"
_WORDS: Final = 5
_PLACES: Final = range(2, 9)  # where in a RandomState its own copy of the words may begin


def bit_generator_words(generator: Any) -> Any:
    """The words of a generator; it must live as long as they are looked at."""
    return _words_at(generator._bit_generator.ctypes.bit_generator.value, _WORDS, generator)


def kept_normal_words(generator: Any) -> Any:
    """The words in a RandomState that say which normal number it keeps; None where they are not where we look for them.

    There it has a copy of its bit generator's words, behind it where that copy is, and then those two.
    """
    wanted = bit_generator_words(generator).tolist()
    words = _words_at(id(generator), _PLACES[-1] + _WORDS + 3, generator).tolist()
    for place in _PLACES:
        end = place + _WORDS
        if words[place:end] == wanted and words[end] == id(generator) + 8 * place and words[end + 1] & 0xFFFFFFFF <= 1:
            return _words_at(id(generator) + 8 * (end + 1), 2, generator)
    return None


@cache
def keeps_normal_numbers_as_known() -> bool:
    """Whether those words are what NumPy itself says of a RandomState, in both directions."""
    import numpy as np

    example = np.random.RandomState(7)
    words = kept_normal_words(example)
    if words is None:
        return False
    for _ in range(3):
        example.standard_normal()
        state: Any = example.get_state(legacy=False)
        if (int(words[0]) & 0xFFFFFFFF, words[1:].view(np.float64)[0]) != (state["has_gauss"], state["gauss"]):
            return False
    words[:1].view(np.int32)[0], words[1:].view(np.float64)[0] = 1, 2.5
    return float(example.standard_normal()) == 2.5


def _words_at(address: int, count: int, owner: Any) -> Any:
    import ctypes

    import numpy as np

    words: Any = (ctypes.c_uint64 * count).from_address(address)
    words._owner = owner  # it lives as long as they do
    return np.frombuffer(words, dtype=np.uint64)


def is_shared_safely(generator: Any) -> bool:
    """Whether a kernel may hold the generator's lock while NumPy, called by the kernel, takes it again."""
    bits = getattr(generator, "_bit_generator", None)
    has_functions = hasattr(bits, "capsule") and hasattr(bits, "ctypes")
    return has_functions and isinstance(getattr(bits, "lock", None), type(threading.RLock()))
