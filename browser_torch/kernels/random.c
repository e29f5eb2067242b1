// PyTorch's random numbers: the generator mt19937, and what is drawn with it in which order.

#include "kernels.h"
#include "mathematics.h"

typedef enum { SEED, UNIFORM, NORMAL, INTEGERS, PERMUTATION, UNIFORM_53 } Draw;

enum { STATE = 624, FURTHER = 397 };

// The next 32 bits. Behind the 624 numbers of the state stands how many of them are used.
static u32 bits_32(u32 *state) {
    if (state[STATE] >= STATE) {
        for (int k = 0; k < STATE; k++) {
            const u32 mixed = (state[k] & 0x80000000u) | (state[(k + 1) % STATE] & 0x7fffffffu);
            state[k] = state[(k + FURTHER) % STATE] ^ (mixed >> 1) ^ (mixed & 1 ? 0x9908b0dfu : 0);
        }
        state[STATE] = 0;
    }
    u32 bits = state[state[STATE]++];
    bits ^= bits >> 11;
    bits ^= (bits << 7) & 0x9d2c5680u;
    bits ^= (bits << 15) & 0xefc60000u;
    return bits ^ (bits >> 18);
}

static u64 bits_64(u32 *state) {
    const u64 high = bits_32(state);
    return high << 32 | bits_32(state);
}

static f32 uniform_24(u32 *state) {
    return (f32)(bits_32(state) & ((1u << 24) - 1)) * (1.0f / 16777216.0f);
}

static f64 uniform_53(u32 *state) {
    return (f64)(bits_64(state) & ((1ULL << 53) - 1)) * (1.0 / 9007199254740992.0);
}

static void seed(u32 *state, u32 number) {
    state[0] = number;
    for (u32 k = 1; k < STATE; k++)
        state[k] = 1812433253u * (state[k - 1] ^ (state[k - 1] >> 30)) + k;
    state[STATE] = STATE;
}

// a * b + c, rounded once: the product of two single-precision numbers is exact in double
// precision. (That the sum is then rounded twice changes one result in 2^29.)
static inline f32 fused(f32 a, f32 b, f32 c) { return (f32)((f64)a * b + c); }

typedef union {
    f32 value;
    u32 bits;
} Pattern;

// PyTorch draws normal numbers with these approximations, on processors that fuse products and
// sums. They are those of the Cephes library, and every rounding counts: the last bit is compared.
static f32 logarithm_f32(f32 x) {
    Pattern pattern = {.value = x < 1.17549435e-38f ? 1.17549435e-38f : x};
    f32 exponent = (f32)((i32)(pattern.bits >> 23) - 126);
    // A fraction from 1/2 to 1, or, below the root of 1/2, from 1 to its double.
    pattern.bits = (pattern.bits & 0x807fffffu) | 0x3f000000u;
    f32 rest = pattern.value - 1;
    if (pattern.value < 0.707106781186547524f) {
        exponent -= 1;
        rest += pattern.value;
    }
    const f32 square = rest * rest;
    f32 series = 7.0376836292e-2f;
    series = fused(series, rest, -1.1514610310e-1f);
    series = fused(series, rest, 1.1676998740e-1f);
    series = fused(series, rest, -1.2420140846e-1f);
    series = fused(series, rest, 1.4249322787e-1f);
    series = fused(series, rest, -1.6668057665e-1f);
    series = fused(series, rest, 2.0000714765e-1f);
    series = fused(series, rest, -2.4999993993e-1f);
    series = fused(series, rest, 3.3333331174e-1f);
    series = fused(series * rest, square, exponent * -2.12194440e-4f);
    series = fused(square, -0.5f, series);
    return fused(exponent, 0.693359375f, rest + series);
}

static void sine_and_cosine_f32(f32 angle, f32 *sine, f32 *cosine) {
    // The octant, made even; what is left is at most an eighth of a turn to either side.
    const i32 octant = ((i32)(angle * 1.27323954473516f) + 1) & ~1;
    const f32 turns = (f32)octant;
    f32 rest = fused(turns, -0.78515625f, angle);
    rest = fused(turns, -2.4187564849853515625e-4f, rest);
    rest = fused(turns, -3.77489497744594108e-8f, rest);
    const f32 square = rest * rest;
    f32 even = 2.443315711809948e-5f;
    even = fused(even, square, -1.388731625493765e-3f);
    even = fused(even, square, 4.166664568298827e-2f);
    even = fused(even * square, square, -0.5f * square) + 1;
    f32 odd = -1.9515295891e-4f;
    odd = fused(odd, square, 8.3321608736e-3f);
    odd = fused(odd, square, -1.6666654611e-1f);
    odd = fused(odd * square, rest, rest);
    const int swapped = octant & 2;
    *sine = swapped ? even : odd;
    *cosine = swapped ? odd : even;
    if (octant & 4) *sine = -*sine;
    if (((octant - 2) & 4) == 0) *cosine = -*cosine;
}

