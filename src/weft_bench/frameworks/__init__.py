"""The frameworks the suite knows, found through entry points; a package brings its own the same way.

in:   the entry point group `weft.bench_frameworks`: a name, and "module:OBJECT"
out:  `load_frameworks()`, what each of them says of itself and where a worker finds it again

    [project.entry-points."weft.bench_frameworks"]
    fastarrays = "fastarrays.weft_adapter:FRAMEWORK"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from weft_bench.frameworks.protocol import ENTRY_POINTS, Framework
from weft_bench.words import UsageError

ORDER = ("numpy", "weft", "weft-fast", "numba", "jax", "pythran", "dace", "cupy", "jax-gpu")


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
    names = [name for name in ORDER if name in entries] + sorted(set(entries) - set(ORDER))
    return {name: _load(entries[name]) for name in names}


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
