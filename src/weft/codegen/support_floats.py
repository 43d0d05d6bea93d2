"""C of the floating-point operations that are more than one operator (templates, see support_functions)."""

from __future__ import annotations

from typing import Final

FLOAT_FUNCTIONS: Final = {
    "multiply_add": """
static inline $T weft_multiply_add_$S($T c, $T a, $T b) { return c + a * b; }
""",
    # In one step where the processor can, as in BLAS.
    "fused": """
static inline $T weft_fused_$S($T c, $T a, $T b)
{
#if defined(__FMA__) && $B == 64
    return __builtin_fma(a, b, c);
#elif defined(__FMA__)
    return __builtin_fmaf(a, b, c);
#else
    return c + a * b;
#endif
}
""",
    "join": """
static inline $T weft_join_$S($T a, $T b) { return a + b; }
""",
    # One of two numbers, by a mask of all bits or none. Of `?:` a compiler may choose after what follows, made of both.
    "pick": """
static inline $T weft_pick_$S(int$B_t mask, $T yes, $T no)
{
    int$B_t a, b;
    __builtin_memcpy(&a, &yes, sizeof a);
    __builtin_memcpy(&b, &no, sizeof b);
    a = (a & mask) | (b & ~mask);
    __builtin_memcpy(&yes, &a, sizeof a);
    return yes;
}
""",
    # a to the power of halves / 2, which is known: an infinity or a zero counts as positive where that is no integer.
    # The square root is NumPy's own way, and keeps the sign of a zero.
    "halves": """
static inline $T weft_halves_$S($T a, int halves)
{
    if (halves == 1)
        return __builtin_sqrt$F(a);
    const int whole = (halves < 0 ? -halves : halves) / 2;
    const $T x = halves % 2 == 0 ? a : (a == -__builtin_inf$F() ? __builtin_inf$F() : a) + 0.0$F;
    const $T base = halves < 0 ? 1.0$F / x : x;
    const $T square = base * base;
    const $T power = whole == 1 ? base : whole == 2 ? square : whole == 3 ? square * base : square * square;
    if (halves % 2 == 0)
        return power;
    if (whole == 0)
        return 1.0$F / __builtin_sqrt$F(x);
    return power * __builtin_sqrt$F(base);
}
""",
    # fmod, its zeros of either sign. Where the quotient is exact to the unit, so is the rest by a fused multiplication:
    # all of it are multiples of the last place of b. The quotient may be one too large. The library is several times
    # slower, and needed for the rest.
    "rest": """
static inline $T weft_rest_$S($T a, $T b)
{
#if defined(__FMA__) || defined(__aarch64__)
    const $T size = __builtin_fabs$F(b);
    if (__builtin_expect((__builtin_fabs$F(a) * $EPS < size) & (size <= $MAX), 1)) {
        const $T rest = __builtin_fma$F(-__builtin_trunc$F(a / b), b, a);
        return (rest < 0) & (a > 0) ? rest + size : (rest > 0) & (a < 0) ? rest - size : rest;
    }
#endif
    return %fmod(a, b);
}
""",
    # NumPy's npy_divmod: the quotient is snapped to the integer that goes with the remainder.
    "floor_divide": """
static inline $T weft_floor_divide_$S($T a, $T b)
{
    if (b == 0)
        return a / b;
    const $T rest = @rest(a, b);
    $T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1.0$F;
    if (quotient == 0)
        return __builtin_copysign$F(0.0$F, a / b);
    const $T floored = __builtin_floor$F(quotient);
    return quotient - floored > 0.5$F ? floored + 1.0$F : floored;
}
""",
    "remainder": """
static inline $T weft_remainder_$S($T a, $T b)
{
    const $T rest = @rest(a, b);
    if (b == 0)
        return rest;
    if (rest == 0)
        return __builtin_copysign$F(0.0$F, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}
""",
    "square": """
static inline $T weft_square_$S($T a) { return a * a; }
""",
    "sign": """
static inline $T weft_sign_$S($T a) { return a != a ? a : ($T)((a > 0) - (a < 0)); }
""",
    "heaviside": """
static inline $T weft_heaviside_$S($T a, $T h) { return a != a ? a : a == 0 ? h : (a < 0 ? 0.0$F : 1.0$F); }
""",
    "maximum": """
static inline $T weft_maximum_$S($T a, $T b) { return ((a > b) | (a != a)) ? a : b; }
""",
    "minimum": """
static inline $T weft_minimum_$S($T a, $T b) { return ((a < b) | (a != a)) ? a : b; }
""",
    "fmax": """
static inline $T weft_fmax_$S($T a, $T b) { return ((a >= b) | (b != b)) ? a : b; }
""",
    "fmin": """
static inline $T weft_fmin_$S($T a, $T b) { return ((a <= b) | (b != b)) ? a : b; }
""",
    # The vector variants take numbers whose exponential is no normal one out of their loop, one by one. Small ones are
    # common, as in the tails of a Gaussian: a factor is taken out of their exponentials, and below is nothing.
    "exp_arrays": """
static inline $T weft_exp_arrays_$S($T a)
{
    const int is_float = sizeof($T) == 4;
    const int$B_t small = -(int$B_t)(a < (is_float ? -87 : -708)), none = -(int$B_t)(a < (is_float ? -104 : -746));
    const $T normal = %exp(@pick(none, 0, a) + @pick(small, is_float ? 20 : 100, 0));
    return normal * @pick(none, 0, @pick(small, is_float ? 2.06115362e-9$F : 3.720075976020836e-44$F, 1));
}
""",
    "logaddexp": """
static inline $T weft_logaddexp_$S($T a, $T b)
{
    if (a == b)
        return a + 0.693147180559945309417232121458176568$F;
    const $T gap = a - b;
    if (gap > 0)
        return a + %log1p(%exp(-gap));
    return gap <= 0 ? b + %log1p(%exp(gap)) : gap;
}
""",
    "logaddexp2": """
static inline $T weft_logaddexp2_$S($T a, $T b)
{
    if (a == b)
        return a + 1.0$F;
    const $T gap = a - b, log2e = 1.442695040888963407359924681001892137$F;
    if (gap > 0)
        return a + log2e * %log1p(%exp2(-gap));
    return gap <= 0 ? b + log2e * %log1p(%exp2(gap)) : gap;
}
""",
    # x86 converts to uint64 through int64; this is the sequence of instructions NumPy's own loops are made of.
    "to_u64": """
static inline uint64_t weft_to_u64_$S($T a)
{
    const $T half = 9223372036854775808.0$F;
    return a >= half ? (uint64_t)(int64_t)(a - half) ^ (uint64_t)1 << 63 : (uint64_t)(int64_t)a;
}
""",
    "to_u32": """
static inline uint32_t weft_to_u32_$S($T a)
{
    const $T half = 2147483648.0$F;
    return a >= half ? (uint32_t)(int32_t)(a - half) ^ 0x80000000u : (uint32_t)(int32_t)a;
}
""",
    # Of functions of numbers that never give a NaN.
    "check_grown": """
static inline int32_t weft_check_grown_$S($T r, $T a, int32_t infinite)
{
    return (__builtin_fabs$F(r) > $MAX) & (__builtin_fabs$F(a) <= $MAX) ? infinite : 0;
}
""",
    "check_unary": """
static inline int32_t weft_check_unary_$S($T r, $T a, int32_t infinite)
{
    const int32_t invalid = (r != r) & (a == a);
    const int32_t grown = (__builtin_fabs$F(r) > $MAX) & (__builtin_fabs$F(a) <= $MAX);
    return (invalid ? WEFT_FP_INVALID : 0) | (grown ? infinite : 0);
}
""",
    "check_binary": """
static inline int32_t weft_check_binary_$S($T r, $T a, $T b, int32_t infinite)
{
    const int32_t invalid = (r != r) & (a == a) & (b == b);
    const int32_t grown = (__builtin_fabs$F(r) > $MAX) & (__builtin_fabs$F(a) <= $MAX) & (__builtin_fabs$F(b) <= $MAX);
    return (invalid ? WEFT_FP_INVALID : 0) | (grown ? infinite : 0);
}
""",
    # Outside [low, high] of the integer that the machine converts to, and for NaN.
    "check_to_integer": """
static inline int32_t weft_check_to_integer_$S($T a, $T low, $T high)
{
    return (a >= low) & (a < high) ? 0 : WEFT_FP_INVALID;
}
""",
}

# CPython's float_floor_div and float_rem; guards exclude a divisor of zero.
PYTHON_FLOAT_FUNCTIONS: Final = {
    "python_floor_divide": """
static inline $T weft_python_floor_divide_$S($T a, $T b)
{
    const $T rest = @rest(a, b);
    $T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1.0;
    if (quotient == 0)
        return __builtin_copysign(0.0, a / b);
    const $T floored = __builtin_floor(quotient);
    return quotient - floored > 0.5 ? floored + 1.0 : floored;
}
""",
    "python_remainder": """
static inline $T weft_python_remainder_$S($T a, $T b)
{
    const $T rest = @rest(a, b);
    if (rest == 0)
        return __builtin_copysign(0.0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}
""",
}
