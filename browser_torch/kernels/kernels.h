// What all kernels share: number types, tensors, and what can go wrong.
//
// A kernel is called with one row of 64-bit integers:
//
//     length of the row, operation, how many numbers, how many tensors,
//     the numbers (floating-point ones as their bits),
//     then for each tensor: address, bytes, dtype, offset, axes, sizes..., strides...
//
// Offset and strides count elements. `run` reads the row and checks that no tensor reaches outside
// its bytes, so a kernel may touch every element of its tensors and nothing else. The result of
// `run` is 0, or the code of a `Status`.
//
// The same sources are built natively, for the tests beside PyTorch, and as WebAssembly, which
// works in the memory of Python in the page. There is no C library there: what is needed of
// mathematics comes from JavaScript.

#ifndef KERNELS_H
#define KERNELS_H

typedef long long i64;
typedef unsigned long long u64;
typedef int i32;
typedef unsigned int u32;
typedef short i16;
typedef unsigned short u16;
typedef signed char i8;
typedef unsigned char u8;
typedef float f32;
typedef double f64;

enum { MAX_AXES = 12, MAX_TENSORS = 12, MAX_NUMBERS = 16 };

typedef enum {
    OK,
    UNKNOWN_OPERATION,
    BAD_ROW,
    OUTSIDE_MEMORY,
    BAD_DTYPE,
    BAD_SHAPE,
    BAD_INDEX,
    BAD_NUMBER,
} Status;

typedef enum {
    FLOAT32,
    FLOAT64,
    INT64,
    INT32,
    UINT8,
    INT8,
    BOOL,
    INT16,
    BFLOAT16,
    FLOAT16,
    COMPLEX64,
    COMPLEX128,
    N_DTYPES,
} DType;

typedef enum {
    UNARY,
    BINARY,
    WHERE,
    COPY,
    FILL,
    ARANGE,
    TRIANGLE,
    REDUCE,
    CUMULATE,
    MATMUL,
    SOFTMAX,
    SOFTMAX_BACKWARD,
    NORMALISE,
    NORMALISE_BACKWARD,
    INDEX,
    GATHER,
    RANDOM,
    ADAMW,
    GELU_AND_SLOPE,
    CROSS_ENTROPY,
    CROSS_ENTROPY_BACKWARD,
} Operation;

typedef struct {
    char *data;  // the first element, the offset included
    int dtype;
    int axes;
    i64 size[MAX_AXES];
    i64 stride[MAX_AXES];
} Tensor;

typedef struct {
    i64 *row;  // a kernel can leave here what it found wrong
    int n_numbers, n_tensors;
    i64 number[MAX_NUMBERS];
    Tensor tensor[MAX_TENSORS];
} Call;

// The kernels, one for each operation.
Status unary(Call *call);
Status binary(Call *call);
Status where(Call *call);
Status copy(Call *call);
Status fill(Call *call);
Status arange(Call *call);
Status triangle(Call *call);
Status reduce(Call *call);
Status cumulate(Call *call);
Status matmul(Call *call);
Status softmax(Call *call);
Status softmax_backward(Call *call);
Status normalise(Call *call);
Status normalise_backward(Call *call);
Status index_rows(Call *call);
Status gather(Call *call);
Status random_numbers(Call *call);
Status adamw(Call *call);
Status gelu_and_slope(Call *call);
Status cross_entropy(Call *call);
Status cross_entropy_backward(Call *call);

// Sizes and layouts.
i64 bytes_of(int dtype);
i64 elements(const Tensor *tensor);
int contiguous(const Tensor *tensor);
int same_shape(const Tensor *a, const Tensor *b);

static inline f64 as_f64(i64 bits) {
    union {
        i64 bits;
        f64 value;
    } both = {.bits = bits};
    return both.value;
}

#endif
