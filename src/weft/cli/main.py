"""The command `weft`.

in:   the words after `weft`
out:  text on the terminal and an exit status: 0 fine, 1 the command found something wrong, 2 not understood

    $ weft cahce list
    weft: there is no command 'cahce'; did you mean 'cache'?

Other packages add commands through the entry point group `weft.commands`: a name, and a function that takes the
words after it and returns the exit status.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TypeAlias, cast

from weft.cli.words import suggest
from weft.driver.fingerprints import VERSION
from weft.support.errors import WeftError

Run: TypeAlias = Callable[[Sequence[str]], int]

ENTRY_POINTS = "weft.commands"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (by default the words of the command line) asks for; the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(words[:1])
    if options.command is None:
        parser.print_help()
        return 2
    run = _find(options.command)
    if run is None:
        known = [*COMMANDS, *entry_points(group=ENTRY_POINTS).names]
        print(f"weft: there is no command {options.command!r}; {suggest(options.command, known)}", file=sys.stderr)
        return 2
    try:
        return run(words[1:])
    except WeftError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run_info(argv: Sequence[str]) -> int:
    """Versions, compiler, processor, cache, threads: what a report of a fault should carry."""
    argparse.ArgumentParser(prog="weft info", description=run_info.__doc__).parse_args(argv)
    from weft.driver.info import describe

    facts = describe()
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(f"{name:<{width}}  {value}")
    return 0


def run_cache(argv: Sequence[str]) -> int:
    """Compiled programs on disk: where they are, what is there, whether it is sound; remove them."""
    from weft.cli.cache import run

    return run(argv)


COMMANDS: Mapping[str, Run] = MappingProxyType({"info": run_info, "cache": run_cache})


def _parser() -> argparse.ArgumentParser:
    added = {entry.name: f"from {entry.value}" for entry in entry_points(group=ENTRY_POINTS)}
    listed = {name: run.__doc__ for name, run in COMMANDS.items()} | added
    lines = [f"  {name:<8} {text}" for name, text in listed.items()]
    parser = argparse.ArgumentParser(
        prog="weft",
        description="Weft compiles NumPy programs.",
        usage="weft [--help] [--version] command ...",
        epilog="\n".join(["commands:", *lines, "", "`weft command --help` says what each of them takes."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"weft {VERSION}")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


def _find(command: str) -> Run | None:
    """The function behind a command: our own first, then those other packages bring."""
    if command in COMMANDS:
        return COMMANDS[command]
    for entry in entry_points(group=ENTRY_POINTS, name=command):
        return cast("Run", entry.load())
    return None
