"""The way out where something is not compiled: a spelling that is, or where to put it.

in:   the name of a function or method that has no rule
out:  a sentence for the help line of the error
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from weft.numpy_rules.registry import all_rules

# The longest beginning that fits decides.
_BY_NAME: Final = {
    "builtins.": "compute it before the call and pass it in, or after and return what it needs",
    "builtins.print": "return what you want to see, or let fallback='warn' run this line in Python",
    "builtins.open": "read or write files outside, and pass arrays in and out",
    "builtins.input": "ask outside, and pass the answer in",
    "builtins.eval": "write the expression itself",
    "builtins.exec": "write the statements themselves",
    "builtins.set": "use np.unique, or a list",
    "logging.": "log outside, or let fallback='warn' run this line in Python",
    "time.": "measure outside of the program",
    "numpy.random.": "draw the random numbers outside and pass them in as an array",
    "random.": "draw the random numbers outside and pass them in as an array",
    "numpy.vectorize": "call the function in a loop over the elements: it is inlined and compiled",
    "numpy.apply_along_axis": "write the loop over the axis: it is compiled",
    "numpy.fromfunction": "build the arrays of indices with np.arange and broadcasting",
    "numpy.nditer": "loop over range(len(x)): it is compiled",
    "numpy.load": "read files outside, and pass the arrays in",
    "numpy.save": "return the array and write it outside",
    "scipy.": "call it outside and pass the result in, or let fallback='warn' run this line in Python",
    "pandas.": "pass the columns in as arrays: df['x'].to_numpy()",
}
_OTHERWISE: Final = "call it outside and pass the result in, or let fallback='warn' run this line in Python"


def function_hint(name: str) -> str:
    """What to do instead of calling a function of this dotted name."""
    fitting = [start for start in _BY_NAME if name.startswith(start)]
    if fitting:
        return _BY_NAME[max(fitting, key=len)]
    similar = _nearest(name, all_rules())
    return f"compiled and perhaps meant: {similar}" if similar else _OTHERWISE


def method_hint(family: str, name: str) -> str:
    """What to do instead of calling a method of this name; `family` is that of its rules ("ndarray")."""
    own = [rule for rule in all_rules() if rule.startswith(f"{family}.")] if family else []
    similar = _nearest(f"{family}.{name}", own)
    return f"compiled and perhaps meant: .{similar.partition('.')[2]}()" if similar else _OTHERWISE


def _nearest(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.8)
    return found[0] if found else ""
