// ---
// title: Paste
// summary: A field for code, what is assumed of it, and what the tests say.
// ---
//
// `target` is a function that is called with a text and with answers. It tells what it `assumed`, with
// the `classes` to choose from, the `arguments`, those that are `unknown`, the `constants` of the text, the
// `way` in which the code is called, whether it is a whole `model` or takes `pictures`, the argument of its
// `cache`, whether it may `see` the past alone, everything, or nobody knows, `why`, whether it `leaks`, and
// `notes` about what comes from this site and what couldn't be defined;
// then what it `found`, a list of sentences with their lines, what was `not_tried`, and whether it was
// `compared` with the formula: "yes", "no" or "soon", and then more will be told; or why it `failed`, and
// which `others` there are.

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
  other: [false, true],
};
const SEES = { past: "what comes before", all: "everything", ask: "(nobody has said)" };
const LABELS = {
  layout: "Its input has the",
  inputs: "It gets the input so many times (a model’s targets count)",
  mask: "Its mask",
  shape: "Axes of the mask (T is the length)",
  other: "Its keys and values come from",
};
// What isn't a text when it is told back.
const TYPED = { inputs: Number, width: Number, other: (value) => value === "true" };
const OTHER = { true: "another text", false: "the same text" };
// What was asked, and how the answer is told if it is right.
const ASKED = {
  model_prefix: "no token is seen too early",
  nothing_from_the_future: "nothing comes from later positions",
  each_sequence_alone: "no sequence depends on another",
  sequences_apart: "nothing depends on the rest of the batch",
  model_twice: "nothing is random in evaluation",
  same_twice: "nothing is random in evaluation",
  every_matrix_is_used: "every matrix is used",
  cache_agrees: "reading with the cache agrees",
  comparison: "the result is the formula’s",
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
      onChange: () => this.#changed(),
      onMove: () => {},
      onShape: () => {},
      label: "Your code",
    });
    this.editor.show(this.editor.fresh("\n".repeat(11)));
    this.editor.focus();
    python.addEventListener(
      "ready",
      () => this.busy || this.#say("Ready. Paste a class, a function, a file or a notebook."),
    );
    python.addEventListener("failed", ({ detail }) => this.#say(`Python can’t start: ${detail}`));
  }

  #say(text) {
    this.status.textContent = text;
  }

  // What was said of another text goes.
  #changed() {
    const shows = !this.form.hidden || this.found.childNodes.length > 0;
    if (this.busy || !shows || this.editor.text === this.text) return;
    this.#forget();
    this.#say("The code has changed: test it again.");
  }

  #forget() {
    this.found.replaceChildren();
    this.form.hidden = true;
    this.editor.say({ lines: [], error: null });
  }

  stop() {
    this.python.stop();
    this.#say("Stopped. Python is starting anew …");
  }

  // ## Test it
  async check() {
    if (this.busy) return;
    // Another text gets new guesses.
    if (this.editor.text !== this.text) {
      this.answers = {};
      this.form.hidden = true;
    }
    this.text = this.editor.text;
    if (!this.text.trim()) return (this.#forget(), this.#say("Paste some code first."));
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
    // It may have changed meanwhile.
    this.#changed();
    return null;
  }

  #told(
    { assumed, found, not_tried: left = [], right = [], compared, failed, line, error, others },
    began,
  ) {
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    if (assumed) {
      this.#ask(assumed);
      if (assumed.unknown.length)
        this.#say(
          `What does ${assumed.class} get for ${assumed.unknown.join(" and ")}? Say it below.`,
        );
    } else if (found) {
      this.#show(found, left, right, compared);
      if (compared === "soon") this.#say("Comparing it with the formula, and looking for a name …");
      else this.#say(`${this.#headline(found, compared)} (${seconds} s).`);
    } else {
      this.#say(failed ?? `${error.type}: ${error.message}`);
      if (line) this.editor.say({ lines: [], error: { line, start: 0, end: null, text: failed } });
      this.#others("Or is it another one? ", others ?? []);
    }
  }

  // What is unusual may be meant, so it is no test that fails. What wasn't tried hasn't passed, and
  // what wasn't compared with the formula may have another result.
  #headline(found, compared) {
    const { layout, leaks, sees } = this.assumed;
    const failing = found.filter((one) => !one.unusual);
    const open = leaks && sees === "ask" ? ". One question is open" : "";
    if (failing.length) {
      const errors = failing.every((one) => one.error);
      const many = failing.length === 1 ? "One test" : `${failing.length} tests`;
      return `${many} ${errors ? "can’t be run" : failing.length === 1 ? "fails" : "fail"}${open}`;
    }
    if (open) return "One question decides: may it see what comes later?";
    if (found.length) return "Nothing is wrong, and it isn’t the formula’s attention";
    const so =
      compared === "yes"
        ? "Its result is the formula’s"
        : this.assumed.model || this.assumed.pictures
          ? "Nothing wrong was found in what was tried"
          : "Nothing wrong was found; it was not compared with the formula";
    return `${so}${layout === "sequence first" ? ", if its input has the sequence first" : ""}`;
  }

  // ## What was found
  #show(found, left, right, compared) {
    this.#list(found, right, compared);
    this.#question();
    if (left.length && compared !== "soon") this.found.append(this.#leftOut(left));
    // A text has an attention, its blocks and the whole model: each can be tested.
    if (compared !== "soon")
      this.#others(
        `This was ${this.assumed.class}. `,
        this.classes.filter((one) => one !== this.assumed.class),
      );
  }

  #others(words, names) {
    const test = (one) => button(`Test ${one}`, () => this.#another(one));
    if (names.length)
      this.found.append(make("p", {}, words, ...names.flatMap((one) => [test(one), " "])));
  }

  // An encoder sees everything on purpose, so its author is asked, and a guess is told.
  #question() {
    const { leaks, sees, why } = this.assumed;
    if (!leaks || sees === "past") return;
    const answer = (text, value) => button(text, () => this.#answer("sees", value));
    const asks =
      sees === "ask"
        ? [
            "It sees what comes later, and nothing in its code says whether it may. ",
            answer("It may: it is an encoder", "all"),
            " ",
            answer("It mustn’t: it writes from left to right", "past"),
          ]
        : [
            `It sees what comes later, and is taken to be meant so: ${why}. `,
            answer("It mustn’t see what comes later", "past"),
          ];
    this.found.append(make("p", { className: "question" }, ...asks));
  }

  #answer(name, value) {
    this.answers = { ...this.answers, [name]: value };
    this.check();
  }

  // ### What wasn't tried, and why
  #leftOut(left) {
    const rows = left.map(({ test, sentence }) =>
      make("li", {}, make("strong", { textContent: `${test.replaceAll("_", " ")}: ` }), sentence),
    );
    return make(
      "details",
      { className: "left", open: true },
      make("summary", { textContent: `Not tried: ${left.length}` }),
      make("ul", {}, ...rows),
    );
  }

  #another(name) {
    this.answers = { class: name };
    this.check();
  }

  #list(found, right, compared) {
    if (!found.length) {
      const asked = [...new Set(right.map((one) => ASKED[one]).filter(Boolean))];
      const said = compared !== "soon" && asked.length ? `${asked.join("; ")}.` : "";
      const says = said
        ? [make("p", { className: "passed", textContent: said[0].toUpperCase() + said.slice(1) })]
        : [];
      this.found.replaceChildren(...says);
      return;
    }
    const rows = found.map(({ test, sentence, line, unusual, error }) => {
      const kind = unusual ? ", unusual" : error ? ", an error" : "";
      const name = `${test.replaceAll("_", " ")}${kind}`;
      const goes = line
        ? [
            " ",
            button(
              `${error ? "" : "likely "}line ${line}`,
              () => (this.editor.go(line), this.editor.focus()),
            ),
          ]
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
  #ask({ classes, class: chosen, arguments: given, unknown, constants, way, ...more }) {
    const { model, cache = "", width, sees, why, leaks, pictures, notes } = more;
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
      if (name === "other" && (way.inputs === 1 || model)) continue;
      row(
        LABELS[name],
        select(name, options, way[name], { mask: MEANINGS, other: OTHER }[name] ?? {}),
      );
    }
    if (way && !model) type("Features of its input", "width", `${width}`);
    if (way && sees) row("A position may see", select("sees", Object.keys(SEES), sees, SEES));
    // Reading with the cache can be left out.
    if (cache)
      row(
        "Its cache is",
        select("cache", [cache, "none"], cache, {
          [cache]: `the argument ${cache}`,
          none: "not to be tested",
        }),
      );
    this.assumed = { class: chosen, arguments: given, constants, ...more, cache, ...way };
    this.form.replaceChildren(
      make("p", {
        textContent: `What was assumed of your code${model ? ", which is a whole model" : pictures ? ", which takes pictures" : ""}. Correct what is wrong:`,
      }),
      ...notes.map((one) => make("p", { textContent: `${one}.` })),
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
      if (value !== `${known[key]}`) said[key] = TYPED[key]?.(value) ?? value;
    }
    // Another class has other arguments.
    if (answers.class !== this.answers.class) answers.arguments = {};
    this.answers = answers;
    this.check();
  }
}
