// What layers do to rows: softmax, normalisation, and a step of the optimizer.

#include "kernels.h"
#include "mathematics.h"
#include "vectors.h"

// All tensors of the call that are named lie in order and have one shape and type.
static Status alike(const Call *call, int count) {
    for (int i = 0; i < count; i++) {
        const Tensor *tensor = &call->tensor[i];
        if (!contiguous(tensor) || !same_shape(tensor, &call->tensor[0])) return BAD_SHAPE;
        if (tensor->dtype != call->tensor[0].dtype) return BAD_DTYPE;
    }
    const int dtype = call->tensor[0].dtype;
    return dtype == FLOAT32 || dtype == FLOAT64 ? OK : BAD_DTYPE;
}

typedef struct {
    i64 outer, length, inner;
} Rows;

// The axis of the call's second number, and how many elements lie before and behind it.
static Status rows_along(const Call *call, Rows *rows) {
    const Tensor *tensor = &call->tensor[0];
    const i64 axis = call->number[1];
    if (axis < 0 || axis >= tensor->axes) return BAD_NUMBER;
    *rows = (Rows){1, tensor->size[axis], 1};
    for (int i = 0; i < tensor->axes; i++) {
        if (i < axis) rows->outer *= tensor->size[i];
        if (i > axis) rows->inner *= tensor->size[i];
    }
    return OK;
}

#define SOFTMAX_ROW(T, EXP)                                                              \
    {                                                                                    \
        const T *a = (const T *)call->tensor[1].data + start;                            \
        T *out = (T *)call->tensor[0].data + start;                                      \
        T largest = a[0];                                                                \
        for (i64 i = 1; i < rows.length; i++) {                                          \
            const T x = a[i * step];                                                     \
            if (x > largest || x != x) largest = x;                                      \
        }                                                                                \
        f64 sum = 0;                                                                     \
        if (step == 1) {                                                                 \
            for (i64 i = 0; i < rows.length; i++) out[i] = EXP(a[i] - largest);          \
            for (i64 i = 0; i < rows.length; i++) sum += out[i];                         \
        } else {                                                                         \
            for (i64 i = 0; i < rows.length; i++) {                                      \
                out[i * step] = EXP(a[i * step] - largest);                              \
                sum += out[i * step];                                                    \
            }                                                                            \
        }                                                                                \
        if (logarithm) {                                                                 \
            const T shift = (T)log(sum);                                                 \
            for (i64 i = 0; i < rows.length; i++)                                        \
                out[i * step] = a[i * step] - largest - shift;                           \
        } else {                                                                         \
            const T factor = (T)(1 / sum);                                               \
            for (i64 i = 0; i < rows.length; i++) out[i * step] *= factor;               \
        }                                                                                \
    }

// A row in order and in single precision, by fours.
static void softmax_in_order(i64 length, int logarithm, f32 *out, const f32 *a) {
    f32 largest = a[0];
    i64 begun = 1;
    if (length >= 4) {
        Four part = *(const Four *)a;
        for (begun = 4; begun + 4 <= length; begun += 4) {
            const Four next = *(const Four *)(a + begun);
            part = chosen((next > part) | (next != next), next, part);
        }
        // What is no number stays: nothing is larger.
        largest = part[0];
        for (int i = 1; i < 4; i++)
            if (part[i] > largest || part[i] != part[i]) largest = part[i];
    }
    for (i64 i = begun; i < length; i++)
        if (a[i] > largest || a[i] != a[i]) largest = a[i];
    for (i64 i = 0; i < length; i++) out[i] = a[i] - largest;
    f32 shares[4] = {0};
    f64 sum = 0;
    if (logarithm) {
        for (i64 at = 0; at < length; at += 4) {
            Four part = all_of(-__builtin_inff());
            for (i64 i = at; i < length && i < at + 4; i++) part[i - at] = out[i];
            *(Four *)shares = exp_four(part);
            sum += (f64)shares[0] + shares[1] + shares[2] + shares[3];
        }
        const f32 shift = (f32)log(sum);
        for (i64 i = 0; i < length; i++) out[i] -= shift;
        return;
    }
    ROW_OF_FOURS(out, out, length, exp_four)
    for (i64 i = 0; i < length; i++) sum += out[i];
    const f32 factor = (f32)(1 / sum);
    for (i64 i = 0; i < length; i++) out[i] *= factor;
}

