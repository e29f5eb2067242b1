// ---
// title: Kernels
// summary: The loops of the stand-in for torch work in Python's own memory.
// ---

// They have a stack of their own, in memory that Python has handed out, and call these of JavaScript.
const STACK = 1 << 18;
const FUNCTIONS = ["exp", "log", "sin", "cos", "tan", "tanh", "pow", "log1p", "expm1", "atan2"];

// The stand-in looks for the function `run` of its kernels under this name.
const NAME = "stand_in_run";

export async function loadKernels(python, bytes) {
  const { memory, _malloc } = python._module;
  const env = { memory, ...Object.fromEntries(FUNCTIONS.map((name) => [name, Math[name]])) };
  const { instance } = await WebAssembly.instantiate(bytes, { env });
  instance.exports.__stack_pointer.value = (_malloc(STACK) + STACK) & ~15;
  globalThis[NAME] = instance.exports.run;
}
