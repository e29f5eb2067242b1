// Reads the row of a call, checks it, and calls the kernel.

#include "loops.h"

#ifdef __wasm__
#define EXPORTED __attribute__((export_name("run")))
// The compiler replaces loops by these two; there is no C library to bring them.
void *memset(void *target, int value, __SIZE_TYPE__ count) {
    u8 *at = target;
    while (count--) *at++ = (u8)value;
    return target;
}
void *memcpy(void *target, const void *source, __SIZE_TYPE__ count) {
    u8 *to = target;
    const u8 *from = source;
    while (count--) *to++ = *from++;
    return target;
}
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

i64 bytes_of(int dtype) {
    switch (dtype) {
        case COMPLEX128: return 16;
        case FLOAT64: case INT64: case COMPLEX64: return 8;
        case FLOAT32: case INT32: return 4;
        case INT16: case BFLOAT16: case FLOAT16: return 2;
        default: return 1;
    }
}

i64 elements(const Tensor *tensor) {
    i64 count = 1;
    for (int axis = 0; axis < tensor->axes; axis++) count *= tensor->size[axis];
    return count;
}

int contiguous(const Tensor *tensor) {
    i64 expected = 1;
    for (int axis = tensor->axes - 1; axis >= 0; axis--) {
        if (tensor->size[axis] == 1) continue;
        if (tensor->stride[axis] != expected) return elements(tensor) == 0;
        expected *= tensor->size[axis];
    }
    return 1;
}

int same_shape(const Tensor *a, const Tensor *b) {
    if (a->axes != b->axes) return 0;
    for (int axis = 0; axis < a->axes; axis++)
        if (a->size[axis] != b->size[axis]) return 0;
    return 1;
}

// Larger than any memory; products of numbers below it and of a few bytes don't overflow.
static const i64 LIMIT = 1LL << 40;

static int reasonable(i64 number) { return number > -LIMIT && number < LIMIT; }

// One tensor of the row: reads it and makes sure that all its elements lie in its bytes.
static Status read_tensor(const i64 *row, i64 length, i64 *at, Tensor *tensor) {
    if (*at + 5 > length) return BAD_ROW;
    const i64 address = row[*at], bytes = row[*at + 1], dtype = row[*at + 2];
    const i64 offset = row[*at + 3], axes = row[*at + 4];
    *at += 5;
    if (dtype < 0 || dtype >= N_DTYPES) return BAD_DTYPE;
    if (axes < 0 || axes > MAX_AXES || *at + 2 * axes > length) return BAD_ROW;
    if (address <= 0 || !reasonable(bytes) || !reasonable(offset)) return BAD_ROW;

    i64 lowest = offset, highest = offset, count = 1;
    for (int axis = 0; axis < axes; axis++) {
        const i64 size = row[*at + axis], stride = row[*at + axes + axis];
        if (size < 0 || !reasonable(size) || !reasonable(stride)) return BAD_SHAPE;
        tensor->size[axis] = size;
        tensor->stride[axis] = stride;
        // Zero elements reach nowhere, and elements that share memory are not counted.
        if (size == 0) count = 0;
        else if (stride && size > LIMIT / (stride < 0 ? -stride : stride)) return OUTSIDE_MEMORY;
        else if (stride < 0) lowest += (size - 1) * stride;
        else highest += (size - 1) * stride;
        if (lowest < -LIMIT || highest > LIMIT) return OUTSIDE_MEMORY;
    }
    *at += 2 * axes;
    const i64 item = bytes_of((int)dtype);
    if (count && (lowest < 0 || (highest + 1) * item > bytes)) return OUTSIDE_MEMORY;

    // How many elements there are is used by loops: it must be a number that fits.
    i64 total = 1;
    for (int axis = 0; axis < axes; axis++) {
        if (tensor->size[axis] && total > LIMIT / tensor->size[axis]) return BAD_SHAPE;
        total *= tensor->size[axis] ? tensor->size[axis] : 1;
    }
    tensor->data = (char *)(__UINTPTR_TYPE__)address + (count ? offset * item : 0);
    tensor->dtype = (int)dtype;
    tensor->axes = (int)axes;
    return OK;
}

static Status read_call(i64 *row, Call *call) {
    const i64 length = row[0];
    if (length < 4) return BAD_ROW;
    const i64 numbers = row[2], tensors = row[3];
    if (numbers < 0 || numbers > MAX_NUMBERS || tensors < 0 || tensors > MAX_TENSORS) return BAD_ROW;
    if (4 + numbers > length) return BAD_ROW;
    call->row = row;
    call->n_numbers = (int)numbers;
    call->n_tensors = (int)tensors;
    for (int i = 0; i < numbers; i++) call->number[i] = row[4 + i];
    i64 at = 4 + numbers;
    for (int i = 0; i < tensors; i++) {
        Status status = read_tensor(row, length, &at, &call->tensor[i]);
        if (status) return status;
    }
    return at == length ? OK : BAD_ROW;
}

