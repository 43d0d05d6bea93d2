"""`weft bench setup [FRAMEWORK...]`: make the environments of frameworks, those that are ready left alone.

A framework that is already installed somewhere needs none: `--python` names the interpreter that has it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from rich.console import Console

from weft_bench.environments import Say, SetupError, create, has_gpu, home, register
from weft_bench.frameworks import Registered, load_frameworks
from weft_bench.selection import choose_frameworks
from weft_bench.words import UsageError


def run(argv: Sequence[str]) -> int:
    """Make them one after the other; the status is 1 if one could not be made."""
    parser = argparse.ArgumentParser(
        prog="weft bench setup", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="all that can run here by default")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--again", action="store_true", help="make them anew even if they are ready")
    either.add_argument(
        "--python", metavar="PATH", help="run them in this Python, which has them; nothing is installed"
    )
    options = parser.parse_args(argv)
    if options.python is not None and not options.frameworks:
        raise UsageError(
            "--python: name the frameworks that this Python has, as in `weft bench setup cupy --python PATH`"
        )
    chosen = choose_frameworks(options.frameworks) if options.frameworks else _all_that_can_run()
    failed: list[str] = []
    console = Console()
    for number, registered in enumerate(chosen, start=1):
        count = f"[{number}/{len(chosen)}] "
        say: Say = partial(_tell, console, count)
        try:
            with console.status(f"{count}{registered.name}: this may take minutes"):
                if options.python is None:
                    create(registered.loaded(), say, again=options.again)
                else:
                    register(registered, options.python, say)
        except SetupError as error:
            print(f"{count}{error}", file=sys.stderr)
            failed.append(registered.name)
    print(f"environments are in {home() / 'environments'}")
    if failed:
        print(f"weft bench setup: {', '.join(failed)} could not be made; the others are ready", file=sys.stderr)
    return 1 if failed else 0


def _tell(console: Console, count: str, text: str) -> None:
    console.print(count + text, highlight=False, markup=False, soft_wrap=True)


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
