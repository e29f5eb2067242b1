// Tensors, and what changes their shape or their order.
//
// Every operation makes a new tensor; only `view` and its kind share the numbers of their argument.

/** @typedef {Float32Array | Float64Array} Numbers */

/**
 * `data` has its numbers row by row, in a Float32Array, or in a Float64Array for whole numbers and
 * for what needs the digits. True is 1 and false is 0. `dtype` is PyTorch's.
 *
 * @typedef {object} Tensor
 * @property {number[]} shape
 * @property {Numbers} data
 * @property {string} [dtype]
 */

/** @param {number[]} sizes */
export const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

/**
 * The number of an axis; -1 is the last one.
 *
 * @param {number} axis
 * @param {number} rank
 */
export const axisOf = (axis, rank) => (axis < 0 ? axis + rank : axis);

/**
 * @param {number[]} shape
 * @param {Numbers} data
 * @param {string} dtype
 * @returns {Tensor}
 */
export function tensor(shape, data = new Float32Array(product(shape)), dtype = "float32") {
  return { shape, data, dtype };
}

/**
 * @param {number[]} shape
 * @param {number} value
 */
export const filled = (shape, value) => tensor(shape, new Float32Array(product(shape)).fill(value));
const asTensor = (value) =>
  typeof value === "object" ? value : tensor([], Float64Array.of(value));

/**
 * How far apart two neighbours are along each axis.
 *
 * @param {number[]} shape
 * @returns {number[]}
 */
