// Many elements become one: sums, extremes, and running ones.

#include "loops.h"

typedef enum { SUM, PRODUCT, LARGEST, SMALLEST, PLACE_OF_LARGEST, PLACE_OF_SMALLEST, ANY, ALL } Reduction;

static int result_dtype(int operation, int dtype) {
    switch (operation) {
        case PLACE_OF_LARGEST: case PLACE_OF_SMALLEST: return INT64;
        case ANY: case ALL: return BOOL;
        default: return dtype;
    }
}

// Sums that lie beside each other, over rows below each other: goes through memory in order.
static void sum_columns(f32 *out, const f32 *a, i64 rows, i64 columns, i64 step) {
    enum { BLOCK = 256 };
    f64 sum[BLOCK];
    for (i64 start = 0; start < columns; start += BLOCK) {
        const i64 width = columns - start < BLOCK ? columns - start : BLOCK;
        for (i64 j = 0; j < width; j++) sum[j] = 0;
        for (i64 i = 0; i < rows; i++) {
            const f32 *row = a + start + i * step;
            for (i64 j = 0; j < width; j++) sum[j] += row[j];
        }
        for (i64 j = 0; j < width; j++) out[start + j] = (f32)sum[j];
    }
}

// The first tensor has the shape of the second, with a step of 0 along the reduced axes.
Status reduce(Call *call) {
    const Tensor *out = &call->tensor[0], *in = &call->tensor[1];
    const int operation = (int)call->number[0], dtype = in->dtype;
    if (!same_shape(out, in)) return BAD_SHAPE;
    if (out->dtype != result_dtype(operation, dtype)) return BAD_DTYPE;
    if (elements(in) == 0) return OK;

    // Operand 0 is the result, 1 what is reduced; `inner` has one operand only.
    Loop outer = {.operands = 2}, inner = {.operands = 1};
    for (int axis = 0; axis < in->axes; axis++) {
        Loop *loop = out->stride[axis] == 0 && out->size[axis] != 1 ? &inner : &outer;
        loop->size[loop->axes] = in->size[axis];
        loop->step[0][loop->axes] = loop == &inner ? in->stride[axis] : out->stride[axis];
        loop->step[1][loop->axes++] = in->stride[axis];
    }
    merge_axes(&outer);
    merge_axes(&inner);
    const i64 step = ROW_STEP(inner, 0), length = ROW_LENGTH(inner);

    if (operation == SUM && dtype == FLOAT32 && inner.axes == 1 && ROW_STEP(outer, 0) == 1 &&
        ROW_STEP(outer, 1) == 1 && ROW_LENGTH(outer) > 1) {
        do {
            sum_columns((f32 *)out->data + outer.offset[0], (const f32 *)in->data + outer.offset[1],
                        length, ROW_LENGTH(outer), step);
        } while (next_row(&outer));
        return OK;
    }

#define FOLD(T, Sum, Out, start, each, result)                                        \
    {                                                                                 \
        Sum kept = start;                                                             \
        i64 place = 0, at = 0;                                                        \
        do {                                                                          \
            const T *a = (const T *)in->data + base + inner.offset[0];                \
            for (i64 i = 0; i < length; i++, at++) {                                  \
                const T x = a[i * step];                                              \
                each;                                                                 \
            }                                                                         \
        } while (next_row(&inner));                                                   \
        (void)place;                                                                  \
        ((Out *)out->data)[to] = (Out)(result);                                       \
        break;                                                                        \
    }
#define KEEP_IF(condition)      \
    if (at == 0 || (condition)) { \
        kept = x;               \
        place = at;             \
    }
#define FOLDS(T, Sum)                                                                             \
    switch (operation) {                                                                          \
        case SUM: FOLD(T, Sum, T, 0, kept += x, kept)                                             \
        case PRODUCT: FOLD(T, Sum, T, 1, kept *= x, kept)                                         \
        case LARGEST: FOLD(T, T, T, 0, KEEP_IF(x > kept || x != x), kept)                         \
        case SMALLEST: FOLD(T, T, T, 0, KEEP_IF(x < kept || x != x), kept)                        \
        case PLACE_OF_LARGEST:                                                                    \
            FOLD(T, T, i64, 0, KEEP_IF(x > kept || (x != x && kept == kept)), place)              \
        case PLACE_OF_SMALLEST:                                                                   \
            FOLD(T, T, i64, 0, KEEP_IF(x < kept || (x != x && kept == kept)), place)              \
        case ANY: FOLD(T, int, u8, 0, if (x != 0) kept = 1, kept)                                 \
        case ALL: FOLD(T, int, u8, 1, if (x == 0) kept = 0, kept)                                 \
        default: return BAD_NUMBER;                                                               \
    }
    do {
        const i64 count = ROW_LENGTH(outer);
        for (i64 j = 0; j < count; j++) {
            const i64 to = outer.offset[0] + j * ROW_STEP(outer, 0);
            const i64 base = outer.offset[1] + j * ROW_STEP(outer, 1);
            switch (dtype) {
                case FLOAT32: FOLDS(f32, f64) break;
                case FLOAT64: FOLDS(f64, f64) break;
                case INT64: FOLDS(i64, u64) break;
                case BOOL: FOLDS(u8, u8) break;
                default: return BAD_DTYPE;
            }
        }
    } while (next_row(&outer));
    return OK;
}

// Running sums (0) or products (1) along an axis.
Status cumulate(Call *call) {
    Tensor out = call->tensor[0], in = call->tensor[1];
    const i64 product = call->number[0], axis = call->number[1];
    if (!same_shape(&out, &in) || axis < 0 || axis >= in.axes) return BAD_SHAPE;
    if (out.dtype != in.dtype) return BAD_DTYPE;
    const i64 length = in.size[axis], step_out = out.stride[axis], step_in = in.stride[axis];
    // The other axes are walked one element at a time.
    out.size[axis] = in.size[axis] = 1;
    const Tensor *operands[] = {&out, &in};
    Loop loop;
    Status status = loop_over(&loop, 2, operands, 0);
    if (status) return status;
    if (loop_is_empty(&loop)) return OK;
#define RUNNING(T, Sum)                                                                        \
    for (i64 j = 0; j < ROW_LENGTH(loop); j++) {                                               \
        const T *a = (const T *)in.data + loop.offset[1] + j * ROW_STEP(loop, 1);              \
        T *to = (T *)out.data + loop.offset[0] + j * ROW_STEP(loop, 0);                        \
        Sum sum = product ? 1 : 0;                                                             \
        for (i64 i = 0; i < length; i++) {                                                     \
            sum = product ? sum * (Sum)a[i * step_in] : sum + (Sum)a[i * step_in];             \
            to[i * step_out] = (T)sum;                                                         \
        }                                                                                      \
    }
    do {
        switch (in.dtype) {
            case FLOAT32: RUNNING(f32, f64) break;
            case FLOAT64: RUNNING(f64, f64) break;
            case INT64: RUNNING(i64, u64) break;
            default: return BAD_DTYPE;
        }
    } while (next_row(&loop));
    return OK;
}
