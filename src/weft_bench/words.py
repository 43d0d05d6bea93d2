"""A word that is not known, the known one that was meant, and the error that says so."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """The command line asks for something that does not exist; `str()` is the message, the exit status is 2."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'jacobi_2d'?`, or nothing when no known word is near."""
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1) or [name for name in words if word and word in name][:1]
    return f"did you mean {near[0]!r}?" if near else ""


def unknown(kind: str, word: str, known: Iterable[str], way_out: str) -> UsageError:
    """The error for a word that names nothing: what was meant, and the command or list that shows what there is."""
    parts = [f"there is no {kind} {word!r};", nearest(word, known), way_out]
    return UsageError(" ".join(part for part in parts if part))
