// Functions of one number that no instruction does.

#include "mathematics.h"

// The value of a polynomial, its highest coefficient first. The coefficients are written into the
// code: a table would lie at a fixed address of a memory that isn't ours.
#define POLYNOMIAL_5(x, a, b, c, d, e) \
    (((((a) * (x) + (b)) * (x) + (c)) * (x) + (d)) * (x) + (e))
#define POLYNOMIAL_6(x, a, b, c, d, e, f) (POLYNOMIAL_5(x, a, b, c, d, e) * (x) + (f))
#define POLYNOMIAL_9(x, a, b, c, d, e, f, g, h, i) \
    (((POLYNOMIAL_6(x, a, b, c, d, e, f) * (x) + (g)) * (x) + (h)) * (x) + (i))

// erf by W. J. Cody's rational approximations (1969): one near 0, one up to 4, one beyond.
f64 error_function(f64 x) {
    if (x != x) return x;
    const f64 y = fabs(x);
    if (y <= 0.46875) {
        const f64 z = x * x;
        const f64 above = POLYNOMIAL_5(z, 0.185777706184603153, 3.16112374387056560,
                                       113.864154151050156, 377.485237685302021,
                                       3209.37758913846947);
        const f64 below = POLYNOMIAL_5(z, 1, 23.6012909523441209, 244.024637934444173,
                                       1282.61652607737228, 2844.23683343917062);
        return x * above / below;
    }
    f64 rest = 0;  // 1 - erf(y)
    if (y <= 4) {
        const f64 above = POLYNOMIAL_9(y, 2.15311535474403846e-8, 0.564188496988670089,
                                       8.88314979438837594, 66.1191906371416295,
                                       298.635138197400131, 881.952221241769090,
                                       1712.04761263407058, 2051.07837782607147,
                                       1230.33935479799725);
        const f64 below = POLYNOMIAL_9(y, 1, 15.7449261107098347, 117.693950891312499,
                                       537.181101862009858, 1621.38957456669019,
                                       3290.79923573345963, 4362.61909014324716,
                                       3439.36767414372164, 1230.33935480374942);
        rest = exp(-y * y) * above / below;
    } else if (y <= 6) {
        const f64 z = 1 / (y * y);
        const f64 above = POLYNOMIAL_6(z, 0.0163153871373020978, 0.305326634961232344,
                                       0.360344899949804439, 0.125781726111229246,
                                       0.0160837851487422766, 6.58749161529837803e-4);
        const f64 below = POLYNOMIAL_6(z, 1, 2.56852019228982242, 1.87295284992346047,
                                       0.527905102951428412, 0.0605183413124413191,
                                       2.33520497626869185e-3);
        const f64 series = z * above / below;
        rest = exp(-y * y) * (0.564189583547756287 - series) / y;
    }
    return x < 0 ? rest - 1 : 1 - rest;
}

typedef union {
    f32 value;
    u32 bits;
} Pattern;

f32 from_bfloat16(u16 bits) {
    Pattern pattern = {.bits = (u32)bits << 16};
    return pattern.value;
}

u16 to_bfloat16(f32 x) {
    if (x != x) return 0x7fc0;
    Pattern pattern = {.value = x};
    return (u16)((pattern.bits + 0x7fff + ((pattern.bits >> 16) & 1)) >> 16);
}

f32 from_float16(u16 bits) {
    const u32 sign = (u32)(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, digits = bits & 1023;
    if (exponent == 0) {
        const f32 small = (f32)digits * (1.0f / 16777216.0f);
        return sign ? -small : small;
    }
    const u32 wide = exponent == 31 ? 255 : exponent + 112;
    Pattern pattern = {.bits = sign | wide << 23 | digits << 13};
    return pattern.value;
}

u16 to_float16(f32 x) {
    Pattern pattern = {.value = x};
    const u16 sign = (u16)(pattern.bits >> 16) & 0x8000;
    if (x != x) return sign | 0x7e00;
    const f32 size = x < 0 ? -x : x;
    if (size >= 65520.0f) return sign | 0x7c00;
    if (size < 6.103515625e-05f) return sign | (u16)round_to_even((f64)size * 16777216.0);
    pattern.value = size;
    pattern.bits += 0xfff + ((pattern.bits >> 13) & 1);
    return sign | (u16)((pattern.bits >> 13) - (112 << 10));
}
