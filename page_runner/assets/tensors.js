// Tensors in the memory of the kernels, and what changes their shape or their order.
//
// A view has the memory of its argument, with other strides. What needs its elements one after the
// other makes a copy, if they aren't so already.
import {
  Binary,
  Operation,
  bits,
  bytesOf,
  call,
  elements,
  empty,
  inScope,
  stridesOf,
} from "./kernels.js";

/** @typedef {import("./kernels.js").Placed} Placed */
/** @typedef {Float32Array | Float64Array | Uint8Array} Numbers */

/**
 * What comes from a file or goes to a page: numbers row by row. Whole numbers are in a Float64Array,
 * true and false are 1 and 0 in a Uint8Array. `dtype` is PyTorch's.
 *
 * @typedef {object} Tensor
 * @property {number[]} shape
 * @property {Numbers} data
 * @property {string} dtype
 */

/** @param {number[]} sizes */
export const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

const sameList = (a, b) => a.length === b.length && a.every((one, i) => one === b[i]);

/**
 * The number of an axis; -1 is the last one.
 *
 * @param {number} axis
 * @param {number} rank
 */
export const axisOf = (axis, rank) => (axis < 0 ? axis + rank : axis);

// Into the memory, and out of it

/**
 * @param {Tensor} tensor
 * @returns {Placed}
 */
export function place({ shape, data, dtype }) {
  const placed = empty(shape, dtype);
  const to = elements(placed);
  if (to instanceof BigInt64Array) data.forEach((number, i) => (to[i] = BigInt(number)));
  else to.set(data);
  return placed;
}

/**
 * @param {Placed} placed
 * @returns {Tensor}
 */
export function read(placed) {
  const from = elements(contiguous(placed));
  const data = from instanceof BigInt64Array ? Float64Array.from(from, Number) : from.slice();
  return { shape: placed.shape, data, dtype: placed.dtype };
}

/**
 * The same number everywhere.
 *
 * @param {Placed} tensor
 * @param {number} value
 */
export function fill(tensor, value) {
  call(Operation.FILL, [tensor.dtype.startsWith("float") ? bits(value) : value], tensor);
  return tensor;
}

export const filled = (shape, value, dtype) => fill(empty(shape, dtype), value);

/**
 * A tensor of a type: itself, or a copy. A plain number becomes a tensor without axes.
 *
 * @param {Placed | number} value
 * @param {string} dtype
 * @returns {Placed}
 */
export function cast(value, dtype) {
  if (typeof value === "number") return filled([], value, dtype);
  return value.dtype === dtype ? value : copied(value, dtype);
}

/**
 * The numbers of a tensor, into another one of its shape.
 *
 * @param {Placed} from
 * @param {Placed} to
 */
export const copy = (from, to) => call(Operation.COPY, [], to, from);

function copied(tensor, dtype = tensor.dtype) {
  const result = empty(tensor.shape, dtype);
  copy(tensor, result);
  return result;
}

export function contiguous(tensor) {
  const { shape, strides } = tensor;
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1 && strides[axis] !== step) return copied(tensor);
    step *= shape[axis];
  }
  return tensor;
}

// Broadcasting: axes are compared from the last one on, and those of size 1 are repeated. A shape
// that doesn't fit is refused by the kernel.
export function broadcast(...shapes) {
  let result = [];
  for (const shape of shapes) {
    if (shape.length > result.length)
      result = [...shape.slice(0, shape.length - result.length), ...result];
    for (let axis = -1; axis >= -shape.length; axis--) {
      const at = result.length + axis;
      if (result[at] === 1) result[at] = shape[shape.length + axis];
    }
  }
  return result;
}

// Views

export function expand(t, sizes) {
  if (sameList(t.shape, sizes)) return t;
  const lead = sizes.length - t.shape.length;
  const shape = sizes.map((size, axis) => (size === -1 ? t.shape[axis - lead] : size));
  // A step of 0 repeats.
  const repeated = (axis) => axis < lead || t.shape[axis - lead] === 1;
  const strides = shape.map((_, axis) => (repeated(axis) ? 0 : t.strides[axis - lead]));
  return { ...t, shape, strides };
}

