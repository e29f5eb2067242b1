// ---
// title: Kernels
// summary: Memory of WebAssembly, and the one way to the loops in C that work in it.
// ---
//
// The kernels are those of the stand-in for torch, `browser_torch/kernels`. Its kernels.h tells how
// they are called, and how they number what they can do.

/**
 * A tensor in the memory of the kernels: its first element is at `address`, and the block of memory
 * that it lies in ends at `end`, both in bytes. Strides count elements.
 *
 * @typedef {object} Placed
 * @property {number[]} shape
 * @property {number[]} strides
 * @property {number} address
 * @property {number} end
 * @property {string} dtype
 */

// By their numbers in C.
export const Operation = {
  UNARY: 0,
  BINARY: 1,
  WHERE: 2,
  COPY: 3,
  FILL: 4,
  ARANGE: 5,
  TRIANGLE: 6,
  REDUCE: 7,
  CUMULATE: 8,
  MATMUL: 9,
  SOFTMAX: 10,
  NORMALISE: 12,
  INDEX: 14,
};
export const Unary = {
  NEGATIVE: 0,
  ABSOLUTE: 1,
  SQUARE: 3,
  SQUARE_ROOT: 5,
  RECIPROCAL_ROOT: 6,
  EXPONENTIAL: 7,
  EXPONENTIAL_LESS_1: 9,
  LOGARITHM_OF_1_MORE: 12,
  SINE: 13,
  COSINE: 14,
  HYPERBOLIC_TANGENT: 16,
  SIGMOID: 18,
  RELU: 19,
  SILU: 20,
  GELU: 21,
  NOT: 29,
};
export const Binary = {
  ADD: 0,
  SUBTRACT: 1,
  MULTIPLY: 2,
  DIVIDE: 3,
  POWER: 4,
  MAXIMUM: 5,
  MINIMUM: 6,
  LESS: 9,
  LESS_EQUAL: 10,
  GREATER: 11,
  GREATER_EQUAL: 12,
  AND: 17,
  OR: 18,
};
export const SUM = 0;

// The types of numbers that a graph has: each with its number in C, and the array that shows it.
const TYPES = {
  float32: { code: 0, view: Float32Array },
  float64: { code: 1, view: Float64Array },
  int64: { code: 2, view: BigInt64Array },
  bool: { code: 6, view: Uint8Array },
};
const REASONS = [
  "",
  "there is no such operation",
  "the row of numbers is not well formed",
  "a tensor reaches outside its memory",
  "it does not work on these types",
  "the shapes or the layouts do not fit",
  "an index is out of range",
  "a number is out of range",
];

// Functions that the kernels don't have themselves.
const MATHEMATICS = ["exp", "log", "sin", "cos", "tan", "tanh", "pow", "log1p", "expm1", "atan2"];

// The memory begins with the stack of the kernels. The row of the present call follows, and then
// the tensors.
const [STACK, ROW, PAGE] = [1 << 18, 1 << 12, 1 << 16];
const memory = new WebAssembly.Memory({ initial: 64 });
let top = STACK + ROW;
/** @type {Int32Array} */
let halves;
/** @type {BigInt64Array} */
let row;
/** @type {(row: number) => number} */
let runKernel;

// The memory has moved, or it is the first time.
function look() {
  halves = new Int32Array(memory.buffer, STACK, ROW / 4);
  row = new BigInt64Array(memory.buffer, STACK, ROW / 8);
}

/**
 * Before anything else, once.
 *
 * @param {BufferSource} bytes
 */
export async function startKernels(bytes) {
  const env = { memory, ...Object.fromEntries(MATHEMATICS.map((name) => [name, Math[name]])) };
  const { instance } = await WebAssembly.instantiate(bytes, { env });
  const { run, __stack_pointer: stack } = /** @type {any} */ (instance.exports);
  stack.value = STACK;
  runKernel = run;
  look();
}

// ## Memory

/** @param {string} dtype */
export const bytesOf = (dtype) => TYPES[dtype].view.BYTES_PER_ELEMENT;

/**
 * How far apart two neighbours are along each axis, if the elements follow each other.
 *
 * @param {number[]} shape
 */
export function stridesOf(shape) {
  const strides = new Array(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

/**
 * Memory for a tensor, with whatever was there before.
 *
 * @param {number[]} shape
 * @param {string} dtype
 * @returns {Placed}
 */
export function empty(shape, dtype) {
  const address = top;
  const strides = stridesOf(shape);
  const count = shape.length ? shape[0] * strides[0] : 1;
  const end = address + count * bytesOf(dtype);
  // What a kernel reads at a time begins at a multiple of its size. An empty tensor has an address of its own.
  top = (Math.max(end, address + 1) + 15) & ~15;
  const missing = top - memory.buffer.byteLength;
  if (missing > 0) {
    memory.grow(Math.ceil(Math.max(missing, memory.buffer.byteLength / 2) / PAGE));
    look();
  }
  return { shape, strides, address, end, dtype };
}

/**
 * Gives the memory free again that a function has taken.
 *
 * @template T
 * @param {() => T} f
 * @returns {T}
 */
export function inScope(f) {
  const before = top;
  try {
    return f();
  } finally {
    top = before;
  }
}

/**
 * The numbers of a tensor whose elements follow each other, where they lie.
 *
 * @param {Placed} tensor
 */
export function elements({ shape, address, dtype }) {
  return new TYPES[dtype].view(
    memory.buffer,
    address,
    shape.reduce((a, b) => a * b, 1),
  );
}

// ## Calls

const float = new Float64Array(1);
const floatBits = new BigInt64Array(float.buffer);

/**
 * A floating-point number as a kernel takes it.
 *
 * @param {number} number
 */
export function bits(number) {
  float[0] = number;
  return floatBits[0];
}

// A whole number of 64 bits in two halves: as one it is slow here.
function push(at, number) {
  halves[2 * at] = number;
  halves[2 * at + 1] = number < 0 ? -1 : 0;
  return at + 1;
}

/**
 * Calls a kernel. Of its tensors the first is the result.
 *
 * @param {number} operation
 * @param {(number | bigint)[]} numbers
 * @param {Placed[]} tensors
 */
export function call(operation, numbers, ...tensors) {
  let at = push(1, operation);
  at = push(at, numbers.length);
  at = push(at, tensors.length);
  for (const number of numbers) {
    if (typeof number === "bigint") row[at++] = number;
    else at = push(at, number);
  }
  for (const { shape, strides, address, end, dtype } of tensors) {
    at = push(at, address);
    at = push(at, end - address);
    at = push(at, TYPES[dtype].code);
    at = push(at, 0);
    at = push(at, shape.length);
    for (let axis = 0; axis < shape.length; axis++) at = push(at, shape[axis]);
    for (let axis = 0; axis < shape.length; axis++) at = push(at, strides[axis]);
  }
  push(0, at);
  const status = runKernel(STACK);
  if (!status) return;
  const name = Object.keys(Operation).find((one) => Operation[one] === operation);
  const shapes = JSON.stringify(tensors.map(({ shape }) => shape));
  throw new Error(`the kernel ${name} refused ${shapes}: ${REASONS[status]}`);
}
