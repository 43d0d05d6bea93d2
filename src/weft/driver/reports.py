"""What a program tells its user besides its result: floating-point warnings, remarks, reproducers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from weft.support.abi import KernelInfo
from weft.support.errors import PerformanceWarning

# flag of the kernel, name in np.errstate, NumPy's words
_KINDS = (
    (1, "divide", "divide by zero"),
    (2, "over", "overflow"),
    (4, "under", "underflow"),
    (8, "invalid", "invalid value"),
)


def warn_floating_point(function: FunctionType, info: KernelInfo, found: Sequence[tuple[int, int]]) -> None:
    """RuntimeWarnings as NumPy gives them, at the user's lines, as np.errstate wants them."""
    modes: dict[str, str] = dict(np.geterr())  # type: ignore[reportArgumentType]
    registry = function.__globals__.setdefault("__warningregistry__", {})
    for flags, number in found:
        site = info.warn_sites[number]
        inside = dict(part.split("=") for part in site.modes.split())
        for flag, kind, words in _KINDS:
            if flags & flag and inside.get(kind, modes.get(kind)) == "warn":
                warnings.warn_explicit(
                    f"{words} encountered in {site.operation}",
                    RuntimeWarning,
                    function.__code__.co_filename,
                    site.line,
                    function.__module__ or "<string>",  # None: never shown
                    registry,
                )


def tell_remarks(function: FunctionType, info: KernelInfo, told: set[tuple[str, int]]) -> None:
    """What the compiler had to say about a kernel, once per place; `told` are those of the program so far."""
    for remark in info.remarks:
        file = remark.file or function.__code__.co_filename
        if (file, remark.line) not in told:
            told.add((file, remark.line))
            warnings.warn_explicit(remark.text, PerformanceWarning, file, remark.line)


def save_reproducer(function: FunctionType, params: Sequence[Any]) -> Path | None:
    """A script with the function and arguments of the same types, for a report; None where it cannot be written."""
    import inspect
    import tempfile
    import traceback

    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = f"# the source of {function.__qualname__} is not available\n"
    lines = ["# A program that Weft failed on.", "import numpy as np", "import weft", "", text, ""]
    lines.append(f"arguments = [{', '.join(_shown(param) for param in params)}]")
    lines.append(f"weft.program({function.__name__}, fallback='error')(*arguments)")
    lines += ["", *(f"# {line}" for line in traceback.format_exc().splitlines())]
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="weft-report-", suffix=".py", delete=False, encoding="utf-8"
        ) as file:
            file.write("\n".join(lines) + "\n")
    except OSError as problem:
        sys.stderr.write(f"weft: no reproducer could be written: {problem}\n")
        return None
    return Path(file.name)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.ones({value.shape}, dtype={value.dtype.str!r})"  # type: ignore[reportUnknownMemberType]
    return repr(value)