export function view(t, sizes) {
  const { address, end, dtype } = contiguous(t);
  let shape = sizes;
  if (sizes.includes(-1)) {
    const known = product(sizes.filter((size) => size !== -1));
    shape = sizes.map((size) => (size === -1 ? product(t.shape) / known : size));
  }
  return { shape, strides: stridesOf(shape), address, end, dtype };
}

export function permute(t, order) {
  const axes = order.map((axis) => axisOf(axis, order.length));
  return {
    ...t,
    shape: axes.map((axis) => t.shape[axis]),
    strides: axes.map((axis) => t.strides[axis]),
  };
}

export function transpose(t, a, b) {
  a = axisOf(a, t.shape.length);
  b = axisOf(b, t.shape.length);
  const swapped = (list) => list.with(a, list[b]).with(b, list[a]);
  return { ...t, shape: swapped(t.shape), strides: swapped(t.strides) };
}

export function unsqueeze(t, axis) {
  const at = axisOf(axis, t.shape.length + 1);
  return { ...t, shape: t.shape.toSpliced(at, 0, 1), strides: t.strides.toSpliced(at, 0, 0) };
}

export function squeeze(t, axes) {
  const gone = [axes ?? [...t.shape.keys()]].flat().map((axis) => axisOf(axis, t.shape.length));
  const kept = [...t.shape.keys()].filter((axis) => t.shape[axis] !== 1 || !gone.includes(axis));
  return permute(t, kept);
}

export function slice(t, axis = 0, start = 0, end = Infinity, step = 1) {
  axis = axisOf(axis, t.shape.length);
  const size = t.shape[axis];
  const inside = (i) => Math.min(Math.max(i < 0 ? i + size : i, 0), size);
  const first = inside(start ?? 0);
  const n = Math.max(0, Math.ceil((inside(end ?? Infinity) - first) / step));
  return {
    ...t,
    shape: t.shape.with(axis, n),
    strides: t.strides.with(axis, t.strides[axis] * step),
    address: t.address + first * t.strides[axis] * bytesOf(t.dtype),
  };
}

export function split(t, size, axis = 0) {
  const length = t.shape[axisOf(axis, t.shape.length)];
  const sizes = Array.isArray(size) ? size : new Array(Math.ceil(length / size)).fill(size);
  let end = 0;
  return sizes.map((n) => slice(t, axis, end, (end += n)));
}

export function select(t, axis, i) {
  const at = axisOf(axis, t.shape.length);
  const address = t.address + axisOf(i, t.shape[at]) * t.strides[at] * bytesOf(t.dtype);
  return { ...t, shape: t.shape.toSpliced(at, 1), strides: t.strides.toSpliced(at, 1), address };
}

export const unbind = (t, axis = 0) =>
  Array.from({ length: t.shape[axisOf(axis, t.shape.length)] }, (_, i) => select(t, axis, i));

// Copies

export function cat(parts, axis = 0) {
  axis = axisOf(axis, parts[0].shape.length);
  const total = parts.reduce((sum, part) => sum + part.shape[axis], 0);
  const result = empty(parts[0].shape.with(axis, total), parts[0].dtype);
  let end = 0;
  for (const part of parts) {
    copy(part, slice(result, axis, end, (end += part.shape[axis])));
  }
  return result;
}

// Zeros, or another number, around: sizes come in pairs, those of the last axis first.
export function pad(t, sizes, value) {
  for (let i = 0; i < sizes.length; i += 2) {
    const axis = t.shape.length - 1 - i / 2;
    const [before, after] = [sizes[i], sizes[i + 1]].map((n) =>
      filled(t.shape.with(axis, Math.max(n, 0)), value, t.dtype),
    );
    const kept = slice(t, axis, Math.max(-sizes[i], 0), t.shape[axis] + Math.min(sizes[i + 1], 0));
    t = cat([before, kept, after], axis);
  }
  return t;
}

// Rows of a table by their numbers.
export function rows(table, numbers) {
  const result = empty([...numbers.shape, ...table.shape.slice(1)], table.dtype);
  call(Operation.INDEX, [0], result, table, numbers);
  return result;
}

export function repeatEach(t, n, axis) {
  axis = axisOf(axis, t.shape.length);
  const wide = expand(unsqueeze(t, axis + 1), t.shape.toSpliced(axis + 1, 0, n));
  return view(wide, t.shape.with(axis, t.shape[axis] * n));
}

