// What each operation of a graph does to tensors: the table at the end has one entry for each.
import { Binary, Operation, SUM, Unary, bits, call, empty } from "./kernels.js";
import {
  arange,
  axisOf,
  broadcast,
  cast,
  cat,
  contiguous,
  einsum,
  expand,
  filled,
  linear,
  matmul,
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
  transpose,
  unbind,
  unsqueeze,
  view,
} from "./tensors.js";

// Each element by itself

function one(operation, t) {
  const result = empty(t.shape, t.dtype);
  call(Operation.UNARY, [operation], result, t);
  return result;
}

function two(operation, a, b, dtype, result = dtype) {
  [a, b] = [cast(a, dtype), cast(b, dtype)];
  const out = empty(broadcast(a.shape, b.shape), result);
  call(Operation.BINARY, [operation], out, a, b);
  return out;
}

// What is compared has one type, the wider one. A plain number decides nothing.
const WIDTHS = ["bool", "int64", "float32", "float64"];
const typeOf = (a) =>
  typeof a === "number" ? (Number.isInteger(a) ? 0 : 2) : WIDTHS.indexOf(a.dtype);
const compare = (operation, a, b) =>
  two(operation, a, b, WIDTHS[Math.max(typeOf(a), typeOf(b))], "bool");

function where(condition, yes, no, dtype) {
  [yes, no] = [cast(yes, dtype), cast(no, dtype)];
  const result = empty(broadcast(condition.shape, yes.shape, no.shape), dtype);
  call(Operation.WHERE, [], result, condition, yes, no);
  return result;
}

const unary =
  (operation) =>
  ([t]) =>
    one(operation, t);
const binary =
  (operation) =>
  ([a, b], _, dtype) =>
    two(operation, a, b, dtype);
const comparison =
  (operation) =>
  ([a, b]) =>
    compare(operation, a, b);

// `add` and `sub` take a factor for the second.
const scaled =
  (operation) =>
  ([a, b], { alpha = 1 }, dtype) =>
    two(operation, a, alpha === 1 ? b : two(Binary.MULTIPLY, b, alpha, dtype), dtype);

function clamp([t, low, high], _, dtype) {
  if (low !== undefined) t = two(Binary.MAXIMUM, t, low, dtype);
  return high === undefined ? t : two(Binary.MINIMUM, t, high, dtype);
}

function elu(t) {
  const negative = two(Binary.MINIMUM, one(Unary.EXPONENTIAL_LESS_1, t), 0, t.dtype);
  return two(Binary.ADD, one(Unary.RELU, t), negative, t.dtype);
}

// Of a number below zero the exponential doesn't overflow.
function logSigmoid(t) {
  const small = one(Unary.EXPONENTIAL, one(Unary.NEGATIVE, one(Unary.ABSOLUTE, t)));
  const rest = one(Unary.LOGARITHM_OF_1_MORE, small);
  return two(Binary.SUBTRACT, two(Binary.MINIMUM, t, 0, t.dtype), rest, t.dtype);
}

const lerp = (a, b, share, dtype) =>
  two(Binary.ADD, a, two(Binary.MULTIPLY, share, two(Binary.SUBTRACT, b, a, dtype), dtype), dtype);

// Along an axis

function along(operation, t, axis) {
  const result = empty(t.shape, t.dtype);
  call(operation, [0, axisOf(axis, t.shape.length)], result, contiguous(t));
  return result;
}

// Along these axes all elements fall on the same place of the result: its strides are 0 there.
function sum(t, axes, keep) {
  const all = [...t.shape.keys()];
  const gone = axes?.length ? axes.map((axis) => axisOf(axis, all.length)) : all;
  const result = empty(
    t.shape.map((size, axis) => (gone.includes(axis) ? 1 : size)),
    t.dtype,
  );
  const strides = result.strides.map((stride, axis) => (gone.includes(axis) ? 0 : stride));
  call(Operation.REDUCE, [SUM], { ...result, shape: t.shape, strides }, t);
  return keep ? result : squeeze(result, gone);
}

function mean(t, axes, keep) {
  const total = sum(t, axes, keep);
  const count = product(t.shape) / product(total.shape);
  return two(Binary.DIVIDE, total, count, t.dtype);
}

// Each row minus its mean, if `centred`, and divided by its length; scaled and shifted, if there are
// a weight and a bias.
function normalised(t, sizes, weight, bias, eps, centred) {
  const row = view(t, [-1, product(sizes)]);
  const result = empty(row.shape, t.dtype);
  const [means, factors] = [0, 1].map(() => empty([row.shape[0]], t.dtype));
  const tensors = [result, row, means, factors];
  if (weight) tensors.push(empty(row.shape, t.dtype));
  for (const one of [weight, bias]) if (one) tensors.push(view(one, [-1]));
  call(Operation.NORMALISE, [bits(eps), centred], ...tensors);
  return view(weight ? tensors[4] : result, t.shape);
}

