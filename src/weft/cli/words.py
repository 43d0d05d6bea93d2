"""A word that is not known, and the known one that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'cache'?`, or the list of the known words when none is near."""
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(words)}"
