// ---
// title: Worker
// summary: The thread that runs a graph, so that the page itself never waits.
// ---
//
// It owns the weights, and every value of the last run. The page asks for what it shows, one question
// after another: `{ id, action, options }`, answered by `{ id, answer }` or `{ id, error }`, and
// `{ id, heard }` as often as there is something to say in between.

import { readSafetensors, run, tensorsOf } from "./interpreter.js";
import { empty, startKernels } from "./kernels.js";
import { draw, likeliest, randomNumbers, softmax } from "./sampling.js";
import { copy, fill, read, select, slice } from "./tensors.js";

/** @typedef {import("./interpreter.js").Graph} Graph */
/** @typedef {import("./interpreter.js").GraphNode} GraphNode */
/** @typedef {import("./kernels.js").Placed} Placed */
/** @typedef {import("./tensors.js").Tensor} Tensor */

/** @type {Graph} */
let graph;
/** @type {Record<string, Placed>} */
let weights;
// What a graph reads beside the text, for as many positions as there are.
/** @type {Placed[]} */
let caches;
/** @type {Map<string, number>} */
let symbols;
/** @type {number} */
let unknown;
// Of the last run: each value by the name of its node.
/** @type {Record<string, Tensor>} */
let values = {};
// What was begun for an older question stops when it sees that it isn't the newest any more.
let newest = 0;

// ## The text

const tokensOf = (text) =>
  Array.from(text, (one) => (symbols.has(one) ? symbols.get(one) : unknown));
const asInput = (tokens) => ({
  shape: [tokens.length, 1],
  data: Float64Array.from(tokens),
  dtype: "int64",
});
const rowOf = (logits, at) =>
  logits.data.subarray(at * graph.symbols.length, (at + 1) * graph.symbols.length);

// In nats a character: how little the model expected what came.
function lossOf(logits, tokens) {
  let total = 0;
  for (let at = 1; at < tokens.length; at++)
    total -= Math.log(softmax(rowOf(logits, at - 1))[tokens[at]]);
  return tokens.length > 1 ? total / (tokens.length - 1) : null;
}

// ## Heads

/**
 * The first number in the path of a module: 2 in `encoder.layers.2.self_attn`.
 *
 * @param {GraphNode} node
 */
function layerOf(node) {
  const number = /\.(\d+)(\.|$)/.exec(graph.modules[node.module]);
  return number && Number(number[1]);
}

/** @param {GraphNode} node */
const isSoftmax = (node) => /(^|_)softmax/.test(node.operation) && layerOf(node) !== null;

/**
 * Heads are an axis of the attention weights; or each has a softmax of its own, one after another.
 * With one text, what is folded into the axis of texts is heads.
 *
 * @param {GraphNode} node
 */
function axisOfHeads(node) {
  const names = graph.axes[node.axes];
  const named = names.findIndex((name) => name.includes("heads"));
  return named < 0 && values[node.name]?.shape[names.indexOf("batch_size")] > 1
    ? names.indexOf("batch_size")
    : named;
}

/**
 * Which heads a layer has: for each, the softmaxes that it is part of, and its place there.
 *
 * @param {number} layer
 * @returns {{ name: string, place: number }[][]}
 */
function headsOf(layer) {
  const nodes = graph.nodes.filter((node) => isSoftmax(node) && layerOf(node) === layer);
  if (!nodes.length) return [];
  if (axisOfHeads(nodes[0]) < 0)
    return nodes.length > 1 ? nodes.map((node) => [{ name: node.name, place: 0 }]) : [];
  const n = values[nodes[0].name].shape[axisOfHeads(nodes[0])];
  return Array.from({ length: n }, (_, place) => nodes.map((node) => ({ name: node.name, place })));
}

/**
 * `off` names heads by layer and number. Every value goes through here, right after its operation.
 * Attention weights of zero look at nothing, so such a head adds nothing.
 *
 * @param {{ layer: number, head: number }[]} off
 * @returns {(node: GraphNode, value: Placed) => void}
 */
function knockOut(off) {
  const gone = new Map();
  for (const { layer, head } of off) {
    for (const { name, place } of headsOf(layer)[head] ?? [])
      gone.set(name, [...(gone.get(name) ?? []), place]);
  }
  return (node, value) => {
    for (const head of gone.get(node.name) ?? []) {
      const axis = axisOfHeads(node);
      fill(axis < 0 ? value : select(value, axis, head), 0);
    }
  };
}

// ## The logit lens

// What would the model say if it ended after this layer? What comes behind the last layer is run
// again, on the result of each layer.
function lens(inputs) {
  const ends = new Map();
  graph.nodes.forEach((node, at) => layerOf(node) !== null && ends.set(layerOf(node), at));
  const last = Math.max(...ends.values());
  const tail = { ...graph, nodes: graph.nodes.slice(last + 1) };
  return [...ends].map(([layer, end]) => {
    const known = {
      ...weights,
      ...values,
      [graph.nodes[last].name]: values[graph.nodes[end].name],
    };
    const [logits] = run(tail, known, inputs);
    const n = inputs[0].shape[0];
    return { layer, next: Array.from({ length: n }, (_, at) => likeliest(rowOf(logits, at), 5)) };
  });
}

// ## A step's tensors