// What further numbers say about the scores of attention: by what they are multiplied, and, if no
// query sees a later key, how many queries there are.
static f32 scale_of(const Call *call) {
    return call->n_numbers > 2 ? (f32)as_f64(call->number[2]) : 1;
}

static i64 seen_keys(const Call *call, i64 row, i64 keys) {
    const i64 queries = call->n_numbers > 3 ? call->number[3] : 0;
    if (queries <= 0) return keys;
    const i64 seen = row % queries + 1;
    return seen < keys ? seen : keys;
}

// Numbers: whether of the logarithm, axis, and those of attention. Tensors: result, input.
Status softmax(Call *call) {
    const i64 logarithm = call->number[0];
    const f32 scale = scale_of(call);
    Rows rows;
    Status status = alike(call, 2);
    if (!status) status = rows_along(call, &rows);
    if (status) return status;
    if (rows.length == 0) return OK;
    const i64 step = rows.inner;
    for (i64 o = 0; o < rows.outer; o++)
        for (i64 r = 0; r < rows.inner; r++) {
            const i64 start = o * rows.length * step + r;
            if (call->tensor[0].dtype == FLOAT32 && step == 1) {
                f32 *out = (f32 *)call->tensor[0].data + start;
                const f32 *in = (const f32 *)call->tensor[1].data + start;
                const i64 seen = seen_keys(call, o, rows.length);
                if (scale != 1) {
                    for (i64 i = 0; i < seen; i++) out[i] = in[i] * scale;
                    in = out;
                }
                softmax_in_order(seen, logarithm != 0, out, in);
                for (i64 i = seen; i < rows.length; i++) out[i] = 0;
            } else if (call->n_numbers > 2) return BAD_NUMBER;
            else if (call->tensor[0].dtype == FLOAT32) SOFTMAX_ROW(f32, exp_f32)
            else SOFTMAX_ROW(f64, exp)
        }
    return OK;
}

#define SOFTMAX_BACKWARD_ROW(T, EXP)                                                       \
    {                                                                                      \
        const T *y = (const T *)call->tensor[1].data + start;                              \
        const T *g = (const T *)call->tensor[2].data + start;                              \
        T *out = (T *)call->tensor[0].data + start;                                        \
        f64 sum = 0;                                                                       \
        for (i64 i = 0; i < rows.length; i++)                                              \
            sum += logarithm ? (f64)g[i * step] : (f64)g[i * step] * y[i * step];          \
        for (i64 i = 0; i < rows.length; i++)                                              \
            out[i * step] = logarithm ? g[i * step] - EXP(y[i * step]) * (T)sum            \
                                      : y[i * step] * (g[i * step] - (T)sum) * scale;      \
    }

// The same numbers. Tensors: gradient of the input, result of softmax, its gradient.
Status softmax_backward(Call *call) {
    const i64 logarithm = call->number[0];
    const f32 scale = scale_of(call);
    Rows rows;
    Status status = alike(call, 3);
    if (!status) status = rows_along(call, &rows);
    if (status) return status;
    const i64 step = rows.inner;
    for (i64 o = 0; o < rows.outer; o++)
        for (i64 r = 0; r < rows.inner; r++) {
            const i64 start = o * rows.length * step + r;
            if (call->tensor[0].dtype == FLOAT32) SOFTMAX_BACKWARD_ROW(f32, exp_f32)
            else SOFTMAX_BACKWARD_ROW(f64, exp)
        }
    return OK;
}

enum { EACH, MEAN, TOTAL };

