"""Where compiled programs are kept, as the environment asks for it."""

from __future__ import annotations

import os
from pathlib import Path

from weft.runtime.cache import Cache, open_cache


def user_cache() -> Cache:
    """The cache in WEFT_CACHE_DIR, else in the user's cache directory."""
    explicit = os.environ.get("WEFT_CACHE_DIR")
    xdg = os.environ.get("XDG_CACHE_HOME")
    return open_cache(Path(explicit) if explicit else None, Path(xdg) if xdg else Path.home() / ".cache")
