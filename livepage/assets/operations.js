// What each operation of a graph does to tensors: the table at the end has one entry for each.
import {
  arange,
  axisOf,
  cat,
  einsum,
  expand,
  filled,
  linear,
  matmul,
  one,
  pad,
  permute,
  product,
  repeatEach,
  rows,
  select,
  slice,
  solveTriangular,
  split,
  squeeze,
  tensor,
  transpose,
  triangle,
  two,
  unbind,
  unsqueeze,
  view,
  where,
} from "./tensors.js";

// Along an axis

// f changes each row in place; the numbers of a row are `step` apart.
function alongAxis(t, axis, f) {
  axis = axisOf(axis, t.shape.length);
  const n = t.shape[axis];
  const step = product(t.shape.slice(axis + 1));
  const data = t.data.slice();
  for (let i = 0; i < data.length; i += n * step) {
    for (let j = 0; j < step; j++) f(data, i + j, n, step);
  }
  return tensor(t.shape, data);
}

// The largest is subtracted first: its exponential is 1, and none overflows.
function softmax(data, start, n, step) {
  const end = start + n * step;
  let top = -Infinity;
  let total = 0;
  for (let i = start; i < end; i += step) if (data[i] > top) top = data[i];
  for (let i = start; i < end; i += step) total += data[i] = Math.exp(data[i] - top);
  for (let i = start; i < end; i += step) data[i] /= total;
}

function accumulate(data, start, n, step) {
  for (let i = 1; i < n; i++) data[start + i * step] += data[start + (i - 1) * step];
}

// The axes go to the end, and f makes one number of each row.
function reduced(t, axes, keep, f) {
  const all = [...t.shape.keys()];
  const gone = axes?.length ? axes.map((axis) => axisOf(axis, all.length)) : all;
  const rest = all.filter((axis) => !gone.includes(axis));
  const { data } = permute(t, [...rest, ...gone]);
  const n = product(gone.map((axis) => t.shape[axis]));
  const shape = keep
    ? t.shape.map((size, axis) => (gone.includes(axis) ? 1 : size))
    : rest.map((axis) => t.shape[axis]);
  const result = tensor(shape);
  for (let i = 0; i < result.data.length; i++) result.data[i] = f(data.subarray(i * n, i * n + n));
  return result;
}

const sum = (row) => row.reduce((a, b) => a + b, 0);
const mean = (row) => sum(row) / row.length;
const squares = (row, center = 0) => row.reduce((total, x) => total + (x - center) ** 2, 0);

// Each row minus its mean, if `centered`, and divided by its length.
function normalised(t, sizes, weight, bias, eps, centered) {
  const n = product(sizes);
  const result = tensor(t.shape, t.data.slice());
  for (let i = 0; i < result.data.length; i += n) {
    const row = result.data.subarray(i, i + n);
    const center = centered ? mean(row) : 0;
    const scale = 1 / Math.sqrt(squares(row, center) / n + eps);
    for (let j = 0; j < n; j++) {
      row[j] =
        (row[j] - center) * scale * (weight ? weight.data[j] : 1) + (bias ? bias.data[j] : 0);
    }
  }
  return result;
}

// One number at a time

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// A sum of positive terms, to the last digit. The polynomials in use are good to seven.
function erf(x) {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  let term = a;
  let total = a;
  for (let n = 1; term > 1e-17 * total; n++) total += term *= (2 * a * a) / (2 * n + 1);
  return ((Math.sign(x) * 2) / Math.sqrt(Math.PI)) * Math.exp(-a * a) * total;
}

const add = two((a, b) => a + b);
const and = two((a, b) => a && b);
const multiply = two((a, b) => a * b);
const subtract = two((a, b) => a - b);