// Zeros above a diagonal of the last two axes, or below it.
function triangle(t, lower, diagonal) {
  const result = empty(t.shape, t.dtype);
  call(Operation.TRIANGLE, [lower, diagonal], result, contiguous(t));
  return result;
}

// By their names in PyTorch: the arguments that have a place, those that have a name, and the type
// that PyTorch gave the result.
export const operations = {
  abs: unary(Unary.ABSOLUTE),
  cos: unary(Unary.COSINE),
  elu: ([t]) => elu(t),
  exp: unary(Unary.EXPONENTIAL),
  gelu: unary(Unary.GELU),
  log_sigmoid: ([t]) => logSigmoid(t),
  neg: unary(Unary.NEGATIVE),
  relu: unary(Unary.RELU),
  rsqrt: unary(Unary.RECIPROCAL_ROOT),
  sigmoid: unary(Unary.SIGMOID),
  silu: unary(Unary.SILU),
  sin: unary(Unary.SINE),
  sqrt: unary(Unary.SQUARE_ROOT),
  square: unary(Unary.SQUARE),
  tanh: unary(Unary.HYPERBOLIC_TANGENT),
  // Of true and false; nothing here asks for the bits of a whole number.
  bitwise_not: unary(Unary.NOT),
  clamp,
  clamp_min: clamp,

  add: scaled(Binary.ADD),
  sub: scaled(Binary.SUBTRACT),
  rsub: ([a, b], _, dtype) => two(Binary.SUBTRACT, b, a, dtype),
  mul: binary(Binary.MULTIPLY),
  div: binary(Binary.DIVIDE),
  pow: binary(Binary.POWER),
  maximum: binary(Binary.MAXIMUM),
  ge: comparison(Binary.GREATER_EQUAL),
  gt: comparison(Binary.GREATER),
  le: comparison(Binary.LESS_EQUAL),
  lt: comparison(Binary.LESS),
  __and__: binary(Binary.AND),
  bitwise_and: binary(Binary.AND),
  __or__: binary(Binary.OR),
  lerp: ([a, b, share], _, dtype) => lerp(a, b, share, dtype),
  masked_fill: ([t, mask, value], _, dtype) => where(mask, value, t, dtype),
  where: ([condition, a, b], _, dtype) => where(condition, a, b, dtype),

  bmm: ([a, b]) => matmul(a, b),
  einsum: ([equation, factors]) => einsum(equation, factors),
  linalg_solve_triangular: ([a, b], { unitriangular }) => solveTriangular(a, b, unitriangular),
  linear: ([x, weight, bias]) => linear(x, weight, bias),
  matmul: ([a, b]) => matmul(a, b),

  cumsum: ([t, axis]) => along(Operation.CUMULATE, t, axis),
  layer_norm: ([t, sizes, weight, bias, eps]) => normalised(t, sizes, weight, bias, eps, 1),
  rms_norm: ([t, sizes, weight, eps]) => normalised(t, sizes, weight, null, eps ?? 2 ** -23, 0),
  linalg_vector_norm: ([t, , axes, keep]) =>
    one(Unary.SQUARE_ROOT, sum(one(Unary.SQUARE, t), axes, keep)),
  mean: ([t, axes, keep]) => mean(t, axes, keep),
  softmax: ([t, axis]) => along(Operation.SOFTMAX, t, axis),
  sum: ([t, axes, keep]) => sum(t, axes, keep),

  cat: ([parts, axis]) => cat(parts, axis),
  expand: ([t, shape]) => expand(t, shape),
  getitem: ([list, i]) => list[i],
  pad: ([t, sizes, , value]) => pad(t, sizes, value ?? 0),
  permute: ([t, axes]) => permute(t, axes),
  repeat_interleave: ([t, n, axis]) => repeatEach(t, n, axis),
  select: ([t, axis, i]) => select(t, axis, i),
  slice: ([t, ...where]) => slice(t, ...where),
  split: ([t, size, axis]) => split(t, size, axis),
  split_with_sizes: ([t, sizes, axis]) => split(t, sizes, axis),
  squeeze: ([t, axes]) => squeeze(t, axes),
  transpose: ([t, a, b]) => transpose(t, a, b),
  tril: ([t, diagonal = 0]) => triangle(t, 1, diagonal),
  triu: ([t, diagonal = 0]) => triangle(t, 0, diagonal),
  unbind: ([t, axis]) => unbind(t, axis),
  unsqueeze: ([t, axis]) => unsqueeze(t, axis),
  view: ([t, shape]) => view(t, shape),

  _to_copy: ([t], _, dtype) => cast(t, dtype),
  arange: (numbers, _, dtype) => arange(numbers, dtype),
  embedding: ([table, numbers]) => rows(table, numbers),
  index: ([t, [numbers]]) => rows(t, numbers),
  new_zeros: ([, shape], _, dtype) => filled(shape, 0, dtype),
  ones: ([shape], _, dtype) => filled(shape, 1, dtype),
};
