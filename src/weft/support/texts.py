"""The characters of a string as numbers, for programs that count and compare them.

in:   "GATTACA"
out:  [71, 65, 84, 84, 65, 67, 65], uint32, not to be written

match.c does the same when a program is called.
"""

from __future__ import annotations

from typing import Any, Final

TEXT: Final = "text"  # the function of such a conversion, beside those of NumPy


def code_points(text: str) -> Any:
    """The code points of a string, lone surrogates as they are."""
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def convert(function: str, value: Any) -> Any:
    """What a slot of a converted object holds: its code points, or what NumPy makes of it."""
    import numpy as np

    return code_points(value) if function == TEXT else getattr(np, function)(value)
