"""A script that makes a call again, in Python and in Weft, and says whether they differ.

in:   a `Call`, the options of the program, what was found
out:  a file `<function>-<hash>.py` that stands for itself, with larger arrays in a `.npz` beside it; None if none of
      the directories can be written (WEFT_REPRODUCERS, `reproducers` in the cache, the working directory)

It holds the source of the function and of what it calls, the globals and closure variables they name, and the arguments
with their strides and overlaps. What cannot be written down (an open file, a class without source) is None there, with
a comment.
"""

from __future__ import annotations

import hashlib
import io
import platform
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from weft.driver.fingerprints import VERSION
from weft.driver.options import Options, reproducer_choice
from weft.driver.script_values import ScriptValues, tuple_text
from weft.driver.snapshots import Call
from weft.runtime.files import replace_file

_TAIL: Final = """
if __name__ == "__main__":
    program = weft.program({function}, verify=True{options})
    try:
        program(*ARGUMENTS, **KEYWORDS)
    except weft.VerificationError as difference:
        print(difference)
        print("Python and Weft differ")
        sys.exit(1)
    except Exception as error:
        print("Python and Weft agree: both raise", repr(error))
    else:
        print("Python and Weft agree")
    if program.stats.fallback_calls:
        print("but nothing was compiled:", *program.stats.reasons)
"""


def save_call(call: Call, options: Options, message: str) -> Path | None:
    """Write the script; where it is."""
    try:
        text, arrays = script(call, options, message)
        content = io.BytesIO()
        np.savez(content, **arrays)
    except Exception:  # noqa: BLE001  (a report that cannot be made must not hide what it is about)
        return None
    digest = hashlib.sha256(text.encode() + content.getvalue()).hexdigest()[:12]
    name = call.function.__name__ if call.function.__name__.isidentifier() else "lambda"
    for directory in _directories():
        path = directory / f"{name}-{digest}.py"
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if arrays and not replace_file(path.with_suffix(".npz"), content.getvalue()):
            continue
        if replace_file(path, text.encode()):
            return path.resolve()
    return None


def _directories() -> Iterator[Path]:
    choice = reproducer_choice()
    if choice == "0":
        return
    if choice:
        yield Path(choice)
    from weft.driver.engine import process_cache

    root = process_cache().root
    if root is not None:
        yield root / "reproducers"
    yield Path()


def script(call: Call, options: Options, message: str) -> tuple[str, dict[str, Any]]:
    """The text, and the arrays it loads."""
    values = ScriptValues(call)
    function = values.define_function(call.function)
    args = [values.expression(value) for value in call.args]
    keywords = [f"{name!r}: {values.expression(value)}" for name, value in call.kwargs.items()]
    head = [
        f'"""{line}' if number == 0 else line
        for number, line in enumerate(message.replace("\\", "/").replace('"""', "'''").splitlines())
    ]
    system = f"Weft {VERSION}, NumPy {np.__version__}, Python {platform.python_version()}, {platform.platform()}"
    lines = [*head, "", f"{system}.", "Exit status 1: Python and Weft still differ.", '"""', ""]
    lines += ["import os", "import sys", "from pathlib import Path", ""]
    lines += ['os.environ["WEFT_REPRODUCERS"] = "0"  # this file is one', ""]
    lines += ["import numpy as np", "import weft", ""]
    if values.arrays:
        lines += ['with np.load(Path(__file__).with_suffix(".npz")) as file:', "    saved = dict(file)", ""]
    lines += values.lines
    lines += ["", f"ARGUMENTS = {tuple_text(args)}", f"KEYWORDS = {{{', '.join(keywords)}}}", ""]
    return "\n".join(lines) + _TAIL.format(function=function, options=_keywords(options)), values.arrays


def _keywords(options: Options) -> str:
    usual = asdict(Options())
    return "".join(
        f", {name}={value!r}" for name, value in asdict(options).items() if value != usual[name] and name != "verify"
    )