// By their names in PyTorch: the arguments that have a place, and those that have a name.
export const operations = {
  abs: one(Math.abs),
  cos: one(Math.cos),
  elu: one((x) => (x > 0 ? x : Math.expm1(x))),
  exp: one(Math.exp),
  gelu: one((x) => 0.5 * x * (1 + erf(x / Math.SQRT2))),
  log_sigmoid: one((x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)))),
  neg: one((x) => -x),
  relu: one((x) => Math.max(x, 0)),
  rsqrt: one((x) => 1 / Math.sqrt(x)),
  sigmoid: one(sigmoid),
  silu: one((x) => x * sigmoid(x)),
  sin: one(Math.sin),
  sqrt: one(Math.sqrt),
  square: one((x) => x * x),
  tanh: one(Math.tanh),
  // Of true and false; nothing here asks for the bits of a whole number.
  bitwise_not: one((x) => (x ? 0 : 1)),
  clamp: ([t, low, high]) =>
    one((x) => Math.min(Math.max(x, low ?? -Infinity), high ?? Infinity))([t]),
  clamp_min: ([t, low]) => one((x) => Math.max(x, low))([t]),

  add: ([a, b], { alpha = 1 }) => add([a, alpha === 1 ? b : multiply([b, alpha])]),
  sub: ([a, b], { alpha = 1 }) => subtract([a, alpha === 1 ? b : multiply([b, alpha])]),
  rsub: ([a, b]) => subtract([b, a]),
  mul: multiply,
  div: two((a, b) => a / b),
  pow: two((a, b) => a ** b),
  maximum: two(Math.max),
  ge: two((a, b) => (a >= b ? 1 : 0)),
  gt: two((a, b) => (a > b ? 1 : 0)),
  le: two((a, b) => (a <= b ? 1 : 0)),
  lt: two((a, b) => (a < b ? 1 : 0)),
  __and__: and,
  bitwise_and: and,
  __or__: two((a, b) => a || b),
  lerp: ([a, b, share]) => add([a, multiply([share, subtract([b, a])])]),
  masked_fill: ([t, mask, value]) => where(mask, value, t),
  where: ([condition, a, b]) => where(condition, a, b),

  bmm: ([a, b]) => matmul(a, b),
  einsum: ([equation, factors]) => einsum(equation, factors),
  linalg_solve_triangular: ([a, b], { unitriangular }) => solveTriangular(a, b, unitriangular),
  linear: ([x, weight, bias]) => linear(x, weight, bias),
  matmul: ([a, b]) => matmul(a, b),

  cumsum: ([t, axis]) => alongAxis(t, axis, accumulate),
  layer_norm: ([t, sizes, weight, bias, eps]) => normalised(t, sizes, weight, bias, eps, true),
  rms_norm: ([t, sizes, weight, eps]) => normalised(t, sizes, weight, null, eps ?? 2 ** -23, false),
  linalg_vector_norm: ([t, , axes, keep]) =>
    reduced(t, axes, keep, (row) => Math.sqrt(squares(row))),
  mean: ([t, axes, keep]) => reduced(t, axes, keep, mean),
  softmax: ([t, axis]) => alongAxis(t, axis, softmax),
  sum: ([t, axes, keep]) => reduced(t, axes, keep, sum),

  cat: ([parts, axis]) => cat(parts, axis),
  expand: ([t, shape]) => expand(t, shape),
  getitem: ([list, i]) => list[i],
  pad: ([t, sizes, , value]) => pad(t, sizes, value ?? 0),
  permute: ([t, axes]) => permute(t, axes),
  repeat_interleave: ([t, n, axis]) => repeatEach(t, n, axis),
  select: ([t, axis, i]) => select(t, axis, axisOf(i, t.shape[axisOf(axis, t.shape.length)])),
  slice: ([t, ...where]) => slice(t, ...where),
  split: ([t, size, axis]) => split(t, size, axis),
  split_with_sizes: ([t, sizes, axis]) => split(t, sizes, axis),
  squeeze: ([t, axes]) => squeeze(t, axes),
  transpose: ([t, a, b]) => transpose(t, a, b),
  tril: ([t, diagonal = 0]) => triangle(t, (above) => above <= diagonal),
  triu: ([t, diagonal = 0]) => triangle(t, (above) => above >= diagonal),
  unbind: ([t, axis]) => unbind(t, axis),
  unsqueeze: ([t, axis]) => unsqueeze(t, axis),
  view: ([t, shape]) => view(t, shape),

  _to_copy: ([t]) => t,
  arange: (numbers) => arange(...numbers),
  embedding: ([table, numbers]) => rows(table, numbers),
  index: ([t, [numbers]]) => rows(t, numbers),
  new_zeros: ([, shape]) => filled(shape, 0),
  ones: ([shape]) => filled(shape, 1),
};
