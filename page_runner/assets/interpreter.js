// Runs a graph that exporter.py has made, and reads the tensors that it needs.
//
//   const tensors = readSafetensors(await (await fetch("classic.safetensors")).arrayBuffer());
//   const tokens = { shape: [4, 1], data: Float64Array.of(1, 2, 3, 4), dtype: "int64" };
//   const [logits] = run(graph, tensorsOf(graph, tensors), [tokens]);
import { inScope } from "./kernels.js";
import { operations } from "./operations.js";
import { place, read } from "./tensors.js";

/** @typedef {import("./kernels.js").Placed} Placed */
/** @typedef {import("./tensors.js").Tensor} Tensor */

/**
 * An operation of a graph. Its stack, its module and the names of its axes are numbers of entries
 * in the tables of the graph.
 *
 * @typedef {object} GraphNode
 * @property {string} name
 * @property {string} operation
 * @property {unknown[]} arguments
 * @property {Record<string, unknown>} options
 * @property {number} stack
 * @property {number} module
 * @property {number} axes
 * @property {string | null} dtype
 */

/**
 * A step of a page: the nodes of a line, those to be `shown`, and the names that it has bound.
 *
 * @typedef {{ line: number, layer: number | null, bound: string, nodes: number[], shown: number[] }} GraphStep
 */

/**
 * What exporter.py has made of a module, and what build.py says of its model. A size in the shape
 * of an input is a number, or `@0+1` for the length. `parameters` are the names that the file of the
 * weights has for those of the graph.
 *
 * @typedef {object} Graph
 * @property {{ name: string, shape: (number | string)[] }[]} inputs
 * @property {GraphNode[]} nodes
 * @property {string[]} outputs
 * @property {Record<string, string>} parameters
 * @property {string[]} modules
 * @property {string[][]} axes
 * @property {GraphStep[]} steps
 * @property {string} symbols
 * @property {number} seq_len
 * @property {string} weights
 * @property {number} bytes
 * @property {string} text
 * @property {string[]} stale
 */

const TYPES = { F32: "float32", F64: "float64", BOOL: "bool" };

/**
 * Eight bytes with the length of the header, the header, and the numbers of all tensors. A tensor
 * of whole numbers has a scale for each of its rows, under the same name and `.scale`.
 *
 * @param {ArrayBuffer} buffer
 * @returns {Record<string, Tensor>}
 */
export function readSafetensors(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const kinds = {
    F32: Float32Array,
    F64: Float64Array,
    I64: BigInt64Array,
    I8: Int8Array,
    BOOL: Uint8Array,
  };
  const numbers = ({ dtype, data_offsets: [start, end] }) => {
    // A copy, because four-byte numbers can't be read in place from an odd address.
    return new kinds[dtype](buffer.slice(8 + length + start, 8 + length + end));
  };
  /** @type {Record<string, Tensor>} */
  const tensors = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const { dtype, shape } = entry;
    const scale = header[`${name}.scale`];
    const raw = numbers(entry);
    if (scale)
      tensors[name] = { shape, data: scaled(raw, shape.at(-1), numbers(scale)), dtype: "float32" };
    else if (dtype === "I64")
      tensors[name] = { shape, data: Float64Array.from(raw, Number), dtype: "int64" };
    else tensors[name] = { shape, data: raw, dtype: TYPES[dtype] };
  }
  return tensors;
}

function scaled(rows, width, scales) {
  const result = new Float32Array(rows.length);
  for (let i = 0; i < rows.length; i++) result[i] = rows[i] * scales[Math.floor(i / width)];
  return result;
}

/**
 * The tensors that a graph asks for, in the memory of the kernels, by the names that it has for
 * them: parameters are in the file of the weights, and constants in a file of their own.
 *
 * @param {Graph} graph
 * @param {Record<string, Tensor>} weights
 * @param {Record<string, Tensor>} constants
 * @returns {Record<string, Placed>}
 */
