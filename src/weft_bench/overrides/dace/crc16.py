"""16-bit cyclic redundancy check for DaCe, which loops over numbers and not over arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def crc16(data: NDArray[Any], polynomial: int) -> int:
    """The register after the last byte."""
    register = np.int64(0xFFFF)
    for i in range(len(data)):
        byte = np.int64(data[i])
        register = register ^ (byte << 8)
        for _ in range(8):
            register = register << 1
            if register & 0x10000 > 0:
                register = (register ^ polynomial) & 0xFFFF
    return register
