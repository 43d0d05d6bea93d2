"""`weft bench setup [FRAMEWORK...]`: make the environments of frameworks, those that are ready left alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from weft_bench.environments import SetupError, create, has_gpu, home
from weft_bench.frameworks import Registered, load_frameworks
from weft_bench.selection import choose_frameworks


def run(argv: Sequence[str]) -> int:
    """Make them one after the other; the status is 1 if one could not be made."""
    parser = argparse.ArgumentParser(prog="weft bench setup", description=__doc__)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="all that can run here by default")
    parser.add_argument("--again", action="store_true", help="make them anew even if they are ready")
    options = parser.parse_args(argv)
    chosen = choose_frameworks(options.frameworks) if options.frameworks else _all_that_can_run()
    failed: list[str] = []
    console = Console()
    for number, registered in enumerate(chosen, start=1):
        count = f"[{number}/{len(chosen)}] "
        try:
            with console.status(f"{count}{registered.name}: this may take minutes"):
                create(registered.loaded(), lambda text, count=count: _tell(console, count + text), again=options.again)
        except SetupError as error:
            print(f"{count}{error}", file=sys.stderr)
            failed.append(registered.name)
    print(f"environments are in {home() / 'environments'}")
    if failed:
        print(f"weft bench setup: {', '.join(failed)} could not be made; the others are ready", file=sys.stderr)
    return 1 if failed else 0


def _tell(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _all_that_can_run() -> list[Registered]:
    """Every framework of which something can be installed; those of a GPU where there is one."""
    chosen: list[Registered] = []
    gpu = has_gpu()
    for registered in load_frameworks().values():
        framework = registered.framework
        if framework is None:
            print(registered.problem, file=sys.stderr)
        elif framework.requirements and (gpu or not framework.needs_gpu):
            chosen.append(registered)
    return chosen
