// Puts the kernels into the memory of Python: `import torch` finds them there.

const MATHEMATICS = ["exp", "log", "sin", "cos", "tan", "tanh", "pow", "log1p", "expm1", "atan2"];
const STACK = 1 << 18;

// `pyodide` is what loadPyodide has given, `wasm` the bytes of kernels.wasm or a promise of them.
export async function loadKernels(pyodide, wasm) {
  const env = { memory: pyodide._module.memory };
  for (const name of MATHEMATICS) env[name] = Math[name];
  const { instance } = await WebAssembly.instantiate(await wasm, { env });
  // The kernels have a stack of their own, in memory that Python has handed out.
  const bottom = pyodide._module._malloc(STACK);
  instance.exports.__stack_pointer.value = (bottom + STACK) & ~15;
  globalThis.browser_torch_run = instance.exports.run;
}