// What cross entropy is made of: scores of [rows, classes] and what has their shape, and a target
// for each row. Gives the number of targets that count, or what is wrong.
static Status targets_that_count(const Call *call, const Tensor *targets, const Tensor *loss, i64 *kept) {
    Status status = alike(call, 2);
    if (status) return status;
    const Tensor *scores = &call->tensor[0];
    if (scores->dtype != FLOAT32 || targets->dtype != INT64 || loss->dtype != FLOAT32) return BAD_DTYPE;
    if (scores->axes != 2 || scores->size[1] == 0 || targets->axes != 1) return BAD_SHAPE;
    const i64 rows = scores->size[0], ignored = call->number[0];
    if (!contiguous(targets) || targets->size[0] != rows || !contiguous(loss)) return BAD_SHAPE;
    if (call->number[1] < EACH || call->number[1] > TOTAL) return BAD_NUMBER;
    if (elements(loss) != (call->number[1] == EACH ? rows : 1)) return BAD_SHAPE;
    *kept = 0;
    for (i64 row = 0; row < rows; row++) {
        const i64 target = ((const i64 *)targets->data)[row];
        if (target == ignored) continue;
        if (target < 0 || target >= scores->size[1]) {
            call->row[1] = 0;
            call->row[2] = target;
            return BAD_INDEX;
        }
        ++*kept;
    }
    return OK;
}

// Numbers: the target that is ignored, and whether each row has a loss, or all have their mean or
// total. Tensors: logarithms of the shares that the scores are, scores, targets, loss.
Status cross_entropy(Call *call) {
    const Tensor *targets = &call->tensor[2], *loss = &call->tensor[3];
    i64 kept;
    Status status = targets_that_count(call, targets, loss, &kept);
    if (status) return status;
    const i64 rows = call->tensor[0].size[0], classes = call->tensor[0].size[1];
    f64 total = 0;
    for (i64 row = 0; row < rows; row++) {
        f32 *shares = (f32 *)call->tensor[0].data + row * classes;
        softmax_in_order(classes, 1, shares, (const f32 *)call->tensor[1].data + row * classes);
        const i64 target = ((const i64 *)targets->data)[row];
        const f32 own = target == call->number[0] ? 0 : -shares[target];
        if (call->number[1] == EACH) ((f32 *)loss->data)[row] = own;
        total += own;
    }
    if (call->number[1] == MEAN) *(f32 *)loss->data = (f32)(total / (f64)kept);
    if (call->number[1] == TOTAL) *(f32 *)loss->data = (f32)total;
    return OK;
}

// The same numbers. Tensors: gradient of the scores, logarithms of the shares, targets, gradient of
// the loss. A score should lose its share, except for that of the target, which should have all.
Status cross_entropy_backward(Call *call) {
    const Tensor *targets = &call->tensor[2], *gradient = &call->tensor[3];
    i64 kept;
    Status status = targets_that_count(call, targets, gradient, &kept);
    if (status) return status;
    const i64 rows = call->tensor[0].size[0], classes = call->tensor[0].size[1];
    for (i64 row = 0; row < rows; row++) {
        f32 *out = (f32 *)call->tensor[0].data + row * classes;
        const f32 *shares = (const f32 *)call->tensor[1].data + row * classes;
        const i64 target = ((const i64 *)targets->data)[row];
        f32 factor = ((const f32 *)gradient->data)[call->number[1] == EACH ? row : 0];
        if (call->number[1] == MEAN) factor /= (f32)kept;
        if (target == call->number[0]) {
            for (i64 i = 0; i < classes; i++) out[i] = 0;
            continue;
        }
        ROW_OF_FOURS(out, shares, classes, exp_four)
        for (i64 i = 0; i < classes; i++) out[i] *= factor;
        out[target] -= factor;
    }
    return OK;
}

// Rows of [rows, length]; the further tensors have one number for each row.
static Status rows_of_two_axes(const Call *call, int alike_count, int count) {
    Status status = alike(call, alike_count);
    if (status) return status;
    if (call->tensor[0].axes != 2) return BAD_SHAPE;
    for (int i = alike_count; i < count; i++) {
        const Tensor *tensor = &call->tensor[i];
        if (!contiguous(tensor) || tensor->axes != 1) return BAD_SHAPE;
        if (tensor->size[0] != call->tensor[0].size[0]) return BAD_SHAPE;
        if (tensor->dtype != call->tensor[0].dtype) return BAD_DTYPE;
    }
    return OK;
}

// Tensors that a normalisation has with a scale: one number for each place of a row.
static Status places_of_rows(const Call *call, int from) {
    for (int i = from; i < call->n_tensors; i++) {
        const Tensor *tensor = &call->tensor[i];
        if (!contiguous(tensor) || tensor->axes != 1) return BAD_SHAPE;
        if (tensor->size[0] != call->tensor[0].size[1]) return BAD_SHAPE;
        if (tensor->dtype != call->tensor[0].dtype) return BAD_DTYPE;
    }
    return OK;
}

