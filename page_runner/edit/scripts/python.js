// ---
// title: Python
// summary: The page's side of the worker: start it, ask it, end it.
// ---

const TOLD = { printed: "text", drawn: "svg" };

// ## A Python that runs beside the page
//
// * `from` has the addresses: the folder of the program, and that of the sources
// * the events are `ready`, `failed`, `printed` and `drawn`
// * `ready` is a promise; after `stop` it is a new one
export class Python extends EventTarget {
  #asked = new Map();
  #last = 0;
  #worker = null;

  constructor({ place, sources, path, index }) {
    super();
    this.place = place;
    this.message = {
      kind: "start",
      sources,
      files: index.files,
      first: index.first[path],
      wanted: index.packages,
    };
    this.busy = false;
    this.start();
  }

  start() {
    const began = performance.now();
    this.#worker = new Worker(new URL("worker.js", this.place), { type: "module" });
    this.ready = new Promise((resolve, reject) => {
      this.#worker.onmessage = ({ data }) => {
        if (data.kind === "ready") {
          this.times = { ...data.times, page: performance.now() - began };
          resolve(this.times);
          this.#tell("ready", this.times);
        } else if (data.kind === "failed" && data.id === undefined) {
          reject(new Error(data.message));
          this.#tell("failed", data.message);
        } else {
          this.#answered(data);
        }
      };
      this.#worker.onerror = (event) => {
        event.preventDefault();
        const message = event.message ?? "The program can't be fetched.";
        reject(new Error(message));
        this.#tell("failed", message);
      };
    });
    // Who waits for it is told; if nobody does, the event is enough.
    this.ready.catch(() => {});
    this.#worker.postMessage(this.message);
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  #answered(data) {
    if (TOLD[data.kind]) return this.#tell(data.kind, data[TOLD[data.kind]]);
    const asked = this.#asked.get(data.id);
    if (!asked) return null;
    if (data.kind === "told") return asked.told(data.value);
    this.#asked.delete(data.id);
    this.busy = this.#asked.size > 0;
    this.heap = data.heap;
    if (data.kind === "failed") return asked.reject(new Error(data.message));
    return asked.resolve(data.result);
  }

  async #ask(message, told) {
    await this.ready;
    this.busy = true;
    const id = (this.#last += 1);
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject, told });
      this.#worker.postMessage({ ...message, id });
    });
  }

  // ### Run a page, with the texts that are edited
  run(path, edited) {
    return this.#ask({ kind: "run", path, edited });
  }

  // ### Judge an exercise
  judge(path, edited, exercise) {
    return this.#ask({ kind: "judge", path, edited, exercise });
  }

  // ### Call a function; `told` gets each thing that it tells
  call(target, given, told) {
    return this.#ask({ kind: "call", target, given }, told);
  }

  pause(paused) {
    this.#worker.postMessage({ kind: "pause", paused });
  }

  // A call ends after the thing that it is at.
  end() {
    this.#worker.postMessage({ kind: "end" });
  }

  // ### Stop
  //
  // A loop without end hears nothing, so its thread is ended, and a new Python started.
  stop() {
    this.close();
    this.start();
  }

  close() {
    this.#worker.terminate();
    this.busy = false;
    for (const { reject } of this.#asked.values()) reject(new Error("stopped"));
    this.#asked.clear();
  }
}
