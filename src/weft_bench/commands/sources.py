"""What the commands on results share: which run a word means, and where tables are printed.

`results.sqlite` is the last run of that file, `results.sqlite#3` its third.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rich.console import Console

from weft_bench.cells import Run
from weft_bench.store import Store, open_store
from weft_bench.words import UsageError

WIDE = 240


def find_run(word: str, number: int | None = None) -> tuple[Store, Run]:
    """The run and the store it is in; `number` is that of `--run`. A file whose own name ends in `#3` is the file."""
    path, named = split_number(word)
    store = open_store(path)
    chosen = named if number is None else number
    run = store.last() if chosen is None else store.run(chosen)
    if run is None:
        raise UsageError(f"{path} holds no run yet; `weft bench run -o {path}` makes one")
    if not run.cells:
        raise UsageError(f"run {run.id} of {path} has no results yet; `weft bench run --resume -o {path}` goes on")
    return store, run


def make_console() -> Console:
    """As wide as the terminal; in a file or a pipe, wide enough to cut nothing off."""
    return Console(width=None if sys.stdout.isatty() else WIDE)


def split_number(word: str) -> tuple[str, int | None]:
    """The file and the run's number, if there is one."""
    found = re.fullmatch(r"(.+)#(\d+)", word)
    if found is None or Path(word).exists():
        return word, None
    return found[1], int(found[2])
