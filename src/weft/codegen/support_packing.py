"""C that brings chosen elements together, a vector of them at a time.

`weft_pack_8(to, from, keep, length, found)` writes those of `length` elements of 8 bytes whose byte in `keep` is 1 side
by side; there are `found` of them. Nothing behind them is written, so that other threads may be there, and `to` may be
`from` or lie before it. `weft_pack_turns` does the same with the int64 numbers from `first` on. `&name(` calls another
of these functions.
"""

from __future__ import annotations

from string import Template
from typing import Final

PACKED_SIZES: Final = (4, 8, 16)

# Bytes that are 0 or 1 become bits by one multiplication: each bit of the factor moves one byte to its place, and no
# two meet anywhere.
_FLAGS: Final = {
    "flags_8": """
static inline uint32_t weft_flags_8(const uint8_t *keep)
{
    uint64_t flags;
    __builtin_memcpy(&flags, keep, sizeof flags);
    return (uint32_t)(flags * 0x0102040810204080ULL >> 56);
}
""",
    "flags_16": """
static inline uint32_t weft_flags_16(const uint8_t *keep)
{
    return &flags_8(keep) | &flags_8(keep + 8) << 8;
}
""",
    "flags_4": """
static inline uint32_t weft_flags_4(const uint8_t *keep) /* each of them twice */
{
    uint32_t flags;
    __builtin_memcpy(&flags, keep, sizeof flags);
    return (uint32_t)(flags * 0x0104104000000000ULL >> 56) * 3;
}
""",
}

_PACK: Final = Template("""
static inline void weft_pack_$name(char *to, $source, const uint8_t *keep, int64_t length, int64_t found)
{
    int64_t at = 0, k = 0;
#if defined(__AVX512F__) && !defined(__clang__)
    typedef $unit all __attribute__((vector_size(64)));
    typedef $unit anywhere __attribute__((vector_size(64), aligned(1), may_alias));
    for (; k + $lanes <= length && at < found; k += $lanes) {
        const uint32_t bits = &flags_$lanes(keep + k);
        const int count = __builtin_popcount(bits);
        const all chosen = __builtin_ia32_compress${kind}512_mask($load, (all){0}, ($mask)bits);
        if (at + $lanes <= found)
            *(anywhere *)(to + at * $size) = chosen;
        else
            __builtin_ia32_storedqu${kind}512_mask((void *)(to + at * $size), chosen, ($mask)((1u << count) - 1));
        at += count / $units;
    }
#endif
    for (; at < found; ++k) {
        $one
        at += keep[k];
    }
}
""")


def _packing(name: str, size: int, source: str, load: str, one: str) -> str:
    kind, unit, mask = ("si", "int", "uint16_t") if size == 4 else ("di", "long long", "uint8_t")
    lanes, units = str(64 // size), str(max(1, size // 8))
    parts = {"name": name, "source": source, "load": load, "one": one, "size": str(size), "lanes": lanes}
    return _PACK.substitute(parts, kind=kind, unit=unit, mask=mask, units=units)


def _moving(size: int) -> str:
    load = f"*(const anywhere *)(from + k * {size})"
    one = f"__builtin_memmove(to + at * {size}, from + k * {size}, {size});"
    return _packing(str(size), size, "const char *from", load, one)


def _counting() -> str:
    load = "(all){0, 1, 2, 3, 4, 5, 6, 7} + (first + k)"
    one = "*(int64_t *)(to + at * 8) = first + k;"
    return _packing("turns", 8, "int64_t first", load, one)


PACKING_FUNCTIONS: Final = {
    **_FLAGS,
    "pack_turns": _counting(),
    **{f"pack_{size}": _moving(size) for size in PACKED_SIZES},
}
