"""The way out where something is not compiled: a spelling that is, or where to put it.

in:   the name of a function or method that has no rule
out:  a sentence for the help line of the error
"""

from __future__ import annotations

from typing import Final

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
    "numpy.random.": "make the generator outside and pass it in: what it draws is compiled",
    "random.": "draw the random numbers outside and pass them in as an array",
    "numpy.vectorize": "call the function in a loop over the elements: it is inlined and compiled",
    "numpy.apply_along_axis": "write the loop over the axis: it is compiled",
    "numpy.fromfunction": "build the arrays of indices with np.arange and broadcasting",
    "numpy.nditer": "loop over range(len(x)): it is compiled",
    "numpy.ndenumerate": "give it a C-contiguous array of two axes or more, or loop over the indices",
    "numpy.ndindex": "loop over the indices: for i in range(n)",
    "numpy.lib.": "write the loop over the windows: it is compiled",
    "cmath.": "use NumPy's function of that name, np.sin and the like: they take complex numbers",
    "itertools.product": "write one loop inside the other",
    "itertools.pairwise": "give it an array, list, tuple or range",
    "itertools.": "write the loop: it is compiled",
    "functools.reduce": "write the loop: it is compiled",
    "functools.": "call the function itself",
    "statistics.": "use np.mean, np.median, np.std",
    "collections.": "use a list, a dict with constant keys, or an array",
    "numpy.load": "read files outside, and pass the arrays in",
    "numpy.save": "return the array and write it outside",
    "scipy.": "call it outside and pass the result in, or let fallback='warn' run this line in Python",
    "pandas.": "pass the columns in as arrays: df['x'].to_numpy()",
}
_METHODS: Final = {
    "tobytes": "convert outside of the program, and pass the array itself in",
    "tostring": "convert outside of the program, and pass the array itself in",
    "tofile": "return the array and write it outside",
    "dump": "return the array and write it outside",
    "view": "use .astype, or make the view outside of the program",
    "setflags": "set the flags outside of the program",
    "byteswap": "convert outside of the program",
    "newbyteorder": "convert outside of the program",
    "resize": "make a new array with np.zeros and copy into it",
}
_OTHERWISE: Final = "call it outside and pass the result in, or let fallback='warn' run this line in Python"


def function_hint(name: str) -> str:
    """What to do instead of calling a function of this dotted name."""
    fitting = [start for start in _BY_NAME if name.startswith(start)]
    return _BY_NAME[max(fitting, key=len)] if fitting else _OTHERWISE


def method_hint(name: str) -> str:
    """What to do instead of calling a method of an array or number of this name."""
    return _METHODS.get(name, _OTHERWISE)
