"""Keep files, functions and classes small.

in:   the sources under `src/`, and `tools/size_ratchet.txt` with the exceptions granted so far
out:  one line per thing that is too big, exit status 1 if there is any

An exception is a line `kind size name` in the ratchet file, `function 72 src/weft/ir/parser.py:Parser.run`. It holds
the present size, and only turns one way: what grows is refused, what shrank must be lowered or struck out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# What is counted, and the wall for each.
LIMITS: Mapping[str, int] = {"file": 500, "function": 60, "class": 20}
UNITS: Mapping[str, str] = {"file": "lines", "function": "lines", "class": "methods"}

# Files that are one table and read as one: no limit on their length. Path -> reason.
TABLES: Mapping[str, str] = {}

SUFFIXES = frozenset({".py", ".c", ".h"})
ROOT = Path(__file__).resolve().parent.parent
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Size:
    """How big one file, function or class is."""

    kind: str
    name: str
    size: int

    @property
    def too_big(self) -> bool:
        return self.size > LIMITS[self.kind]


def measure_tree(root: Path) -> Iterator[Size]:
    """The sizes of everything under `root / "src"`, in the order of the paths."""
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            yield from measure_file(path, path.relative_to(root).as_posix())


def measure_file(path: Path, name: str) -> Iterator[Size]:
    """The file itself, then its functions and classes (of a C file, the file alone)."""
    text = path.read_text(encoding="utf-8")
    if name not in TABLES:
        yield Size("file", name, len(text.splitlines()))
    if path.suffix == ".py":
        yield from measure_body(ast.parse(text, name), f"{name}:")


def measure_body(parent: ast.AST, prefix: str) -> Iterator[Size]:
    """Functions and classes below `parent`, at any depth; `prefix` leads their names."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, FUNCTIONS):
            yield Size("function", prefix + node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
            yield from measure_body(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            # By name: an overload or a setter is no method more.
            methods = {item.name for item in node.body if isinstance(item, FUNCTIONS)}
            yield Size("class", prefix + node.name, len(methods))
            yield from measure_body(node, f"{prefix}{node.name}.")
        else:
            yield from measure_body(node, prefix)


def read_ratchet(path: Path) -> dict[tuple[str, str], int]:
    """The exceptions granted; blank lines and those that begin with `#` are skipped."""
    granted: dict[tuple[str, str], int] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.strip() and not line.startswith("#"):
            kind, size, name = line.split(maxsplit=2)
            granted[kind, name] = int(size)
    return granted


def find_complaints(sizes: Iterator[Size], granted: Mapping[tuple[str, str], int]) -> list[str]:
    """What is to be said about the sizes, given the exceptions."""
    complaints: list[str] = []
    open_grants = dict(granted)
    for item in sizes:
        allowed = open_grants.pop((item.kind, item.name), None)
        limit, unit = LIMITS[item.kind], UNITS[item.kind]
        if allowed is None and item.too_big:
            complaints.append(f"{item.name}: {item.kind} of {item.size} {unit}, the limit is {limit}")
        elif allowed is not None and item.size > allowed:
            complaints.append(
                f"{item.name}: {item.kind} grew from {allowed} to {item.size} {unit}, the limit is {limit}"
            )
        elif allowed is not None and not item.too_big:
            complaints.append(f"{item.name}: {item.kind} is within the limit now, strike out its exception")
        elif allowed is not None and item.size < allowed:
            complaints.append(f"{item.name}: {item.kind} shrank to {item.size} {unit}, lower its exception ({allowed})")
    complaints += [f"{name}: no such {kind}, strike out its exception" for kind, name in open_grants]
    return complaints


def main(root: Path = ROOT) -> int:
    """Check the tree at `root`; the exit status."""
    granted = read_ratchet(root / "tools" / "size_ratchet.txt")
    sizes = list(measure_tree(root))
    complaints = find_complaints(iter(sizes), granted)
    complaints += [f"{name}: no such file, strike it out of TABLES" for name in TABLES if not (root / name).exists()]
    for complaint in complaints:
        print(complaint)
    if complaints:
        print(f"size ratchet: {len(complaints)} to mend")
        return 1
    files = sum(item.kind == "file" for item in sizes)
    print(f"size ratchet: {files} files, {len(sizes) - files} functions and classes, {len(granted)} exceptions: fine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
