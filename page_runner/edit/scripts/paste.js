// ---
// title: Paste
// summary: A field for code, what is assumed of it, and what the tests say.
// ---
//
// `target` is a function that is called with a text and with answers. It tells what it `assumed`, with
// the `classes` to choose from, the `arguments`, those that are `unknown`, the `constants` of the text, the
// `way` in which the code is called, whether it is a whole `model`, and the argument of its `cache`; then
// what it `found`, a list of sentences with their lines, and whether it was `compared` with the formula:
// "yes", "no" or "soon", and then more will be told; or why it `failed`.

import { Editor } from "./editor.js";
import { button, fetched, make, styled } from "./elements.js";
import { Python } from "./python.js";

const here = (name) => new URL(name, import.meta.url).href;

// What a part of the way can be, beside what it was.
const CHOICES = {
  layout: ["batch first", "sequence first"],
  inputs: [1, 2, 3],
  mask: ["none", "true shows", "true hides", "added"],
  shape: ["T, T", "1, T, T", "1, 1, T, T", "T, T, 1"],
};
const LABELS = {
  layout: "Its input has the",
  inputs: "It gets the input so many times (a model’s targets count)",
  mask: "Its mask",
  shape: "Axes of the mask (T is the length)",
};
// What it means that nothing was found.
const PASSED = {
  model:
    "No token is seen too early, no sequence by another, and nothing is random that shouldn’t be.",
  yes: "It is causal, it is the formula’s result, every matrix is used, and nothing is random that shouldn’t be.",
  no: "It is causal, every matrix is used, and nothing is random that shouldn’t be. It has other weights than the formula’s matrices for query, key, value and output, so its result was not compared with the formula’s.",
};
const MEANINGS = {
  none: "is its own business",
  "true shows": "is true where it may look",
  "true hides": "is true where it may not",
  added: "is added to the scores",
};

export async function open({ section, path, sources, target }) {
  const index = fetched(`${sources}index.json`).then((answer) => answer.json());
  await styled(here("edit.css"));
  const python = new Python({ place: here("."), sources, path, index: await index });
  return new Paste(section, python, target);
}

class Paste {
  constructor(section, python, target) {
    Object.assign(this, { python, target, answers: {}, text: "" });
    const field = make("div", { className: "typed pasted" });
    this.tests = button("Which mistake is it?", () => this.check());
    this.tests.className = "runs";
    this.stops = button("Stop", () => this.stop());
    this.stops.disabled = true;
    this.status = make("p", {
      className: "status",
      textContent: "Python is starting. Paste your code meanwhile.",
    });
    this.status.setAttribute("role", "status");
    this.form = make("form", { className: "assumed", hidden: true });
    this.sends = make("button", { type: "submit", textContent: "Test again" });
    this.form.addEventListener("submit", (event) => (event.preventDefault(), this.#correct()));
    this.found = make("div", { className: "found" });
    const promise = make("p", {
      textContent: "Your code stays in this browser: nothing of it is sent, and nothing is kept.",
    });
    const bar = make("div", { className: "bar" }, this.tests, this.stops);
    section.replaceChildren(
      make("div", { className: "editor" }, promise, field, bar, this.status, this.found, this.form),
    );
    this.editor = new Editor(field, {
      onRun: () => this.check(),
      onChange: () => {},
      onMove: () => {},
      onShape: () => {},
      label: "Your code",
    });
    this.editor.show(this.editor.fresh("\n".repeat(11)));
    this.editor.focus();
    python.addEventListener(
      "ready",
      () => this.busy || this.#say("Ready. Paste a class that inherits from nn.Module."),
    );
    python.addEventListener("failed", ({ detail }) => this.#say(`Python can’t start: ${detail}`));
  }

  #say(text) {
    this.status.textContent = text;
  }

  stop() {
    this.python.stop();
    this.#say("Stopped. Python is starting anew …");
  }

  // ## Test it
  async check() {
    if (this.busy) return;
    // Another text gets new guesses.
    if (this.editor.text !== this.text) this.answers = {};
    this.text = this.editor.text;
    if (!this.text.trim()) return this.#say("Paste some code first.");
    this.busy = this.tests.disabled = this.sends.disabled = true;
    this.stops.disabled = false;
    this.found.replaceChildren();
    this.editor.say({ lines: [], error: null });
    this.#say("Testing …");
    const began = performance.now();
    try {
      await this.python.call(this.target, { text: this.text, answers: this.answers }, (told) =>
        this.#told(told, began),
      );
    } catch (error) {
      if (error.message !== "stopped") this.#say(error.message);
    }
    this.busy = this.tests.disabled = this.sends.disabled = false;
    this.stops.disabled = true;
    return null;
  }

  #told({ assumed, found, compared, failed, line, error }, began) {
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    if (assumed) {
      this.#ask(assumed);
      if (assumed.unknown.length)
        this.#say(
          `What does ${assumed.class} get for ${assumed.unknown.join(" and ")}? Say it below.`,
        );
    } else if (found) {
      this.#show(found, compared);
      if (compared === "soon") this.#say("Comparing it with the formula, and looking for a name …");
      else this.#say(`${this.#headline(found, compared)} (${seconds} s).`);
    } else {
      this.#say(failed ?? `${error.type}: ${error.message}`);
      if (line) this.editor.say({ lines: [], error: { line, start: 0, end: null, text: failed } });
    }
  }

