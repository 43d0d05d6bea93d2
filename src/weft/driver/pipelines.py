"""The passes each target runs, in order."""

from __future__ import annotations

from weft.passes.base import Pass
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.parallelize_maps import ParallelizeMaps


def cpu_pipeline() -> tuple[Pass, ...]:
    """From the array level to what the C code generator takes."""
    return (
        ExpandElementwise(),
        ParallelizeMaps(),  # after expansion: only maps are scheduled
    )
