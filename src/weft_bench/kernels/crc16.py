"""Cyclic redundancy check of 16 bits over bytes, bit by bit: most significant bit first, register preset to ones.

in:   `data`, a vector of bytes; `polynomial`, the lower 16 bits of the generator
out:  the register at the end, a Python int

The register starts as 0xFFFF. Each byte is put, shifted left by 8, into it by exclusive or; then, eight times, the
register is shifted left by one, and if a 1 leaves its 16 bits, that bit is dropped and the polynomial put in by
exclusive or. Neither the bits of a byte nor the result are reversed, and nothing is put into the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft_bench.kernel import RETURN, Inputs, Kernel, Sizes
from weft_bench.work import Work


def crc16(data: NDArray[Any], polynomial: int) -> int:
    """The register after the last byte: the remainder of the message divided by the polynomial."""
    register = 0xFFFF
    for byte in data:
        register ^= int(byte) << 8
        for _ in range(8):
            register <<= 1
            if register & 0x10000:
                register = (register ^ polynomial) & 0xFFFF
    return register


def make_inputs(sizes: Sizes, dtype: np.dtype[Any], rng: np.random.Generator) -> Inputs:
    """Random bytes and the polynomial x^16 + x^12 + x^5 + 1."""
    return {"data": rng.integers(0, 256, sizes["bytes"]).astype(dtype), "polynomial": 0x1021}


def work(sizes: Sizes, dtype: np.dtype[Any]) -> Work:
    """On integers: per byte an exclusive or, per bit a shift, a test and an exclusive or."""
    return Work(bytes=sizes["bytes"] * dtype.itemsize, flops=(1 + 8 * 3) * sizes["bytes"])


KERNEL = Kernel(
    name="crc16",
    known_as="crc16",
    function=crc16,
    title="16-bit cyclic redundancy check",
    domain="Communication",
    dwarf="Combinational logic",
    presets={
        "S": {"bytes": 7_000},
        "M": {"bytes": 70_000},
        "L": {"bytes": 700_000},
        "paper": {"bytes": 1_000_000},
    },
    make_inputs=make_inputs,
    dtypes=("uint8",),
    outputs=(RETURN,),
    work=work,
)
