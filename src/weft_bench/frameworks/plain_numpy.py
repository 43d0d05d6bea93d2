"""NumPy itself: the kernel as it is, the measure of all others. Measured as a framework it gives the noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft_bench.frameworks.protocol import NUMPY_RESULTS, Built, Source
from weft_bench.kernel import Inputs


@dataclass(frozen=True, slots=True)
class PlainNumpy:
    """Calls the kernel's function."""

    name: str = "numpy"
    title: str = "NumPy"
    requirements: tuple[str, ...] = ()
    math: str = NUMPY_RESULTS
    needs_gpu: bool = False
    overrides: str = "numpy"

    def environment(self, threads: int) -> Mapping[str, str]:
        """Nothing beyond what every worker is given: the threads of BLAS."""
        return {}

    def version(self) -> str:
        """NumPy's version."""
        import numpy as np

        return np.__version__

    def build(self, source: Source, arguments: Inputs) -> Built:
        """Nothing to build."""
        return Built(call=source.kernel.function)

    def added_lines(self, source: Source) -> tuple[str, ...]:
        """None: this is the source."""
        return ()


NUMPY = PlainNumpy()
