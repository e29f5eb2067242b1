// Elements at places that a tensor tells: read, written, or added to.

#include "loops.h"
#include "mathematics.h"

typedef enum { READ, WRITE, ACCUMULATE } Mode;

typedef struct {
    u64 low, high;
} Sixteen;

// The row then says which index was wrong: the axis and the number.
static Status wrong_index(Call *call, i64 axis, i64 index) {
    call->row[1] = axis;
    call->row[2] = index;
    return BAD_INDEX;
}

static Status allowed(i64 mode, const Tensor *values, const Tensor *table) {
    if (values->dtype != table->dtype) return BAD_DTYPE;
    if (mode < READ || mode > ACCUMULATE) return BAD_NUMBER;
    if (mode != ACCUMULATE) return OK;
    const int dtype = table->dtype;
    return dtype == FLOAT32 || dtype == FLOAT64 || dtype == INT64 ? OK : BAD_DTYPE;
}

#define MOVE_ROW(T)                                                                 \
    {                                                                               \
        T *inside = (T *)table->data + at_table;                                    \
        T *outside = (T *)values->data + at_values;                                 \
        if (mode == READ)                                                           \
            for (i64 i = 0; i < length; i++)                                        \
                outside[i * step_values] = inside[i * step_table];                  \
        else                                                                        \
            for (i64 i = 0; i < length; i++)                                        \
                inside[i * step_table] = outside[i * step_values];                  \
        break;                                                                      \
    }
#define ADD_ROW(T)                                                                  \
    {                                                                               \
        T *inside = (T *)table->data + at_table;                                    \
        const T *outside = (const T *)values->data + at_values;                     \
        for (i64 i = 0; i < length; i++)                                            \
            inside[i * step_table] += outside[i * step_values];                     \
        break;                                                                      \
    }

static void move_row(i64 mode, const Tensor *values, const Tensor *table, i64 at_values,
                     i64 at_table, i64 length, i64 step_values, i64 step_table) {
    if (mode == ACCUMULATE) {
        switch (table->dtype) {
            case FLOAT32: ADD_ROW(f32)
            case FLOAT64: ADD_ROW(f64)
            default: ADD_ROW(i64)
        }
        return;
    }
    switch (bytes_of(table->dtype)) {
        case 1: MOVE_ROW(u8)
        case 2: MOVE_ROW(u16)
        case 4: MOVE_ROW(u32)
        case 8: MOVE_ROW(u64)
        default: MOVE_ROW(Sixteen)
    }
}

// Numbers: mode. Tensors: values [places..., rest...], table [n_0, ..., n_m-1, rest...], and m
// indices, each [places...].
Status index_rows(Call *call) {
    const Tensor *values = &call->tensor[0], *table = &call->tensor[1];
    const i64 mode = call->number[0];
    const int indices = call->n_tensors - 2, places = call->tensor[2].axes;
    const int rest = table->axes - indices;
    Status status = allowed(mode, values, table);
    if (status) return status;
    if (rest < 0 || values->axes != places + rest) return BAD_SHAPE;
    for (int i = 0; i < indices; i++) {
        const Tensor *index = &call->tensor[2 + i];
        if (index->dtype != INT64) return BAD_DTYPE;
        if (index->axes != places) return BAD_SHAPE;
        for (int axis = 0; axis < places; axis++)
            if (index->size[axis] != values->size[axis]) return BAD_SHAPE;
    }
    Loop loop = {.operands = 2, .axes = rest};
    for (int axis = 0; axis < rest; axis++) {
        loop.size[axis] = table->size[indices + axis];
        if (values->size[places + axis] != loop.size[axis]) return BAD_SHAPE;
        loop.step[0][axis] = values->stride[places + axis];
        loop.step[1][axis] = table->stride[indices + axis];
    }
    merge_axes(&loop);
    if (loop_is_empty(&loop)) return OK;
    i64 count = 1, place[MAX_AXES] = {0};
    for (int axis = 0; axis < places; axis++) count *= values->size[axis];
    for (i64 n = 0; n < count; n++) {
        i64 at_values = 0, at_table = 0;
        for (int axis = 0; axis < places; axis++) at_values += place[axis] * values->stride[axis];
        for (int i = 0; i < indices; i++) {
            const Tensor *tensor = &call->tensor[2 + i];
            i64 at = 0;
            for (int axis = 0; axis < places; axis++) at += place[axis] * tensor->stride[axis];
            const i64 index = ((const i64 *)tensor->data)[at], size = table->size[i];
            if (index < -size || index >= size) return wrong_index(call, i, index);
            at_table += (index < 0 ? index + size : index) * table->stride[i];
        }
        do {
            move_row(mode, values, table, at_values + loop.offset[0], at_table + loop.offset[1],
                     ROW_LENGTH(loop), ROW_STEP(loop, 0), ROW_STEP(loop, 1));
        } while (next_row(&loop));
        for (int axis = places - 1; axis >= 0; axis--) {
            if (++place[axis] < values->size[axis]) break;
            place[axis] = 0;
        }
    }
    return OK;
}

// Numbers: mode, axis. Tensors: values and index of one shape, and between them the table, from
// which the index picks along the axis; along the others each element keeps its place.
Status gather(Call *call) {
    const Tensor *values = &call->tensor[0], *table = &call->tensor[1], *index = &call->tensor[2];
    const i64 mode = call->number[0], along = call->number[1];
    Status status = allowed(mode, values, table);
    if (status) return status;
    if (index->dtype != INT64) return BAD_DTYPE;
    if (!same_shape(values, index) || table->axes != index->axes) return BAD_SHAPE;
    if (along < 0 || along >= table->axes) return BAD_NUMBER;
    for (int axis = 0; axis < table->axes; axis++)
        if (axis != along && index->size[axis] > table->size[axis]) return BAD_SHAPE;
    const i64 count = elements(index), size = table->size[along];
    i64 place[MAX_AXES] = {0};
    for (i64 n = 0; n < count; n++) {
        i64 at_values = 0, at_table = 0, at_index = 0;
        for (int axis = 0; axis < index->axes; axis++) {
            at_values += place[axis] * values->stride[axis];
            at_index += place[axis] * index->stride[axis];
            if (axis != along) at_table += place[axis] * table->stride[axis];
        }
        const i64 picked = ((const i64 *)index->data)[at_index];
        if (picked < 0 || picked >= size) return wrong_index(call, along, picked);
        move_row(mode, values, table, at_values, at_table + picked * table->stride[along], 1, 1, 1);
        for (int axis = index->axes - 1; axis >= 0; axis--) {
            if (++place[axis] < index->size[axis]) break;
            place[axis] = 0;
        }
    }
    return OK;
}
