// Matrix products, any number of them: [..., m, k] by [..., k, n].

#include "loops.h"
#include "vectors.h"

// The sizes of a block of sums, and of what is packed at a time: 128 kB and 4 kB.
enum { COLUMNS = 8, ROWS = 4, HEIGHT = 256, DEPTH = 128 };

static inline i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

static void few_f32(i64 m, i64 n, i64 k, f32 *out, const f32 *a, i64 a_row, i64 a_step,
                    const f32 *b, i64 b_step, i64 b_column) {
    for (i64 i = 0; i < m; i++)
        for (i64 j = 0; j < n; j++) {
            f64 sum = 0;
            for (i64 l = 0; l < k; l++)
                sum += (f64)a[i * a_row + l * a_step] * b[l * b_step + j * b_column];
            out[i * n + j] = (f32)sum;
        }
}

// Few rows of a by columns of b that lie in order, as those of a layer's weights do: nothing is
// packed, since each column is read once or twice. Four columns are taken at a time; the last one
// is taken again where some are missing.
static void in_order_f32(i64 m, i64 n, i64 k, f32 *out, const f32 *a, i64 a_row, const f32 *b,
                         i64 b_column) {
    for (i64 row = 0; row < m; row++) {
        const f32 *x = a + row * a_row;
        for (i64 column = 0; column < n; column += 4) {
            const i64 last = n - 1 - column;
            const f32 *y0 = b + column * b_column;
            const f32 *y1 = y0 + (last < 1 ? last : 1) * b_column;
            const f32 *y2 = y0 + (last < 2 ? last : 2) * b_column;
            const f32 *y3 = y0 + (last < 3 ? last : 3) * b_column;
            Four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
            i64 l = 0;
            for (; l + 4 <= k; l += 4) {
                const Four values = *(const Four *)(x + l);
                s0 += values * *(const Four *)(y0 + l);
                s1 += values * *(const Four *)(y1 + l);
                s2 += values * *(const Four *)(y2 + l);
                s3 += values * *(const Four *)(y3 + l);
            }
            // Each sum is in four parts, of which those of one place are brought together.
            Four part[] = {s0, s1, s2, s3};
            mirror(part);
            Four sum = (part[0] + part[1]) + (part[2] + part[3]);
            for (; l < k; l++) sum += x[l] * (Four){y0[l], y1[l], y2[l], y3[l]};
            f32 *to = out + row * n + column;
            if (last >= 3) *(Four *)to = sum;
            else
                for (i64 j = 0; j <= last; j++) to[j] = sum[j];
        }
    }
}

// Four lines of `length` numbers, brought into the order in which the sums are made: the first
// numbers of all four, the second ones, and so on. `along` is from one number of a line to the next,
// `across` from line to line, and `wide` from four packed numbers to the next four. Where lines are
// missing, others are taken in their place.
static void pack_four(i64 length, i64 lines, f32 *packed, i64 wide, const f32 *from, i64 along,
                      i64 across) {
    if (across == 1 && lines >= 4) {
        for (i64 l = 0; l < length; l++, packed += wide, from += along)
            *(Four *)packed = *(const Four *)from;
        return;
    }
    const f32 *line_0 = from;
    const f32 *line_1 = lines > 1 ? line_0 + across : from;
    const f32 *line_2 = lines > 2 ? line_1 + across : from;
    const f32 *line_3 = lines > 3 ? line_2 + across : from;
    i64 l = 0;
    if (along == 1)
        for (; l + 4 <= length; l += 4, packed += 4 * wide) {
            Four square[] = {*(const Four *)(line_0 + l), *(const Four *)(line_1 + l),
                             *(const Four *)(line_2 + l), *(const Four *)(line_3 + l)};
            mirror(square);
            for (int i = 0; i < 4; i++) *(Four *)(packed + i * wide) = square[i];
        }
    for (; l < length; l++, packed += wide) {
        const i64 at = l * along;
        *(Four *)packed = (Four){line_0[at], line_1[at], line_2[at], line_3[at]};
    }
}

// A row of the block: one number of a times eight of b.
#define ADD_ROW(left_sum, right_sum, number) \
    {                                        \
        const Four x = all_of(number);       \
        left_sum += x * left;                \
        right_sum += x * right;              \
    }