export function tensorsOf(graph, weights, constants = {}) {
  /** @type {Record<string, Placed>} */
  const found = {};
  for (const [name, constant] of Object.entries(constants)) found[name] = place(constant);
  for (const [name, stored] of Object.entries(graph.parameters))
    found[name] = place(weights[stored]);
  return found;
}

function lengthOf(graph, inputs) {
  for (const [i, { shape }] of graph.inputs.entries()) {
    const axis = shape.indexOf("@0+1");
    if (axis >= 0) return inputs[i].shape[axis];
  }
}

/**
 * A value, or a list of them, as the kernels take it. Those of a page are copied.
 *
 * @param {any} value
 */
const placed = (value) =>
  Array.isArray(value) ? value.map(placed) : value?.data ? place(value) : value;

/**
 * What a run has to do, found out once: each value has a place of its own, and each argument is a
 * function of the values and of the length. `given` are the places of what no node makes.
 *
 * @typedef {(values: any[], length: number) => any} Argument
 * @typedef {object} Plan
 * @property {{ node: GraphNode, operation: Function, given: Argument[], place: number }[]} steps
 * @property {[string, number][]} given
 * @property {Argument[]} outputs
 */

/** @type {WeakMap<Graph, Plan>} */
const plans = new WeakMap();

/**
 * @param {Graph} graph
 * @returns {Plan}
 */
function planOf(graph) {
  const known = plans.get(graph);
  if (known) return known;
  /** @type {Map<string, number>} */
  const places = new Map();
  const placeOf = (name) => {
    if (!places.has(name)) places.set(name, places.size);
    return places.get(name);
  };

  // An argument in the graph is a number, a reference to a value, or a list of these.
  function argumentOf(argument) {
    if (Array.isArray(argument)) {
      const parts = argument.map(argumentOf);
      return (values, length) => parts.map((part) => part(values, length));
    }
    if (typeof argument !== "string") return () => argument ?? undefined;
    if (argument[0] === "%") {
      const place = placeOf(argument.slice(1));
      return (values) => values[place];
    }
    // "@2+3" is 2 and 3 for each position.
    if (argument[0] === "@") {
      const [start, factor] = argument.slice(1).split("+").map(Number);
      return (_, length) => start + factor * length;
    }
    const number = Number(argument.slice(1).replace("inf", "Infinity"));
    return argument[0] === "#" ? () => number : () => argument;
  }

  const steps = graph.nodes.map((node) => ({
    node,
    operation: operations[node.operation],
    given: node.arguments.map(argumentOf),
    place: placeOf(node.name),
  }));
  const outputs = graph.outputs.map(argumentOf);
  const made = new Set(graph.nodes.map(({ name }) => name));
  const given = [...places].filter(([name]) => !made.has(name));
  const plan = { steps, given, outputs };
  plans.set(graph, plan);
  return plan;
}

/** @param {Placed[]} outputs */
const readAll = (outputs) => outputs.map(read);

/**
 * One node after the other. `after` sees each value, and may change it, or give another one in its
 * place: that is how a head is knocked out. What the values take of the memory is free again when
 * `take` has seen the outputs of the graph: it reads all of them, unless told otherwise.
 *
 * @template T
 * @param {Graph} graph
 * @param {Record<string, Placed | Tensor>} tensors
 * @param {(Placed | Tensor)[]} inputs
 * @param {(node: GraphNode, value: any) => Placed | Tensor | undefined | void} [after]
 * @param {(outputs: Placed[]) => T} [take]
 */
export function run(graph, tensors, inputs, after, take = /** @type {any} */ (readAll)) {
  const { steps, given, outputs } = planOf(graph);
  const length = lengthOf(graph, inputs);
  const named = new Map(graph.inputs.map(({ name }, i) => [name, inputs[i]]));

  return inScope(() => {
    const values = [];
    for (const [name, place] of given) values[place] = placed(named.get(name) ?? tensors[name]);
    for (const { node, operation, given, place } of steps) {
      const arguments_ = given.map((argument) => argument(values, length));
      const value = operation(arguments_, node.options, node.dtype);
      values[place] = after ? placed(after(node, value) ?? value) : value;
    }
    return take(outputs.map((output) => output(values, length)));
  });
}
