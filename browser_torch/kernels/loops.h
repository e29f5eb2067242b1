// One walk through the elements of several tensors at a time, row by row.

#ifndef LOOPS_H
#define LOOPS_H

#include "kernels.h"

enum { MAX_OPERANDS = 4 };

typedef struct {
    int operands, axes;
    i64 size[MAX_AXES];
    i64 step[MAX_OPERANDS][MAX_AXES];
    // Where the present row is: its number in each axis, and the offset of each operand.
    i64 place[MAX_AXES];
    i64 offset[MAX_OPERANDS];
} Loop;

// The first tensor gives the shape; the others are broadcast to it. With `reorder`, the axes are
// walked in the order in which the first tensor has them in memory.
Status loop_over(Loop *loop, int operands, const Tensor *const *tensors, int reorder);

// Joins axes that follow each other in the memory of every operand.
void merge_axes(Loop *loop);

static inline int loop_is_empty(const Loop *loop) {
    for (int axis = 0; axis < loop->axes; axis++)
        if (loop->size[axis] == 0) return 1;
    return 0;
}

// The last axis is the row; goes to the next one, and says whether there is one.
static inline int next_row(Loop *loop) {
    for (int axis = loop->axes - 2; axis >= 0; axis--) {
        loop->place[axis]++;
        for (int k = 0; k < loop->operands; k++) loop->offset[k] += loop->step[k][axis];
        if (loop->place[axis] < loop->size[axis]) return 1;
        for (int k = 0; k < loop->operands; k++)
            loop->offset[k] -= loop->step[k][axis] * loop->size[axis];
        loop->place[axis] = 0;
    }
    return 0;
}

#define ROW_LENGTH(loop) ((loop).size[(loop).axes - 1])
#define ROW_STEP(loop, operand) ((loop).step[operand][(loop).axes - 1])

#endif
