"""C identifiers: readable, unique in a kernel, never a word of C or of ours.

A container keeps its name (`A`), a value gets its id (`i_3`); what clashes gets a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from weft.support.records import record

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof
_Bool _Complex _Imaginary main ctx args out env again raw begin end bits linux unix
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
"""

# Functions of the C library that we declare, or that gcc knows without a declaration: a variable may not hide them.
_FUNCTIONS = """
exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh hypot cbrt pow
fmod sqrt floor ceil trunc rint fabs copysign ldexp abs labs cexp clog csqrt cpow csin ccos ctan casin cacos catan
csinh ccosh ctanh casinh cacosh catanh memcpy memset memmove malloc free printf y0 y1 yn j0 j1 jn gamma index signal
"""

RESERVED = frozenset(_KEYWORDS.split()) | frozenset(_FUNCTIONS.split()) | {f"{n}f" for n in _FUNCTIONS.split()}


def identifier(text: str) -> str:
    """The text as a C identifier; letters outside ASCII and signs become underscores."""
    cleaned = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "v"
    return f"v{cleaned}" if cleaned[0].isdigit() else cleaned


@record(frozen=False)
class NameTable:
    """The identifiers given out in one kernel: those that are `taken` now, and all that were `claimed`, in order."""

    taken: set[str] = field(default_factory=set[str])
    claimed: list[str] = field(default_factory=list[str])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])  # of a base all below are taken, in this very set:
    _numbered: set[str] | None = None

    def claim(self, wanted: str, endings: Sequence[str] = ()) -> str:
        """A name near `wanted` that nothing else has, nor any of the names made of it with these endings."""
        base = identifier(wanted)
        if base.lower().startswith("weft"):
            base = f"v{base}"
        if self._numbered is not self.taken:
            self._numbers, self._numbered = {}, self.taken
        number = self._numbers.get(base, 1)
        name = base if number == 1 else f"{base}_{number}"
        while name in RESERVED or not self.taken.isdisjoint([name, *(name + ending for ending in endings)]):
            number += 1
            name = f"{base}_{number}"
        if not endings:
            self._numbers[base] = number
        names = [name, *(name + ending for ending in endings)]
        self.taken.update(names)
        self.claimed += names
        return name
