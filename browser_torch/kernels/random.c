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

// Box and Muller's transformation, for sixteen uniform numbers at a time: the first eight give the
// radius, the last eight the angle. What is left at the end is drawn again, with its neighbours.
#define NORMAL_NUMBERS(T, UNIFORM_NUMBER, TURN, ROOT)                        \
    {                                                                        \
        T *out = (T *)target->data;                                          \
        for (i64 i = 0; i < count; i++) out[i] = UNIFORM_NUMBER(state);      \
        for (i64 start = 0; start < count; start += 16) {                    \
            if (start > count - 16) {                                        \
                start = count - 16;                                          \
                for (int j = 0; j < 16; j++) out[start + j] = UNIFORM_NUMBER(state); \
            }                                                                \
            for (int j = 0; j < 8; j++) {                                    \
                T *one = &out[start + j], *other = &out[start + j + 8];      \
                const T radius = ROOT(-2 * (T)log(1 - *one));                \
                const T angle = TURN * *other;                               \
                *one = radius * (T)cos(angle) * deviation + mean;            \
                *other = radius * (T)sin(angle) * deviation + mean;          \
            }                                                                \
        }                                                                    \
    }

static Status normal(const Tensor *target, u32 *state, f64 mean_f64, f64 deviation_f64) {
    const i64 count = elements(target);
    if (count < 16) return BAD_SHAPE;
    if (target->dtype == FLOAT32) {
        const f32 mean = (f32)mean_f64, deviation = (f32)deviation_f64;
        NORMAL_NUMBERS(f32, uniform_24, 6.28318530717958647692f, sqrtf)
    } else {
        const f64 mean = mean_f64, deviation = deviation_f64;
        NORMAL_NUMBERS(f64, uniform_53, 6.28318530717958647692, sqrt)
    }
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
            if (second <= 0) return BAD_NUMBER;
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
