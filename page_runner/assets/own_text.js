// ---
// title: Own text
// summary: The page runs with the reader’s own text, layer by layer, with or without a head.
// ---
//
// The steps are those of the page's own lines, as in the record. The values are live: of the reader's
// text, in any layer. Besides them it shows what the model would say after each layer (the *logit
// lens*), which characters it expects next, and what changes if heads are knocked out. All of it is
// fetched by a click on a button that says how much that is.

import { quoted, sign } from "./characters.js";
import { make, styled } from "./elements.js";
import { Model, fetchedJson, learned, numbers, progress } from "./model.js";

// How long nobody types before the text is run, and how far the model goes on by itself.
const PATIENCE = 250;
const GOES_ON = 24;

const number = (value) => value.toFixed(3);
const percent = (probability) => `${(100 * probability).toFixed(probability < 0.095 ? 1 : 0)} %`;

// What a step shows: its nodes, with the names that it binds. Where these are not as many, in a line
// that runs several times, all have the same name, and what has other axes is on the way there. The
// attention weights are worth a look even if another page has bound them.
function named({ bound, shown, nodes }, graph) {
  const names = bound.split(", ");
  const axesOf = (node) => graph.nodes[node].axes;
  const one = (node) => (axesOf(node) === axesOf(shown.at(-1)) ? bound : `on the way to ${bound}`);
  const found = shown.map((node, at) => ({
    name: names.length === shown.length ? names[at] : one(node),
    node,
  }));
  const inside = nodes.filter(
    (node) => graph.nodes[node].operation === "softmax" && !shown.includes(node),
  );
  return [...inside.map((node) => ({ name: "attention weights", node })), ...found];
}

// ## Fetch

// `section` names the graph, and the panel shows what comes out.
// While the weights come, the first step is there already, without its numbers. What has failed can
// be tried again.
export async function start(panel, section, button) {
  // It may have been clicked twice.
  if (!button.isConnected) return;
  const bar = progress();
  const here = document.activeElement === button;
  button.replaceWith(bar.element);
  try {
    const own = await begin(panel, new URL(section.dataset.live, document.baseURI).href, bar);
    bar.element.remove();
    if (here) own.text.focus({ preventScroll: true });
  } catch (error) {
    bar.element.replaceWith(button);
    button.textContent = `${error.message}. Try again`;
  }
}

async function begin(panel, address, bar) {
  const [graph] = await Promise.all([
    fetchedJson(address),
    styled(new URL("own_text.css", import.meta.url)),
  ]);
  bar.total(graph.bytes);
  const files = numbers(graph, address, learned(graph.weights, bar.report));
  const own = new OwnText(panel, graph, new Model(graph, files));
  own.again().catch(() => own.element.remove());
  // Where the reader was, if the text comes by that line; else at the first step.
  const { line } = panel.run.steps[panel.step];
  own.showSteps(
    Math.max(
      0,
      graph.steps.findIndex((step) => step.line === line),
    ),
  );
  await own.hasRun;
  return own;
}

// ## The controls, and what they show

export class OwnText {
  /** @type {{ layer: number, head: number }[]} the heads that are knocked out */
  off = [];
  /** @type {any} what the last run has found, null before the first */
  found = null;
  /** @type {string[]} the characters that it was run with */
  shown = [];

  /**
   * @param {import("./panel.js").Panel} panel
   * @param {import("./interpreter.js").Graph} graph
   * @param {Model} model
   */
  constructor(panel, graph, model) {
    this.panel = panel;
    this.graph = graph;
    this.model = model;
    this.layers = [...new Set(graph.steps.map((step) => step.layer))].filter(
      (layer) => layer !== null,
    );
    this.build();

    // The worker has ended when the reader left; who comes back finds everything as it was.
    addEventListener("pageshow", (event) => event.persisted && this.again());
  }