// Box and Muller's transformation of sixteen uniform numbers: the first eight give the radius,
// the last eight the angle.
static void normal_16_f32(f32 *out, f32 mean, f32 deviation) {
    for (int j = 0; j < 8; j++) {
        const f32 radius = sqrtf(-2 * logarithm_f32(1 - out[j]));
        f32 sine, cosine;
        sine_and_cosine_f32(6.28318530717958647692f * out[j + 8], &sine, &cosine);
        out[j] = fused(radius * cosine, deviation, mean);
        out[j + 8] = fused(radius * sine, deviation, mean);
    }
}

static void normal_16_f64(f64 *out, f64 mean, f64 deviation) {
    for (int j = 0; j < 8; j++) {
        const f64 radius = sqrt(-2 * log(1 - out[j]));
        const f64 angle = 6.28318530717958647692 * out[j + 8];
        out[j] = radius * cos(angle) * deviation + mean;
        out[j + 8] = radius * sin(angle) * deviation + mean;
    }
}

// What is left at the end is drawn again, with its neighbours.
#define NORMAL_NUMBERS(T, uniform_number, normal_16)                                     \
    {                                                                                    \
        T *out = (T *)target->data;                                                      \
        for (i64 i = 0; i < count; i++) out[i] = uniform_number(state);                  \
        for (i64 start = 0; start + 16 <= count; start += 16)                            \
            normal_16(out + start, (T)mean, (T)deviation);                               \
        if (count % 16) {                                                                \
            out += count - 16;                                                           \
            for (int j = 0; j < 16; j++) out[j] = uniform_number(state);                 \
            normal_16(out, (T)mean, (T)deviation);                                       \
        }                                                                                \
    }

static Status normal(const Tensor *target, u32 *state, f64 mean, f64 deviation) {
    const i64 count = elements(target);
    if (count < 16) return BAD_SHAPE;
    if (target->dtype == FLOAT32) NORMAL_NUMBERS(f32, uniform_24, normal_16_f32)
    else NORMAL_NUMBERS(f64, uniform_53, normal_16_f64)
    return OK;
}

// Numbers: what is drawn, and two more that depend on it. Tensors: state, result.
Status random_numbers(Call *call) {
    const Tensor *generator = &call->tensor[0], *target = &call->tensor[1];
    if (generator->dtype != INT32 || !contiguous(generator)) return BAD_DTYPE;
    if (elements(generator) != STATE + 1 || !contiguous(target)) return BAD_SHAPE;
    u32 *state = (u32 *)generator->data;
    const i64 first = call->number[1], second = call->number[2], count = elements(target);
    const int dtype = target->dtype, floating = dtype == FLOAT32 || dtype == FLOAT64;
    switch (call->number[0]) {
        case SEED: seed(state, (u32)first); return OK;
        case UNIFORM: {  // from, to
            if (!floating) return BAD_DTYPE;
            const f64 from = as_f64(first), to = as_f64(second);
            if (dtype == FLOAT64) {
                f64 *out = (f64 *)target->data;
                for (i64 i = 0; i < count; i++) out[i] = uniform_53(state) * (to - from) + from;
                return OK;
            }
            // PyTorch rounds once, after the product and the sum: double precision does, too.
            f32 *out = (f32 *)target->data;
            const f64 width = (f32)to - (f32)from, start = (f32)from;
            for (i64 i = 0; i < count; i++) out[i] = (f32)((f64)uniform_24(state) * width + start);
            return OK;
        }
        case NORMAL:  // mean, standard deviation
            if (!floating) return BAD_DTYPE;
            return normal(target, state, as_f64(first), as_f64(second));
        case INTEGERS: {  // from, how many
            if (dtype != INT64) return BAD_DTYPE;
            // The lowest number stands for 2 to the 63, which has no other place in 64 bits.
            if (second <= 0 && second != -0x7fffffffffffffffLL - 1) return BAD_NUMBER;
            i64 *out = (i64 *)target->data;
            const u64 range = (u64)second;
            for (i64 i = 0; i < count; i++)
                out[i] = (i64)((range >> 28 ? bits_64(state) : bits_32(state)) % range) + first;
            return OK;
        }
        case PERMUTATION: {
            if (dtype != INT64 || count > 0xffffffffLL) return BAD_DTYPE;
            i64 *out = (i64 *)target->data;
            for (i64 i = 0; i < count; i++) out[i] = i;
            for (i64 i = 0; i < count - 1; i++) {
                const i64 other = i + (i64)(bits_32(state) % (u32)(count - i)), kept = out[i];
                out[i] = out[other];
                out[other] = kept;
            }
            return OK;
        }
        case UNIFORM_53: {
            if (dtype != FLOAT64) return BAD_DTYPE;
            f64 *out = (f64 *)target->data;
            for (i64 i = 0; i < count; i++) out[i] = uniform_53(state);
            return OK;
        }
        default: return BAD_NUMBER;
    }
}
