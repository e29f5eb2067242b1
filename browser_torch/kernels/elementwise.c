// What is done to each element by itself.

#include "loops.h"
#include "mathematics.h"
#include "vectors.h"

typedef enum {
    NEGATIVE,
    ABSOLUTE,
    SIGN,
    SQUARE,
    RECIPROCAL,
    SQUARE_ROOT,
    RECIPROCAL_ROOT,
    EXPONENTIAL,
    EXPONENTIAL_2,
    EXPONENTIAL_LESS_1,
    LOGARITHM,
    LOGARITHM_2,
    LOGARITHM_OF_1_MORE,
    SINE,
    COSINE,
    TANGENT,
    HYPERBOLIC_TANGENT,
    ERROR_FUNCTION,
    SIGMOID,
    RELU,
    SILU,
    GELU,
    GELU_SLOPE,
    FLOOR,
    CEILING,
    ROUND,
    TRUNCATE,
    IS_NAN,
    IS_FINITE,
    NOT,
    INVERT_BITS,
    CONJUGATE,
} Unary;

typedef enum {
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    POWER,
    MAXIMUM,
    MINIMUM,
    EQUAL,
    NOT_EQUAL,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    FLOOR_DIVIDE,
    TRUNCATED_DIVIDE,
    REMAINDER,
    C_REMAINDER,
    AND,
    OR,
    XOR,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    ARC_TANGENT_2,
} Binary;

typedef struct {
    f32 real, imaginary;
} c64;
typedef struct {
    f64 real, imaginary;
} c128;

static const f64 ROOT_OF_HALF = 0.70710678118654752;
static const f64 DENSITY_AT_0 = 0.3989422804014327;  // of the normal distribution

// One row: `out` from `a`, both of any step; a step of 1 is a loop that the compiler vectorises.
#define EACH(Out, In, expression)                                     \
    {                                                                 \
        const In *a = (const In *)source + loop.offset[1];            \
        Out *out = (Out *)target + loop.offset[0];                    \
        if (step_out == 1 && step_a == 1) {                           \
            for (i64 i = 0; i < length; i++) {                        \
                const In x = a[i];                                    \
                out[i] = (Out)(expression);                           \
            }                                                         \
        } else {                                                      \
            for (i64 i = 0; i < length; i++) {                        \
                const In x = a[i * step_a];                           \
                out[i * step_out] = (Out)(expression);                \
            }                                                         \
        }                                                             \
        break;                                                        \
    }

#define FLOATING(T, EXP)                                                                      \
    switch (operation) {                                                                      \
        case NEGATIVE: EACH(T, T, -x)                                                         \
        case ABSOLUTE: EACH(T, T, fabs((f64)x))                                               \
        case SIGN: EACH(T, T, x != x ? x : (x > 0) - (x < 0))                                 \
        case SQUARE: EACH(T, T, x * x)                                                        \
        case RECIPROCAL: EACH(T, T, 1 / x)                                                    \
        case SQUARE_ROOT: EACH(T, T, sqrt((f64)x))                                            \
        case RECIPROCAL_ROOT: EACH(T, T, 1 / sqrt((f64)x))                                    \
        case EXPONENTIAL: EACH(T, T, EXP(x))                                                  \
        case EXPONENTIAL_2: EACH(T, T, pow(2.0, x))                                           \
        case EXPONENTIAL_LESS_1: EACH(T, T, expm1(x))                                         \
        case LOGARITHM: EACH(T, T, log(x))                                                    \
        case LOGARITHM_2: EACH(T, T, log(x) * 1.4426950408889634)                             \
        case LOGARITHM_OF_1_MORE: EACH(T, T, log1p(x))                                        \
        case SINE: EACH(T, T, sin(x))                                                         \
        case COSINE: EACH(T, T, cos(x))                                                       \
        case TANGENT: EACH(T, T, tan(x))                                                      \
        case HYPERBOLIC_TANGENT: EACH(T, T, tanh(x))                                          \
        case ERROR_FUNCTION: EACH(T, T, error_function(x))                                    \
        case SIGMOID: EACH(T, T, 1 / (1 + exp(-(f64)x)))                                      \
        case RELU: EACH(T, T, x > 0 ? x : (x != x ? x : 0))                                   \
        case SILU: EACH(T, T, x / (1 + exp(-(f64)x)))                                         \
        case GELU: EACH(T, T, 0.5 * x * (1 + error_function(x * ROOT_OF_HALF)))               \
        case GELU_SLOPE:                                                                      \
            EACH(T, T, 0.5 * (1 + error_function(x * ROOT_OF_HALF)) +                         \
                           x * exp(-0.5 * (f64)x * x) * DENSITY_AT_0)                         \
        case FLOOR: EACH(T, T, floor((f64)x))                                                 \
        case CEILING: EACH(T, T, ceil((f64)x))                                                \
        case ROUND: EACH(T, T, round_to_even((f64)x))                                         \
        case TRUNCATE: EACH(T, T, trunc((f64)x))                                              \
        case IS_NAN: EACH(u8, T, x != x)                                                      \
        case IS_FINITE: EACH(u8, T, x - x == 0)                                               \
        case NOT: EACH(u8, T, x == 0)                                                         \
        default: return BAD_DTYPE;                                                            \
    }

