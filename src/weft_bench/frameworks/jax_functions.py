"""JAX: `np` bound to `jax.numpy`, and `jax.jit` on the kernel's function; on the CPU, and on a GPU.

in:   a kernel's file whose program assigns to no part of an array, or an override with decorators of its own
out:  an executable for the shapes of the example arguments; integers are part of the program, as loops run to them

    import jax.numpy as np
    @jax.jit(static_argnames=("stages",))
    def stockham_fft(x: NDArray[Any], radix: int, stages: int) -> NDArray[Any]:

JAX's arrays cannot be changed. An override of a kernel that changes its arguments returns them instead: all of the
kernel's outputs, in their order. Its parameters that are annotated as `int`, and no others, are static.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft_bench.frameworks.kernel_text import (
    decorate_one,
    find_item_assignment,
    load_text,
    program_of,
    replace_numpy,
)
from weft_bench.frameworks.numpy_results import as_numpy
from weft_bench.frameworks.protocol import Built, Source, UnsupportedKernelError
from weft_bench.kernel import RETURN, Inputs

IMPORT = "import jax"
CACHE_HIT, CACHE_MISS = "/jax/compilation_cache/cache_hits", "/jax/compilation_cache/cache_misses"


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxFunctions:
    """The adapter; `platform` is where XLA compiles for."""

    name: str
    title: str
    requirements: tuple[str, ...]
    platform: str
    needs_gpu: bool
    math: str = "XLA's defaults: fused multiply-add, sums in its own order, its own elementary functions"
    overrides: str = "jax"

    def environment(self, threads: int) -> Mapping[str, str]:
        """`NPROC` is what XLA takes for the number of cores."""
        names = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return {
            "JAX_ENABLE_X64": "1",
            "JAX_PLATFORMS": self.platform,
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # peak memory should be what the kernel needs
            **dict.fromkeys(names, str(threads)),
        }

    def version(self) -> str:
        import jax  # pyright: ignore[reportMissingImports]

        return str(jax.__version__)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]

    def build(self, source: Source, arguments: Inputs) -> Built:
        import jax  # pyright: ignore[reportMissingImports]

        framework: Any = jax
        events = _keep_programs(framework, source)
        if self.needs_gpu and has_single_precision(arguments):
            # Else a GPU rounds float32 to 10 bits before it multiplies matrices.
            framework.config.update("jax_default_matmul_precision", "highest")
        static = static_parameters(_text(source), source.kernel.name, arguments)
        function: Any = getattr(load_text(program(source, static), source, self.name), source.kernel.name)

        def load(inputs: Inputs) -> Inputs:
            return framework.block_until_ready(
                {name: framework.device_put(value) if _is_data(value) else value for name, value in inputs.items()}
            )

        executable: Any = function.lower(**load(arguments)).compile()

        def call(**loaded: Any) -> Any:
            return executable(**{name: value for name, value in loaded.items() if name not in static})

        return Built(
            call=call,
            load=load,
            wait=framework.block_until_ready,
            unload=as_numpy,
            returns_outputs=source.kernel.outputs != (RETURN,),
            from_artefacts=CACHE_HIT in events and CACHE_MISS not in events,
        )

    def added_lines(self, source: Source) -> tuple[str, ...]:
        if source.is_override:
            return ()
        static = static_parameters(_text(source), source.kernel.name)
        return (IMPORT, "import jax.numpy as np", decorator(static))


def decorator(static: tuple[str, ...]) -> str:
    """The line over the kernel's function."""
    return f"@jax.jit(static_argnames={static!r})" if static else "@jax.jit"


def static_parameters(text: str, name: str, arguments: Inputs | None = None) -> tuple[str, ...]:
    """Parameters that are part of the compiled program: annotated as `int`, or, where nothing is said, given as one."""
    (function,) = [node for node in program_of(text, name) if node.name == name]
    given = arguments or {}
    parameters = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return tuple(
        item.arg
        for item in parameters
        if (ast.unparse(item.annotation) == "int" if item.annotation else type(given.get(item.arg)) is int)
    )


def has_single_precision(arguments: Inputs) -> bool:
    """Whether one of the arguments is float32 or complex64."""
    return any(_is_data(value) and value.dtype in (np.float32, np.complex64) for value in arguments.values())


def program(source: Source, static: tuple[str, ...]) -> str:
    """The text JAX is given: an override as it is, a kernel that changes no array with two lines put in."""
    text, name = _text(source), source.kernel.name
    if source.is_override:
        return text
    line = find_item_assignment(text, name)
    if line is not None:
        raise UnsupportedKernelError(f"line {line} assigns to a part of an array, and those of JAX cannot be changed")
    changed = [output for output in source.kernel.outputs if output != RETURN]
    if changed:
        raise UnsupportedKernelError(f"the kernel changes {', '.join(changed)}, and arrays of JAX cannot be changed")
    return decorate_one(replace_numpy(text, "jax.numpy"), name, decorator(static), IMPORT)


def _keep_programs(framework: Any, source: Source) -> list[str]:
    """Have XLA keep what it compiles among the artefacts; the list returned fills with what its cache reports."""
    framework.config.update("jax_compilation_cache_dir", str(source.artefacts / "xla"))
    framework.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    framework.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    events: list[str] = []

    def listen(event: str, **_: Any) -> None:
        events.append(event)

    framework.monitoring.register_event_listener(listen)
    return events


def _is_data(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def _text(source: Source) -> str:
    return source.path.read_text(encoding="utf-8")


JAX = JaxFunctions(name="jax", title="JAX", requirements=("jax[cpu]==0.10.2",), platform="cpu", needs_gpu=False)
# CUDA 12 runs under the drivers of CUDA 13 too.
JAX_GPU = JaxFunctions(
    name="jax-gpu",
    title="JAX (GPU)",
    requirements=("jax[cuda12]==0.10.2",),
    platform="cuda",
    needs_gpu=True,
    math=f"{JAX.math}; products of float32 in full",
)
