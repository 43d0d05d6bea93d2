"""What a framework is to the suite: how its environment is made, and how it turns a kernel's source into a call.

A framework is one object behind the entry point group `weft.bench_frameworks`. The runner loads it in Weft's own
interpreter to read what it says of itself; the worker loads it again in the framework's interpreter to build. So its
module imports the framework inside `version` and `build` alone, and otherwise nothing but the standard library, NumPy
and `weft_bench`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from weft_bench.kernel import Inputs, Kernel

ENTRY_POINTS = "weft.bench_frameworks"
NUMPY_RESULTS = "NumPy's results"  # `math` of a framework that promises what NumPy gives


class UnsupportedKernelError(Exception):
    """The framework cannot take this kernel, and says why; raised by `build`."""


def _as_they_are(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The program a framework is given.

    `path` is the kernel's own file, or that of the override: a module which defines a function of the kernel's name
    with the kernel's parameters. An override of a kernel that the framework cannot run at all defines
    `UNSUPPORTED = "why"` instead, which becomes an `UnsupportedKernelError`. `artefacts` is a folder that is kept, one
    for each key of source, framework, version and flags: what was compiled before is found there again.
    """

    kernel: Kernel
    path: Path
    is_override: bool
    artefacts: Path
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A kernel ready to run.

    `call` takes the kernel's arguments by name. What is timed is `wait(call(**loaded))`: `load` turns fresh host
    arguments into what `call` wants and `unload` a result into NumPy's types, both outside the time. `returns_outputs`:
    the call changes none of its arguments and returns the kernel's outputs, in their order, as a tuple (or the one).
    """

    call: Callable[..., Any]
    load: Callable[[Inputs], Inputs] = _as_they_are
    wait: Callable[[Any], Any] = _as_they_are
    unload: Callable[[Any], Any] = _as_they_are
    returns_outputs: bool = False
    # Nothing was compiled, an earlier run left it; asked after the first call where that is when a framework knows.
    from_artefacts: bool | Callable[[], bool] = False


class Framework(Protocol):
    """One way to run the kernels."""

    @property
    def name(self) -> str:
        """As written on the command line: "numba"."""
        ...

    @property
    def title(self) -> str:
        """As in the figures: "Numba"."""
        ...

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip installs into its environment; none: it runs in Weft's own interpreter."""
        ...

    @property
    def math(self) -> str:
        """What it may do to floating point: `NUMPY_RESULTS`, "fastmath"."""
        ...

    @property
    def needs_gpu(self) -> bool:
        """Whether it is "not available" on a machine without one."""
        ...

    @property
    def overrides(self) -> str:
        """The folder of `weft_bench/overrides` with its adaptations; weft-fast shares that of weft."""
        ...

    def environment(self, threads: int) -> Mapping[str, str]:
        """Variables its worker is started with, above all those that fix the number of threads."""
        ...

    def version(self) -> str:
        """The framework's version; called in the worker."""
        ...

    def build(self, source: Source, arguments: Inputs) -> Built:
        """Compile as far as the framework does before the first call; `arguments` are an example to take types from."""
        ...

    def added_lines(self, source: Source) -> tuple[str, ...]:
        """The lines `build` adds to an unchanged kernel: its decorator, export line or import."""
        ...