static c128 complex_exp(f64 real, f64 imaginary) {
    const f64 size = exp(real);
    return (c128){size * cos(imaginary), size * sin(imaginary)};
}

#define COMPLEX_UNARY(C)                                                      \
    switch (operation) {                                                      \
        case NEGATIVE: EACH(C, C, ((C){-x.real, -x.imaginary}))               \
        case CONJUGATE: EACH(C, C, ((C){x.real, -x.imaginary}))               \
        case EXPONENTIAL: {                                                   \
            const C *a = (const C *)source + loop.offset[1];                  \
            C *out = (C *)target + loop.offset[0];                            \
            for (i64 i = 0; i < length; i++) {                                \
                const C x = a[i * step_a];                                    \
                const c128 y = complex_exp(x.real, x.imaginary);              \
                out[i * step_out] = (C){y.real, y.imaginary};                 \
            }                                                                 \
            break;                                                            \
        }                                                                     \
        default: return BAD_DTYPE;                                            \
    }

static int gives_bool(int operation) {
    return operation == IS_NAN || operation == IS_FINITE || operation == NOT;
}

// Rows in order in single precision; 0 for an operation that isn't done by fours.
static int by_fours(int operation, i64 length, f32 *out, const f32 *in) {
    switch (operation) {
        case EXPONENTIAL: ROW_OF_FOURS(out, in, length, exp_four) return 1;
        case HYPERBOLIC_TANGENT: ROW_OF_FOURS(out, in, length, tanh_four) return 1;
        case ERROR_FUNCTION: ROW_OF_FOURS(out, in, length, error_function_four) return 1;
        case SIGMOID: ROW_OF_FOURS(out, in, length, sigmoid_four) return 1;
        case SILU: ROW_OF_FOURS(out, in, length, silu_four) return 1;
        case GELU: ROW_OF_FOURS(out, in, length, gelu_four) return 1;
        case GELU_SLOPE: ROW_OF_FOURS(out, in, length, gelu_slope_four) return 1;
        default: return 0;
    }
}

