"""16-bit redundancy check for DaCe, which loops over numbers and whose names are C++ names: none is `register`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def crc16(data: NDArray[Any], polynomial: int) -> Any:
    """The register after the last byte."""
    remainder = np.int64(0xFFFF)
    for i in range(len(data)):
        byte = np.int64(data[i])
        remainder = remainder ^ (byte << 8)
        for _ in range(8):
            remainder = remainder << 1
            if remainder & 0x10000 > 0:
                remainder = (remainder ^ polynomial) & 0xFFFF
    return remainder
