"""Support functions in C for random numbers: what NumPy's distributions do with the words of a bit generator.

`words` is a `bitgen_t`: the state's address, and functions that take from it 64 bits, 32 bits, a double in [0, 1), and
whatever it makes at a time.
"""

from __future__ import annotations

from typing import Final

RANDOM_FUNCTIONS: Final = {
    "next_double": """
static inline double weft_next_double(const uint64_t *words)
{
    return ((double (*)(void *))(uintptr_t)words[3])((void *)(uintptr_t)words[0]);
}
""",
    "next_bits": """
static inline uint64_t weft_next_bits(const uint64_t *words, int bits)
{
    void *state = (void *)(uintptr_t)words[0];
    return bits == 64 ? ((uint64_t (*)(void *))(uintptr_t)words[1])(state)
                      : ((uint32_t (*)(void *))(uintptr_t)words[2])(state);
}
""",
    # A number from 0 to `range`, both included, without bias: the high half of a product with as many bits as are
    # needed, 32 or 64; those that would be too frequent are drawn again.
    "bounded": """
static inline uint64_t weft_bounded(const uint64_t *words, uint64_t range)
{
    if (range == 0)
        return 0;
    if (range >= UINT32_MAX) {
        if (range == UINT32_MAX)
            return &next_bits(words, 32);
        if (range == UINT64_MAX)
            return &next_bits(words, 64);
        const uint64_t count = range + 1;
        unsigned __int128 product = (unsigned __int128)&next_bits(words, 64) * count;
        if ((uint64_t)product < count) {
            const uint64_t least = (UINT64_MAX - range) % count;
            while ((uint64_t)product < least)
                product = (unsigned __int128)&next_bits(words, 64) * count;
        }
        return (uint64_t)(product >> 64);
    }
    const uint32_t count = (uint32_t)range + 1;
    uint64_t product = &next_bits(words, 32) * count;
    if ((uint32_t)product < count) {
        const uint32_t least = (UINT32_MAX - (uint32_t)range) % count;
        while ((uint32_t)product < least)
            product = &next_bits(words, 32) * count;
    }
    return product >> 32;
}
""",
    # The same as NumPy's older generator does it: as many low bits as are needed, until they are small enough.
    "masked": """
static inline uint64_t weft_masked(const uint64_t *words, uint64_t range)
{
    if (range == 0)
        return 0;
    const uint64_t mask = UINT64_MAX >> __builtin_clzll(range);
    const int bits = range > UINT32_MAX ? 64 : 32;
    uint64_t found;
    do {
        found = &next_bits(words, bits) & mask;
    } while (found > range);
    return found;
}
""",
    # From the last element on, each changes places with one before it, or with itself.
    "shuffle": """
static inline void weft_shuffle(const uint64_t *words, char *data, int64_t count, int64_t stride, const int64_t size)
{
    char kept[16];
    for (int64_t i = count - 1; i > 0; --i) {
        const int64_t j = (int64_t)&masked(words, (uint64_t)i);
        __builtin_memcpy(kept, data + i * stride, size);
        __builtin_memmove(data + i * stride, data + j * stride, size);
        __builtin_memcpy(data + j * stride, kept, size);
    }
}
""",
    # What NumPy computes of n and p it keeps for the next number with the same; it depends on nothing else.
    "binomial": """
static inline int64_t weft_binomial(void *function, const uint64_t *words, int64_t n, double p)
{
    static _Thread_local uint64_t kept[32];
    return ((int64_t (*)(const void *, double, int64_t, void *))function)(words, p, n, kept);
}
""",
    # No loop of what NumPy's older generator draws may be one of vectors: those have other last bits.
    "scalar_log": """
extern double log(double);
WEFT_OPAQUE static double weft_scalar_log(double x) { return log(x); }
""",
    "old_exponential": """
static inline double weft_old_exponential(const uint64_t *words) { return -&scalar_log(1.0 - &next_double(words)); }
""",
    # Two normal numbers of a point in the unit circle: one is kept for the next time.
    "old_normal": """
static inline double weft_old_normal(const uint64_t *words, uint64_t *kept)
{
    int32_t *has = (int32_t *)kept;
    double x, y, square, other = 0.0;
    if (*has) {
        __builtin_memcpy(&y, kept + 1, sizeof y);
    } else {
        do {
            x = 2.0 * &next_double(words) - 1.0;
            y = 2.0 * &next_double(words) - 1.0;
            square = x * x + y * y;
        } while (square >= 1.0 || square == 0.0);
        const double scale = __builtin_sqrt(-2.0 * &scalar_log(square) / square);
        other = scale * x;
        y = scale * y;
    }
    *has = !*has;
    __builtin_memcpy(kept + 1, &other, sizeof other);
    return y;
}
""",
    "not_negative": """
static inline int weft_not_negative(double x) { return x >= 0 && !__builtin_signbit(x); }
""",
    "finite_range": """
static inline int weft_finite_range(double low, double high)
{
    return high - low >= 0 && !__builtin_signbit(high - low) && high - low <= 0x1.fffffffffffffp+1023;
}
""",
}
