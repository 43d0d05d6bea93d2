"""Run kernels in one framework and compare them with NumPy; started in that framework's own interpreter.

    python run_peers.py weft_bench.frameworks.jax_functions:JAX FOLDER [KERNEL...]

One line of JSON for each kernel and set of sizes: {"kernel": "lu", "sizes": {"n": 17}, "problem": ""}. The sizes are
those of S, and small odd ones that differ from each other, so that no two extents can be taken for one another.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import weft_bench
from weft_bench.agreement import compare_values
from weft_bench.frameworks.protocol import Framework, Source
from weft_bench.kernel import Kernel, Sizes
from weft_bench.kernels import BY_NAME, KERNELS

ODD: dict[str, dict[str, int]] = {
    "contour_integral": {"terms": 4, "n": 13, "probes": 9, "points": 7},
    "convolution": {"batch": 3, "rows": 11, "columns": 14, "channels": 2, "filters": 5, "size": 4},
    "lenet": {"batch": 3, "rows": 21, "columns": 26, "first": 5, "second": 7, "third": 11, "fourth": 9},
    "self_energies": {
        "momenta": 3, "energies": 2, "phonons": 4, "frequencies": 3, "atoms": 5, "neighbours": 3, "orbitals": 2,
    },
    "stockham_fft": {"points": 64},
}  # fmt: skip
LEAST_EPS = 1024.0  # none of them promises NumPy's bits


def main() -> None:
    place, folder, *names = sys.argv[1:]
    module, _, attribute = place.partition(":")
    framework: Framework = getattr(importlib.import_module(module), attribute)
    os.environ.update(framework.environment(2))
    for kernel in [BY_NAME[name] for name in names] or KERNELS:
        for sizes in (odd_sizes(kernel), kernel.presets["S"]):
            problem = try_kernel(framework, kernel, sizes, Path(folder) / kernel.name)
            print(json.dumps({"kernel": kernel.name, "sizes": dict(sizes), "problem": problem}), flush=True)


def odd_sizes(kernel: Kernel) -> Sizes:
    small = {name: max(value // 5, 2) + number % 2 for number, (name, value) in enumerate(kernel.presets["S"].items())}
    return ODD.get(kernel.name, small)


def try_kernel(framework: Framework, kernel: Kernel, sizes: Sizes, folder: Path) -> str:
    try:
        return find_problem(framework, kernel, sizes, folder)
    except Exception as error:  # noqa: BLE001 - whatever a framework raises is a result
        return f"{type(error).__name__}: {error}"


def find_problem(framework: Framework, kernel: Kernel, sizes: Sizes, folder: Path) -> str:
    package = Path(weft_bench.__file__).parent
    override = package / "overrides" / framework.overrides / f"{kernel.name}.py"
    path = override if override.exists() else package / "kernels" / f"{kernel.name}.py"
    source = Source(kernel=kernel, path=path, is_override=override.exists(), artefacts=folder, threads=2)
    expected_inputs = kernel.inputs(sizes)
    expected = kernel.collect(kernel.function(**expected_inputs), expected_inputs)
    built = framework.build(source, kernel.inputs(sizes))
    loaded = built.load(kernel.inputs(sizes))
    result = built.unload(built.wait(built.call(**loaded)))
    if built.returns_outputs:
        actual = dict(zip(kernel.outputs, result if len(kernel.outputs) > 1 else (result,), strict=True))
    else:
        actual = {name: built.unload(value) for name, value in kernel.collect(result, loaded).items()}
    allowed = max(kernel.tolerance(sizes), LEAST_EPS)
    verdicts = {name: compare_values(plain(value), plain(actual[name]), allowed) for name, value in expected.items()}
    return "; ".join(f"{name}: {verdict.reason}" for name, verdict in verdicts.items() if not verdict.ok)


def plain(value: Any) -> Any:
    """Arrays for scalars: Numba returns a Python float where NumPy gives one of its own."""
    return tuple(plain(item) for item in value) if isinstance(value, tuple) else np.asarray(value)


if __name__ == "__main__":
    main()
