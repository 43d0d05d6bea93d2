"""Facts about this installation.

in:   nothing
out:  name and value pairs for `weft info`, in the order to show them

A fact that cannot be found out is said to be unknown; nothing here fails.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from weft.driver.storage import user_cache
from weft.runtime.threads import available_processors, default_threads
from weft.runtime.toolchain import find_toolchain
from weft.support.errors import WeftError

UNKNOWN = "unknown"


def describe() -> list[tuple[str, str]]:
    """What a report of a fault should carry: versions, compiler, processor, cache, threads, BLAS."""
    packages = [(name, package_version(name)) for name in ("weft", "numpy", "islpy", "scipy")]
    return [
        *packages,
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("system", platform.platform()),
        ("processor", processor()),
        ("threads", threads()),
        ("compiler", compiler()),
        ("blas", blas()),
        ("cache", cache()),
        ("environment", environment()),
    ]


def package_version(name: str) -> str:
    """The version installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def processor() -> str:
    """The model's name and the number of processors of the machine."""
    model = platform.processor() or platform.machine() or UNKNOWN
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else model}, {os.cpu_count() or UNKNOWN} processors"


def threads() -> str:
    """How many a program uses unless told otherwise, and how many this process may use."""
    return f"{default_threads()} of {available_processors()} available"


def compiler() -> str:
    """The C compiler that is used, or why there is none."""
    try:
        toolchain = find_toolchain(os.environ.get("WEFT_CC"), user_cache().toolchain_memory)
    except WeftError as error:
        return f"none: {error}"
    return f"{toolchain.version} ({' '.join(toolchain.command)})"


def blas() -> str:
    """The library behind NumPy's products."""
    import numpy as np

    config = cast("dict[str, Any]", np.show_config(mode="dicts"))
    found: dict[str, str] = config.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', UNKNOWN)} {found.get('version', '')}".strip()


def cache() -> str:
    """Where compiled programs are kept; why not where they should be, if so."""
    used = user_cache()
    place = str(used.root or "memory")
    return f"{place} ({used.problem})" if used.problem else place


def environment() -> str:
    """The settings of Weft that come from the environment."""
    return " ".join(f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("WEFT_")) or "-"
