// ---
// title: Writing
// summary: A model writes in the browser, with its cache and without, side by side.
// ---
//
// Both write the same text, as they draw with the same random numbers. What differs is the time: with
// the cache a token costs one position, without it the whole text so far. Fetched by a click.

import { quoted } from "./characters.js";
import { make, styled } from "./elements.js";
import { Model, fetchedJson, learned, numbers, progress } from "./model.js";

// Each choice with its bounds, in the order in which they are applied.
const CHOICES = [
  { name: "temperature", title: "Temperature", min: 0, max: 2, step: 0.05, value: 0.8, off: null },
  { name: "topK", title: "Top-k", min: 0, max: 66, step: 1, value: 0, off: 0 },
  { name: "topP", title: "Top-p", min: 0.01, max: 1, step: 0.01, value: 1, off: 1 },
  { name: "minP", title: "Min-p", min: 0, max: 1, step: 0.01, value: 0, off: 0 },
];
// Two graphs of one model: a step whose cache comes in and goes out, and a pass over the whole text.
const WAYS = [
  { title: "With the cache", graph: "write.json", cached: true },
  { title: "Without", graph: "whole.json", cached: false },
];
const LENGTHS = { min: 1, max: 1000, value: 200 };

const rate = (perSecond) => `${perSecond.toFixed(perSecond < 20 ? 1 : 0)} tokens a second`;

// ## Fetch

export async function start(figure, button) {
  // It may have been clicked twice.
  if (!button.isConnected) return;
  const bar = progress();
  button.replaceWith(bar.element);
  try {
    const folder = new URL(figure.dataset.write, document.baseURI);
    const addresses = WAYS.map(({ graph }) => new URL(graph, folder).href);
    const [graphs] = await Promise.all([
      Promise.all(addresses.map(fetchedJson)),
      styled(new URL("own_text.css", import.meta.url)),
    ]);
    bar.total(graphs[0].bytes);
    const weights = learned(graphs[0].weights, bar.report);
    const files = await Promise.all(
      addresses.map((address, at) => numbers(graphs[at], address, weights)),
    );
    const models = graphs.map((graph, at) => new Model(graph, Promise.resolve(files[at])));
    await Promise.all(models.map((model) => model.loaded));
    bar.element.replaceWith(new Writing(graphs[0], models).element);
    figure.querySelector("textarea").focus();
  } catch (error) {
    bar.element.replaceWith(button);
    button.textContent = `${error.message}. Try again`;
  }
}

// ## The form

export class Writing {
  // Each way has a thread of its own: neither waits for the other.
  constructor(about, models) {
    this.about = about;
    this.ways = WAYS.map((way, at) => {
      const model = models[at];
      const text = make("div", { className: "written" });
      const speed = make("p", { className: "speed" }, " ");
      return { ...way, model, text, speed };
    });
    this.seed = 0;
    this.build();
  }

  build() {
    this.prompt = make("textarea", { rows: 2, spellcheck: false, autocomplete: "off" });
    this.prompt.value = this.about.text;
    this.said = make("p", { id: "prompt-said", className: "said" });
    this.prompt.setAttribute("aria-describedby", "prompt-said");
    this.prompt.oninput = () => this.tellPrompt();
    this.length = make("input", { type: "number", required: true, ...LENGTHS });
    this.choices = CHOICES.map((one) => {
      const { name, title, off, ...bounds } = one;
      return {
        ...one,
        input: make("input", { type: "number", required: true, inputMode: "decimal", ...bounds }),
      };
    });
    this.start = make("button", { type: "submit" }, "Write");
    this.stop = make(
      "button",
      { type: "button", disabled: true, onclick: () => this.end() },
      "Stop",
    );
    this.status = make("p", { className: "visually-hidden" });
    this.status.setAttribute("role", "status");
    const labelled = (title, input, off) =>
      make("label", {}, title, off === null ? "" : make("small", {}, ` ${off}: off`), input);
    const onsubmit = (event) => {
      event.preventDefault();
      this.write();
    };
    this.element = make(
      "form",
      { className: "writing", onsubmit },
      this.about.stale.length
        ? make(
            "p",
            { className: "outdated" },
            "The model’s sources have changed since it was trained.",
          )
        : "",
      make("label", { className: "text" }, "The text begins with ", this.prompt),
      this.said,
      make(
        "p",
        { className: "choices" },
        ...this.choices.map(({ title, input, off }) => labelled(title, input, off)),
        labelled("Characters", this.length, null),
      ),
      make("p", { className: "choices" }, this.start, this.stop),
      make(
        "div",
        { className: "ways" },
        ...this.ways.map(({ title, text, speed }) =>
          make("section", {}, make("h3", {}, title), speed, text),
        ),
      ),
      make(
        "p",
        { className: "said" },
        `Both draw with the same random numbers. The model has ${this.about.seq_len} ` +
          "positions; when they are full, both go on from the last quarter.",
      ),
      this.status,
    );
    this.tellPrompt();
  }

  tellPrompt() {
    const known = new Set(Array.from(this.about.symbols).slice(0, -1));
    const unknown = [...new Set(Array.from(this.prompt.value).filter((one) => !known.has(one)))];
    const words = unknown.map(quoted).join(", ");
    this.said.textContent = unknown.length ? `The model doesn’t know ${words}, and reads “�”.` : "";
    this.prompt.setCustomValidity(
      this.prompt.value ? "" : "The model needs at least one character to go on from.",
    );
  }

  // ## Write

  // A new seed each time: the same prompt gives another text.
  async write() {
    const options = Object.fromEntries(
      this.choices.map(({ name, input }) => [name, input.valueAsNumber]),
    );
    const job = {
      prompt: this.prompt.value,
      n: this.length.valueAsNumber,
      seed: this.seed++,
      options,
    };
    [this.start.disabled, this.stop.disabled] = [true, false];
    this.stop.focus();
    this.status.textContent = "Writing.";
    const spoken = await Promise.all(this.ways.map((way) => this.writeOne(way, job)));
    const stopped = document.activeElement === this.stop;
    [this.start.disabled, this.stop.disabled] = [false, true];
    if (stopped) this.start.focus();
    this.status.textContent = `${spoken.join(" ")} The text: ${this.ways[0].text.textContent}`;
  }

  async writeOne({ cached, title, model, text, speed }, job) {
    speed.textContent = "…";
    const beginning = make("b", {}, job.prompt);
    const rest = make("span");
    text.replaceChildren(beginning, rest);
    await model.ask("write", { ...job, cached }, ({ written, seconds, passes }) => {
      rest.textContent = written;
      speed.textContent = rate(passes / seconds);
    });
    return `${title}: ${speed.textContent}.`;
  }

  // What is written by then stays.
  end() {
    for (const { model } of this.ways) model.ask("stop");
  }
}
