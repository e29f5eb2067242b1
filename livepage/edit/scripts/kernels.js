// ---
// title: Kernels
// summary: The matrix products of the stand-in for torch work in Python's own memory.
// ---

const STACK = 1 << 18;
const FUNCTIONS = ["exp", "log", "sin", "cos", "tan", "tanh", "pow", "log1p", "expm1", "atan2"];

export async function kernels(python, bytes) {
  const { memory, _malloc } = python._module;
  const env = { memory, ...Object.fromEntries(FUNCTIONS.map((name) => [name, Math[name]])) };
  const { instance } = await WebAssembly.instantiate(bytes, { env });
  instance.exports.__stack_pointer.value = (_malloc(STACK) + STACK) & ~15;
  globalThis.stand_in_run = instance.exports.run;
}
