"""Write docs/numpy.md: every function, method and attribute that is compiled, from the registry of rules.

python tools/list_rules.py           write the page
python tools/list_rules.py --check   fail if it is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from weft.numpy_rules.random_numbers import PARAMETERS
from weft.numpy_rules.registry import all_rules, typed_rule

PAGE = Path(__file__).resolve().parents[1] / "docs" / "numpy.md"
_TITLES = {
    "numpy": "NumPy functions and types (`np.`)",
    "ndarray": "Methods and attributes of arrays",
    "scalar": "Methods and attributes of NumPy scalars",
    "ufunc": "Methods of ufuncs",
    "math": "`math.`",
    "cmath": "`cmath.`",
    "builtins": "Built-in functions",
}
_TYPED = """\
## Called, not compiled

Typed NumPy calls: NumPy's own functions, called from inside the kernel, whose results go on in compiled code.
"""
_RANDOM = """\
## Random numbers

Methods of a `np.random.Generator`, of a `RandomState`, and the functions of `np.random`, with NumPy's stream and state.
"""
_HEAD = """\
# What is compiled of NumPy

Written by `tools/list_rules.py` from the rules in `weft.numpy_rules`; a test keeps it true. Operators and indexing
with integers, slices, `None`, `...`, integer arrays, lists and masks come on top. A parameter that a rule does not have
is refused with a message.
"""


def page() -> str:
    """The text of the page."""
    families: dict[str, list[str]] = {}
    typed: list[str] = []
    also: list[str] = []
    for name, entry in all_rules().items():
        family, _, rest = name.partition(".")
        shown = f"np.{rest}" if family == "numpy" else f"{family}.{rest}"
        if typed_rule(entry) is not None:
            also.append(shown)
        if entry.typed:
            typed.append(shown)
        else:
            families.setdefault(family, []).append(rest)
    parts = [_HEAD]
    for family, title in _TITLES.items():
        parts.append(f"## {title}\n\n{_wrapped(sorted(families[family]))}\n")
    parts.append(f"{_TYPED}\n{_wrapped(sorted(typed))}\n\nThe same for forms that are not compiled of\n")
    parts.append(f"{_wrapped(sorted(also))}\n")
    parts.append(f"{_RANDOM}\n{_wrapped(sorted({name for methods in PARAMETERS.values() for name in methods}))}\n")
    return "\n".join(parts)


def _wrapped(names: list[str]) -> str:
    lines = [""]
    for name in names:
        text = f"`{name}`"
        if len(lines[-1]) + len(text) > 115:
            lines.append("")
        lines[-1] += f" {text}" if lines[-1] else text
    return "\n".join(lines)


def main() -> int:
    """Write or check the page."""
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") == page():
            return 0
        print("docs/numpy.md is out of date: run python tools/list_rules.py")
        return 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