Status unary(Call *call) {
    const Tensor *operands[] = {&call->tensor[0], &call->tensor[1]};
    const int operation = (int)call->number[0], dtype = operands[1]->dtype;
    if (operands[0]->dtype != (gives_bool(operation) ? BOOL : dtype)) return BAD_DTYPE;
    Loop loop;
    Status status = loop_over(&loop, 2, operands, 1);
    if (status) return status;
    if (loop_is_empty(&loop)) return OK;
    char *target = operands[0]->data;
    const char *source = operands[1]->data;
    const i64 length = ROW_LENGTH(loop), step_out = ROW_STEP(loop, 0), step_a = ROW_STEP(loop, 1);
    const int in_order = dtype == FLOAT32 && step_out == 1 && step_a == 1;
    do {
        if (in_order && by_fours(operation, length, (f32 *)target + loop.offset[0],
                                 (const f32 *)source + loop.offset[1]))
            continue;
        switch (dtype) {
            case FLOAT32: FLOATING(f32, exp_f32) break;
            case FLOAT64: FLOATING(f64, exp) break;
            case INT64:
                switch (operation) {
                    case NEGATIVE: EACH(i64, i64, (i64)(0 - (u64)x))
                    case ABSOLUTE: EACH(i64, i64, x < 0 ? (i64)(0 - (u64)x) : x)
                    case SIGN: EACH(i64, i64, (x > 0) - (x < 0))
                    case SQUARE: EACH(i64, i64, (i64)((u64)x * (u64)x))
                    case INVERT_BITS: EACH(i64, i64, ~x)
                    case NOT: EACH(u8, i64, x == 0)
                    default: return BAD_DTYPE;
                }
                break;
            case BOOL:
                if (operation != NOT) return BAD_DTYPE;
                switch (operation) { case NOT: EACH(u8, u8, !x) }
                break;
            case COMPLEX64: COMPLEX_UNARY(c64) break;
            case COMPLEX128: COMPLEX_UNARY(c128) break;
            default: return BAD_DTYPE;
        }
    } while (next_row(&loop));
    return OK;
}

// One row: `out` from `a` and `b`. One of them is often a single number, or both lie in order.
#define PAIR(Out, In, expression)                                                       \
    {                                                                                   \
        const In *a = (const In *)first + loop.offset[1];                               \
        const In *b = (const In *)second + loop.offset[2];                              \
        Out *out = (Out *)target + loop.offset[0];                                      \
        if (step_out == 1 && step_a == 1 && step_b == 1) {                              \
            for (i64 i = 0; i < length; i++) {                                          \
                const In x = a[i], y = b[i];                                            \
                out[i] = (Out)(expression);                                             \
            }                                                                           \
        } else if (step_out == 1 && step_a == 1 && step_b == 0) {                       \
            const In y = b[0];                                                          \
            for (i64 i = 0; i < length; i++) {                                          \
                const In x = a[i];                                                      \
                out[i] = (Out)(expression);                                             \
            }                                                                           \
        } else if (step_out == 1 && step_a == 0 && step_b == 1) {                       \
            const In x = a[0];                                                          \
            for (i64 i = 0; i < length; i++) {                                          \
                const In y = b[i];                                                      \
                out[i] = (Out)(expression);                                             \
            }                                                                           \
        } else {                                                                        \
            for (i64 i = 0; i < length; i++) {                                          \
                const In x = a[i * step_a], y = b[i * step_b];                          \
                out[i * step_out] = (Out)(expression);                                  \
            }                                                                           \
        }                                                                               \
        break;                                                                          \
    }

static i64 integer_power(i64 base, i64 exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    u64 result = 1, factor = (u64)base;
    for (; exponent; exponent >>= 1, factor *= factor)
        if (exponent & 1) result *= factor;
    return (i64)result;
}

// The caller has made sure that no divisor is 0. The smallest number by -1 wraps.
static i64 truncated_quotient(i64 x, i64 y) {
    if (y == 0) return 0;
    return y == -1 ? (i64)(0 - (u64)x) : x / y;
}
static i64 c_remainder(i64 x, i64 y) { return y == 0 || y == -1 ? 0 : x % y; }
static i64 floor_quotient(i64 x, i64 y) {
    const i64 quotient = truncated_quotient(x, y);
    return c_remainder(x, y) && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}
static i64 remainder_of_floor(i64 x, i64 y) {
    const i64 rest = c_remainder(x, y);
    return rest && (rest < 0) != (y < 0) ? rest + y : rest;
}

