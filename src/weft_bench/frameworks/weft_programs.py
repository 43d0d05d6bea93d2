"""Weft: the kernel with `weft.program` on it, as a user has it, and the same with `fast=True`.

What Weft compiles it keeps in a cache of its own, here one for all kernels below the folder of artefacts: the part of
Weft that is compiled once per machine is then not part of every kernel's time.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft_bench.frameworks.protocol import NUMPY_RESULTS, Built, Source
from weft_bench.fresh_process import WARM_UP, ScriptError, run_script
from weft_bench.kernel import Inputs
from weft_bench.loading import function_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WeftPrograms:
    """`weft.program` in its default semantics; `fast` allows what -ffast-math allows."""

    name: str
    title: str
    math: str
    fast: bool
    requirements: tuple[str, ...] = ()
    needs_gpu: bool = False
    overrides: str = "weft"

    def environment(self, threads: int) -> Mapping[str, str]:
        """Weft's own number of threads."""
        return {"WEFT_NUM_THREADS": str(threads)}

    def version(self) -> str:
        """Weft's version."""
        import weft

        return weft.__version__

    def prepare(self, source: Source) -> None:
        """Choose the cache, and where it is new let another process compile what all programs share."""
        cache = source.artefacts.parent / "cache"
        os.environ["WEFT_CACHE_DIR"] = str(cache)
        if not cache.exists():
            with contextlib.suppress(ScriptError):  # a machine without a compiler: the kernel's own call tells it
                run_script(WARM_UP, cache)

    def build(self, source: Source, arguments: Inputs) -> Built:
        """Decorate; Weft compiles at the first call, and knows after it whether it had to."""
        import weft

        program = weft.program(function_of(source), fast=self.fast)
        return Built(call=program, from_artefacts=lambda: _all_from_cache(program.stats))

    def added_lines(self, source: Source) -> tuple[str, ...]:
        """The import and the decorator."""
        return ("import weft", "@weft.program(fast=True)" if self.fast else "@weft.program")


def _all_from_cache(stats: Any) -> bool:
    """Nothing was compiled, and not because everything runs in Python."""
    return stats.compiles == 0 and stats.cache_hits > 0


WEFT = WeftPrograms(name="weft", title="Weft", math=NUMPY_RESULTS, fast=False)
WEFT_FAST = WeftPrograms(name="weft-fast", title="Weft (fast)", math="fast=True: as -ffast-math", fast=True)