  // What is unusual may be meant, so it is no test that fails. What wasn't tried hasn't passed.
  #headline(found, compared) {
    const failing = found.filter((one) => !one.unusual).length;
    if (failing) return failing === 1 ? "One test fails" : `${failing} tests fail`;
    if (found.length) return "Nothing is wrong, and it isn’t the formula’s attention";
    const layout = this.assumed.layout === "sequence first";
    const so = compared === "yes" ? "Its result is the formula’s" : "Nothing wrong was found";
    return `${so}${layout ? ", if its input has the sequence first" : ""}`;
  }

  // ## What was found
  #show(found, compared) {
    this.#list(found, compared);
    // A text has an attention, its blocks and the whole model: each can be tested.
    const others =
      compared === "soon" ? [] : this.classes.filter((one) => one !== this.assumed.class);
    const test = (one) => button(`Test ${one}`, () => this.#another(one));
    if (others.length)
      this.found.append(
        make(
          "p",
          {},
          `This was ${this.assumed.class}. `,
          ...others.flatMap((one) => [test(one), " "]),
        ),
      );
  }

  #another(name) {
    this.answers = { class: name };
    this.check();
  }

  #list(found, compared) {
    if (!found.length) {
      const passed = this.assumed.model ? PASSED.model : PASSED[compared];
      const says = passed ? [make("p", { className: "passed", textContent: passed })] : [];
      this.found.replaceChildren(...says);
      return;
    }
    const rows = found.map(({ test, sentence, line, unusual }) => {
      const name = `${test.replaceAll("_", " ")}${unusual ? ", unusual" : ""}`;
      const goes = line
        ? [" ", button(`likely line ${line}`, () => (this.editor.go(line), this.editor.focus()))]
        : [];
      return make("li", {}, make("strong", { textContent: `${name}: ` }), sentence, ...goes);
    });
    this.found.replaceChildren(make("ul", {}, ...rows));
    const lines = [...new Set(found.map(({ line }) => line).filter(Boolean))].sort((a, b) => a - b);
    this.editor.say({
      lines: lines.map((line) => ({
        line,
        text: "likely here",
        title: "",
        differs: true,
        below: false,
      })),
      error: null,
    });
  }

  // ## What was assumed, to be corrected
  #ask({ classes, class: chosen, arguments: given, unknown, constants, way, model, cache = "" }) {
    this.classes = classes;
    const rows = [];
    const row = (text, control) =>
      rows.push(make("label", {}, make("span", { textContent: text }), control));
    const select = (name, options, value, words = {}) => {
      const made = make("select", { name });
      made.append(
        ...options.map((one) =>
          make("option", {
            value: one,
            textContent: words[one] ?? one,
            selected: `${one}` === `${value}`,
          }),
        ),
      );
      return made;
    };
    if (classes.length > 1) row("The class that is tested", select("class", classes, chosen));
    const type = (text, name, value) => {
      const field = make("input", { name, value, spellcheck: false, autocomplete: "off" });
      row(text, field);
      return field;
    };
    for (const [name, value] of Object.entries(constants))
      type(`${name} =`, `constant ${name}`, value);
    for (const [name, value] of Object.entries(given))
      type(`${chosen}(… ${name} =`, `argument ${name}`, value);
    for (const name of unknown) {
      const field = type(`${chosen}(… ${name} =`, `argument ${name}`, "");
      field.required = true;
      field.className = "unknown";
    }
    for (const [name, options] of Object.entries(way ? CHOICES : {})) {
      if (name === "shape" && way.mask === "none") continue;
      row(LABELS[name], select(name, options, way[name], name === "mask" ? MEANINGS : {}));
    }
    // Reading with the cache can be left out.
    if (cache)
      row(
        "Its cache is",
        select("cache", [cache, "none"], cache, {
          [cache]: `the argument ${cache}`,
          none: "not to be tested",
        }),
      );
    this.assumed = { class: chosen, arguments: given, constants, model, cache, ...way };
    this.form.replaceChildren(
      make("p", {
        textContent: `What was assumed of your code${model ? ", which is a whole model" : ""}. Correct what is wrong:`,
      }),
      ...rows,
      this.sends,
    );
    this.form.hidden = false;
  }

  #correct() {
    const { constants, arguments: given } = this.answers;
    const answers = { ...this.answers, constants: { ...constants }, arguments: { ...given } };
    for (const [field, value] of new FormData(this.form)) {
      const [, kind, name] = field.match(/^(argument|constant) (.*)/) ?? [];
      const [known, said] = kind
        ? [this.assumed[`${kind}s`], answers[`${kind}s`]]
        : [this.assumed, answers];
      const key = name ?? field;
      if (value !== `${known[key]}`) said[key] = key === "inputs" ? Number(value) : value;
    }
    // Another class has other arguments.
    if (answers.class !== this.answers.class) answers.arguments = {};
    this.answers = answers;
    this.check();
  }
}
