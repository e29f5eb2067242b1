// ---
// title: Panel
// summary: A run is stepped through, line by line, beside the code.
// ---
//
// A *run* is what the panel steps through: the recorded one, or one with the reader's own text.
//
// ```js
// run = {
//   title,                                 // "The recorded run"
//   steps: [{ line, bound, layer }],       // layer only where there are several
//   async value(i),                        // -> [{ name, axes: [names], shape: [sizes], data, kind, axis, low, mean, high, whole }]
//   words,                                 // optional: { seq_len: ["l", "i", …] }, labels for the places of an axis
//   limit,                                 // optional: the number at which the colours of values end
//   more,                                  // optional: a sentence for the end, such as what was left out
// }
// ```
//
// `kind` is "values", "weights" or "mask"; `axis` says along which axis weights sum to one; `low`,
// `mean` and `high` are worked out where they are missing; `whole` is the shape of the tensor that
// `data` is a slice of, where it is one.
//
// The panel lies in its place in the page until the reader takes a step. Then it is docked: over the
// column of notes, or at the bottom of a narrow screen. Nothing moves by itself.

import { make, styled } from "./elements.js";
import { Grid, named, summary, text } from "./grid.js";

const SWIPE = 40;

// ## The panel
//
// * `show(run, step)` shows a run; the page stays where it is, unless the panel is docked at a line
// * `go(step)` takes a step: the line lights up and comes into view
// * `step` is the number of the step, from 0; an event of this name says that it has changed
// * `values` are those of the step, `part` is the one in view, and `picked` what the sliders say,
//   by the names of the axes
// * `details` is an element below the picture, for what else can be done
export class Panel extends EventTarget {
  #run = null;
  #step = 0;
  #asked = 0;
  #bound = "";