// Four rows of a by eight columns of b, both packed. All 32 sums stay in registers: each has a name,
// since an array of them would be memory. `add` tells whether they go on from what is in `out`.
static void block_f32(i64 k, const f32 *a, const f32 *b, f32 *out, i64 out_row, int add) {
    Four *const row_0 = (Four *)out, *const row_1 = (Four *)(out + out_row);
    Four *const row_2 = (Four *)(out + 2 * out_row), *const row_3 = (Four *)(out + 3 * out_row);
    Four left_0 = {0}, left_1 = {0}, left_2 = {0}, left_3 = {0};
    Four right_0 = {0}, right_1 = {0}, right_2 = {0}, right_3 = {0};
    if (add) {
        left_0 = row_0[0], right_0 = row_0[1];
        left_1 = row_1[0], right_1 = row_1[1];
        left_2 = row_2[0], right_2 = row_2[1];
        left_3 = row_3[0], right_3 = row_3[1];
    }
    i32 steps = (i32)k;
    do {
        const Four left = *(const Four *)b, right = *(const Four *)(b + 4);
        ADD_ROW(left_0, right_0, a[0])
        ADD_ROW(left_1, right_1, a[1])
        ADD_ROW(left_2, right_2, a[2])
        ADD_ROW(left_3, right_3, a[3])
        a += ROWS;
        b += COLUMNS;
    } while (--steps);
    row_0[0] = left_0, row_0[1] = right_0;
    row_1[0] = left_1, row_1[1] = right_1;
    row_2[0] = left_2, row_2[1] = right_2;
    row_3[0] = left_3, row_3[1] = right_3;
}

// A block at an edge: the rows and columns that are missing are computed and dropped.
static void edge_f32(i64 height, i64 width, i64 k, const f32 *a, const f32 *b, f32 *out, i64 out_row,
                     int add) {
    f32 whole[ROWS * COLUMNS] = {0};
    if (add)
        for (i64 i = 0; i < height; i++)
            for (i64 j = 0; j < width; j++) whole[i * COLUMNS + j] = out[i * out_row + j];
    block_f32(k, a, b, whole, COLUMNS, add);
    for (i64 i = 0; i < height; i++)
        for (i64 j = 0; j < width; j++) out[i * out_row + j] = whole[i * COLUMNS + j];
}

// Large products in parts that stay near the processor: up to HEIGHT rows of a are packed at a time,
// and up to DEPTH numbers of each; then eight columns of b after the other. The sums go on from
// part to part, so their order is that of one long sum.
static void many_f32(i64 m, i64 n, i64 k, f32 *out, const f32 *a, i64 a_row, i64 a_step,
                     const f32 *b, i64 b_step, i64 b_column, f32 *packed) {
    f32 *packed_b = packed + HEIGHT * DEPTH;
    for (i64 from = 0; from < k; from += DEPTH) {
        const i64 depth = smaller(k - from, DEPTH);
        for (i64 top = 0; top < m; top += HEIGHT) {
            const i64 bottom = smaller(top + HEIGHT, m);
            for (i64 row = top; row < bottom; row += ROWS)
                pack_four(depth, bottom - row, packed + (row - top) * depth, ROWS,
                          a + row * a_row + from * a_step, a_step, a_row);
            for (i64 column = 0; column < n; column += COLUMNS) {
                const i64 width = smaller(n - column, COLUMNS);
                const f32 *columns = b + from * b_step + column * b_column;
                const i64 right = width > 4 ? 4 : 0;
                pack_four(depth, width, packed_b, COLUMNS, columns, b_step, b_column);
                pack_four(depth, width - right, packed_b + 4, COLUMNS, columns + right * b_column,
                          b_step, b_column);
                for (i64 row = top; row < bottom; row += ROWS) {
                    const i64 height = smaller(bottom - row, ROWS);
                    const f32 *packed_a = packed + (row - top) * depth;
                    f32 *to = out + row * n + column;
                    if (height == ROWS && width == COLUMNS)
                        block_f32(depth, packed_a, packed_b, to, n, from > 0);
                    else edge_f32(height, width, depth, packed_a, packed_b, to, n, from > 0);
                }
            }
        }
    }
}

