// ---
// title: Model
// summary: A model in a thread of its own, with files that are fetched with a progress.
// ---

import { make } from "./elements.js";

/**
 * `kernels` is the name of the file that the graph is run with.
 *
 * @typedef {import("./interpreter.js").Graph & { kernels: string }} Graph
 */
/** @typedef {{ kernels: ArrayBuffer, weights: ArrayBuffer, constants: ArrayBuffer }} Files */

// ## Files

/**
 * The bytes of a file; `report` gets how many have come, again and again.
 *
 * @param {string} address
 * @param {(bytes: number) => void} report
 */
export async function fetched(address, report = () => {}) {
  const answer = await fetch(address);
  if (!answer.ok)
    throw new Error(`${new URL(address).pathname} can’t be fetched (${answer.status})`);
  const reader = answer.body.getReader();
  const parts = [];
  for (let came = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts).arrayBuffer();
    parts.push(value);
    report((came += value.length));
  }
}

/**
 * The weights, which many graphs share.
 *
 * @param {string} name
 * @param {(bytes: number) => void} [report]
 */
export const learned = (name, report) =>
  fetched(new URL(`weights/${name}`, import.meta.url).href, report);

// The kernels, which all graphs share; so does the editor, whose address is the same.
/** @type {Promise<ArrayBuffer> | undefined} */
let kernels;

/**
 * What a graph is run with: the kernels, the weights, when they have come, and its constants, which
 * stand beside it at its address.
 *
 * @param {Graph} graph
 * @param {string} address
 * @param {Promise<ArrayBuffer>} weights
 * @returns {Promise<Files>}
 */
export async function numbers(graph, address, weights) {
  const beside = fetched(address.replace(/json$/, "safetensors"));
  kernels ??= fetched(new URL(graph.kernels, import.meta.url).href);
  // If they didn't come, they are fetched at the next try.
  kernels.catch(() => (kernels = undefined));
  const [first, constants, loops] = await Promise.all([weights, beside, kernels]);
  return { kernels: loops, weights: first, constants };
}

export const fetchedJson = async (address) =>
  JSON.parse(new TextDecoder().decode(await fetched(address)));

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

// A bar that fills while a file comes, as soon as its size is known.
export function progress() {
  const bar = make("progress", { ariaLabel: "Fetched" });
  const words = make("span");
  const report = (bytes) => {
    bar.value = bytes;
    words.textContent = ` ${megabytes(bytes)} of ${megabytes(bar.max)} MB`;
  };
  const total = (bytes) => {
    bar.max = bytes;
    report(0);
  };
  return { element: make("p", { className: "fetching" }, bar, words), total, report };
}

// ## Questions and answers

export class Model {
  /**
   * The graph, and its numbers when they come. Both are kept: a worker that has ended with the page
   * can begin again when the reader comes back to it.
   *
   * @param {Graph} graph
   * @param {Promise<Files>} files
   */
  constructor(graph, files) {
    this.graph = graph;
    this.files = files;
    /** @type {Map<number, { resolve: Function, reject: Function, heard: Function }>} */
    this.waiting = new Map();
    this.asked = 0;
    addEventListener("pagehide", () => this.end());
    // At once, so that its scripts are there when the reader goes offline.
    this.begin();
  }

  /**
   * An answer, or an error. `heard` gets what the worker says in between.
   *
   * @param {string} action
   * @param {object} options
   * @param {(said: any) => void} heard
   * @returns {Promise<any>}
   */
  async ask(action, options = {}, heard = () => {}) {
    if (!this.worker) this.begin();
    await this.loaded;
    return this.send(action, options, heard);
  }

  begin() {
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data: { id, heard, answer, error } }) => {
      const one = this.waiting.get(id);
      if (heard !== undefined) return one?.heard(heard);
      this.waiting.delete(id);
      if (error === undefined) one?.resolve(answer);
      else one?.reject(new Error(error));
    };
    this.worker.onerror = (event) => {
      for (const one of this.waiting.values())
        one.reject(new Error(event.message || "The worker failed"));
      this.end();
    };
    this.loaded = this.files.then((files) => this.send("load", { graph: this.graph, ...files }));
  }

  send(action, options, heard) {
    const id = ++this.asked;
    this.worker.postMessage({ id, action, options });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, heard }));
  }

  end() {
    this.worker?.terminate();
    this.worker = null;
    this.waiting.clear();
  }
}
