"""C of the complex operations, with NumPy's own formulas (templates, see support_functions).

C's operators on complex numbers would call the compiler's library for the products of infinities; NumPy does not.
"""

from __future__ import annotations

from typing import Final

_ORDER = """
static inline uint8_t weft_{name}_$S($T a, $T b)
{{
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    return ((ar {first} br) & (ai == ai) & (bi == bi)) | ((ar == br) & (ai {second} bi));
}}
"""

_CHOICE = """
static inline $T weft_{name}_$S($T a, $T b) {{ return (@{order}(a, b) | @isnan({wins})) ? a : b; }}
"""

COMPLEX_FUNCTIONS: Final = {
    "multiply_add": """
static inline $T weft_multiply_add_$S($T c, $T a, $T b) { return c + @multiply(a, b); }
""",
    "fused": """
static inline $T weft_fused_$S($T c, $T a, $T b) { return @multiply_add(c, a, b); }
""",
    "join": """
static inline $T weft_join_$S($T a, $T b) { return a + b; }
""",
    "multiply": """
static inline $T weft_multiply_$S($T a, $T b)
{
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    return __builtin_complex(ar * br - ai * bi, ar * bi + ai * br);
}
""",
    # NumPy's loops over arrays contract the first product where the processor can.
    "multiply_arrays": """
static inline $T weft_multiply_arrays_$S($T a, $T b)
{
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
#ifdef __FMA__
    return __builtin_complex(__builtin_fma$F(ar, br, -(ai * bi)), __builtin_fma$F(ar, bi, ai * br));
#else
    return __builtin_complex(ar * br - ai * bi, ar * bi + ai * br);
#endif
}
""",
    # By the larger part of the divisor; the two cases differ in which part is which. Without a branch, and without a
    # flag that is not due.
    "divide": """
static inline $T weft_divide_$S($T a, $T b)
{
    typedef typeof(_Generic(($R)0, float: (int32_t)0, default: (int64_t)0)) mask;
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    const mask first = -(mask)(__builtin_fabs$F(br) >= __builtin_fabs$F(bi));
    const $R large = @@pick(first, br, bi), small = @@pick(first, bi, br);
    const $R with = @@pick(first, ar, ai), across = @@pick(first, ai, ar);
    const $R ratio = small / large, scale = 1.0$F / (large + small * ratio), part = with * ratio;
    const $R real = (with + across * ratio) * scale;
    const $R imag = (@@pick(first, across, part) - @@pick(first, part, across)) * scale;
    const mask zero = first & -(mask)(large == 0);
    const $R grown = @@pick(zero, __builtin_inf$F(), 1.0$F);
    return __builtin_complex(@@pick(zero, ar, real) * grown, @@pick(zero, ai, imag) * grown);
}
""",
    "reciprocal": """
static inline $T weft_reciprocal_$S($T a)
{
    const $R ar = __real__ a, ai = __imag__ a;
    if (__builtin_fabs$F(ai) <= __builtin_fabs$F(ar)) {
        const $R ratio = ai / ar, scale = ar + ai * ratio;
        return __builtin_complex(1.0$F / scale, -ratio / scale);
    }
    const $R ratio = ar / ai, scale = ar * ratio + ai;
    return __builtin_complex(ratio / scale, -1.0$F / scale);
}
""",
    "absolute": """
static inline $R weft_absolute_$S($T a) { return %hypot(__real__ a, __imag__ a); }
""",
    "square": """
static inline $T weft_square_$S($T a) { return @multiply(a, a); }
""",
    "square_arrays": """
static inline $T weft_square_arrays_$S($T a) { return @multiply_arrays(a, a); }
""",
    "conjugate": """
static inline $T weft_conjugate_$S($T a) { return __builtin_complex(__real__ a, -__imag__ a); }
""",
    "negative": """
static inline $T weft_negative_$S($T a) { return __builtin_complex(-__real__ a, -__imag__ a); }
""",
    "rint": """
static inline $T weft_rint_$S($T a)
{
    return __builtin_complex(__builtin_rint$F(__real__ a), __builtin_rint$F(__imag__ a));
}
""",
    "sign": """
static inline $T weft_sign_$S($T a)
{
    const $R ar = __real__ a, ai = __imag__ a, size = %hypot(ar, ai);
    if (size == 0)
        return __builtin_complex(0.0$F, 0.0$F);
    if (size > $MAX) {
        if (__builtin_fabs$F(ar) > $MAX) {
            if (__builtin_fabs$F(ai) > $MAX)
                return __builtin_complex(__builtin_nan$F(""), __builtin_nan$F(""));
            return __builtin_complex(ar > 0 ? 1.0$F : -1.0$F, 0.0$F);
        }
        return __builtin_complex(0.0$F, ai > 0 ? 1.0$F : -1.0$F);
    }
    return __builtin_complex(ar / size, ai / size);
}
""",
    "isnan": """
static inline uint8_t weft_isnan_$S($T a) { return (__real__ a != __real__ a) | (__imag__ a != __imag__ a); }
""",
    "isinf": """
static inline uint8_t weft_isinf_$S($T a)
{
    return (__builtin_fabs$F(__real__ a) > $MAX) | (__builtin_fabs$F(__imag__ a) > $MAX);
}
""",
    "isfinite": """
static inline uint8_t weft_isfinite_$S($T a)
{
    return (__builtin_fabs$F(__real__ a) <= $MAX) & (__builtin_fabs$F(__imag__ a) <= $MAX);
}
""",
    "truth": """
static inline uint8_t weft_truth_$S($T a) { return (__real__ a != 0) | (__imag__ a != 0); }
""",
    "less": _ORDER.format(name="less", first="<", second="<"),
    "less_equal": _ORDER.format(name="less_equal", first="<", second="<="),
    "greater": _ORDER.format(name="greater", first=">", second=">"),
    "greater_equal": _ORDER.format(name="greater_equal", first=">", second=">="),
    "maximum": _CHOICE.format(name="maximum", order="greater_equal", wins="a"),
    "minimum": _CHOICE.format(name="minimum", order="less_equal", wins="a"),
    "fmax": _CHOICE.format(name="fmax", order="greater_equal", wins="b"),
    "fmin": _CHOICE.format(name="fmin", order="less_equal", wins="b"),
    # Of a number whose real part is zero, or not a number where the other is not finite either.
    "exp_imaginary": """
static inline $T weft_exp_imaginary_$S($T a) { return __builtin_complex(%cos(__imag__ a), %sin(__imag__ a)); }
""",
    "exp2": """
static inline $T weft_exp2_$S($T a)
{
    const $R ln2 = 0.693147180559945309417232121458176568$F;
    return %cexp(__builtin_complex(__real__ a * ln2, __imag__ a * ln2));
}
""",
    "log2": """
static inline $T weft_log2_$S($T a)
{
    const $T r = %clog(a);
    const $R log2e = 1.442695040888963407359924681001892137$F;
    return __builtin_complex(__real__ r * log2e, __imag__ r * log2e);
}
""",
    "log10": """
static inline $T weft_log10_$S($T a)
{
    const $T r = %clog(a);
    const $R log10e = 0.434294481903251827651128918916605082$F;
    return __builtin_complex(__real__ r * log10e, __imag__ r * log10e);
}
""",
    "log1p": """
static inline $T weft_log1p_$S($T a)
{
    const $R ar = __real__ a + 1.0$F, ai = __imag__ a;
    return __builtin_complex(%log(%hypot(ar, ai)), %atan2(ai, ar));
}
""",
    "expm1": """
static inline $T weft_expm1_$S($T a)
{
    const $R half = %sin(__imag__ a / 2), ar = __real__ a, ai = __imag__ a;
    return __builtin_complex(%expm1(ar) * %cos(ai) - 2 * half * half, %exp(ar) * %sin(ai));
}
""",
    "power": """
static inline $T weft_power_$S($T a, $T b)
{
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    if (br == 0 && bi == 0)
        return __builtin_complex(1.0$F, 0.0$F);
    if (ar == 0 && ai == 0) {
        if (br > 0 && bi == 0)
            return __builtin_complex(0.0$F, 0.0$F);
        return __builtin_complex(__builtin_nan$F(""), __builtin_nan$F(""));
    }
    if (bi == 0 && br > -100 && br < 100 && br == (int64_t)br) {
        int64_t n = (int64_t)br;
        if (n == 1)
            return a;
        if (n == 2)
            return @multiply(a, a);
        if (n == 3)
            return @multiply(a, @multiply(a, a));
        const int negative = n < 0;
        $T result = __builtin_complex(1.0$F, 0.0$F), square = a;
        for (n = negative ? -n : n; n > 0; n >>= 1) {
            if (n & 1)
                result = @multiply(result, square);
            square = @multiply(square, square);
        }
        return negative ? @divide(__builtin_complex(1.0$F, 0.0$F), result) : result;
    }
    return %cpow(a, b);
}
""",
    "check_unary": """
static inline int32_t weft_check_unary_$S($T r, $T a, int32_t infinite)
{
    return (@isnan(r) & !@isnan(a) ? WEFT_FP_INVALID : 0) | (@isinf(r) & @isfinite(a) ? infinite : 0);
}
""",
    # The C library tells of every NaN it gives, unless all it was given is NaN, or an infinity with one.
    "check_exp": """
static inline int32_t weft_check_exp_$S($T r, $T a, int32_t infinite)
{
    const $R x = __real__ a, y = __imag__ a;
    const int32_t quiet = (y == 0) | (__builtin_isnan(y) & (__builtin_isnan(x) | (__builtin_isinf(x) != 0)));
    return (@isnan(r) & !quiet ? WEFT_FP_INVALID : 0) | (@isinf(r) & @isfinite(a) ? infinite : 0);
}
""",
    # The flags of each step of the formulas above, as the processor raises them; a comparison of NaN is invalid too.
    "step_flags": """
static inline int32_t weft_step_flags_$S($R r, $R a, $R b, int32_t infinite)
{
    return (__builtin_isnan(r) & !__builtin_isnan(a) & !__builtin_isnan(b) ? WEFT_FP_INVALID : 0)
        | ((__builtin_isinf(r) != 0) & __builtin_isfinite(a) & __builtin_isfinite(b) ? infinite : 0);
}
""",
    "quotient_flags": """
static inline int32_t weft_quotient_flags_$S($R a, $R b)
{
    return @step_flags(a / b, a, b, b == 0 ? WEFT_FP_DIVIDE : WEFT_FP_OVERFLOW);
}
""",
    "part_flags": """
static inline int32_t weft_part_flags_$S($R a, $R b, $R ratio, $R scale, $R sign)
{
    const $R product = b * ratio, sum = a + sign * product, part = sum * scale;
    return @step_flags(product, b, ratio, WEFT_FP_OVERFLOW) | @step_flags(sum, a, product, WEFT_FP_OVERFLOW)
        | @step_flags(part, sum, scale, WEFT_FP_OVERFLOW);
}
""",
    "check_divide": """
static int32_t weft_check_divide_$S($T a, $T b)
{
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    const int first = __builtin_fabs$F(br) >= __builtin_fabs$F(bi);
    const $R large = first ? br : bi, small = first ? bi : br;
    if (__builtin_isnan(br) | __builtin_isnan(bi))
        return WEFT_FP_INVALID;
    if (large == 0)
        return @quotient_flags(ar, 0) | @quotient_flags(ai, 0);
    const $R ratio = small / large, product = small * ratio, sum = large + product, scale = 1.0$F / sum;
    return @quotient_flags(small, large) | @step_flags(product, small, ratio, WEFT_FP_OVERFLOW)
        | @step_flags(sum, large, product, WEFT_FP_OVERFLOW) | @quotient_flags(1.0$F, sum)
        | (first ? @part_flags(ar, ai, ratio, scale, 1.0$F) | @part_flags(ai, ar, ratio, scale, -1.0$F)
                 : @part_flags(ai, ar, ratio, scale, 1.0$F) | @part_flags(-ar, ai, ratio, scale, 1.0$F));
}
""",
    "check_reciprocal": """
static int32_t weft_check_reciprocal_$S($T a)
{
    const $R ar = __real__ a, ai = __imag__ a;
    const int first = __builtin_fabs$F(ai) <= __builtin_fabs$F(ar);
    const $R large = first ? ar : ai, small = first ? ai : ar;
    if (__builtin_isnan(ar) | __builtin_isnan(ai))
        return WEFT_FP_INVALID;
    const $R ratio = small / large, product = small * ratio, sum = large + product;
    return @quotient_flags(small, large) | @step_flags(product, small, ratio, WEFT_FP_OVERFLOW)
        | @step_flags(sum, large, product, WEFT_FP_OVERFLOW) | @quotient_flags(1.0$F, sum)
        | @quotient_flags(ratio, sum);
}
""",
    "product_flags": """
static inline int32_t weft_product_flags_$S($R a, $R b)
{
    return @step_flags(a * b, a, b, WEFT_FP_OVERFLOW);
}
""",
    "check_multiply": """
static int32_t weft_check_multiply_$S($T a, $T b)
{
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    return @product_flags(ar, br) | @product_flags(ai, bi) | @product_flags(ar, bi) | @product_flags(ai, br)
        | @step_flags(ar * br - ai * bi, ar * br, ai * bi, WEFT_FP_OVERFLOW)
        | @step_flags(ar * bi + ai * br, ar * bi, ai * br, WEFT_FP_OVERFLOW);
}
""",
    "fused_flags": """
static inline int32_t weft_fused_flags_$S($R r, $R a, $R b, $R c)
{
    return @step_flags(r, a, b, __builtin_isfinite(c) ? WEFT_FP_OVERFLOW : 0) & (__builtin_isnan(c) ? 0 : -1);
}
""",
    "check_multiply_arrays": """
static inline int32_t weft_check_multiply_arrays_$S($T a, $T b)
{
#ifdef __FMA__
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    return @product_flags(ai, bi) | @product_flags(ai, br)
        | @fused_flags(__builtin_fma$F(ar, br, -(ai * bi)), ar, br, ai * bi)
        | @fused_flags(__builtin_fma$F(ar, bi, ai * br), ar, bi, ai * br);
#else
    return @check_multiply(a, b);
#endif
}
""",
    "check_sign": """
static inline int32_t weft_check_sign_$S($T r, $T a, int32_t infinite)
{
    (void)r, (void)infinite;
    return @isfinite(a) & (%hypot(__real__ a, __imag__ a) > $MAX) ? WEFT_FP_OVERFLOW : 0;
}
""",
    # NumPy compares the imaginary parts only of numbers whose real parts are equal.
    "check_order": """
static inline int32_t weft_check_order_$S($T a, $T b)
{
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    const int32_t first = __builtin_isnan(ar) | __builtin_isnan(br), second = __builtin_isnan(ai) | __builtin_isnan(bi);
    return first | ((ar == br) & second) ? WEFT_FP_INVALID : 0;
}
""",
    # Parts that have nothing to do with each other: NaN in one of them does not hide what happens in the other.
    "check_parts": """
static inline int32_t weft_check_parts_$S($T r, $T a, $T b, int32_t infinite)
{
    return @step_flags(__real__ r, __real__ a, __real__ b, infinite)
        | @step_flags(__imag__ r, __imag__ a, __imag__ b, infinite);
}
""",
    "check_binary": """
static inline int32_t weft_check_binary_$S($T r, $T a, $T b, int32_t infinite)
{
    return (@isnan(r) & !@isnan(a) & !@isnan(b) ? WEFT_FP_INVALID : 0)
        | (@isinf(r) & @isfinite(a) & @isfinite(b) ? infinite : 0);
}
""",
}

