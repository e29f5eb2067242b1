// node compare.mjs FOLDER: runs the graphs of a folder, and prints how far they are from torch.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const at = (name) => join(folder, name);
const json = (name) => JSON.parse(readFileSync(at(name)));
const bytes = (name) => Uint8Array.from(readFileSync(at(name))).buffer;
const script = (name) => import(pathToFileURL(at(`assets/${name}.js`)));
const { startKernels } = await script("kernels");
const { readSafetensors, run, tensorsOf } = await script("interpreter");
const { read } = await script("tensors");

const text = (ids) => ({ shape: [ids.length, 1], data: Float64Array.from(ids), dtype: "int64" });
const { ids, logits, writing } = json("expected.json");
await startKernels(bytes(`assets/${json(`${writing.whole}.json`).kernels}`));

const load = (place) => {
  const graph = json(`${place}.json`);
  const weights = readSafetensors(bytes(`assets/weights/${graph.weights}`));
  return {
    graph,
    tensors: tensorsOf(graph, weights, readSafetensors(bytes(`${place}.safetensors`))),
  };
};

// The largest difference, as a share of the largest value. What isn't a number is no agreement.
function apart(found, expected) {
  let [difference, largest] = [0, 0];
  expected.forEach((value, i) => {
    const one = Math.abs(found[i] - value);
    difference = one <= difference ? difference : one;
    largest = Math.max(largest, Math.abs(value));
  });
  return found.length === expected.length && Number.isFinite(difference)
    ? difference / largest
    : 1e9;
}

const lengths = {};
const wrong = {};
for (const [place, expected] of Object.entries(logits)) {
  const { graph, tensors } = load(place);
  lengths[place] = {};
  for (const [length, values] of Object.entries(expected)) {
    const [out] = run(graph, tensors, [text(ids.slice(0, length))]);
    lengths[place][length] = apart(out.data, values);
  }

  // Of each operation once: what if it gave something else?
  const changed = ({ dtype, data }) => data.map((x) => (dtype === "bool" ? 1 - x : 3 - 2 * x));
  const other = (value) => {
    if (Array.isArray(value)) return value.map(other);
    const one = read(value);
    return { ...one, data: changed(one) };
  };
  const [length, values] = Object.entries(expected).find(([n]) => n > 2);
  for (const operation of new Set(graph.nodes.map((node) => node.operation))) {
    if (operation in wrong) continue;
    const after = (node, value) => (node.operation === operation ? other(value) : undefined);
    try {
      const [out] = run(graph, tensors, [text(ids.slice(0, length))], after);
      wrong[operation] = apart(out.data, values);
    } catch {
      wrong[operation] = 1e9;
    }
  }
}

// One token after the other with caches, beside the whole text without.
const step = load(writing.step);
const whole = load(writing.whole);
const [, ...empty] = step.graph.inputs.map(({ shape }) => {
  const sizes = shape.map((size) => (size === "@0+1" ? 0 : size));
  return { shape: sizes, data: new Float32Array(0), dtype: "float32" };
});
const cached = [];
const [uncached] = run(whole.graph, whole.tensors, [text(ids)]);
let caches = empty;
for (let n = 1; n <= ids.length; n++) {
  let found;
  [found, ...caches] = run(step.graph, step.tensors, [text(ids.slice(0, n)), ...caches]);
  cached.push(...found.data);
}
console.log(JSON.stringify({ lengths, wrong, cached: apart(cached, [...uncached.data]) }));