static f64 c_remainder_f64(f64 x, f64 y) {
    if (y == 0 || x - x != 0) return (x - x) / (y - y);
    if (y - y != 0) return x;
    const f64 rest = x - trunc(x / y) * y;
    return rest;
}
static f64 remainder_f64(f64 x, f64 y) {
    const f64 rest = c_remainder_f64(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
static f64 floor_quotient_f64(f64 x, f64 y) {
    if (y == 0) return x / y;
    const f64 rest = c_remainder_f64(x, y);
    f64 quotient = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
    const f64 whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

#define COMPARISONS(T)                                         \
    case EQUAL: PAIR(u8, T, x == y)                            \
    case NOT_EQUAL: PAIR(u8, T, x != y)                        \
    case LESS: PAIR(u8, T, x < y)                              \
    case LESS_EQUAL: PAIR(u8, T, x <= y)                       \
    case GREATER: PAIR(u8, T, x > y)                           \
    case GREATER_EQUAL: PAIR(u8, T, x >= y)

#define FLOATING_PAIRS(T)                                                        \
    switch (operation) {                                                         \
        case ADD: PAIR(T, T, x + y)                                              \
        case SUBTRACT: PAIR(T, T, x - y)                                         \
        case MULTIPLY: PAIR(T, T, x * y)                                         \
        case DIVIDE: PAIR(T, T, x / y)                                           \
        case POWER: PAIR(T, T, pow(x, y))                                        \
        case MAXIMUM: PAIR(T, T, x != x ? x : y != y ? y : x > y ? x : y)        \
        case MINIMUM: PAIR(T, T, x != x ? x : y != y ? y : x < y ? x : y)        \
        case FLOOR_DIVIDE: PAIR(T, T, floor_quotient_f64(x, y))                  \
        case TRUNCATED_DIVIDE: PAIR(T, T, trunc((f64)x / (f64)y))                \
        case REMAINDER: PAIR(T, T, remainder_f64(x, y))                          \
        case C_REMAINDER: PAIR(T, T, c_remainder_f64(x, y))                      \
        case ARC_TANGENT_2: PAIR(T, T, atan2(x, y))                              \
        COMPARISONS(T)                                                           \
        default: return BAD_DTYPE;                                               \
    }

// What overflows wraps, as in PyTorch: unsigned numbers do so.
#define WRAPPING(x, symbol, y) (i64)((u64)(x) symbol (u64)(y))

#define COMPLEX_PAIRS(C)                                                                        \
    switch (operation) {                                                                        \
        case ADD: PAIR(C, C, ((C){x.real + y.real, x.imaginary + y.imaginary}))                 \
        case SUBTRACT: PAIR(C, C, ((C){x.real - y.real, x.imaginary - y.imaginary}))            \
        case MULTIPLY:                                                                          \
            PAIR(C, C,                                                                          \
                 ((C){x.real * y.real - x.imaginary * y.imaginary,                              \
                      x.real * y.imaginary + x.imaginary * y.real}))                            \
        case DIVIDE:                                                                            \
            PAIR(C, C,                                                                          \
                 ((C){((f64)x.real * y.real + (f64)x.imaginary * y.imaginary) /                 \
                          ((f64)y.real * y.real + (f64)y.imaginary * y.imaginary),              \
                      ((f64)x.imaginary * y.real - (f64)x.real * y.imaginary) /                 \
                          ((f64)y.real * y.real + (f64)y.imaginary * y.imaginary)}))            \
        case EQUAL: PAIR(u8, C, x.real == y.real && x.imaginary == y.imaginary)                 \
        case NOT_EQUAL: PAIR(u8, C, x.real != y.real || x.imaginary != y.imaginary)             \
        default: return BAD_DTYPE;                                                              \
    }

static int compares(int operation) { return operation >= EQUAL && operation <= GREATER_EQUAL; }

Status binary(Call *call) {
    const Tensor *operands[] = {&call->tensor[0], &call->tensor[1], &call->tensor[2]};
    const int operation = (int)call->number[0], dtype = operands[1]->dtype;
    if (operands[2]->dtype != dtype) return BAD_DTYPE;
    if (operands[0]->dtype != (compares(operation) ? BOOL : dtype)) return BAD_DTYPE;
    Loop loop;
    Status status = loop_over(&loop, 3, operands, 1);
    if (status) return status;
    if (loop_is_empty(&loop)) return OK;
    char *target = operands[0]->data;
    const char *first = operands[1]->data, *second = operands[2]->data;
    const i64 length = ROW_LENGTH(loop), step_out = ROW_STEP(loop, 0);
    const i64 step_a = ROW_STEP(loop, 1), step_b = ROW_STEP(loop, 2);
    do {
        switch (dtype) {
            case FLOAT32: FLOATING_PAIRS(f32) break;
            case FLOAT64: FLOATING_PAIRS(f64) break;
            case INT64:
                switch (operation) {
                    case ADD: PAIR(i64, i64, WRAPPING(x, +, y))
                    case SUBTRACT: PAIR(i64, i64, WRAPPING(x, -, y))
                    case MULTIPLY: PAIR(i64, i64, WRAPPING(x, *, y))
                    case POWER: PAIR(i64, i64, integer_power(x, y))
                    case MAXIMUM: PAIR(i64, i64, x > y ? x : y)
                    case MINIMUM: PAIR(i64, i64, x < y ? x : y)
                    case FLOOR_DIVIDE: PAIR(i64, i64, floor_quotient(x, y))
                    case TRUNCATED_DIVIDE: PAIR(i64, i64, truncated_quotient(x, y))
                    case REMAINDER: PAIR(i64, i64, remainder_of_floor(x, y))
                    case C_REMAINDER: PAIR(i64, i64, c_remainder(x, y))
                    case AND: PAIR(i64, i64, x & y)
                    case OR: PAIR(i64, i64, x | y)
                    case XOR: PAIR(i64, i64, x ^ y)
                    case SHIFT_LEFT: PAIR(i64, i64, y < 0 || y > 63 ? 0 : (i64)((u64)x << y))
                    case SHIFT_RIGHT: PAIR(i64, i64, y < 0 || y > 63 ? (x < 0 ? -1 : 0) : x >> y)
                    COMPARISONS(i64)
                    default: return BAD_DTYPE;
                }
                break;
            case BOOL:
                switch (operation) {
                    case AND: case MULTIPLY: case MINIMUM: PAIR(u8, u8, x && y)
                    case OR: case ADD: case MAXIMUM: PAIR(u8, u8, x || y)
                    case XOR: case NOT_EQUAL: PAIR(u8, u8, !x != !y)
                    case EQUAL: PAIR(u8, u8, !x == !y)
                    case LESS: PAIR(u8, u8, !x && y)
                    case LESS_EQUAL: PAIR(u8, u8, !x || y)
                    case GREATER: PAIR(u8, u8, x && !y)
                    case GREATER_EQUAL: PAIR(u8, u8, x || !y)
                    default: return BAD_DTYPE;
                }
                break;
            case COMPLEX64: COMPLEX_PAIRS(c64) break;
            case COMPLEX128: COMPLEX_PAIRS(c128) break;
            default: return BAD_DTYPE;
        }
    } while (next_row(&loop));
    return OK;
}

// out = condition ? a : b, for elements of any type.
Status where(Call *call) {
    const Tensor *operands[] = {&call->tensor[0], &call->tensor[1], &call->tensor[2],
                                &call->tensor[3]};
    const int dtype = operands[0]->dtype;
    if (operands[1]->dtype != BOOL || operands[2]->dtype != dtype || operands[3]->dtype != dtype)
        return BAD_DTYPE;
    Loop loop;
    Status status = loop_over(&loop, 4, operands, 1);
    if (status) return status;
    if (loop_is_empty(&loop)) return OK;
    const i64 length = ROW_LENGTH(loop), step = ROW_STEP(loop, 0), chooses = ROW_STEP(loop, 1);
    const i64 step_a = ROW_STEP(loop, 2), step_b = ROW_STEP(loop, 3);
#define CHOOSE(T)                                                                         \
    {                                                                                     \
        const u8 *condition = (const u8 *)operands[1]->data + loop.offset[1];             \
        const T *a = (const T *)operands[2]->data + loop.offset[2];                       \
        const T *b = (const T *)operands[3]->data + loop.offset[3];                       \
        T *out = (T *)operands[0]->data + loop.offset[0];                                 \
        for (i64 i = 0; i < length; i++)                                                  \
            out[i * step] = condition[i * chooses] ? a[i * step_a] : b[i * step_b];       \
        break;                                                                            \
    }
    do {
        switch (bytes_of(dtype)) {
            case 1: CHOOSE(u8)
            case 2: CHOOSE(u16)
            case 4: CHOOSE(u32)
            case 8: CHOOSE(u64)
            default: CHOOSE(c128)
        }
    } while (next_row(&loop));
    return OK;
}

// A number that doesn't fit becomes something, and never a trap: C leaves that open.
static i64 to_integer(f64 x) {
    if (!(x > -9.2233720368547758e18 && x < 9.2233720368547758e18)) return (i64)1 << 63;
    return (i64)x;
}

// Between any two types that aren't the same, by way of f64, i64 or a complex number.
static void convert_row(const Tensor *out, const Tensor *in, i64 to, i64 from, i64 length,
                        i64 step_out, i64 step_in) {
    for (i64 i = 0; i < length; i++, to += step_out, from += step_in) {
        f64 real = 0, imaginary = 0;
        i64 whole = 0;
        int integral = 1;
        switch (in->dtype) {
            case INT64: whole = ((const i64 *)in->data)[from]; break;
            case INT32: whole = ((const i32 *)in->data)[from]; break;
            case INT16: whole = ((const i16 *)in->data)[from]; break;
            case INT8: whole = ((const i8 *)in->data)[from]; break;
            case UINT8: case BOOL: whole = ((const u8 *)in->data)[from]; break;
            default: integral = 0;
        }
        switch (in->dtype) {
            case FLOAT32: real = ((const f32 *)in->data)[from]; break;
            case FLOAT64: real = ((const f64 *)in->data)[from]; break;
            case BFLOAT16: real = from_bfloat16(((const u16 *)in->data)[from]); break;
            case FLOAT16: real = from_float16(((const u16 *)in->data)[from]); break;
            case COMPLEX64:
                real = ((const c64 *)in->data)[from].real;
                imaginary = ((const c64 *)in->data)[from].imaginary;
                break;
            case COMPLEX128:
                real = ((const c128 *)in->data)[from].real;
                imaginary = ((const c128 *)in->data)[from].imaginary;
                break;
            default: real = (f64)whole;
        }
        switch (out->dtype) {
            case FLOAT32: ((f32 *)out->data)[to] = integral ? (f32)whole : (f32)real; break;
            case FLOAT64: ((f64 *)out->data)[to] = real; break;
            case BFLOAT16: ((u16 *)out->data)[to] = to_bfloat16((f32)real); break;
            case FLOAT16: ((u16 *)out->data)[to] = to_float16((f32)real); break;
            case BOOL:
                ((u8 *)out->data)[to] = integral ? whole != 0 : real != 0 || imaginary != 0;
                break;
            case COMPLEX64: ((c64 *)out->data)[to] = (c64){(f32)real, (f32)imaginary}; break;
            case COMPLEX128: ((c128 *)out->data)[to] = (c128){real, imaginary}; break;
            default:
                if (!integral) whole = to_integer(real);
                if (out->dtype == INT64) ((i64 *)out->data)[to] = whole;
                else if (out->dtype == INT32) ((i32 *)out->data)[to] = (i32)whole;
                else if (out->dtype == INT16) ((i16 *)out->data)[to] = (i16)whole;
                else ((u8 *)out->data)[to] = (u8)whole;
        }
    }
}

// The second tensor's elements into the first, converted to its type.
Status copy(Call *call) {
    const Tensor *operands[] = {&call->tensor[0], &call->tensor[1]};
    const Tensor *out = operands[0], *in = operands[1];
    Loop loop;
    Status status = loop_over(&loop, 2, operands, 1);
    if (status) return status;
    if (loop_is_empty(&loop)) return OK;
    const i64 length = ROW_LENGTH(loop), step_out = ROW_STEP(loop, 0), step_in = ROW_STEP(loop, 1);
#define MOVE(T)                                                                      \
    {                                                                                \
        T *to = (T *)out->data + loop.offset[0];                                     \
        const T *from = (const T *)in->data + loop.offset[1];                        \
        if (step_out == 1 && step_in == 1)                                           \
            for (i64 i = 0; i < length; i++) to[i] = from[i];                        \
        else                                                                         \
            for (i64 i = 0; i < length; i++) to[i * step_out] = from[i * step_in];   \
        break;                                                                       \
    }
    do {
        if (out->dtype != in->dtype) {
            convert_row(out, in, loop.offset[0], loop.offset[1], length, step_out, step_in);
            continue;
        }
        switch (bytes_of(out->dtype)) {
            case 1: MOVE(u8)
            case 2: MOVE(u16)
            case 4: MOVE(u32)
            case 8: MOVE(u64)
            default: MOVE(c128)
        }
    } while (next_row(&loop));
    return OK;
}

// One number into every element: the bits of an f64 for floating-point types, else an i64.
Status fill(Call *call) {
    const Tensor *operands[] = {&call->tensor[0]};
    const Tensor *out = operands[0];
    const f64 real = as_f64(call->number[0]);
    const i64 whole = call->number[0];
    Loop loop;
    Status status = loop_over(&loop, 1, operands, 1);
    if (status) return status;
    if (loop_is_empty(&loop)) return OK;
    const i64 length = ROW_LENGTH(loop), step = ROW_STEP(loop, 0);
#define SET(T, value)                                                \
    {                                                                \
        T *to = (T *)out->data + loop.offset[0];                     \
        for (i64 i = 0; i < length; i++) to[i * step] = (value);     \
        break;                                                       \
    }
    do {
        switch (out->dtype) {
            case FLOAT32: SET(f32, (f32)real)
            case FLOAT64: SET(f64, real)
            case BFLOAT16: SET(u16, to_bfloat16((f32)real))
            case FLOAT16: SET(u16, to_float16((f32)real))
            case COMPLEX64: SET(c64, ((c64){(f32)real, 0}))
            case COMPLEX128: SET(c128, ((c128){real, 0}))
            case INT64: SET(i64, whole)
            case INT32: SET(i32, (i32)whole)
            case INT16: SET(i16, (i16)whole)
            case BOOL: SET(u8, whole != 0)
            default: SET(u8, (u8)whole)
        }
    } while (next_row(&loop));
    return OK;
}

// start, start + step, …, into a tensor of one axis.
Status arange(Call *call) {
    const Tensor *out = &call->tensor[0];
    if (out->axes != 1) return BAD_SHAPE;
    const i64 step = out->stride[0];
    for (i64 i = 0; i < out->size[0]; i++) switch (out->dtype) {
            case FLOAT32:
                ((f32 *)out->data)[i * step] =
                    (f32)(as_f64(call->number[0]) + as_f64(call->number[1]) * (f64)i);
                break;
            case FLOAT64:
                ((f64 *)out->data)[i * step] =
                    as_f64(call->number[0]) + as_f64(call->number[1]) * (f64)i;
                break;
            case INT64: ((i64 *)out->data)[i * step] = call->number[0] + call->number[1] * i; break;
            default: return BAD_DTYPE;
        }
    return OK;
}

// A copy of the last two axes, zero above (lower) or below (upper) a diagonal.
Status triangle(Call *call) {
    const Tensor *out = &call->tensor[0], *in = &call->tensor[1];
    const int lower = (int)call->number[0], axes = in->axes;
    const i64 diagonal = call->number[1];
    if (axes < 2 || !same_shape(out, in)) return BAD_SHAPE;
    if (!contiguous(out) || !contiguous(in)) return BAD_SHAPE;
    if (out->dtype != in->dtype) return BAD_DTYPE;
    const i64 rows = in->size[axes - 2], columns = in->size[axes - 1], item = bytes_of(in->dtype);
    const i64 total = elements(in);
    for (i64 at = 0; at < total; at++) {
        const i64 row = at / columns % rows, column = at % columns;
        const int kept = lower ? column - row <= diagonal : column - row >= diagonal;
        for (i64 byte = 0; byte < item; byte++)
            out->data[at * item + byte] = kept ? in->data[at * item + byte] : 0;
    }
    return OK;
}
