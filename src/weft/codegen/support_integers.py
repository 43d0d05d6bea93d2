"""C of the integer operations that are more than one operator (templates, see support_functions)."""

from __future__ import annotations

from typing import Final

_SIGNED_DIVISION = """
static inline $T weft_floor_divide_$S($T a, $T b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return ($T)-a; /* wraps where C would trap */
    return ($T)(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));
}
"""

BOOL_FUNCTIONS: Final = {
    "multiply_add": """
static inline $T weft_multiply_add_$S($T c, $T a, $T b) { return (c != 0) | ((a != 0) & (b != 0)); }
""",
    "join": """
static inline $T weft_join_$S($T a, $T b) { return (a != 0) | (b != 0); }
""",
}

INTEGER_FUNCTIONS: Final = {
    # An integer the compiler knows nothing about.
    "keep": """
static inline $T weft_keep_$S($T a)
{
    __asm__("" : "+r"(a));
    return a;
}
""",
    # In unsigned numbers: of what gcc takes for an absolute value, `a < 0 ? -a : a`, it says that it is not negative,
    # even where a is the least number of its type.
    "negative": """
static inline $T weft_negative_$S($T a) { return ($T)(0u - ($U)a); }
""",
    "absolute": """
static inline $T weft_absolute_$S($T a)
{
    const $U sign = ($T)-1 < 0 ? ($U)(a >> ($B - 1)) : 0; /* no comparison, which may become a jump */
    return ($T)((($U)a ^ sign) - sign);
}
""",
    "sign": """
static inline $T weft_sign_$S($T a) { return ($T)((a > 0) - (a < 0)); }
""",
    "square": """
static inline $T weft_square_$S($T a) { return ($T)(a * a); }
""",
    "maximum": """
static inline $T weft_maximum_$S($T a, $T b) { return a >= b ? a : b; }
""",
    "minimum": """
static inline $T weft_minimum_$S($T a, $T b) { return a <= b ? a : b; }
""",
    "multiply_add": """
static inline $T weft_multiply_add_$S($T c, $T a, $T b) { return ($T)(c + a * b); }
""",
    "join": """
static inline $T weft_join_$S($T a, $T b) { return ($T)(a + b); }
""",
    "floor_divide": _SIGNED_DIVISION,
    "remainder": """
static inline $T weft_remainder_$S($T a, $T b)
{
    if ((b == 0) | (b == -1))
        return 0;
    const $T rest = ($T)(a % b);
    return ($T)((rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest);
}
""",
    "fmod": """
static inline $T weft_fmod_$S($T a, $T b) { return ((b == 0) | (b == -1)) ? 0 : ($T)(a % b); }
""",
    "floor_divide_unsigned": """
static inline $T weft_floor_divide_unsigned_$S($T a, $T b) { return b == 0 ? 0 : ($T)(a / b); }
""",
    "remainder_unsigned": """
static inline $T weft_remainder_unsigned_$S($T a, $T b) { return b == 0 ? 0 : ($T)(a % b); }
""",
    "power": """
static inline $T weft_power_$S($T base, $T exponent)
{
    $T result = 1;
    for (; exponent > 0; exponent = ($T)(exponent >> 1)) {
        if (exponent & 1)
            result = ($T)(result * (uint64_t)base);
        base = ($T)(base * (uint64_t)base);
    }
    return result;
}
""",
    "left_shift": """
static inline $T weft_left_shift_$S($T a, $T b) { return ($U)b < $B ? ($T)(($U)a << ($U)b) : 0; }
""",
    "right_shift": """
static inline $T weft_right_shift_$S($T a, $T b) { return ($T)(($U)b < $B ? a >> b : a < 0 ? -1 : 0); }
""",
    "right_shift_unsigned": """
static inline $T weft_right_shift_unsigned_$S($T a, $T b) { return b < $B ? ($T)(a >> b) : 0; }
""",
    "reciprocal": """
static inline $T weft_reciprocal_$S($T a) { return a == 0 ? $INF : ($T)(1 / a); }
""",
    "check_division": """
static inline int32_t weft_check_division_$S($T a, $T b)
{
    return (b == 0) * WEFT_FP_DIVIDE | ((a == $MIN) & (b == -1)) * WEFT_FP_OVERFLOW;
}
""",
    "add_overflows": """
static inline uint8_t weft_add_overflows_$S($T a, $T b) { $T r; return __builtin_add_overflow(a, b, &r); }
""",
    "subtract_overflows": """
static inline uint8_t weft_subtract_overflows_$S($T a, $T b) { $T r; return __builtin_sub_overflow(a, b, &r); }
""",
    "multiply_overflows": """
static inline uint8_t weft_multiply_overflows_$S($T a, $T b) { $T r; return __builtin_mul_overflow(a, b, &r); }
""",
    # The same for what only raises a flag: processors have vectors for it.
    "flag_add": """
static inline uint8_t weft_flag_add_$S($T a, $T b)
{
    const $T r = ($T)(($U)a + ($U)b);
    return ($T)-1 < 0 ? ($T)((a ^ r) & (b ^ r)) < 0 : r < a;
}
""",
    "flag_subtract": """
static inline uint8_t weft_flag_subtract_$S($T a, $T b)
{
    const $T r = ($T)(($U)a - ($U)b);
    return ($T)-1 < 0 ? ($T)((a ^ b) & (a ^ r)) < 0 : a < b;
}
""",
    # A product of 64 bits that wraps is a multiple of 2**64 from the true one, and so from the one rounded twice.
    "flag_multiply": """
static inline uint8_t weft_flag_multiply_$S($T a, $T b)
{
    const $T r = ($T)((uint64_t)a * (uint64_t)b);
    if (sizeof a < 8)
        return (int64_t)((uint64_t)a * (uint64_t)b) != (int64_t)r;
#ifdef __AVX512DQ__
    return __builtin_fabs((double)r - (double)a * (double)b) > 0x1p62;
#else
    $T exact;
    return __builtin_mul_overflow(a, b, &exact);
#endif
}
""",
    "left_shift_overflows": """
static inline uint8_t weft_left_shift_overflows_$S($T a, $T b)
{
    if (($U)b >= $B)
        return a != 0;
    return ($T)(($U)a << b) >> b != a;
}
""",
    "power_overflows": """
static inline uint8_t weft_power_overflows_$S($T base, $T exponent)
{
    $T result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return 1;
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
            return 1;
    }
    return 0;
}
""",
    # Python's int / int: the quotient rounded once, also beyond 2**53.
    "true_divide": """
static inline double weft_true_divide_$S($T a, $T b)
{
    const int64_t exact = (int64_t)1 << 53;
    if ((a <= exact) & (a >= -exact) & (b <= exact) & (b >= -exact))
        return (double)a / (double)b;
    const uint64_t n = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    const uint64_t d = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (n == 0)
        return b < 0 ? -0.0 : 0.0;
    int shift = 55 + __builtin_clzll(n) - __builtin_clzll(d); /* the quotient gets 55 bits or more */
    if (shift < 0)
        shift = 0;
    const unsigned __int128 scaled = (unsigned __int128)n << shift;
    const uint64_t quotient = (uint64_t)(scaled / d) | (scaled % d != 0);
    const double result = (double)quotient * __builtin_ldexp(1.0, -shift);
    return (a < 0) != (b < 0) ? -result : result;
}
""",
}