typedef struct {
    Status (*kernel)(Call *);
    int numbers, tensors;  // the least that it needs
} Entry;

static Status dispatch(Call *call) {
    switch (call->row[1]) {
#define ENTRY(OPERATION, kernel, numbers, tensors)                                    \
    case OPERATION:                                                                   \
        return call->n_numbers < (numbers) || call->n_tensors < (tensors) ? BAD_ROW : \
                                                                            kernel(call);
        ENTRY(UNARY, unary, 1, 2)
        ENTRY(BINARY, binary, 1, 3)
        ENTRY(WHERE, where, 0, 4)
        ENTRY(COPY, copy, 0, 2)
        ENTRY(FILL, fill, 1, 1)
        ENTRY(ARANGE, arange, 2, 1)
        ENTRY(TRIANGLE, triangle, 2, 2)
        ENTRY(REDUCE, reduce, 1, 2)
        ENTRY(CUMULATE, cumulate, 2, 2)
        ENTRY(MATMUL, matmul, 0, 4)
        ENTRY(SOFTMAX, softmax, 2, 2)
        ENTRY(SOFTMAX_BACKWARD, softmax_backward, 2, 3)
        ENTRY(NORMALISE, normalise, 2, 4)
        ENTRY(NORMALISE_BACKWARD, normalise_backward, 1, 4)
        ENTRY(INDEX, index_rows, 1, 3)
        ENTRY(GATHER, gather, 2, 3)
        ENTRY(RANDOM, random_numbers, 3, 2)
        ENTRY(ADAMW, adamw, 5, 5)
        ENTRY(GELU_AND_SLOPE, gelu_and_slope, 0, 3)
        ENTRY(CROSS_ENTROPY, cross_entropy, 2, 4)
        ENTRY(CROSS_ENTROPY_BACKWARD, cross_entropy_backward, 2, 4)
        default: return UNKNOWN_OPERATION;
    }
}

EXPORTED int run(i64 *row) {
    Call call;
    Status status = read_call(row, &call);
    return status ? status : dispatch(&call);
}

Status loop_over(Loop *loop, int operands, const Tensor *const *tensors, int reorder) {
    const Tensor *first = tensors[0];
    const int axes = first->axes;
    loop->operands = operands;
    loop->axes = axes;
    for (int axis = 0; axis < axes; axis++) loop->size[axis] = first->size[axis];
    for (int k = 0; k < operands; k++) {
        const Tensor *tensor = tensors[k];
        const int missing = axes - tensor->axes;
        if (missing < 0) return BAD_SHAPE;
        for (int axis = 0; axis < axes; axis++) {
            if (axis < missing) {
                loop->step[k][axis] = 0;
                continue;
            }
            const i64 size = tensor->size[axis - missing];
            if (size != first->size[axis] && size != 1) return BAD_SHAPE;
            loop->step[k][axis] = size == 1 ? 0 : tensor->stride[axis - missing];
        }
    }
    if (reorder) {
        // The largest steps of the first operand outside. Few axes: insertion is enough.
        for (int axis = 1; axis < axes; axis++)
            for (int at = axis; at > 0 && loop->step[0][at] > loop->step[0][at - 1]; at--) {
                i64 swapped = loop->size[at];
                loop->size[at] = loop->size[at - 1];
                loop->size[at - 1] = swapped;
                for (int k = 0; k < operands; k++) {
                    swapped = loop->step[k][at];
                    loop->step[k][at] = loop->step[k][at - 1];
                    loop->step[k][at - 1] = swapped;
                }
            }
    }
    merge_axes(loop);
    return OK;
}

void merge_axes(Loop *loop) {
    int kept = 0;
    for (int axis = 0; axis < loop->axes; axis++) {
        if (loop->size[axis] == 1) continue;
        int follows = kept > 0;
        for (int k = 0; k < loop->operands && follows; k++)
            follows = loop->step[k][kept - 1] == loop->step[k][axis] * loop->size[axis];
        if (follows) {
            loop->size[kept - 1] *= loop->size[axis];
            for (int k = 0; k < loop->operands; k++) loop->step[k][kept - 1] = loop->step[k][axis];
            continue;
        }
        loop->size[kept] = loop->size[axis];
        for (int k = 0; k < loop->operands; k++) loop->step[k][kept] = loop->step[k][axis];
        kept++;
    }
    if (kept == 0) {
        loop->size[0] = 1;
        for (int k = 0; k < loop->operands; k++) loop->step[k][0] = 0;
        kept = 1;
    }
    loop->axes = kept;
    for (int axis = 0; axis < kept; axis++) loop->place[axis] = 0;
    for (int k = 0; k < loop->operands; k++) loop->offset[k] = 0;
}
