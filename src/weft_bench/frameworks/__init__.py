"""The frameworks the suite knows, found through entry points; a package brings its own the same way.

in:   the entry point group `weft.bench_frameworks`: a name, and "module:OBJECT"
out:  `load_frameworks()`, what each of them says of itself and where a worker finds it again

A checkout that runs without being installed (`PYTHONPATH=src python -m weft_bench`) has no entry points yet: ours are
read where they would come from.

    [project.entry-points."weft.bench_frameworks"]
    fastarrays = "fastarrays.weft_adapter:FRAMEWORK"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from weft_bench.frameworks.protocol import ENTRY_POINTS, Framework
from weft_bench.words import UsageError

ORDER = ("numpy", "weft", "weft-fast", "numba", "jax", "pythran", "dace", "cupy", "jax-gpu")
PROJECT_FILE = Path(__file__).parents[3] / "pyproject.toml"  # of a checkout; an installed package has none there


@dataclass(frozen=True, slots=True)
class Registered:
    """A framework and the "module:OBJECT" behind which a worker finds it; `problem` says why it could not be loaded."""

    name: str
    place: str
    framework: Framework | None
    problem: str = ""

    def loaded(self) -> Framework:
        """The framework; a `UsageError` with the reason where its adapter is broken."""
        if self.framework is None:
            raise UsageError(self.problem)
        return self.framework


def load_frameworks() -> Mapping[str, Registered]:
    """Every framework by name, ours first. One whose adapter cannot be imported stands there with the problem."""
    entries = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if "numpy" not in entries:
        entries = {**_entries_of_checkout(), **entries}
    names = [name for name in ORDER if name in entries] + sorted(set(entries) - set(ORDER))
    return {name: _load(entries[name]) for name in names}


def _entries_of_checkout() -> dict[str, EntryPoint]:
    """What installing this checkout would register."""
    try:
        project = tomllib.loads(PROJECT_FILE.read_text(encoding="utf-8"))["project"]
        places: dict[str, str] = project["entry-points"][ENTRY_POINTS]
    except (OSError, ValueError, KeyError) as error:
        message = f"nothing is registered as {ENTRY_POINTS}, not even NumPy: Weft is not installed here (pip install)"
        raise UsageError(message) from error
    return {name: EntryPoint(name, place, ENTRY_POINTS) for name, place in places.items()}


def _load(entry: EntryPoint) -> Registered:
    try:
        framework = entry.load()
    except Exception as error:  # noqa: BLE001  (a broken adapter of one package must not take the others away)
        reason = f"framework {entry.name}: its adapter {entry.value} cannot be loaded: {type(error).__name__}: {error}"
        return Registered(entry.name, entry.value, None, reason)
    if getattr(framework, "name", None) != entry.name:
        called = getattr(framework, "name", None)
        reason = (
            f"framework {entry.name}: the object behind {entry.value} calls itself {called!r}; both names must agree"
        )
        return Registered(entry.name, entry.value, None, reason)
    return Registered(entry.name, entry.value, framework)
