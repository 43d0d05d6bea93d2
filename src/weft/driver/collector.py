"""Python's collector of cyclic garbage, and how it waits for a compile.

A compile makes a hundred thousand small objects, most of which it needs to its end. Every few hundred of them the
collector searches the newest, then all there are, the user's among them, and finds nothing: a twelfth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """No search inside; after the last of several, in whatever threads, things are as they were before the first."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
