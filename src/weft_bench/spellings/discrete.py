"""Integers, graphs, strings and signals in other words: tables, masks, spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Mix:
    """How two signals are added."""

    gain: float
    weight: float
    offset: float = 0.0


def clipping(
    a: NDArray[Any], b: NDArray[Any], low: float, high: float, gain: float, weight: float, offset: float
) -> NDArray[Any]:
    """Masks cut both ends of a copy, which becomes the result in place."""
    mix = Mix(gain, weight, offset=offset)
    result = a.copy()
    result[result < low] = low
    result[result > high] = high
    result *= mix.gain
    result += b * mix.weight
    result += mix.offset
    return result


def crc16(data: NDArray[Any], polynomial: int) -> int:
    """With a table: what eight shifts do to each value of the upper byte."""

    def shift_out(byte: int) -> int:
        register = byte << 8
        for _ in range(8):
            register = (register << 1) ^ polynomial if register & 0x8000 else register << 1
        return register & 0xFFFF

    table = [shift_out(byte) for byte in range(256)]
    register = 0xFFFF
    for byte in data.tobytes():
        register = ((register << 8) & 0xFF00) ^ table[(register >> 8) ^ byte]
    return register


def floyd_warshall(path: NDArray[Any]) -> None:
    """The ways through one node, copied where they are shorter."""
    nodes, _ = path.shape
    for stop in range(nodes):
        through = np.add.outer(path[:, stop], path[stop, :])
        np.copyto(path, through, where=through < path)


def nussinov(strand: NDArray[Any], table: NDArray[Any]) -> None:
    """Short sections first, so that all parts of a section are known before it."""
    bases = len(strand)
    for span in range(1, bases):
        for i in range(bases - span):
            j = i + span
            best = (table[i, i:j] + table[i + 1 : j + 1, j]).max()
            if strand[i] + strand[j] == 3:
                best = max(best, table[i + 1, j - 1] + 1)
            table[i, j] = best
