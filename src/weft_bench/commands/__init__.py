"""The command `weft bench`.

in:   the words after `weft bench`
out:  text, files of results, and an exit status: 0 fine, 1 something is wrong, 2 not understood, 130 interrupted

Each command is a module here with `run(argv) -> int`, loaded when it is asked for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from weft_bench.environments import SetupError
from weft_bench.loading import KernelFileError
from weft_bench.store import StoreError
from weft_bench.words import UsageError, unknown

FINE, WRONG, NOT_UNDERSTOOD, INTERRUPTED = 0, 1, 2, 130

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "setup": ("setup", "make the environments of frameworks"),
        "list": ("listing", "the kernels, frameworks and presets there are"),
        "run": ("run", "measure frameworks against NumPy"),
        "report": ("report", "figures and a page from a file of results"),
        "compare": ("compare", "two runs side by side, with intervals"),
        "export": ("export", "results as CSV or JSON"),
        "machine": ("machine", "what this machine can do at most"),
        "overhead": ("overhead", "what one call costs when there is nothing to compute"),
        "compile-time": ("compile_time", "how long frameworks compile"),
    }
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (by default the words of the command line) asks for; the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return FINE if words else NOT_UNDERSTOOD
    try:
        return _dispatch(words[0], words[1:])
    except UsageError as error:
        print(f"weft bench: {error}", file=sys.stderr)
        return NOT_UNDERSTOOD
    except KernelFileError as error:
        print(f"weft bench: {error}", file=sys.stderr)
        return NOT_UNDERSTOOD
    except (StoreError, SetupError) as error:
        print(f"weft bench: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("weft bench: interrupted", file=sys.stderr)
        return INTERRUPTED


def usage() -> str:
    """The commands and what they do."""
    lines = [f"  {name:<13} {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: weft bench COMMAND ...",
            "",
            "Measure what accelerates NumPy, on 54 kernels or your own, and see how sure the numbers are.",
            "",
            *lines,
            "",
            "`weft bench COMMAND --help` says what each of them takes; `weft bench run` is a good start.",
        ]
    )


def _dispatch(name: str, words: Sequence[str]) -> int:
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS, f"there are {', '.join(COMMANDS)}")
    module_name = f"weft_bench.commands.{COMMANDS[name][0]}"
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        raise UsageError(f"`weft bench {name}` is not part of this Weft") from error
    return int(module.run(words))
