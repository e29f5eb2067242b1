// Matrix products, any number of them: [..., m, k] by [..., k, n].

#include "loops.h"
#include "vectors.h"

enum { COLUMNS = 8, ROWS = 4 };

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
            f32 sum[] = {(s0[0] + s0[1]) + (s0[2] + s0[3]), (s1[0] + s1[1]) + (s1[2] + s1[3]),
                         (s2[0] + s2[1]) + (s2[2] + s2[3]), (s3[0] + s3[1]) + (s3[2] + s3[3])};
            for (; l < k; l++) {
                sum[0] += x[l] * y0[l];
                sum[1] += x[l] * y1[l];
                sum[2] += x[l] * y2[l];
                sum[3] += x[l] * y3[l];
            }
            for (i64 j = 0; j < 4 && j <= last; j++) out[row * n + column + j] = sum[j];
        }
    }
}

// Eight columns beside each other, zeros where some are missing.
static void pack(i64 k, i64 width, f32 *packed, const f32 *b, i64 b_step, i64 b_column) {
    if (width == COLUMNS && b_column == 1) {
        for (i64 l = 0; l < k; l++, packed += COLUMNS, b += b_step) {
            *(Four *)packed = *(const Four *)b;
            *(Four *)(packed + 4) = *(const Four *)(b + 4);
        }
        return;
    }
    for (i64 j = 0; j < COLUMNS; j++) {
        const f32 *from = b + j * b_column;
        if (j < width)
            for (i64 l = 0; l < k; l++) packed[l * COLUMNS + j] = from[l * b_step];
        else
            for (i64 l = 0; l < k; l++) packed[l * COLUMNS + j] = 0;
    }
}

#define STORE(to, row)                \
    {                                 \
        *(Four *)(to) = row[0];       \
        *(Four *)((to) + 4) = row[1]; \
    }

// Eight columns of b are packed beside each other; with four rows of a at a time, all 32 sums
// stay in registers. Rows and columns that are missing at the ends are computed and dropped.
static void many_f32(i64 m, i64 n, i64 k, f32 *out, const f32 *a, i64 a_row, i64 a_step,
                     const f32 *b, i64 b_step, i64 b_column, f32 *packed) {
    for (i64 column = 0; column < n; column += COLUMNS) {
        const i64 width = n - column < COLUMNS ? n - column : COLUMNS;
        pack(k, width, packed, b + column * b_column, b_step, b_column);
        for (i64 row = 0; row < m; row += ROWS) {
            const i64 height = m - row < ROWS ? m - row : ROWS;
            const f32 *row_0 = a + row * a_row;
            const f32 *row_1 = height > 1 ? row_0 + a_row : row_0;
            const f32 *row_2 = height > 2 ? row_1 + a_row : row_0;
            const f32 *row_3 = height > 3 ? row_2 + a_row : row_0;
            Four sum[ROWS][2] = {{{0}}};
            const f32 *values = packed;
            for (i64 l = 0; l < k; l++, values += COLUMNS) {
                const Four left = *(const Four *)values, right = *(const Four *)(values + 4);
                const f32 x0 = row_0[l * a_step], x1 = row_1[l * a_step];
                const f32 x2 = row_2[l * a_step], x3 = row_3[l * a_step];
                sum[0][0] += x0 * left;
                sum[0][1] += x0 * right;
                sum[1][0] += x1 * left;
                sum[1][1] += x1 * right;
                sum[2][0] += x2 * left;
                sum[2][1] += x2 * right;
                sum[3][0] += x3 * left;
                sum[3][1] += x3 * right;
            }
            f32 *to = out + row * n + column;
            if (width == COLUMNS && height == ROWS) {
                STORE(to, sum[0]);
                STORE(to + n, sum[1]);
                STORE(to + 2 * n, sum[2]);
                STORE(to + 3 * n, sum[3]);
            } else {
                for (i64 i = 0; i < height; i++)
                    for (i64 j = 0; j < width; j++) to[i * n + j] = sum[i][j / 4][j % 4];
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

// out, a, b, and memory for the packed columns: 8 k numbers in single precision.
Status matmul(Call *call) {
    const Tensor *out = &call->tensor[0], *a = &call->tensor[1], *b = &call->tensor[2];
    const Tensor *packed = &call->tensor[3];
    const int dtype = out->dtype, axes = out->axes;
    if (a->dtype != dtype || b->dtype != dtype) return BAD_DTYPE;
    if (axes < 2 || a->axes != axes || b->axes != axes) return BAD_SHAPE;
    const i64 m = a->size[axes - 2], k = a->size[axes - 1], n = b->size[axes - 1];
    if (b->size[axes - 2] != k || out->size[axes - 2] != m || out->size[axes - 1] != n)
        return BAD_SHAPE;
    if (packed->dtype != FLOAT32 || !contiguous(packed) || elements(packed) < k * COLUMNS)
        return BAD_SHAPE;
    const i64 a_row = a->stride[axes - 2], a_step = a->stride[axes - 1];
    const i64 b_step = b->stride[axes - 2], b_column = b->stride[axes - 1];
    // Each matrix of the result is written in order.
    if (n != 1 && m && out->stride[axes - 1] != 1) return BAD_SHAPE;
    if (m != 1 && n && out->stride[axes - 2] != n) return BAD_SHAPE;

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
    } while (next_row(&loop));
    return OK;
}
