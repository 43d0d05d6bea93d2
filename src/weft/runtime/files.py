"""Where our C files are; writing files so that a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

NATIVE_DIRECTORY = Path(__file__).with_name("native")  # weft_abi.h and the dispatcher's sources
_serial = itertools.count()


def unique_name(prefix: str) -> str:
    """A name no other thread or process of this machine uses at this time."""
    return f"{prefix}{os.getpid()}-{next(_serial)}-{os.urandom(4).hex()}"


def replace_file(path: Path, content: bytes) -> bool:
    """Write by rename; False (and no trace) where that is not possible."""
    temporary = path.with_name(unique_name(f".{path.name}."))
    try:
        temporary.write_bytes(content)
        temporary.chmod(0o600)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        return False
    return True