function described(name, node) {
  const { shape, data } = values[node.name];
  let [low, high, total] = [Infinity, -Infinity, 0];
  for (const one of data) {
    if (one < low) low = one;
    if (one > high) high = one;
    total += one;
  }
  const about = { name, axes: graph.axes[node.axes], shape, low, mean: total / data.length, high };
  if (!isSoftmax(node))
    return {
      ...about,
      data: data.slice(),
      kind: node.dtype === "bool" ? "mask" : node.dtype?.includes("int") ? "whole" : "values",
    };
  return {
    ...about,
    data: data.slice(),
    kind: "weights",
    axis: node.arguments[1] < 0 ? node.arguments[1] + shape.length : node.arguments[1],
  };
}

// ## Reading on

// Gets new tokens, and gives the logits after the last. When the positions are full, only the last
// quarter is kept, and read again: with a cache and without, so that both write the same.
function reader(read) {
  const window = [];
  return (tokens) => {
    let from = window.length;
    window.push(...tokens);
    if (window.length > graph.seq_len) {
      window.splice(0, window.length - graph.seq_len / 4);
      from = 0;
    }
    return read(window, from);
  };
}

// With a cache: keys and values come in beside the text, and go out one position longer. Their
// memory has room for all positions, and of what goes out only the new position is copied to it.
// One position is computed for each token.
function cachedSteps(window, from) {
  let logits;
  for (let at = from; at < window.length; at++) {
    const known = caches.map((cache) => slice(cache, 0, 0, at));
    const inputs = [asInput(window.slice(0, at + 1)), ...known];
    logits = run(graph, weights, inputs, undefined, ([result, ...longer]) => {
      for (const [i, one] of longer.entries()) copy(select(one, 0, at), select(caches[i], 0, at));
      return read(result);
    });
  }
  return rowOf(logits, 0);
}

// Without: the whole text is computed, for the sake of its last position.
const wholePass = (window) => rowOf(run(graph, weights, [asInput(window)])[0], window.length - 1);

// ## What the page can ask for

// In milliseconds: so long a writer works before it looks up, which the reader doesn't see.
const FRAME = 40;

// Between two pieces of work, the thread looks for new questions.
const pause = () => new Promise((resolve) => setTimeout(resolve));

const actions = {
  async load(files) {
    await startKernels(files.kernels);
    graph = files.graph;
    weights = tensorsOf(graph, readSafetensors(files.weights), readSafetensors(files.constants));
    const [, ...more] = graph.inputs;
    caches = more.map(({ shape }) =>
      empty([graph.seq_len, ...shape.slice(1).map(Number)], "float32"),
    );
    symbols = new Map(Array.from(graph.symbols, (symbol, token) => [symbol, token]));
    unknown = graph.symbols.length - 1;
  },

  // One pass over the text, with every value kept.
  run({ text, off = [] }) {
    newest++;
    const tokens = tokensOf(text);
    const inputs = [asInput(tokens)];
    const change = knockOut(off);
    const kept = {};
    const [logits] = run(graph, weights, inputs, (node, value) => {
      change(node, value);
      kept[node.name] = Array.isArray(value) ? value.map(read) : read(value);
    });
    values = kept;
    const layers = lens(inputs);
    const heads = Object.fromEntries(layers.map(({ layer }) => [layer, headsOf(layer).length]));
    const next = tokens.map((_, at) => likeliest(rowOf(logits, at), 8));
    const loss = lossOf(logits, tokens);
    const whole = off.length ? lossOf(run(graph, weights, inputs)[0], tokens) : loss;
    return { loss, whole, layers, heads, next };
  },

  // How the model would go on, always with the likeliest character.
  async goOn({ text, off = [], n }, say) {
    const mine = newest;
    const change = knockOut(off);
    const tokens = tokensOf(text);
    let written = "";
    while (written.length < n) {
      await pause();
      if (mine !== newest) return null;
      const [logits] = run(graph, weights, [asInput(tokens.slice(-graph.seq_len))], change);
      const [[token]] = likeliest(rowOf(logits, logits.shape[0] - 1), 1);
      tokens.push(token);
      written += graph.symbols[token];
      say(written);
    }
    return written;
  },

  // Text from the model, token by token. What it cost is told with it: the time of the new tokens,
  // without that of the prompt.
  async write({ prompt, n, seed, options, cached }, say) {
    const mine = ++newest;
    const read = reader(cached ? cachedSteps : wholePass);
    const random = randomNumbers(seed);
    let logits = read(tokensOf(prompt));
    let [written, seconds, count] = ["", 0, 0];
    while (count < n && mine === newest) {
      const begun = performance.now();
      do {
        const token = draw(logits, options, random);
        written += graph.symbols[token];
        if (++count < n) logits = read([token]);
      } while (count < n && performance.now() - begun < FRAME);
      seconds += (performance.now() - begun) / 1000;
      say({ written, seconds, passes: count === n ? count - 1 : count });
      await pause();
    }
    return null;
  },

  stop: () => void newest++,

  value: ({ nodes }) => nodes.map(({ name, node }) => described(name, graph.nodes[node])),
};

onmessage = async ({ data: { id, action, options } }) => {
  try {
    const answer = await actions[action](options, (heard) => postMessage({ id, heard }));
    postMessage({ id, answer });
  } catch (error) {
    postMessage({ id, error: error.stack ?? String(error) });
  }
};
