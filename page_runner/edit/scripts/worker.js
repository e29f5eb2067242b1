// ---
// title: Worker
// summary: Python in a thread of its own: started once, asked often, ended when it must be.
// ---
//
// The page asks, and is answered:
//
// * `{ kind: "start", … }` starts Python; `{ kind: "ready" }` or `{ kind: "failed" }` is the answer
// * `{ id, kind: "run", path, edited }` runs a page; `{ id, kind: "done", result }`
// * `{ id, kind: "judge", path, edited, exercise }` judges an exercise of a page; the answer is as for a run
// * `{ id, kind: "call", target, given }` calls a function that tells one thing after another, each as
//   `{ id, kind: "told", value }`, and at last `{ id, kind: "done" }`. Between two of them it can be
//   paused, or ended, by `{ kind: "pause", paused }` and `{ kind: "end" }`
//
// Meanwhile `{ kind: "printed", text }` and `{ kind: "drawn", svg }` come from the program.

import { loadPyodide } from "./pyodide.mjs";
import { loadKernels } from "./kernels.js";

const FOLDER = "/lessons";
let python = null;
let program = null;
let paused = null;
let ended = false;

const here = (name) => new URL(name, import.meta.url).href;

async function bytes(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} can't be fetched: ${answer.status}.`);
  return new Uint8Array(await answer.arrayBuffer());
}

// ## Start
//
// `files` are the sizes of all files of the packages, by their paths; the `first` of them are fetched
// now, since the page imports them. The others are fetched when a program opens them.
async function start({ sources, files, first, wanted }) {
  const began = performance.now();
  const address = (path) => `${sources}${path}`;
  const coming = Promise.all(first.map(async (path) => [path, await bytes(address(path))]));
  const archive = bytes(here("python.zip"));
  // The build knows their name, which changes with their content. Not every package needs some.
  const module = KERNELS && bytes(here(KERNELS));
  python = await loadPyodide({
    indexURL: here("."),
    stdLibURL: here("python_stdlib.zip"),
    // The build puts it here: Pyodide's own list, without its packages.
    lockFileContents: LOCK,
  });
  const times = { python: performance.now() - began };
  if (KERNELS) await loadKernels(python, await module);
  python.unpackArchive(await archive, "zip", { extractDir: "/python" });
  for (const [path, text] of await coming) {
    python.FS.mkdirTree(folderOf(path));
    python.FS.writeFile(`${FOLDER}/${path}`, text);
  }
  for (const path of files) {
    if (first.includes(path)) continue;
    python.FS.mkdirTree(folderOf(path));
    python.FS.createLazyFile(folderOf(path), path.split("/").at(-1), address(path), true, false);
  }
  // Nobody types while a program runs: whoever asks gets the end of the text.
  python.setStdin({ stdin: () => null });
  python.runPython(`import sys; sys.path[:0] = ["/python", "${FOLDER}"]`);
  // So the first run doesn't wait for it, and its random numbers begin alike.
  if (KERNELS) python.pyimport("torch");
  const make = python.pyimport("page_runner.edit.running").Program;
  const say = (text) => postMessage({ kind: "printed", text });
  const draw = (svg) => postMessage({ kind: "drawn", svg });
  program = make(FOLDER, python.toPy(wanted), say, draw);
  postMessage({ kind: "ready", times: { ...times, all: performance.now() - began }, heap: heap() });
}

const folderOf = (path) => `${FOLDER}/${path.split("/").slice(0, -1).join("/")}`;
const heap = () => python._module.HEAPU8.length;

// ## Answer

function run({ id, path, edited }) {
  const result = program.run(path, JSON.stringify(edited));
  postMessage({ id, kind: "done", result: JSON.parse(result), heap: heap() });
  program.rest();
}

function judge({ id, path, edited, exercise }) {
  const result = program.judge(path, JSON.stringify(edited), JSON.stringify(exercise));
  postMessage({ id, kind: "done", result: JSON.parse(result), heap: heap() });
  program.rest();
}

// A turn of the loop, in which messages come in. A timer would wait for four milliseconds.
const channel = new MessageChannel();
const turn = () =>
  new Promise((resolve) => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(null);
  });

async function call({ id, target, given }) {
  ended = false;
  const telling = program.call(target, JSON.stringify(given));
  for (let told = telling.next(); !told.done && !ended; told = telling.next()) {
    postMessage({ id, kind: "told", value: JSON.parse(told.value) });
    await turn();
    await paused?.promise;
  }
  telling.destroy();
  postMessage({ id, kind: "done", heap: heap() });
  program.rest();
}

function pause({ paused: wanted }) {
  if (!wanted) paused?.resolve();
  paused = wanted ? Promise.withResolvers() : null;
}

// An exception of Python comes with its traceback; the line with its name says what it is.
function told(error) {
  const lines = String(error.message ?? error)
    .trim()
    .split("\n");
  return lines.findLast((line) => /^\w+Error/.test(line)) ?? lines.at(-1);
}

const answers = { start, run, judge, call, pause, end: () => (ended = true) };

onmessage = async ({ data }) => {
  try {
    await answers[data.kind](data);
  } catch (error) {
    postMessage({ id: data.id, kind: "failed", message: told(error) });
  }
};
