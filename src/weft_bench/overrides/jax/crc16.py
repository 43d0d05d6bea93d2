# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The cyclic redundancy check for JAX: a scan over the bytes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as np
from jax import lax
from numpy.typing import NDArray


@jax.jit(static_argnames=("polynomial",))
def crc16(data: NDArray[Any], polynomial: int) -> Any:
    """The register after the last byte: the remainder of the message divided by the polynomial."""

    def put_in(register: Any, byte: Any) -> Any:
        register ^= byte.astype(int) << 8
        for _ in range(8):
            register <<= 1
            register = np.where(register & 0x10000, (register ^ polynomial) & 0xFFFF, register)
        return register, None

    return lax.scan(put_in, np.asarray(0xFFFF), data)[0]
