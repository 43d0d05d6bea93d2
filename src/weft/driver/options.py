"""What can be chosen for a program, and where the choice comes from: keyword, `weft.config`, environment, pyproject.

@weft.program(threads=1)      this program
weft.config.threads = 1       this process
WEFT_NUM_THREADS=1            this shell
[tool.weft] threads = 1       this project (pyproject.toml in the working directory or above)
"""

from __future__ import annotations

import os
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from weft.support.records import record

FALLBACKS = ("warn", "error")
DEVICES = ("cpu",)
# The passes that can be left out, one by one; here too so that a wrong name is told without loading the compiler.
PASSES = (
    "name-arrays", "simplify", "common-results", "structure-continues", "bounded-counts", "unify-carries",
    "unify-branches", "split-ranges", "hoist-guards", "gather-guards", "guards-ahead", "dead-code", "sums-in-range",
    "inner-products", "inline-producers", "distribute-loops", "loop-reductions", "recurrences-outward", "sums-forward",
    "loop-to-map", "collapse-maps", "rows-in-order", "sums-outward", "pack-lines", "split-maps", "add-products",
    "sums-of-rows", "contractions", "choose-stores", "read-pieces", "strip-survivors", "fuse-maps", "block-products",
    "sweep-matrices", "join-collections", "dense-refs", "split-loops", "stride-1", "loops-inward", "mirror-pairs",
    "in-place", "private-arrays", "private-bins", "hoist-allocations", "stack-arrays", "carried-in-place",
    "block-calls", "report-wishes", "fuse-rows", "flatten-maps", "strip-loops", "jam-lines", "fuse-reductions",
    "schedule-maps", "jam-rows", "team-loops", "slide-rows",
)  # fmt: skip


class ProgramOptions(TypedDict, total=False):
    """The keywords of `weft.program`."""

    fallback: Literal["warn", "error"]
    fast: bool
    strict: bool
    threads: int | None
    verify: bool
    device: str
    without: tuple[str, ...]


@record
class Options:
    """The choices for one program. `threads` None means the machine's default."""

    fallback: str = "warn"  # "error": refuse what would run in Python
    fast: bool = False  # allow what -ffast-math allows
    strict: bool = False  # mathematical functions give NumPy's bits
    threads: int | None = None
    verify: bool = False  # run Python beside the compiled code and compare
    device: str = "cpu"
    without: tuple[str, ...] = ()  # passes to leave out, by name

    def __post_init__(self) -> None:
        _one_of("fallback", self.fallback, FALLBACKS)
        _one_of("device", self.device, DEVICES)
        if isinstance(cast("object", self.without), str):
            raise TypeError(f"without must be a tuple of names of passes, not {self.without!r}")
        for name in self.without:
            _one_of("a pass in `without`", name, PASSES)
        for name in ("fast", "strict", "verify"):
            if not isinstance(cast("object", getattr(self, name)), bool):
                raise TypeError(f"{name} must be True or False, not {getattr(self, name)!r}")
        threads = cast("object", self.threads)
        if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or threads < 1):
            raise ValueError(f"threads must be a positive number, not {threads!r}")
        if self.fast and self.strict:
            raise ValueError("fast and strict exclude each other")


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        listed = " or ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name} must be {listed}, not {value!r}")


class Config:
    """`weft.config`: defaults for programs of this process; assign to its attributes."""

    __slots__ = ("_chosen",)

    def __init__(self) -> None:
        object.__setattr__(self, "_chosen", {})

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _NAMES:
            raise AttributeError(f"weft.config has no option '{name}'; options: {', '.join(_NAMES)}")
        replace(Options(), **{name: value})
        self._chosen[name] = value

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(f"weft.config has no option '{name}'")
        return getattr(resolve({}), name)

    def chosen(self) -> dict[str, Any]:
        """What was assigned."""
        return dict(self._chosen)


_NAMES = tuple(field.name for field in fields(Options))
config = Config()


def resolve(keywords: ProgramOptions | dict[str, Any]) -> Options:
    """The options of a program: keyword, else `weft.config`, else environment, else pyproject.toml."""
    _check_names(keywords)
    chosen: dict[str, Any] = {**_from_project(), **_from_environment(), **config.chosen(), **keywords}
    return Options(**chosen)


def refine(options: Options, keywords: ProgramOptions) -> Options:
    """The options of a program with some of them chosen anew."""
    _check_names(keywords)
    return replace(options, **keywords)


def _check_names(keywords: ProgramOptions | dict[str, Any]) -> None:
    unknown = [name for name in keywords if name not in _NAMES]
    if unknown:
        raise TypeError(f"weft.program has no option '{unknown[0]}'; options: {', '.join(_NAMES)}")


def _from_environment() -> dict[str, Any]:
    found: dict[str, Any] = {}
    if os.environ.get("WEFT_FALLBACK"):
        found["fallback"] = os.environ["WEFT_FALLBACK"]
        _one_of("WEFT_FALLBACK", found["fallback"], FALLBACKS)
    for name in ("fast", "strict", "verify"):
        text = os.environ.get(f"WEFT_{name.upper()}", "")
        if text:
            found[name] = text not in ("0", "false", "no")
    if os.environ.get("WEFT_WITHOUT"):
        found["without"] = tuple(name.strip() for name in os.environ["WEFT_WITHOUT"].split(","))
    return found


@cache
def _from_project() -> dict[str, Any]:
    for folder in (Path.cwd(), *Path.cwd().parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            try:
                table = _read_table(file.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                return {}
            return {name: value for name, value in table.items() if name in _NAMES}
    return {}


def _read_table(text: str) -> dict[str, Any]:
    """`[tool.weft]`, in any way to write it. Most projects have none, and the parser takes 14 ms to load."""
    lines = [line.lstrip() for line in text.splitlines() if "tool" in line]
    if not any("weft" in line or (line.startswith("[") and "." not in line) for line in lines):
        return {}
    import tomllib

    return tomllib.loads(text).get("tool", {}).get("weft", {})


def is_disabled() -> bool:
    """Whether WEFT_DISABLE asks for plain Python."""
    return os.environ.get("WEFT_DISABLE", "") not in ("", "0")


def dump_directory() -> Path | None:
    """Where WEFT_DUMP wants graphs, C text and a log."""
    text = os.environ.get("WEFT_DUMP", "")
    return Path(text) if text else None


def reproducer_choice() -> str:
    """The directory WEFT_REPRODUCERS names for scripts that show a fault again; "0" for none."""
    return os.environ.get("WEFT_REPRODUCERS", "")


def compiler_choice() -> str | None:
    """The compiler WEFT_CC names."""
    return os.environ.get("WEFT_CC") or None


def compile_timeout_s() -> float:
    """Seconds the C compiler may take (WEFT_COMPILE_TIMEOUT)."""
    text = os.environ.get("WEFT_COMPILE_TIMEOUT", "")
    try:
        return float(text) if text else 120.0
    except ValueError:
        return 120.0


def wants_sanitizers() -> bool:
    """Whether generated code is built with the address and undefined-behaviour sanitizers (WEFT_SANITIZE)."""
    return os.environ.get("WEFT_SANITIZE", "") not in ("", "0")