#define NORMALISE_ROWS(T)                                                                  \
    for (i64 row = 0; row < rows; row++) {                                                 \
        const T *a = (const T *)call->tensor[1].data + row * length;                       \
        T *out = (T *)call->tensor[0].data + row * length;                                 \
        f64 mean = 0, squares = 0;                                                         \
        if (centred) {                                                                     \
            for (i64 i = 0; i < length; i++) mean += a[i];                                 \
            mean /= (f64)length;                                                           \
        }                                                                                  \
        for (i64 i = 0; i < length; i++) squares += (a[i] - mean) * (a[i] - mean);         \
        const f64 factor = 1 / sqrt(squares / (f64)length + epsilon);                      \
        for (i64 i = 0; i < length; i++) out[i] = (T)((a[i] - mean) * factor);             \
        ((T *)call->tensor[2].data)[row] = (T)mean;                                        \
        ((T *)call->tensor[3].data)[row] = (T)factor;                                      \
        if (count < 6) continue;                                                           \
        T *scaled = (T *)call->tensor[4].data + row * length;                              \
        const T *scale = (const T *)call->tensor[5].data;                                  \
        for (i64 i = 0; i < length; i++) scaled[i] = out[i] * scale[i];                    \
        if (count < 7) continue;                                                           \
        const T *shift = (const T *)call->tensor[6].data;                                  \
        for (i64 i = 0; i < length; i++) scaled[i] += shift[i];                            \
    }

// Numbers: epsilon, whether the mean is taken away. Tensors: result, input, means, factors; and if
// the result is scaled, too: what comes of it, scale, and shift if there is one.
Status normalise(Call *call) {
    const int count = call->n_tensors;
    Status status = rows_of_two_axes(call, 2, 4);
    if (!status && count > 4) {
        const Tensor *scaled = &call->tensor[4];
        if (count < 6 || !contiguous(scaled) || !same_shape(scaled, &call->tensor[0])) return BAD_SHAPE;
        if (scaled->dtype != call->tensor[0].dtype) return BAD_DTYPE;
        status = places_of_rows(call, 5);
    }
    if (status) return status;
    const f64 epsilon = as_f64(call->number[0]);
    const i64 centred = call->number[1];
    const i64 rows = call->tensor[0].size[0], length = call->tensor[0].size[1];
    if (call->tensor[0].dtype == FLOAT32) NORMALISE_ROWS(f32)
    else NORMALISE_ROWS(f64)
    return OK;
}

// The gradient of a scale is summed over rows, and so is that of a shift, if there is one.
#define GRADIENTS_OF_PLACES(T)                                                      \
    {                                                                               \
        T *of_scale = (T *)call->tensor[5].data;                                    \
        T *of_shift = count > 6 ? (T *)call->tensor[6].data : 0;                    \
        for (i64 i = 0; i < length; i++) {                                          \
            of_scale[i] = 0;                                                        \
            if (of_shift) of_shift[i] = 0;                                          \
        }                                                                           \
        for (i64 row = 0; row < rows; row++) {                                      \
            const T *y = (const T *)call->tensor[1].data + row * length;            \
            const T *g = (const T *)call->tensor[2].data + row * length;            \
            for (i64 i = 0; i < length; i++) of_scale[i] += g[i] * y[i];            \
            if (!of_shift) continue;                                                \
            for (i64 i = 0; i < length; i++) of_shift[i] += g[i];                   \
        }                                                                           \
    }

#define NORMALISE_ROWS_BACKWARD(T)                                                  \
    for (i64 row = 0; row < rows; row++) {                                          \
        const T *y = (const T *)call->tensor[1].data + row * length;                \
        const T *g = (const T *)call->tensor[2].data + row * length;                \
        T *out = (T *)call->tensor[0].data + row * length;                          \
        if (count > 4) {                                                            \
            const T *scale = (const T *)call->tensor[4].data;                       \
            for (i64 i = 0; i < length; i++) out[i] = g[i] * scale[i];              \
            g = out;                                                                \
        }                                                                           \
        f64 sum = 0, along = 0;                                                     \
        for (i64 i = 0; i < length; i++) {                                          \
            sum += g[i];                                                            \
            along += (f64)g[i] * y[i];                                              \
        }                                                                           \
        const f64 mean = centred ? sum / (f64)length : 0;                           \
        const f64 slope = along / (f64)length;                                      \
        const f64 factor = ((const T *)call->tensor[3].data)[row];                  \
        for (i64 i = 0; i < length; i++)                                            \
            out[i] = (T)(factor * (g[i] - mean - y[i] * slope));                    \
    }

