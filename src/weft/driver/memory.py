"""`weft.clear()`: memory that is kept for the next call goes back to the system."""

from __future__ import annotations

import sys


def clear() -> int:
    """Give back the memory kept for later calls, of temporaries and of results nobody has any more; its bytes.

    Arrays you hold are not touched, nor is what was compiled (for that, `weft cache clear`).
    """
    native = sys.modules.get("weft.runtime.native")  # loading it is not worth while: then nothing was compiled yet
    return 0 if native is None else native.free_kept_memory()