# CPython's _Py_c_quot, c_powi and _Py_c_pow; guards exclude what raises.
PYTHON_COMPLEX_FUNCTIONS: Final = {
    "python_divide": """
static inline $T weft_python_divide_$S($T a, $T b)
{
    const $R ar = __real__ a, ai = __imag__ a, br = __real__ b, bi = __imag__ b;
    if (__builtin_fabs(br) >= __builtin_fabs(bi)) {
        const $R ratio = bi / br, scale = br + bi * ratio;
        return __builtin_complex((ar + ai * ratio) / scale, (ai - ar * ratio) / scale);
    }
    if (__builtin_fabs(bi) >= __builtin_fabs(br)) {
        const $R ratio = br / bi, scale = br * ratio + bi;
        return __builtin_complex((ar * ratio + ai) / scale, (ai * ratio - ar) / scale);
    }
    return __builtin_complex(__builtin_nan(""), __builtin_nan(""));
}
""",
    "python_power": """
static inline $T weft_python_power_$S($T a, $T b)
{
    const $R br = __real__ b, bi = __imag__ b;
    if (bi == 0 && br == __builtin_floor(br) && __builtin_fabs(br) <= 100) {
        int64_t n = (int64_t)br;
        const int negative = n < 0;
        $T result = __builtin_complex(1.0, 0.0), square = a;
        for (n = negative ? -n : n; n > 0; n >>= 1) {
            if (n & 1)
                result = @multiply(result, square);
            square = @multiply(square, square);
        }
        return negative ? @python_divide(__builtin_complex(1.0, 0.0), result) : result;
    }
    if (__real__ a == 0 && __imag__ a == 0)
        return __builtin_complex(0.0, 0.0);
    const $R size = %hypot(__real__ a, __imag__ a), angle = %atan2(__imag__ a, __real__ a);
    $R length = %pow(size, br), phase = angle * br;
    if (bi != 0) {
        length *= %exp(-angle * bi);
        phase += bi * %log(size);
    }
    return __builtin_complex(length * %cos(phase), length * %sin(phase));
}
""",
}
