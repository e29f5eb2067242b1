// Functions of four numbers at a time, in single precision and without a branch.

#ifndef VECTORS_H
#define VECTORS_H

#include "kernels.h"

typedef f32 Four __attribute__((vector_size(16), aligned(4)));
typedef i32 FourIntegers __attribute__((vector_size(16), aligned(4)));

// The highest bit alone.
enum { HIGHEST_BIT = -2147483647 - 1 };

static inline Four all_of(f32 x) { return (Four){x, x, x, x}; }

// Where a mask is set, the first; elsewhere the second.
static inline Four chosen(FourIntegers mask, Four first, Four second) {
    return (Four)((mask & (FourIntegers)first) | (~mask & (FourIntegers)second));
}

// Four of the eight numbers of two vectors, by their places.
#ifdef __clang__
#define PICKED(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PICKED(a, b, i, j, k, l) __builtin_shuffle(a, b, (FourIntegers){i, j, k, l})
#endif

// Four rows of four numbers become columns, in two steps of pairs.
static inline void mirror(Four row[4]) {
    const Four first_01 = PICKED(row[0], row[1], 0, 4, 1, 5);
    const Four last_01 = PICKED(row[0], row[1], 2, 6, 3, 7);
    const Four first_23 = PICKED(row[2], row[3], 0, 4, 1, 5);
    const Four last_23 = PICKED(row[2], row[3], 2, 6, 3, 7);
    row[0] = PICKED(first_01, first_23, 0, 1, 4, 5);
    row[1] = PICKED(first_01, first_23, 2, 3, 6, 7);
    row[2] = PICKED(last_01, last_23, 0, 1, 4, 5);
    row[3] = PICKED(last_01, last_23, 2, 3, 6, 7);
}

static inline Four size_of(Four x) { return (Four)((FourIntegers)x & 0x7fffffff); }

// e^x, as `exp_f32` in mathematics.h computes it.
static inline Four exp_four(Four x) {
    const FourIntegers above = x > 88.72283f, below = x < -103.97f, known = x == x;
    Four bounded = chosen(above, all_of(88.72283f), x);
    bounded = chosen(below, all_of(-103.97f), bounded);
    bounded = chosen(known, bounded, all_of(0));
    // The nearest integer: adding 1.5 * 2^23 leaves no digits behind the point.
    const Four n = (bounded * 1.44269504088896341f + 12582912.0f) - 12582912.0f;
    Four rest = bounded - n * 0.693359375f;
    rest = rest + n * 2.12194440e-4f;
    Four series = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    series = series * rest + 8.3334519073e-3f;
    series = series * rest + 4.1665795894e-2f;
    series = series * rest + 1.6666665459e-1f;
    series = series * rest + 5.0000001201e-1f;
    series = series * rest * rest + rest + 1.0f;
    // 2^n as two factors, for results below the smallest normal number.
    const FourIntegers power = __builtin_convertvector(n, FourIntegers);
    const FourIntegers half = power >> 1;
    Four result = series * (Four)((half + 127) << 23) * (Four)((power - half + 127) << 23);
    result = chosen(above, all_of(__builtin_inff()), result);
    result = chosen(below, all_of(0), result);
    return chosen(known, result, x);
}

// erf by two polynomials of our own fit (at Chebyshev's points): of x^2 for erf(x) / x up to 0.94,
// of |x| for -log(1 - erf(|x|)) from there to 4, where nothing is left of the difference to 1.
static inline Four error_function_four(Four x) {
    const Four size = size_of(x), square = x * x;
    Four small = square * 8.204169676e-5f - 8.102915561e-4f;
    small = small * square + 5.197487227e-3f;
    small = small * square - 2.685795906e-2f;
    small = small * square + 1.128366947e-1f;
    small = small * square - 3.761263205e-1f;
    small = (small * square + 1.128379166f) * x;
    const Four t = chosen(size < 4.0f, size, all_of(4.0f));
    Four large = t * -1.643487203e-6f + 4.617800016e-5f;
    large = large * t - 5.977610695e-4f;
    large = large * t + 4.763749466e-3f;
    large = large * t - 2.643181434e-2f;
    large = large * t + 1.100964944e-1f;
    large = large * t + 6.318116364e-1f;
    large = large * t + 1.130239791f;
    large = large * t - 3.211113002e-4f;
    large = 1.0f - exp_four(-large);
    const FourIntegers sign = (FourIntegers)x & HIGHEST_BIT;
    large = (Four)((FourIntegers)large | sign);
    return chosen(x == x, chosen(size < 0.94f, small, large), x);
}

// tanh: a polynomial of our own fit near 0, and by e^(2|x|) beyond.
static inline Four tanh_four(Four x) {
    const Four size = size_of(x), square = x * x;
    Four small = square * -5.657135184e-3f + 2.058819145e-2f;
    small = small * square - 5.372010766e-2f;
    small = small * square + 1.333111406e-1f;
    small = small * square - 3.333325986e-1f;
    small = small * square * x + x;
    const Four large = 1.0f - 2.0f / (exp_four(size + size) + 1.0f);
    const FourIntegers sign = (FourIntegers)x & HIGHEST_BIT;
    const Four both = (Four)((FourIntegers)chosen(size < 0.625f, small, large) | sign);
    return chosen(x == x, both, x);
}

static inline Four sigmoid_four(Four x) { return 1.0f / (1.0f + exp_four(-x)); }

static inline Four silu_four(Four x) { return x / (1.0f + exp_four(-x)); }

// What a normal distribution has below x, (1 + erf(x / sqrt 2)) / 2, if `bell` is e^(-x^2 / 2): the
// bell times a polynomial of our own fit, of t = 1 / (1 + 0.4 |x| / sqrt 2).
static inline Four share_below_four(Four x, Four bell) {
    const Four t = 1.0f / (1.0f + size_of(x) * 0.282842712f);
    Four series = t * 2.509391335e-2f - 9.130876124e-2f;
    series = series * t + 8.432372590e-2f;
    series = series * t - 2.629265326e-3f;
    series = series * t + 7.063943297e-2f;
    series = series * t + 8.428887787e-2f;
    series = series * t + 1.039193213e-1f;
    series = series * t + 1.128348849e-1f;
    series = series * t + 1.128379304e-1f;
    const Four tail = series * t * bell;
    return chosen(x < 0.0f, tail, 1.0f - tail);
}

static inline Four bell_four(Four x) { return exp_four(-0.5f * x * x); }

static inline Four gelu_four(Four x) { return x * share_below_four(x, bell_four(x)); }

// GELU and its slope.
static inline Four gelu_with_slope_four(Four x, Four *slope) {
    const Four bell = bell_four(x), below = share_below_four(x, bell);
    *slope = below + x * bell * 0.3989422804014327f;
    return x * below;
}

static inline Four gelu_slope_four(Four x) {
    Four slope;
    gelu_with_slope_four(x, &slope);
    return slope;
}

// Each of a row of numbers; the last ones are filled up to four.
#define ROW_OF_FOURS(out, in, length, function)                          \
    {                                                                    \
        i64 at = 0;                                                      \
        for (; at + 4 <= (length); at += 4)                              \
            *(Four *)((out) + at) = function(*(const Four *)((in) + at)); \
        if (at < (length)) {                                             \
            Four last = {0};                                             \
            for (i64 i = at; i < (length); i++) last[i - at] = (in)[i];  \
            last = function(last);                                       \
            for (i64 i = at; i < (length); i++) (out)[i] = last[i - at]; \
        }                                                                \
    }

#endif