#define PLAIN(T, Sum)                                                               \
    {                                                                               \
        const T *x = (const T *)a->data + loop.offset[1];                           \
        const T *y = (const T *)b->data + loop.offset[2];                           \
        T *to = (T *)out->data + loop.offset[0];                                    \
        for (i64 i = 0; i < m; i++)                                                 \
            for (i64 j = 0; j < n; j++) {                                           \
                Sum sum = 0;                                                        \
                for (i64 l = 0; l < k; l++)                                         \
                    sum += (Sum)x[i * a_row + l * a_step] *                         \
                           (Sum)y[l * b_step + j * b_column];                       \
                to[i * n + j] = (T)sum;                                             \
            }                                                                       \
        break;                                                                      \
    }

#define ADD_TO_ROWS(T)                                                               \
    {                                                                                \
        T *to = (T *)out->data + loop.offset[0];                                     \
        for (i64 i = 0; i < m; i++, to += n)                                         \
            for (i64 j = 0; j < n; j++) to[j] += ((const T *)call->tensor[4].data)[j]; \
    }

// out, a, b, and memory for what is packed: (HEIGHT + COLUMNS) * DEPTH numbers in single precision;
// then what is added to each row, if something is.
Status matmul(Call *call) {
    const Tensor *out = &call->tensor[0], *a = &call->tensor[1], *b = &call->tensor[2];
    const Tensor *packed = &call->tensor[3];
    const int dtype = out->dtype, axes = out->axes;
    if (a->dtype != dtype || b->dtype != dtype) return BAD_DTYPE;
    if (axes < 2 || a->axes != axes || b->axes != axes) return BAD_SHAPE;
    const i64 m = a->size[axes - 2], k = a->size[axes - 1], n = b->size[axes - 1];
    if (b->size[axes - 2] != k || out->size[axes - 2] != m || out->size[axes - 1] != n)
        return BAD_SHAPE;
    if (packed->dtype != FLOAT32 || !contiguous(packed) || elements(packed) < (HEIGHT + COLUMNS) * DEPTH)
        return BAD_SHAPE;
    const i64 a_row = a->stride[axes - 2], a_step = a->stride[axes - 1];
    const i64 b_step = b->stride[axes - 2], b_column = b->stride[axes - 1];
    // Each matrix of the result is written in order.
    if (n != 1 && m && out->stride[axes - 1] != 1) return BAD_SHAPE;
    if (m != 1 && n && out->stride[axes - 2] != n) return BAD_SHAPE;

    const int adds = call->n_tensors > 4;
    if (adds) {
        const Tensor *added = &call->tensor[4];
        if (added->dtype != dtype || dtype == INT64) return BAD_DTYPE;
        if (added->axes != 1 || added->size[0] != n || !contiguous(added)) return BAD_SHAPE;
    }

    // The matrices are counted by the axes before the last two; each is a row of one element.
    Tensor heads[] = {*out, *a, *b};
    const Tensor *operands[] = {&heads[0], &heads[1], &heads[2]};
    for (int i = 0; i < 3; i++) heads[i].axes = axes - 2;
    Loop loop;
    Status status = loop_over(&loop, 3, operands, 0);
    if (status) return status;
    if (loop_is_empty(&loop)) return OK;
    loop.size[loop.axes] = 1;
    for (int i = 0; i < 3; i++) loop.step[i][loop.axes] = 0;
    loop.place[loop.axes++] = 0;
    do {
        switch (dtype) {
            case FLOAT32: {
                f32 *to = (f32 *)out->data + loop.offset[0];
                const f32 *x = (const f32 *)a->data + loop.offset[1];
                const f32 *y = (const f32 *)b->data + loop.offset[2];
                if (m * n * k < 512 || n == 1)
                    few_f32(m, n, k, to, x, a_row, a_step, y, b_step, b_column);
                else if (m < ROWS && a_step == 1 && b_step == 1)
                    in_order_f32(m, n, k, to, x, a_row, y, b_column);
                else
                    many_f32(m, n, k, to, x, a_row, a_step, y, b_step, b_column,
                             (f32 *)packed->data);
                break;
            }
            case FLOAT64: PLAIN(f64, f64)
            case INT64: PLAIN(i64, u64)
            default: return BAD_DTYPE;
        }
        if (adds && dtype == FLOAT32) ADD_TO_ROWS(f32)
        if (adds && dtype == FLOAT64) ADD_TO_ROWS(f64)
    } while (next_row(&loop));
    return OK;
}