export function arange(numbers, dtype) {
  const [start, end, step = 1] = numbers.length === 1 ? [0, ...numbers] : numbers;
  const result = empty([Math.max(0, Math.ceil((end - start) / step))], dtype);
  const given = dtype === "int64" ? [start, step] : [bits(start), bits(step)];
  call(Operation.ARANGE, given, result);
  return result;
}

// Products

// [..., n, k] times [..., k, m], and m numbers that are added to each row.
export function matmul(a, b, added) {
  const [n, k] = a.shape.slice(-2);
  const m = b.shape.at(-1);
  const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const result = empty([...batch, n, m], a.dtype);
  const [left, right] = [expand(a, [...batch, n, k]), expand(b, [...batch, k, m])];
  // The kernel packs parts of both in memory that is free again afterwards; kernels/matmul.c has
  // its size.
  inScope(() => {
    const packed = empty([264 * 128], "float32");
    call(Operation.MATMUL, [], result, left, right, packed, ...(added ? [added] : []));
  });
  return result;
}

// Each row of x with each row of the weights.
export function linear(x, weight, bias) {
  const [m, k] = weight.shape;
  const result = matmul(view(x, [-1, k]), transpose(weight, 0, 1), bias);
  return view(result, x.shape.with(-1, m));
}

/** @type {Map<string, ReturnType<typeof planned>>} */
const plans = new Map();

// A product of two, as one of matrices. A letter that the result doesn't have is summed over; of
// the others, those of both factors count matrices, and those of one count its rows or columns.
export function einsum(equation, [a, b]) {
  if (!plans.has(equation)) plans.set(equation, planned(equation));
  const { sources, batch, left, right, summed, first, second, order } = plans.get(equation);
  const sizes = sources.map(([inFirst, axis]) => (inFirst ? a : b).shape[axis]);
  const of = (letters) => letters.map((letter) => sizes[letter]);
  const arranged = (t, axes, rows, columns) => {
    const letters = [...batch, ...rows, ...columns];
    const strides = letters.map((letter) => (axes[letter] < 0 ? 0 : t.strides[axes[letter]]));
    const sorted = { ...t, shape: of(letters), strides };
    // One letter is an axis already.
    if (rows.length === 1 && columns.length === 1) return sorted;
    return view(sorted, [...of(batch), product(of(rows)), product(of(columns))]);
  };
  const flat = matmul(arranged(a, first, left, summed), arranged(b, second, summed, right));
  return permute(view(flat, of([...batch, ...left, ...right])), order);
}

// Letters are numbers here. `first` and `second` have the axis of each, or -1, and `sources` say
// whether it is an axis of the first factor, and which.
function planned(equation) {
  const [inFirst, inSecond, inResult] = equation.replaceAll(" ", "").split(/,|->/);
  const letters = [...new Set([...inFirst, ...inSecond])];
  const first = letters.map((letter) => inFirst.indexOf(letter));
  const second = letters.map((letter) => inSecond.indexOf(letter));
  const all = [...letters.keys()];
  const kept = (test) =>
    all.filter((i) => inResult.includes(letters[i]) && test(first[i] >= 0, second[i] >= 0));
  const batch = kept((here, there) => here && there);
  const left = kept((_, there) => !there);
  const right = kept((here) => !here);
  const summed = all.filter((i) => !inResult.includes(letters[i]));
  const sources = all.map((i) => (first[i] < 0 ? [false, second[i]] : [true, first[i]]));
  const found = [...batch, ...left, ...right].map((i) => letters[i]);
  const order = [...inResult].map((letter) => found.indexOf(letter));
  return { sources, batch, left, right, summed, first, second, order };
}

// X of A X = B, for a matrix A with nothing above its diagonal: row by row from the top.
export function solveTriangular(a, b, ones) {
  const [n, m] = b.shape.slice(-2);
  const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const left = expand(a, [...batch, n, n]);
  const x = copied(expand(b, [...batch, n, m]));
  for (let i = 0; i < n; i++) {
    const row = slice(x, -2, i, i + 1);
    const factors = slice(left, -2, i, i + 1);
    const known = matmul(slice(factors, -1, 0, i), slice(x, -2, 0, i));
    call(Operation.BINARY, [Binary.SUBTRACT], row, row, known);
    if (!ones) call(Operation.BINARY, [Binary.DIVIDE], row, row, slice(factors, -1, i, i + 1));
  }
  return x;
}
