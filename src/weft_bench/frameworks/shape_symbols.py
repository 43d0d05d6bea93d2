"""Name the extents of a kernel's arrays, so that one compiled program serves every size.

in:   a kernel, and an example of its arguments
out:  per array its shape in symbols: fdtd_2d gives {"ex": ("n_rows", "n_columns + 1"), "hz": ("n_rows", "n_columns")}

The kernel's own `make_inputs` is asked: it runs at a few small sizes, one size changed at a time, and an extent that
follows one of them is that size's symbol, plus a constant. One that follows none, or several, is a symbol of its own,
shared with the extents that are always equal to it; one that never changes is a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from weft_bench.frameworks.extraction import is_array
from weft_bench.kernel import Inputs, Kernel, Sizes

SHRINK = 4  # probes are cheap, and still different where a size counts in powers of two or four


@dataclass(frozen=True, slots=True)
class Extent:
    """`symbol + offset`, or `offset` alone where there is no symbol."""

    symbol: str
    offset: int

    def __str__(self) -> str:
        if not self.symbol:
            return str(self.offset)
        return f"{self.symbol} + {self.offset}" if self.offset else self.symbol


Shapes = dict[str, tuple[Extent, ...]]


def name_extents(kernel: Kernel, arguments: Inputs) -> Shapes:
    """The shapes of all arrays in symbols; in numbers, if the symbols did not give the example's extents."""
    arrays = {name: value for name, value in arguments.items() if is_array(value)}
    for probes in (_probe_small, _probe_large):
        try:
            shapes = _name_by_probes(kernel, list(arrays), list(probes(kernel.presets["S"])))
        except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):  # a user's kernel may refuse sizes
            continue
        if _explains(shapes, arrays):
            return shapes
    return number_extents(arguments)


def number_extents(arguments: Inputs) -> Shapes:
    """The shapes of these very arrays: the program serves no other size."""
    arrays = {name: value for name, value in arguments.items() if is_array(value)}
    return {name: tuple(Extent("", extent) for extent in array.shape) for name, array in arrays.items()}


def symbol_values(shapes: Shapes, arguments: Inputs) -> dict[str, int]:
    """What the symbols are for these arguments."""
    return {
        extent.symbol: int(length) - extent.offset
        for name, shape in shapes.items()
        for extent, length in zip(shape, arguments[name].shape, strict=True)
        if extent.symbol
    }


def _explains(shapes: Shapes, arrays: dict[str, NDArray[Any]]) -> bool:
    values = symbol_values(shapes, arrays)
    return all(
        values.get(extent.symbol, 0) + extent.offset == length
        for name, shape in shapes.items()
        for extent, length in zip(shape, arrays[name].shape, strict=True)
    )


def _name_by_probes(kernel: Kernel, arrays: list[str], probes: list[dict[str, int]]) -> Shapes:
    found = [kernel.inputs(sizes) for sizes in probes]
    sizes = {name: tuple(probe[name] for probe in probes) for name in probes[0]}
    own: dict[tuple[int, ...], str] = {}
    return {
        name: tuple(
            _name_extent(tuple(inputs[name].shape[axis] for inputs in found), sizes, own, f"n_{name}_{axis}")
            for axis in range(found[0][name].ndim)
        )
        for name in arrays
    }


def _probe_small(largest: Sizes) -> Iterator[dict[str, int]]:
    """Small sizes, then the same with one of them as large as it was, in turn."""
    small = _shrink(largest)
    yield small
    for name, value in largest.items():
        yield small | {name: max(value, small[name] + 1)}


def _probe_large(largest: Sizes) -> Iterator[dict[str, int]]:
    """The other way round, for extents that vanish unless several sizes are large: what convolutions leave."""
    yield dict(largest)
    for name, value in _shrink(largest).items():
        yield {**largest, name: value}


def _shrink(largest: Sizes) -> dict[str, int]:
    return {name: max(1, value // SHRINK) for name, value in largest.items()}


def _name_extent(
    lengths: tuple[int, ...], sizes: dict[str, tuple[int, ...]], own: dict[tuple[int, ...], str], name: str
) -> Extent:
    if len(set(lengths)) == 1:
        return Extent("", lengths[0])
    for size, values in sizes.items():
        offsets = {length - value for length, value in zip(lengths, values, strict=True)}
        if len(offsets) == 1:
            return Extent(f"n_{size}", offsets.pop())
    return Extent(own.setdefault(lengths, name), 0)