// Numbers: whether the mean was taken away. Tensors: gradient of the input, result, its gradient,
// factors; and if it was scaled: scale, its gradient, and that of the shift if there is one. The
// gradient that comes is that of the scaled result then.
Status normalise_backward(Call *call) {
    const int count = call->n_tensors;
    Status status = rows_of_two_axes(call, 3, 4);
    if (!status) status = places_of_rows(call, 4);
    if (status) return status;
    if (count == 5) return BAD_SHAPE;
    const i64 centred = call->number[0];
    const i64 rows = call->tensor[0].size[0], length = call->tensor[0].size[1];
    if (call->tensor[0].dtype == FLOAT32) {
        if (count > 4) GRADIENTS_OF_PLACES(f32)
        NORMALISE_ROWS_BACKWARD(f32)
    } else {
        if (count > 4) GRADIENTS_OF_PLACES(f64)
        NORMALISE_ROWS_BACKWARD(f64)
    }
    return OK;
}

// GELU and its slope, which the gradient needs: both use the error function. Tensors: result,
// slope, input.
Status gelu_and_slope(Call *call) {
    Status status = alike(call, 3);
    if (status) return status;
    if (call->tensor[0].dtype != FLOAT32) return BAD_DTYPE;
    f32 *out = (f32 *)call->tensor[0].data, *slope = (f32 *)call->tensor[1].data;
    const f32 *in = (const f32 *)call->tensor[2].data;
    const i64 count = elements(&call->tensor[0]);
    i64 at = 0;
    for (; at + 4 <= count; at += 4)
        *(Four *)(out + at) = gelu_with_slope_four(*(const Four *)(in + at), (Four *)(slope + at));
    if (at < count) {
        Four last = {0}, last_slope;
        for (i64 i = at; i < count; i++) last[i - at] = in[i];
        last = gelu_with_slope_four(last, &last_slope);
        for (i64 i = at; i < count; i++) {
            out[i] = last[i - at];
            slope[i] = last_slope[i - at];
        }
    }
    return OK;
}

// A step of AdamW. Numbers: learning rate, both betas, epsilon, weight decay. Tensors: parameter,
// gradient, running mean, running mean of squares, and how many steps there were, which is counted on.
Status adamw(Call *call) {
    Status status = alike(call, 4);
    if (status) return status;
    const Tensor *counted = &call->tensor[4];
    if (call->tensor[0].dtype != FLOAT32 || counted->dtype != FLOAT32) return BAD_DTYPE;
    if (elements(counted) != 1) return BAD_SHAPE;
    f64 number[5];
    for (int i = 0; i < 5; i++) number[i] = as_f64(call->number[i]);
    const f64 rate = number[0], beta_1 = number[1], beta_2 = number[2];
    const f64 steps = *(f32 *)counted->data += 1;
    const f32 gain = (f32)(1 - beta_1), kept = (f32)beta_2, gain_square = (f32)(1 - beta_2);
    const f32 epsilon = (f32)number[3], decay = (f32)(1 - rate * number[4]);
    const f32 step = (f32)(rate / (1 - pow(beta_1, steps)));
    const f32 correction = (f32)(1 / sqrt(1 - pow(beta_2, steps)));
    f32 *parameter = (f32 *)call->tensor[0].data, *mean = (f32 *)call->tensor[2].data;
    f32 *square = (f32 *)call->tensor[3].data;
    const f32 *gradient = (const f32 *)call->tensor[1].data;
    const i64 count = elements(&call->tensor[0]);
    for (i64 i = 0; i < count; i++) {
        const f32 g = gradient[i];
        mean[i] = mean[i] + (g - mean[i]) * gain;
        square[i] = square[i] * kept + g * g * gain_square;
        parameter[i] = parameter[i] * decay - step * mean[i] / (sqrtf(square[i]) * correction + epsilon);
    }
    return OK;
}
