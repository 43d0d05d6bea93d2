"""The functions that are called, not compiled: all pure, their types known from those of their arguments."""

from __future__ import annotations

from weft.numpy_rules.builder import Builder
from weft.numpy_rules.registry import numpy_rule
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Operand

# Name -> calls that test it. Extents of results can depend on what is in the arrays for those in _FREE_SIZES.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "numpy.linalg.solve": ("linalg.solve(f8[3, 3] + 9, f8[3])",),
    "numpy.sort": ("sort(f8[5])",),
    "numpy.fft.fft": ("fft.fft(f8[5])",),
    "numpy.unique": ("unique(i8[5] % 3)",),
    "numpy.linalg.slogdet": (),
    "numpy.linalg.det": (),
}
_FREE_SIZES = frozenset(("numpy.unique",))


def _register(name: str, samples: tuple[str, ...]) -> None:
    @numpy_rule(name, samples=samples)
    def lower(build: Builder, *args: Operand, **keywords: Operand) -> Operand:
        return call_numpy(build, name, args, keywords, free_sizes=name in _FREE_SIZES)


for _name, _samples in _FUNCTIONS.items():
    _register(_name, _samples)