  build() {
    const typed = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.again(), PATIENCE);
      this.tellText();
    };
    this.text = make("textarea", {
      rows: 2,
      spellcheck: false,
      autocomplete: "off",
      oninput: typed,
    });
    this.text.value = this.graph.text;
    this.text.setAttribute("aria-describedby", "own-said");
    this.said = make("p", { id: "own-said", className: "said" });
    this.layer = make("select", { onchange: () => this.changeLayer() });
    for (const layer of this.layers)
      this.layer.append(make("option", { value: layer }, `${layer}`));
    this.heads = make("fieldset", { className: "heads" });
    this.loss = make("p", { className: "loss" });
    this.goesOn = make("div", { className: "goes-on" });
    this.at = make("input", { type: "range", min: 0, oninput: () => this.showNext() });
    this.character = make("span", { className: "character" });
    this.next = make("ol", { className: "next" });
    this.lens = make("table", { className: "lens" });
    this.status = make("p", { className: "visually-hidden" });
    this.status.setAttribute("role", "status");
    this.element = make(
      "div",
      { className: "own-text" },
      make(
        "div",
        {},
        make("label", { className: "text" }, "Your text ", this.text),
        this.said,
        this.graph.stale.length
          ? make(
              "p",
              { className: "outdated" },
              "This page has changed since its model was trained.",
            )
          : "",
        make("label", { className: "layer" }, "Layer ", this.layer),
        this.heads,
        this.loss,
        this.goesOn,
      ),
      make(
        "div",
        {},
        make("label", { className: "after" }, "What comes after place ", this.at, this.character),
        this.next,
        make("div", { className: "scrolled", tabIndex: 0 }, this.lens),
      ),
      this.status,
    );
    this.panel.body.append(this.element);
    this.tellText();
  }

  // ## The text

  // What the model can read: no more than its context, no characters but those that it has learned.
  tellText() {
    const [all, most] = [Array.from(this.text.value), this.graph.seq_len];
    const known = new Set(Array.from(this.graph.symbols).slice(0, -1));
    const unknown = [...new Set(all.slice(-most).filter((one) => !known.has(one)))];
    const words = [`${Math.min(all.length, most)} of ${most} characters.`];
    if (all.length > most) words.push(`The model reads the last ${most}.`);
    if (unknown.length)
      words.push(`It doesn’t know ${unknown.map(quoted).join(", ")}, and reads “�”.`);
    if (!all.length) words.push("Without a text there is nothing to run.");
    this.said.textContent = words.join(" ");
    this.said.classList.toggle("outdated", unknown.length > 0);
    this.characters = all.slice(-most);
  }

  // ## Run

  // An answer that is older than the newest question is not shown.
  async again() {
    const asked = (this.asked = {});
    if (!this.characters.length) return;
    const [text, off] = [this.characters.join(""), this.off];
    const shown = this.characters;
    const found = await (this.hasRun = this.model.ask("run", { text, off }));
    if (this.asked !== asked) return;
    const follows = !this.found || Number(this.at.value) === this.shown.length - 1;
    Object.assign(this, { found, shown });
    this.at.max = `${shown.length - 1}`;
    if (follows) this.at.value = this.at.max;
    this.showHeads();
    this.showLoss();
    this.showNext();
    await this.showSteps(this.panel.step);
    const [[token, probability]] = found.next.at(-1);
    this.status.textContent = `${this.loss.textContent} Next: ${quoted(this.graph.symbols[token])}, ${percent(probability)}.`;
    await this.writeOn(asked, text, off);
  }

  // The steps of the chosen layer, and those that belong to none.
  async showSteps(at) {
    const chosen = Number(this.layer.value);
    this.steps = this.graph.steps.filter((step) => step.layer === null || step.layer === chosen);
    await this.panel.show(
      {
        title: "A run with your own text",
        steps: this.steps,
        value: async (i) => (
          await this.hasRun,
          this.model.ask("value", { nodes: named(this.steps[i], this.graph) })
        ),
        words: { seq_len: this.characters },
      },
      Math.min(at, this.steps.length - 1),
    );
  }

  async changeLayer() {
    this.showHeads();
    await this.showSteps(this.panel.step);
  }

  // ## Knock out heads

  showHeads() {
    const layer = Number(this.layer.value);
    const n = this.found.heads[layer] ?? 0;
    const isOff = (head) => this.off.some((one) => one.layer === layer && one.head === head);
    const boxes = Array.from({ length: n }, (_, head) => {
      const onchange = ({ target }) => this.knockOut({ layer, head }, target.checked);
      return make(
        "label",
        {},
        make("input", { type: "checkbox", checked: isOff(head), onchange }),
        ` ${head}`,
      );
    });
    this.heads.hidden = n === 0;
    // The one that the reader is on stays, and with it the focus.
    if (this.heads.dataset.layer === `${layer}` && boxes.length) return;
    this.heads.dataset.layer = `${layer}`;
    this.heads.replaceChildren(make("legend", {}, `Knock out heads of layer ${layer}`), ...boxes);
  }

  knockOut(head, gone) {
    const others = this.off.filter((one) => one.layer !== head.layer || one.head !== head.head);
    this.off = gone ? [...others, head] : others;
    return this.again();
  }

  withoutHeads() {
    const names = this.off.map(({ layer, head }) => `head ${head} of layer ${layer}`);
    return `without ${names.join(" and ")}`;
  }

  showLoss() {
    const { loss, whole } = this.found;
    if (loss === null) this.loss.textContent = "A loss takes more than one character.";
    else if (!this.off.length)
      this.loss.textContent = `Loss of this text: ${number(loss)} nats a character.`;
    else {
      const more = `${loss < whole ? "−" : "+"}${number(Math.abs(loss - whole))}`;
      this.loss.textContent = `Loss of this text ${this.withoutHeads()}: ${number(loss)} nats a character (${more}).`;
    }
  }

  // How the model goes on, first as it is now, then with all its heads.
  async writeOn(asked, text, off) {
    const ways = off.length
      ? [
          [this.withoutHeads(), off],
          ["with all heads", []],
        ]
      : [["", []]];
    const lines = ways.map(([way]) => {
      const line = make("code");
      return { line, row: make("p", {}, way ? `It goes on, ${way}: ` : "It goes on: ", line) };
    });
    this.goesOn.replaceChildren(...lines.map(({ row }) => row));
    for (const [at, [, heads]] of ways.entries()) {
      const { line } = lines[at];
      await this.model.ask("goOn", { text, off: heads, n: GOES_ON }, (written) => {
        if (this.asked === asked) line.textContent = Array.from(written, sign).join("");
      });
    }
  }

  // ## Next characters, and the logit lens

  showNext() {
    const at = Number(this.at.value);
    const { symbols } = this.graph;
    const place = `${at}, ${quoted(this.shown[at])}`;
    this.character.textContent = place;
    this.at.setAttribute("aria-valuetext", place);
    this.next.replaceChildren(
      ...this.found.next[at].map(([token, probability]) => {
        const bar = make("i");
        bar.style.inlineSize = `${100 * probability}%`;
        return make(
          "li",
          {},
          make("b", {}, sign(symbols[token])),
          make("span", {}, bar),
          percent(probability),
        );
      }),
    );
    const rows = this.found.layers.map(({ layer, next }) => {
      const cells = next[at].map(([token, probability]) =>
        make("td", {}, make("b", {}, sign(symbols[token])), ` ${percent(probability)}`),
      );
      return make("tr", {}, make("th", { scope: "row" }, `layer ${layer}`), ...cells);
    });
    const caption = make("caption", {}, "What the model would say if it ended after …");
    this.lens.replaceChildren(caption, make("tbody", {}, ...rows));
  }
}
