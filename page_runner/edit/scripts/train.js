// ---
// title: Train
// summary: A model is trained in the page, with its curve over the recorded one.
// ---
//
// `target` is a function that trains: it gets the `name` of a model, the `steps`, how many `times` the
// usual learning rate, and whether it is `masked`. It tells `{ step, loss }`, `{ sample, step }` and at
// last `{ validation }`, with the `honest` loss beside it if that may be another. Beside it is `choices`,
// which tells the models with their steps and, if it isn't their name, their `title`: `mask` is false if none has a mask to leave out, and
// `beside` is the recorded curve that a model is compared with, if it isn't its own.
//
// While the page is hidden, nothing is trained.

import { button, fetched, make, styled } from "./elements.js";
import { Python } from "./python.js";

const here = (name) => new URL(name, import.meta.url).href;
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 240, 36, 24];

// * `name` is the model that is chosen first
// * `closed` is called when the reader is done
export async function open({ section, sources, target, record, name = "", closed = () => {} }) {
  const index = fetched(`${sources}index.json`).then((answer) => answer.json());
  const recorded = fetch(record)
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);
  await styled(here("edit.css"));
  // The form may stand on another page than the function that trains.
  const path = `${target.replace(/:.*/, "").replaceAll(".", "/")}.py`;
  const python = new Python({ place: here("."), sources, path, index: await index });
  return new Training(section, python, target, curves(await recorded), name, closed);
}

// The recorded curves by their names.
function curves(record) {
  const lines = Object.values(record?.figures ?? {}).flatMap((figure) => figure.lines ?? []);
  return new Map(lines.map(({ name, points }) => [name, points]));
}

const drawn = (name, attributes) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

// ## The picture
class Curve {
  constructor() {
    this.element = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "curve" });
    this.axes = drawn("g", { class: "axes-of" });
    this.recorded = drawn("polyline", { class: "recorded" });
    this.live = drawn("polyline", { class: "live" });
    this.element.append(this.axes, this.recorded, this.live);
  }

  begin(steps, recorded) {
    this.steps = steps;
    this.recordedPoints = recorded ?? [];
    this.points = [];
    this.draw();
  }

  add(step, loss) {
    this.points.push([step, loss]);
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  draw() {
    const finite = [...this.points, ...this.recordedPoints]
      .map(([, loss]) => loss)
      .filter(Number.isFinite);
    const top = Math.min(12, Math.max(4.5, ...finite));
    const x = (step) => LEFT + (step / this.steps) * (WIDTH - LEFT - 8);
    const y = (loss) => HEIGHT - BOTTOM - (Math.min(loss, top) / top) * (HEIGHT - BOTTOM - 8);
    const line = (points) =>
      points
        .filter(([step, loss]) => step <= this.steps && Number.isFinite(loss))
        .map(([step, loss]) => `${x(step).toFixed(1)},${y(loss).toFixed(1)}`)
        .join(" ");
    this.recorded.setAttribute("points", line(this.recordedPoints));
    this.live.setAttribute("points", line(this.points));
    const text = (content, attributes) =>
      Object.assign(drawn("text", attributes), { textContent: content });
    const ticks = [0, 1, 2, 3, 4].map((loss) =>
      text(loss, { x: LEFT - 6, y: y(loss) + 4, "text-anchor": "end" }),
    );
    const ends = [
      text("0", { x: LEFT, y: HEIGHT - 8 }),
      text(`${this.steps} steps`, { x: WIDTH - 8, y: HEIGHT - 8, "text-anchor": "end" }),
    ];
    this.axes.replaceChildren(
      drawn("path", { d: `M${LEFT} 8V${HEIGHT - BOTTOM}H${WIDTH - 8}` }),
      ...ticks,
      ...ends,
    );
    this.element.setAttribute(
      "aria-label",
      `The loss after ${this.points.length} of ${this.steps} steps: ${this.points.at(-1)?.[1].toFixed(3) ?? "not begun"}`,
    );
  }
}

