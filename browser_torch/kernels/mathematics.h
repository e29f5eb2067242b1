// Functions of one number.

#ifndef MATHEMATICS_H
#define MATHEMATICS_H

#include "kernels.h"

// In the page these come from JavaScript's `Math`, natively from the C library.
#ifdef __wasm__
#define FROM_OUTSIDE(name) __attribute__((import_module("env"), import_name(#name)))
#else
#define FROM_OUTSIDE(name)
#endif
FROM_OUTSIDE(exp) double exp(double);
FROM_OUTSIDE(log) double log(double);
FROM_OUTSIDE(sin) double sin(double);
FROM_OUTSIDE(cos) double cos(double);
FROM_OUTSIDE(tan) double tan(double);
FROM_OUTSIDE(tanh) double tanh(double);
FROM_OUTSIDE(pow) double pow(double, double);
FROM_OUTSIDE(log1p) double log1p(double);
FROM_OUTSIDE(expm1) double expm1(double);
FROM_OUTSIDE(atan2) double atan2(double, double);

// These are instructions.
#define sqrt __builtin_sqrt
#define sqrtf __builtin_sqrtf
#define floor __builtin_floor
#define floorf __builtin_floorf
#define ceil __builtin_ceil
#define trunc __builtin_trunc
#define round_to_even __builtin_rint
#define fabs __builtin_fabs
#define INFINITE __builtin_inf()

f64 error_function(f64 x);

// Sixteen bits, as a number and back; to the nearest, ties to even.
f32 from_bfloat16(u16 bits);
u16 to_bfloat16(f32 x);
f32 from_float16(u16 bits);
u16 to_float16(f32 x);

// e^x in single precision, in a form that the compiler does for four numbers at a time.
static inline f32 exp_f32(f32 x) {
    const f32 bounded = x > 88.72283f ? 88.72283f : x < -103.97f ? -103.97f : x;
    // x = n ln 2 + rest, with ln 2 as a sum of two numbers, for its digits.
    const f32 n = floorf(bounded * 1.44269504088896341f + 0.5f);
    f32 rest = bounded - n * 0.693359375f;
    rest = rest + n * 2.12194440e-4f;
    f32 series = 1.9875691500e-4f;
    series = series * rest + 1.3981999507e-3f;
    series = series * rest + 8.3334519073e-3f;
    series = series * rest + 4.1665795894e-2f;
    series = series * rest + 1.6666665459e-1f;
    series = series * rest + 5.0000001201e-1f;
    series = series * rest * rest + rest + 1.0f;
    // 2^n as two factors, for results below the smallest normal number.
    const i32 power = bounded == bounded ? (i32)n : 0;
    const i32 half = power >> 1;
    union {
        i32 bits;
        f32 value;
    } one = {.bits = (half + 127) << 23}, other = {.bits = (power - half + 127) << 23};
    f32 result = series * one.value * other.value;
    result = x > 88.72283f ? __builtin_inff() : result;
    result = x < -103.97f ? 0.0f : result;
    return x != x ? x : result;
}

#endif