function stridesOf(shape) {
  const strides = new Array(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

/**
 * The one helper behind every change of order: the result has this shape, and a step along one of
 * its axes is a step of so many numbers in the argument. A step of 0 repeats.
 *
 * @param {Tensor} from
 * @param {number[]} shape
 * @param {number[]} strides
 * @param {number} offset
 */
function pick({ data }, shape, strides, offset = 0) {
  const rank = shape.length;
  const total = product(shape);
  const result = alike(data, total);
  const last = rank ? shape[rank - 1] : 1;
  const step = rank ? strides[rank - 1] : 0;
  const index = new Array(rank).fill(0);
  let from = offset;
  for (let to = 0; to < total;) {
    for (let i = 0, place = from; i < last; i++, place += step) result[to++] = data[place];
    // The next row: count up, and carry over as with digits.
    for (let axis = rank - 2; axis >= 0; axis--) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return tensor(shape, result);
}

/**
 * Zeros in an array of the same kind.
 *
 * @param {Numbers} data
 * @param {number} length
 */
const alike = (data, length) =>
  data instanceof Float64Array ? new Float64Array(length) : new Float32Array(length);

// Broadcasting: axes are compared from the last one on, and those of size 1 are repeated.
function broadcast(...shapes) {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = shapes.map((shape) => shape[shape.length - rank + axis] ?? 1);
    const size = sizes.find((one) => one !== 1) ?? 1;
    if (sizes.some((one) => one !== 1 && one !== size)) {
      throw Error(`shapes that don't fit: ${JSON.stringify(shapes)}`);
    }
    return size;
  });
}

export function expand(t, shape) {
  const lead = shape.length - t.shape.length;
  shape = shape.map((size, axis) => (size === -1 ? t.shape[axis - lead] : size));
  if (product(shape) === t.data.length) return tensor(shape, t.data, t.dtype);
  const own = stridesOf(t.shape);
  const repeated = (axis) => axis < lead || t.shape[axis - lead] === 1;
  return pick(
    t,
    shape,
    shape.map((_, axis) => (repeated(axis) ? 0 : own[axis - lead])),
  );
}

// As wide as the wider of two: a plain number decides nothing.
const widest = (a, b) =>
  a.shape.length && !(b.data instanceof Float64Array && b.shape.length) ? a : b;

export const one =
  (f) =>
  ([t]) =>
    tensor(
      t.shape,
      t.data.map((x) => f(x)),
    );

export const two =
  (f) =>
  ([a, b]) => {
    a = asTensor(a);
    b = asTensor(b);
    const shape = broadcast(a.shape, b.shape);
    const left = expand(a, shape).data;
    const right = expand(b, shape).data;
    const result = alike(widest(a, b).data, left.length);
    for (let i = 0; i < result.length; i++) result[i] = f(left[i], right[i]);
    return tensor(shape, result);
  };

export function where(condition, yes, no) {
  yes = asTensor(yes);
  no = asTensor(no);
  const shape = broadcast(condition.shape, yes.shape, no.shape);
  const [test, a, b] = [condition, yes, no].map((t) => expand(t, shape).data);
  return tensor(
    shape,
    Float32Array.from(test, (x, i) => (x ? a[i] : b[i])),
  );
}

// Shapes

export function view(t, shape) {
  const known = product(shape.filter((size) => size !== -1));
  const sizes = shape.map((size) => (size === -1 ? t.data.length / known : size));
  return tensor(sizes, t.data, t.dtype);
}

export function permute(t, axes) {
  const strides = stridesOf(t.shape);
  axes = axes.map((axis) => axisOf(axis, axes.length));
  return pick(
    t,
    axes.map((axis) => t.shape[axis]),
    axes.map((axis) => strides[axis]),
  );
}

export function transpose(t, a, b) {
  const axes = [...t.shape.keys()];
  a = axisOf(a, axes.length);
  b = axisOf(b, axes.length);
  [axes[a], axes[b]] = [b, a];
  return permute(t, axes);
}

export const unsqueeze = (t, axis) =>
  view(t, t.shape.toSpliced(axisOf(axis, t.shape.length + 1), 0, 1));

export function squeeze(t, axes) {
  const gone = [axes ?? [...t.shape.keys()]].flat().map((axis) => axisOf(axis, t.shape.length));
  return view(
    t,
    t.shape.filter((size, axis) => size !== 1 || !gone.includes(axis)),
  );
}

export function slice(t, axis = 0, start = 0, end = Infinity, step = 1) {
  axis = axisOf(axis, t.shape.length);
  const size = t.shape[axis];
  const inside = (i) => Math.min(Math.max(i < 0 ? i + size : i, 0), size);
  const first = inside(start ?? 0);
  const n = Math.max(0, Math.ceil((inside(end ?? Infinity) - first) / step));
  const strides = stridesOf(t.shape);
  const shape = t.shape.with(axis, n);
  const offset = first * strides[axis];
  // Whole rows from the first axis on lie side by side, and need no copy.
  if (axis === 0 && step === 1) {
    return tensor(shape, t.data.subarray(offset, offset + product(shape)), t.dtype);
  }
  return pick(t, shape, strides.with(axis, strides[axis] * step), offset);
}

export function split(t, size, axis = 0) {
  const length = t.shape[axisOf(axis, t.shape.length)];
  const sizes = Array.isArray(size) ? size : new Array(Math.ceil(length / size)).fill(size);
  let end = 0;
  return sizes.map((n) => slice(t, axis, end, (end += n)));
}

export const select = (t, axis, i) => squeeze(slice(t, axis, i, i + 1), [axis]);
export const unbind = (t, axis = 0) =>
  Array.from({ length: t.shape[axisOf(axis, t.shape.length)] }, (_, i) => select(t, axis, i));

export function cat(parts, axis = 0) {
  axis = axisOf(axis, parts[0].shape.length);
  const total = parts.reduce((sum, part) => sum + part.shape[axis], 0);
  const result = tensor(parts[0].shape.with(axis, total));
  const inner = product(result.shape.slice(axis + 1));
  const outer = product(result.shape.slice(0, axis));
  let to = 0;
  for (let row = 0; row < outer; row++) {
    for (const { shape, data } of parts) {
      const n = shape[axis] * inner;
      result.data.set(data.subarray(row * n, row * n + n), to);
      to += n;
    }
  }
  return result;
}

// Zeros, or another number, around: sizes come in pairs, those of the last axis first.
export function pad(t, sizes, value) {
  for (let i = 0; i < sizes.length; i += 2) {
    const axis = t.shape.length - 1 - i / 2;
    const [before, after] = [sizes[i], sizes[i + 1]].map((n) =>
      filled(t.shape.with(axis, Math.max(n, 0)), value),
    );
    const kept = slice(t, axis, Math.max(-sizes[i], 0), t.shape[axis] + Math.min(sizes[i + 1], 0));
    t = cat([before, kept, after], axis);
  }
  return t;
}

// Rows of a table by their numbers.
export function rows(table, numbers) {
  const [count, ...inner] = table.shape;
  const n = product(inner);
  const result = tensor([...numbers.shape, ...inner]);
  numbers.data.forEach((number, i) => {
    const row = axisOf(number, count);
    result.data.set(table.data.subarray(row * n, row * n + n), i * n);
  });
  return result;
}

export function repeatEach(t, n, axis) {
  axis = axisOf(axis, t.shape.length);
  const wide = expand(unsqueeze(t, axis + 1), t.shape.toSpliced(axis + 1, 0, n));
  return view(wide, t.shape.with(axis, t.shape[axis] * n));
}

// Zeros where the column minus the row isn't `kept`, in the last two axes.
export function triangle(t, kept) {
  const [n, m] = t.shape.slice(-2);
  return tensor(
    t.shape,
    t.data.map((x, i) => (kept((i % m) - (Math.floor(i / m) % n)) ? x : 0)),
  );
}

export function arange(...numbers) {
  const [start, end, step = 1] = numbers.length === 1 ? [0, ...numbers] : numbers;
  const n = Math.max(0, Math.ceil((end - start) / step));
  return tensor(
    [n],
    Float64Array.from({ length: n }, (_, i) => start + i * step),
  );
}

// Products

// [..., n, k] times [..., k, m]. The innermost loop runs along rows of both the second factor and
// the result, which are side by side in memory.
export function matmul(a, b) {
  const [n, k] = a.shape.slice(-2);
  const m = b.shape.at(-1);
  const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const left = expand(a, [...batch, n, k]).data;
  const right = expand(b, [...batch, k, m]).data;
  const result = tensor([...batch, n, m]);
  const out = result.data;
  for (let row = 0; row < product(batch) * n; row++) {
    const matrix = Math.floor(row / n) * k * m;
    const to = row * m;
    for (let i = 0; i < k; i++) {
      const factor = left[row * k + i];
      const from = matrix + i * m;
      for (let j = 0; j < m; j++) out[to + j] += factor * right[from + j];
    }
  }
  return result;
}

// Each row of x with each row of the weights. Nearly all of the time is spent here, so four rows of
// the weights are taken at a time: each number of x is then read once for all of them.
export function linear(x, weight, bias) {
  const [m, k] = weight.shape;
  const result = tensor([...x.shape.slice(0, -1), m]);
  const input = x.data;
  const w = weight.data;
  const out = result.data;
  for (let row = 0, to = 0; row < input.length; row += k, to += m) {
    for (let j = 0; j < m; j += 4) {
      // If fewer than four are left, the last one is taken again.
      const second = Math.min(j + 1, m - 1);
      const third = Math.min(j + 2, m - 1);
      const fourth = Math.min(j + 3, m - 1);
      let a = 0,
        b = 0,
        c = 0,
        d = 0;
      for (let i = 0; i < k; i++) {
        const value = input[row + i];
        a += value * w[j * k + i];
        b += value * w[second * k + i];
        c += value * w[third * k + i];
        d += value * w[fourth * k + i];
      }
      out[to + j] = a;
      out[to + second] = b;
      out[to + third] = c;
      out[to + fourth] = d;
    }
    if (bias) for (let j = 0; j < m; j++) out[to + j] += bias.data[j];
  }
  return result;
}

// A product of two, as one of matrices. A letter that the result doesn't have is summed over; of
// the others, those of both factors count matrices, and those of one count its rows or columns.
export function einsum(equation, [a, b]) {
  const [first, second, result] = equation.replaceAll(" ", "").split(/,|->/);
  const size = (letter) =>
    first.includes(letter) ? a.shape[first.indexOf(letter)] : b.shape[second.indexOf(letter)];
  const letters = [...new Set(first + second)];
  const kept = (test) =>
    letters.filter((l) => result.includes(l) && test(first.includes(l), second.includes(l)));
  const batch = kept((inFirst, inSecond) => inFirst && inSecond);
  const left = kept((_, inSecond) => !inSecond);
  const right = kept((inFirst) => !inFirst);
  const summed = letters.filter((l) => !result.includes(l));
  const sizes = (group) => group.map(size);
  const arranged = (t, own, ...groups) => {
    const strides = stridesOf(t.shape);
    const order = groups.flat();
    const steps = order.map((l) => (own.includes(l) ? strides[own.indexOf(l)] : 0));
    return view(
      pick(t, sizes(order), steps),
      groups.map((group) => product(sizes(group))),
    );
  };
  const flat = matmul(
    arranged(a, first, batch, left, summed),
    arranged(b, second, batch, summed, right),
  );
  const order = [...batch, ...left, ...right];
  return permute(
    view(flat, sizes(order)),
    [...result].map((l) => order.indexOf(l)),
  );
}

// X of A X = B, for a matrix A with nothing above its diagonal: row by row from the top.
export function solveTriangular(a, b, ones) {
  const [n, m] = b.shape.slice(-2);
  const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const left = expand(a, [...batch, n, n]).data;
  const x = expand(b, [...batch, n, m]).data.slice();
  for (let row = 0; row < product(batch) * n; row++) {
    const matrix = row - (row % n);
    for (let j = 0; j < m; j++) {
      let value = x[row * m + j];
      for (let i = 0; i < row % n; i++) value -= left[row * n + i] * x[(matrix + i) * m + j];
      x[row * m + j] = ones ? value : value / left[row * n + (row % n)];
    }
  }
  return tensor([...batch, n, m], x);
}
