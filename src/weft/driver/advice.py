"""What to do about an exception of the user's own program: a note on it that names the place and a way out.

in:   an exception that Python or NumPy raised in a program
out:  the same exception, its type and words untouched, with a note (PEP 678) that a traceback shows below them

    ValueError: operands could not be broadcast together with shapes (4,3) (4,)
    at heat.py:12: y = A + b
    help: write b[:, None] to align an array of shape (4,) with the rows of one of shape (4, 3)

Where nothing useful can be said, only the place is named.
"""

from __future__ import annotations

import builtins
import difflib
import linecache
import re
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Any, cast

_MARK = "at "


def advise(error: BaseException, filename: str) -> None:
    """Add the note, once; `filename` is the file of the program."""
    place = _innermost(error.__traceback__, filename)
    if place is None or any(note.startswith(_MARK) for note in getattr(error, "__notes__", ())):
        return
    frame, line = place
    text = linecache.getline(filename, line).strip()
    hint = _hint(error, frame, text)
    error.add_note(f"{_MARK}{filename}:{line}: {text}" + (f"\nhelp: {hint}" if hint else ""))


def _innermost(traceback: TracebackType | None, filename: str) -> tuple[FrameType, int] | None:
    """The last frame of the program's file on the way to the exception, with its line."""
    found: tuple[FrameType, int] | None = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == filename:
            found = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def _hint(error: BaseException, frame: FrameType, text: str) -> str:
    if isinstance(error, AttributeError):
        return _attribute(error)
    if isinstance(error, UnboundLocalError):
        name = _first(r"variable '(\w+)'", str(error))
        return (
            f"assign '{name}' on every way to this line, or give it a value before the branch or loop" if name else ""
        )
    if isinstance(error, NameError):
        return _name(error, frame)
    for pattern, say in _WORDS:
        match = re.search(pattern, str(error))
        if match:
            return say(match, text)
    return ""


def _attribute(error: AttributeError) -> str:
    if error.obj is None or not error.name:
        return ""
    owner: Any = cast("Any", error.obj)
    similar = _similar(error.name, dir(owner))
    label = getattr(owner, "__name__", None) or f"a {type(owner).__name__}"
    return f"did you mean '{similar}'?" if similar else f"dir() shows what {label} has"


def _name(error: NameError, frame: FrameType) -> str:
    known = [*frame.f_locals, *frame.f_globals, *vars(builtins)]
    similar = _similar(error.name or "", (name for name in known if not name.startswith("__")))
    if similar:
        return f"did you mean '{similar}'?"
    return f"assign '{error.name}' first, import it, or make it a parameter"


def _similar(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return found[0] if found else ""


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _broadcast(match: re.Match[str], _text: str) -> str:
    shapes = [_shape(part) for part in re.findall(r"\(([\d,]*)\)", match[0])]
    if len(shapes) < 2:
        return "extents must be equal, or 1, from the last axis on"
    long, short = sorted(shapes[:2], key=len, reverse=True)
    if len(long) > len(short) == 1 and short[0] in long[:-1]:
        axis = long.index(short[0])
        key = ", ".join([":", *["None"] * (len(long) - 1 - axis)])
        return f"write x[{key}] for the array of shape {short} to align it with axis {axis} of the other"
    if len(long) == len(short) and sorted(long) == sorted(short):
        return "transpose one of them with .T, if its axes are in another order"
    return "extents must be equal, or 1, from the last axis on; None in an index adds an axis of length 1"


def _product(match: re.Match[str], _text: str) -> str:
    return f"the axes that meet have {match[2]} and {match[1]} elements and must be equal; is a .T missing?"


def _axis(match: re.Match[str], _text: str) -> str:
    count = int(match[2])
    return f"axes of this array are {-count} to {count - 1}" if count else "this array has no axes"


def _index(match: re.Match[str], _text: str) -> str:
    extent = int(match[3])
    return f"axis {match[2]} takes {-extent} to {extent - 1}" if extent else f"axis {match[2]} is empty"


def _cast(match: re.Match[str], text: str) -> str:
    name = _first(r"^(\w+)\S*\s*(?://|\*\*|[-+*/%@&|^])=", text)
    new = f"`{name} = {name} ...`" if name else "a new array"
    return f"the result does not fit into {match[2]}: make {new}, or convert first with .astype({match[1]!r})"


def _said(words: str) -> Callable[[re.Match[str], str], str]:
    return lambda _match, _text: words


_WORDS: tuple[tuple[str, Callable[[re.Match[str], str], str]], ...] = (
    (r"could not be broadcast together.*", _broadcast),
    (r"could not broadcast input array from shape .*", _broadcast),
    (r"size (\d+) is different from (\d+)", _product),
    (r"axis (-?\d+) is out of bounds for array of dimension (\d+)", _axis),
    (r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)", _index),
    (
        r"too many indices for array: array is (\d+)-dimensional",
        lambda m, _: f"give at most {m[1]} indices, or use ...",
    ),
    (r"from dtype\('(\w+)'\) to dtype\('(\w+)'\) with casting rule", _cast),
    (r"cannot reshape array of size (\d+)", lambda m, _: f"the extents must multiply to {m[1]}; one of them may be -1"),
    (r"unexpected keyword argument '(\w+)'", lambda m, _: f"leave '{m[1]}' out, or see the function's signature"),
    (r"data type .* not understood", _said("use a NumPy dtype such as np.float64, 'float32' or int")),
    (r"truth value of an array", _said("np.where(condition, x, y) chooses element by element")),
    (
        r"too many values to unpack|not enough values to unpack",
        _said("as many names on the left as values on the right"),
    ),
    (r"only integers, slices", _said("convert the index: int(i), or i.astype(int) for an array of indices")),
    (r"same number of dimensions", _said("add an axis with x[None, :], or use np.stack for arrays of one shape")),
    (r"'(\w+)' object is not callable", _said("is an operator missing before the parenthesis, or a name used twice?")),
    (r"does not support item assignment", _said("a tuple stays as it is: build a list, or an array")),
    (r"either both or neither of x and y", _said("give both: np.where(condition, x, y), or the condition alone")),
    (
        r"can only concatenate str|can't multiply sequence|unsupported operand type",
        _said("convert first: float(x) for a number in a string, np.array(x) for a list"),
    ),
    (r"missing \d+ required positional argument", _said("give every parameter without a default a value")),
    (r"takes .* positional arguments? but|invalid number of arguments", _said("see the function's signature")),
    (r"an integer|integers", _said("convert with int()")),
    (r"zero-size array to reduction operation", _said("give initial=, or test x.size first")),
    (r"Integers to negative integer powers", _said("make the base floating: x.astype(float) ** n")),
    (r"Singular matrix", _said("the matrix has no inverse: np.linalg.lstsq finds a least-squares solution")),
)
