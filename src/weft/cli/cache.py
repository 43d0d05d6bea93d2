"""`weft cache`: look at the compiled programs on disk, check them, remove them.

in:   one word: path, list, verify or clear
out:  text, and the exit status: 1 where an entry is damaged or the directory cannot be used
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from weft.cli.words import suggest
from weft.driver.storage import user_cache
from weft.runtime.cache import Cache, EntrySummary

Action: TypeAlias = Callable[[Cache, Path], int]


def run(argv: Sequence[str]) -> int:
    """Do what the word asks for; the exit status."""
    lines = [f"  {name:<8} {action.__doc__}" for name, action in ACTIONS.items()]
    parser = argparse.ArgumentParser(
        prog="weft cache",
        usage="weft cache [--help] action",
        description="Compiled programs on disk.",
        epilog="\n".join(["actions:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", help=argparse.SUPPRESS)
    word = parser.parse_args(argv).action
    if word not in ACTIONS:
        print(f"weft cache: there is no action {word!r}; {suggest(word, ACTIONS)}", file=sys.stderr)
        return 2
    cache = user_cache()
    if cache.problem or cache.root is None:
        print(f"weft cache: the cache directory is not used: {cache.problem}", file=sys.stderr)
        return 1
    return ACTIONS[word](cache, cache.root)


def _path(_cache: Cache, root: Path) -> int:
    """where compiled programs are kept"""
    print(root)
    return 0


def _list(cache: Cache, root: Path) -> int:
    """what is there, oldest first"""
    entries = cache.entries()
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        print(_line(entry, width))
    print(f"{_count(len(entries))}, {_size(sum(entry.size_bytes for entry in entries))} in {root}")
    return 0


def _verify(cache: Cache, root: Path) -> int:
    """check every entry, name those that are damaged"""
    problems = cache.verify()
    for name, reason in problems:
        print(f"{name}: {reason}")
    if problems:
        print(f"{_count(len(problems))} damaged in {root}; they will be compiled again when they are needed")
        return 1
    print(f"{_count(len(cache.entries()))} in {root}, all sound")
    return 0


def _clear(cache: Cache, root: Path) -> int:
    """remove everything"""
    print(f"removed {_count(cache.clear())} from {root}")
    return 0


ACTIONS: Mapping[str, Action] = MappingProxyType({"path": _path, "list": _list, "verify": _verify, "clear": _clear})


def _line(entry: EntrySummary, width: int) -> str:
    made = datetime.fromtimestamp(entry.created).strftime("%Y-%m-%d %H:%M") if entry.created else " " * 16
    state = "" if entry.ok else "  damaged"
    return f"{made}  {_size(entry.size_bytes):>10}  {entry.name:<{width}}  {entry.key[:16]}{state}"


def _count(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _size(size_bytes: int) -> str:
    for unit in ("bytes", "KiB"):
        if size_bytes < 1024:
            return f"{size_bytes} {unit}"
        size_bytes = round(size_bytes / 1024)
    return f"{size_bytes} MiB"