  constructor(section) {
    super();
    this.section = section;
    this.values = [];
    this.part = null;
    const button = (sign, label, act) => {
      const made = make("button", { type: "button", textContent: sign, title: label, onclick: act });
      made.setAttribute("aria-label", label);
      return made;
    };
    this.grid = new Grid({
      onCell: (sentence, byKey) => {
        this.cell.textContent = sentence;
        if (byKey) this.said.textContent = sentence;
      },
      onPick: () => this.changed(),
    });
    this.before = button("‹", "Previous step", () => this.go(this.#step - 1));
    this.after = button("›", "Next step", () => this.go(this.#step + 1));
    this.folds = button("–", "Fold", () => this.fold(!this.folded));
    this.closes = button("×", "Put the panel back into the page", () => (this.dock(false), this.after.focus({ preventScroll: true })));
    this.title = make("span", { className: "title" });
    this.where = make("a", { className: "where" });
    this.code = make("code");
    this.bar = make("div", { className: "bar" }, this.before, this.after, make("p", {}, this.title, this.where, this.code), this.folds, this.closes);
    this.bar.setAttribute("role", "toolbar");
    this.bar.setAttribute("aria-label", "Steps");
    this.parts = make("div", { className: "parts" });
    this.shape = make("p", { className: "shape-of" });
    this.numbers = make("p", { className: "numbers" });
    this.cell = make("p", { className: "cell" });
    this.tables = make("button", { type: "button", textContent: "As a table", onclick: () => this.#tabulate(!this.table) });
    this.table = null;
    this.details = make("div", { className: "more" });
    const told = make("div", { className: "told" }, this.parts, this.shape, this.grid.sliders, this.cell, this.numbers, this.tables, this.details);
    this.body = make("div", { className: "body" }, this.grid.element, told);
    this.said = make("p", { className: "visually-hidden" });
    this.said.setAttribute("role", "status");
    this.element = make("div", { className: "panel" }, this.bar, this.body, this.said);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.#swipes();
    section.replaceChildren(this.element);
    this.dock(false);
    // Drawn again where there is more room, or where the colours have changed.
    new ResizeObserver(() => this.grid.draw()).observe(this.grid.element);
    new MutationObserver(() => this.grid.draw()).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
    addEventListener("resize", () => this.#align());
    // A box of the data flow is a link to its line, and with a panel the step of that line.
    document.querySelector("details.flow")?.addEventListener("click", (event) => {
      const line = event.target.closest("a")?.getAttribute("href").slice(2);
      const step = this.#run?.steps.findIndex((one) => String(one.line) === line) ?? -1;
      if (step >= 0) (event.preventDefault(), this.go(step));
    });
  }

  get step() {
    return this.#step;
  }

  get run() {
    return this.#run;
  }

  get picked() {
    return this.grid.picked;
  }

  get folded() {
    return this.body.hidden;
  }

  async show(run, step = 0) {
    this.#run = run;
    this.section.setAttribute("aria-label", run.title);
    this.title.textContent = `${run.title}: `;
    const taken = this.#take(step);
    // The same line again, with another text, needn't come into view again.
    if (this.element.matches(".docked") && !document.querySelector(`#L${run.steps[this.#step].line}.stepped`)) this.#light();
    await taken;
  }

  async go(step) {
    if (!this.#run || step < 0 || step >= this.#run.steps.length) return;
    this.dock(true);
    const taken = this.#take(step);
    this.#light();
    await taken;
    this.dispatchEvent(new CustomEvent("step", { detail: { step } }));
  }

  async #take(step) {
    const { steps, more } = this.#run;
    this.#step = Math.max(0, Math.min(steps.length - 1, step));
    const { line, bound, layer } = steps[this.#step];
    const asked = (this.#asked += 1);
    const layers = layer === undefined || layer === null || layer === "" ? "" : ` · layer ${layer}`;
    this.where.textContent = `step ${this.#step + 1} of ${steps.length}${layers} · line ${line}`;
    this.where.href = `#L${line}`;
    this.code.textContent = document.getElementById(`L${line}`)?.lastElementChild?.textContent.trim() ?? bound;
    this.before.ariaDisabled = this.#step === 0;
    this.after.ariaDisabled = this.#step === steps.length - 1;
    const values = await this.#run.value(this.#step);
    // Meanwhile the reader may have gone on.
    if (asked !== this.#asked) return;
    this.values = values;
    this.ends = this.#step === steps.length - 1 ? (more ?? "") : "";
    // The same name again, else weights, which say the most, else what was bound last.
    this.choose(values.findLast(({ name }) => name === this.#bound) ?? values.find(({ kind }) => kind === "weights") ?? values.at(-1));
    const told = this.part ? `, ${this.part.name}: ${named(this.part.axes, this.part.whole ?? this.part.shape)}` : "";
    this.said.textContent = `${this.where.textContent.replaceAll(" ·", ",")}${told}`;
  }

  // ### One of several that a line has bound
  choose(part) {
    this.part = part;
    const several = this.values.length > 1 ? this.values : [];
    this.parts.replaceChildren(
      ...several.map((one) => {
        const button = make("button", { type: "button", textContent: one.name, onclick: () => ((this.#bound = one.name), this.choose(one)) });
        button.setAttribute("aria-pressed", one === part);
        return button;
      }),
    );
    this.grid.element.hidden = this.tables.hidden = !part?.data.length;
    if (!part) return;
    const slice = part.whole ? `, of which the first ${part.shape.join(" × ")} are shown` : "";
    this.shape.replaceChildren(make("code", {}, `${part.name.replace(/^return/, "→")} [${named(part.axes, part.whole ?? part.shape)}]`), slice);
    if (part.data.length) this.grid.show(part, { limit: this.#run.limit, words: this.#run.words });
    else this.grid.sliders.replaceChildren();
    this.changed();
  }

  // ### What is said of the numbers
  changed() {
    const { part } = this;
    if (!part?.data.length) {
      this.cell.textContent = "";
      this.numbers.textContent = `No numbers to show. ${this.ends}`;
      return;
    }
    const { low, mean, high, others = 0 } = part.low === null || part.low === undefined ? summary(part.data) : part;
    const [from, to] = part.kind === "values" ? [`−${text(this.grid.limit)}`, text(this.grid.limit)] : ["0", "1"];
    const colours = make("span", { className: "scale" }, `${from} `, make("i", { className: part.kind }), ` ${to}`);
    const finite = others ? ` (of the finite ones; ${others} are not)` : "";
    const asks = part.kind === "weights" ? " · a row is who asks; it sums to one" : "";
    this.numbers.replaceChildren(`min ${text(low)}, mean ${text(mean)}, max ${text(high)}${finite}${asks} `, colours, ` ${this.ends}`);
    this.cell.textContent = this.grid.sentence();
    this.#tabulate(this.table);
  }

  #tabulate(wanted) {
    this.table?.remove();
    this.table = wanted ? make("div", { className: "table", tabIndex: 0 }, this.grid.table()) : null;
    if (this.table) this.tables.after(this.table);
    this.tables.setAttribute("aria-expanded", Boolean(this.table));
  }

  // ### In its place, or docked
  dock(docked) {
    this.element.classList.toggle("docked", docked);
    this.closes.hidden = this.folds.hidden = !docked;
    if (!docked) {
      this.fold(false);
      this.#darken();
    }
    this.#align();
  }

  fold(folded) {
    if (folded && this.body.contains(document.activeElement)) this.folds.focus();
    this.body.hidden = folded;
    this.folds.textContent = folded ? "+" : "–";
    this.folds.setAttribute("aria-label", (this.folds.title = folded ? "Unfold" : "Fold"));
    if (!folded) this.grid.draw();
  }

  // Over the notes, where they have a column of their own.
  #align() {
    const docked = this.element.classList.contains("docked");
    const row = docked && document.querySelector(".row:not(.wide) > .code");
    const [column, code] = row ? [row.parentElement.getBoundingClientRect(), row.getBoundingClientRect()] : [{}, {}];
    const beside = code.left - column.left > 200;
    this.element.classList.toggle("beside", beside);
    this.element.style.left = beside ? `${column.left}px` : "";
    this.element.style.width = beside ? `${code.left - column.left - 12}px` : "";
    document.documentElement.classList.toggle("run-below", docked && !beside);
  }

  // ### The line lights up, a quarter of the height from the top
  #light() {
    this.#darken();
    const line = document.getElementById(`L${this.#run.steps[this.#step].line}`);
    if (!line) return;
    line.classList.add("stepped");
    line.querySelector("a[data-line]")?.setAttribute("aria-current", "step");
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const top = scrollY + line.getBoundingClientRect().top - innerHeight / 4;
    scrollTo({ top, behavior: still ? "instant" : "smooth" });
  }

  #darken() {
    for (const line of document.querySelectorAll(".line.stepped")) {
      line.classList.remove("stepped");
      line.querySelector("a[data-line]")?.removeAttribute("aria-current");
    }
  }

  #key(event) {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.altKey || event.metaKey) return;
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move) this.go(this.#step + move);
    else if (event.key === "Escape" && this.element.classList.contains("docked")) this.fold(true);
    else return;
    event.preventDefault();
  }

  #swipes() {
    let start = null;
    this.element.addEventListener("pointerdown", (event) => {
      start = event.pointerType === "mouse" || event.target.matches("input, select, textarea") ? null : event;
    });
    this.element.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [x, y] = [event.clientX - start.clientX, event.clientY - start.clientY];
      start = null;
      if (Math.abs(x) > SWIPE && Math.abs(x) > 2 * Math.abs(y)) this.go(this.#step - Math.sign(x));
    });
  }
}

// ## The recorded run
//
// `trace.json` lies beside the page, and is fetched once. Numbers are a text there, which is read
// when they are looked at.
const files = new Map();

function fetched(address) {
  if (!files.has(address)) {
    files.set(
      address,
      fetch(address).then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(`${address}: ${answer.status}`)))),
    );
  }
  return files.get(address);
}

const beside = (name) => new URL(name, location.href.split("#")[0]).href;
const number = (word) => Number(word.replace("inf", "Infinity"));

function tensor(record, [name, axes, index]) {
  const [whole, slice, dtype, axis, low, mean, high, data] = record.tensors[index];
  return {
    ...{ name, axes, low, mean, high, shape: slice ?? whole, data: data ? data.split(" ").map(number) : [] },
    kind: axis === null ? (dtype === "bool" ? "mask" : "values") : "weights",
    axis: axis ?? undefined,
    whole: slice ? whole : undefined,
  };
}

export async function recorded(address) {
  const record = await fetched(address);
  const left = record.left_out;
  return {
    title: "The recorded run",
    limit: record.limit,
    more: left ? `${left} more steps, in further rounds of these lines, are left out.` : "",
    steps: record.steps.map(([line, parts]) => ({ line, bound: parts.map(([name]) => name).join(", ") })),
    value: async (step) => record.steps[step][1].map((part) => tensor(record, part)),
  };
}

// ## One tensor, for the card of a line
export async function tell(name, axes, sizes, index) {
  const [record] = await Promise.all([fetched(beside("trace.json")), styled("live.css")]);
  const found = tensor(record, [name, axes, index]);
  const title = `${name.replace(/^return/, "→")}: ${record.tensors[index][2]} [${named(axes, sizes)}]`;
  const told = make("div", { className: "tensor" }, make("code", {}, title));
  if (found.low !== null) told.append(make("p", {}, `min ${found.low}, mean ${found.mean}, max ${found.high}`));
  if (!found.data.length) return told;
  const grid = new Grid();
  // It can be drawn once it knows its style.
  document.body.append(grid.element);
  grid.element.style.setProperty("--height", 110);
  grid.show(found, { limit: record.limit });
  grid.element.remove();
  const others = grid.others.map((axis) => `${axes[axis]} 0`).join(", ");
  told.append(grid.element, ...(others ? [make("p", {}, `at ${others}`)] : []));
  return told;
}

// ## Begin
//
// Called when the section comes into view. Where the page can run the reader's own text, a button
// fetches what that needs.
export async function start(section) {
  const [run] = await Promise.all([recorded(beside(section.dataset.trace)), styled("live.css")]);
  const panel = new Panel(section);
  await panel.show(run);
  if (section.dataset.live) {
    const own = make("button", { type: "button", textContent: `Run it with your own text (${section.dataset.size})` });
    own.addEventListener("click", () => {
      const failed = () => (own.textContent = "It can’t be fetched. Try again");
      import("./own_text.js").then(({ start: begin }) => begin(panel, section, own), failed);
    });
    panel.details.append(own);
  }
  return panel;
}