class Training {
  constructor(section, python, target, recorded, name, closed) {
    Object.assign(this, { python, target, recorded, name, closed });
    this.model = make("select", { onchange: () => this.#chosen() });
    this.isTyped = false;
    this.steps = make("input", {
      type: "number",
      min: 1,
      max: 5000,
      value: 200,
      oninput: () => (this.isTyped = true),
    });
    this.times = make("select");
    this.times.append(
      ...[0.1, 0.3, 1, 3, 10, 30].map((one) =>
        make("option", { value: one, textContent: `× ${one}`, selected: one === 1 }),
      ),
    );
    this.masked = make("input", { type: "checkbox" });
    this.unmasks = make("label", {}, this.masked, " without the mask");
    this.starts = button("Train", () => this.train());
    this.starts.className = "runs";
    this.pauses = button("Pause", () => this.#pause(!this.paused));
    this.stops = button("Stop", () => this.stop());
    this.status = make("p", { className: "status", textContent: "Python is starting …" });
    this.status.setAttribute("role", "status");
    this.curve = new Curve();
    this.sample = make("pre", { className: "sample", tabIndex: 0 });
    this.sample.setAttribute("aria-label", "What the model writes");
    const closes = button("Close", () => this.close(), "End the training and close this");
    const labelled = (text, control) => make("label", {}, `${text} `, control);
    const controls = make(
      "div",
      { className: "bar" },
      ...[
        labelled("Model", this.model),
        labelled("Steps", this.steps),
        labelled("Learning rate", this.times),
        this.unmasks,
      ],
      ...[this.starts, this.pauses, this.stops, closes],
    );
    this.below = make("span");
    const legend = make(
      "p",
      { className: "legend" },
      make("i", { className: "live" }),
      " yours  ",
      make("i", { className: "recorded" }),
      this.below,
    );
    const promise = make("p", {
      textContent:
        "It trains in this browser. Nothing is sent, and it rests while this page is hidden.",
    });
    section.replaceChildren(
      make(
        "div",
        { className: "editor training" },
        promise,
        controls,
        this.status,
        this.curve.element,
        legend,
        this.sample,
      ),
    );
    this.#busy(false);
    // Until Python is there, nobody knows a model.
    this.starts.disabled = true;
    this.curve.begin(200);
    this.#begin();
    this.ended = new AbortController();
    document.addEventListener(
      "visibilitychange",
      () => this.busy && !this.paused && this.python.pause(document.hidden),
      { signal: this.ended.signal },
    );
  }

  async #begin() {
    try {
      await this.python.call(this.target.replace(/:.*/, ":choices"), {}, ({ choices, error }) => {
        if (error) throw new Error(error.message);
        this.known = new Map(choices.map((one) => [one.name, one]));
        this.model.append(
          ...choices.map(({ name, title = name }) =>
            make("option", { value: name, textContent: title }),
          ),
        );
        // Where models are compared with a right one, that isn't what the reader came for.
        const other = choices.find(({ name, beside = name }) => name !== beside);
        this.model.value = this.known.has(this.name) ? this.name : (other ?? choices[0]).name;
      });
      this.#chosen();
      this.starts.disabled = false;
      this.status.textContent = this.name
        ? "Ready. Train it."
        : "Ready. Choose a model and train it.";
    } catch (error) {
      this.status.textContent = `Python can’t start: ${error.message}`;
    }
  }

  #chosen() {
    const { steps, beside, mask = true } = this.known.get(this.model.value);
    // What the reader has typed stays.
    if (!this.isTyped) this.steps.value = steps;
    this.unmasks.hidden = !mask;
    this.below.textContent = beside
      ? ` the right model, recorded with PyTorch (${beside})`
      : " recorded with PyTorch";
    if (!this.busy) this.curve.begin(Number(this.steps.value), this.#recorded());
  }

  // The curve that a model is compared with.
  #recorded(masked = true) {
    const name = this.model.value;
    const own = this.known.get(name).beside ?? name;
    return this.recorded.get(masked ? own : `${own}, without the mask`) ?? this.recorded.get(own);
  }

  #busy(busy) {
    this.busy = busy;
    this.starts.disabled = busy;
    this.pauses.disabled = this.stops.disabled = !busy;
    this.#pause(false);
  }

  #pause(paused) {
    this.paused = paused;
    this.pauses.textContent = paused ? "Go on" : "Pause";
    if (this.busy) this.python.pause(paused);
  }

  stop() {
    this.#pause(false);
    this.python.end();
  }

  close() {
    this.ended.abort();
    this.python.close();
    this.closed();
  }

  // ## Train
  async train() {
    if (!this.steps.value || !this.steps.validity.valid) {
      const { min, max } = this.steps;
      this.status.textContent = `Say a whole number of steps, from ${min} to ${max}.`;
      this.steps.focus();
      return;
    }
    const [name, steps, masked] = [
      this.model.value,
      Number(this.steps.value),
      !this.masked.checked,
    ];
    const { mask = true } = this.known.get(name);
    this.#busy(true);
    this.curve.begin(steps, this.#recorded(masked));
    this.sample.textContent = "";
    const began = performance.now();
    const told = ({ step, loss, sample, validation, honest, note, error }) => {
      if (error) this.status.textContent = `${error.type}: ${error.message}`;
      if (note) this.status.textContent = note;
      if (loss !== undefined) {
        this.curve.add(step, loss);
        const rate = (step / (performance.now() - began)) * 1000;
        this.status.textContent = `Step ${step} of ${steps}: loss ${loss.toFixed(3)}, ${rate.toFixed(0)} steps a second`;
      }
      if (sample) this.sample.textContent = `After ${step} steps it writes:\n\n${sample}`;
      if (validation !== undefined) {
        const seconds = ((performance.now() - began) / 1000).toFixed(1);
        const prefixes =
          honest === undefined ? "" : `; from prefixes alone, as it writes: ${honest.toFixed(3)}`;
        this.status.textContent = `${steps} steps in ${seconds} s. Loss on text that it has not seen: ${validation.toFixed(3)}${prefixes}`;
      }
    };
    try {
      await this.python.call(
        this.target,
        { name, steps, times: Number(this.times.value), ...(mask && { masked }) },
        told,
      );
    } catch (error) {
      if (error.message !== "stopped") this.status.textContent = error.message;
    }
    this.#busy(false);
  }
}
