// ---
// title: Panel
// summary: A run is stepped through, line by line, beside the code.
// ---
//
// A *run* is what the panel steps through: the recorded one, or one with the reader's own text.
//
// The panel stands beside its line, in a column of its own, and at the bottom of a narrow screen. It
// covers neither notes nor code: the page makes room for it. It goes on by its buttons, by the arrow
// keys, and for those who ask for it by scrolling. Before a step is shown, a reader who wants to
// [predicts](predict.js) what it gives.

import { make, styled } from "./elements.js";
import { Grid, named, summary, text } from "./grid.js";
import { moved, ofLine, places, told } from "./steps.js";

/** @typedef {import("./grid.js").Drawn} Drawn */

/**
 * * `steps` have a layer and a pass only where there are several
 * * `value` gives what a step has bound
 * * `words` are labels for the places of an axis: `{ seq_len: ["l", "i", …] }`
 * * `limit` is the number at which the colours of values end
 * * `start` is the step to begin with, from 0
 * * `more` is a sentence for the end, such as what was left out
 *
 * @typedef {object} Run
 * @property {string} title
 * @property {{ line: number, bound: string, layer?: number | null, pass?: string }[]} steps
 * @property {(step: number) => Promise<Drawn[]>} value
 * @property {Record<string, string[]>} [words]
 * @property {number} [limit]
 * @property {number} [start]
 * @property {string} [more]
 */

const SWIPE = 40;

// Where a line is looked at: between these parts of the height it stays where it is.
const [HIGHEST, GOAL, LOWEST] = [0.15, 0.3, 0.6];

// ## The panel
//
// * `show(run, step)` shows a run, and `open` says whether anything is seen of it
// * `go(step)` takes a step: the line lights up, and comes into view if it is not
// * `step` is the number of the step, from 0; an event of this name says that it has changed
// * `values` are those of the step, `part` is the one in view, and `picked` what the sliders say,
//   by the names of the axes
// * `details` is an element below the picture, for what else can be done
export class Panel extends EventTarget {
  /** @type {Run | null} */
  #run = null;
  #step = 0;
  #asked = 0;
  #bound = "";
  /** @type {number[]} */
  #order = [];
  // Where the panel itself scrolls to, and until when it may be on its way.
  /** @type {number | null} */
  #aim = null;
  #quiet = 0;

  /** @type {Drawn[]} */
  values = [];
  /** @type {Drawn | null} */
  part = null;
  ends = "";

  /** @param {HTMLElement} section */
  constructor(section) {
    super();
    this.section = section;
    const button = (sign, label, act) => {
      const made = make("button", {
        type: "button",
        textContent: sign,
        title: label,
        onclick: act,
      });
      made.setAttribute("aria-label", label);
      return made;
    };
    const choice = (label, act) => {
      const box = make("input", { type: "checkbox", onchange: () => act(box.checked) });
      return make("label", {}, box, ` ${label}`);
    };
    this.grid = new Grid({
      onCell: (sentence, byKey) => {
        this.cell.textContent = sentence;
        if (byKey) this.said.textContent = sentence;
      },
      onPick: () => this.changed(),
    });
    this.before = button("‹", "Previous step", () => this.#move(-1));
    this.after = button("›", "Next step", () => this.#move(1));
    this.closes = button("×", "Close", () => this.close());
    this.where = make("a", { className: "where" });
    this.bar = make("div", { className: "bar" }, this.where, this.before, this.after, this.closes);
    this.bar.setAttribute("role", "toolbar");
    this.bar.setAttribute("aria-label", "Steps");
    this.parts = make("div", { className: "parts" });
    this.shape = make("p", { className: "shape-of" });
    this.numbers = make("p", { className: "numbers" });
    this.cell = make("p", { className: "cell" });
    this.tables = make("button", {
      type: "button",
      textContent: "As a table",
      onclick: () => this.#tabulate(!this.table),
    });
    this.table = null;
    this.details = make("div", { className: "more" });
    this.once = choice("Each line once", (once) => this.#choose(once));
    this.scrolls = choice("Step by scrolling", (follows) => (this.follows = follows));
    this.follows = false;
    this.predictions = null;
    this.predicts = choice("Predict each step first", (wanted) => this.#predict(wanted));
    const choices = make("div", { className: "choices" }, this.once, this.scrolls);
    // From the disk a browser fetches no module.
    if (location.protocol !== "file:") choices.prepend(this.predicts);
    const below = make(
      "div",
      { className: "told" },
      this.grid.sliders,
      this.cell,
      this.numbers,
      this.tables,
      this.details,
      choices,
    );
    this.body = make(
      "div",
      { className: "body" },
      this.parts,
      this.shape,
      this.grid.element,
      below,
    );
    this.said = make("p", { className: "visually-hidden" });
    this.said.setAttribute("role", "status");
    this.element = make("div", { className: "panel" }, this.bar, this.body, this.said);
    this.element.hidden = true;
    this.#swipes();
    this.#holds();
    section.append(this.element);
    // Drawn again where there is more room, or where the colours have changed.
    new ResizeObserver(() => (this.grid.draw(), this.#align())).observe(this.grid.element);
    new ResizeObserver(() => this.#align()).observe(this.body);
    new MutationObserver(() => this.grid.draw()).observe(document.body, {
      attributeFilter: ["data-md-color-scheme"],
    });
    for (const event of ["resize", "scrollend"]) addEventListener(event, () => this.#align());
    addEventListener("scroll", () => this.#follow(), { passive: true });
    addEventListener("scrollend", () => ((this.#quiet = 0), this.#follow()));
    document.addEventListener("keydown", (event) => this.#key(event));
    // A box of the data flow is a link to its line, and with a panel the step of that line.
    document.querySelector("details.flow")?.addEventListener("click", (event) => {
      const box = event.target instanceof Element ? event.target.closest("a") : null;
      const line = Number(box?.getAttribute("href").slice(2));
      const step = this.open ? ofLine(this.#run.steps, this.#order, line, this.#step) : null;
      if (step !== null) (event.preventDefault(), this.go(step));
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

  get open() {
    return !this.element.hidden;
  }

  async show(run, step = run.start ?? 0) {
    this.#run = run;
    this.section.setAttribute("aria-label", run.title);
    this.#order = places(run.steps, this.once.querySelector("input").checked);
    const taken = this.#take(step);
    // The same line again, with another text, needn't come into view again.
    if (this.open && !document.querySelector(`#L${run.steps[this.#step].line}.stepped`))
      this.#light();
    await taken;
  }

  async go(step) {
    if (!this.#run || step < 0 || step >= this.#run.steps.length) return;
    this.element.hidden = false;
    document.documentElement.classList.add("stepping");
    const taken = this.#take(step);
    this.#light();
    await taken;
    this.#align();
    this.dispatchEvent(new CustomEvent("step", { detail: { step } }));
  }

  close() {
    const inside = this.element.contains(document.activeElement);
    this.predictions?.end();
    this.element.hidden = true;
    document.documentElement.classList.remove("stepping");
    this.#darken();
    /** @type {HTMLButtonElement | null} */
    const opener = this.section.querySelector("button.go");
    if (inside) opener?.focus({ preventScroll: true });
  }

  async #move(by) {
    const step = moved(this.#order, this.#step, by);
    if (step === null) return;
    const before = this.part;
    if (by > 0) this.predictions?.begin();
    else this.predictions?.end();
    await this.go(step);
    if (by > 0) this.predictions?.ask(step, before);
  }

  async #predict(wanted) {
    this.predictions?.end();
    this.predictions = wanted ? new (await import("./predict.js")).Predictions(this) : null;
  }

  #choose(once) {
    this.#order = places(this.#run.steps, once);
    this.#ends();
  }

  #ends() {
    this.before.ariaDisabled = `${moved(this.#order, this.#step, -1) === null}`;
    this.after.ariaDisabled = `${moved(this.#order, this.#step, 1) === null}`;
  }

  async #take(step) {
    const { steps, more } = this.#run;
    this.#step = Math.max(0, Math.min(steps.length - 1, step));
    const asked = (this.#asked += 1);
    this.where.textContent = told(steps, this.#step);
    this.where.href = `#L${steps[this.#step].line}`;
    this.#ends();
    const values = await this.#run.value(this.#step);
    // Meanwhile the reader may have gone on.
    if (asked !== this.#asked) return;
    this.values = values;
    this.ends = this.#step === steps.length - 1 ? (more ?? "") : "";
    // The same name again, else weights, which say the most, else what was bound last.
    this.choose(
      values.findLast(({ name }) => name === this.#bound) ??
        values.find(({ kind }) => kind === "weights") ??
        values.at(-1),
    );
    const isTold = this.part && !this.predictions?.isHidden;
    const shown = isTold
      ? `, ${this.part.name}: ${named(this.part.axes, this.part.whole ?? this.part.shape)}`
      : "";
    this.said.textContent = `${this.where.textContent.replaceAll(" ·", ",")}${shown}`;
  }

  // ### One of several that a line has bound
  choose(part) {
    this.part = part;
    const several = this.values.length > 1 ? this.values : [];
    this.parts.replaceChildren(
      ...several.map((one) => {
        const button = make("button", {
          type: "button",
          textContent: one.name,
          onclick: () => ((this.#bound = one.name), this.choose(one)),
        });
        button.setAttribute("aria-pressed", `${one === part}`);
        return button;
      }),
    );
    this.grid.element.hidden = this.tables.hidden = !part?.data.length;
    if (!part) return;
    const slice = part.whole ? `, of which the first ${part.shape.join(" × ")} are shown` : "";
    this.shape.replaceChildren(
      make(
        "code",
        {},
        `${part.name.replace(/^return/, "→")} [${named(part.axes, part.whole ?? part.shape)}]`,
      ),
      slice,
    );
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
    const {
      low,
      mean,
      high,
      others = 0,
    } = part.low === null || part.low === undefined ? summary(part.data) : part;
    const [from, to] =
      part.kind === "values" ? [`−${text(this.grid.limit)}`, text(this.grid.limit)] : ["0", "1"];
    // Whole numbers have no colours, and their mean says nothing.
    const whole = part.kind === "whole";
    const colours = whole
      ? ""
      : make(
          "span",
          { className: "scale" },
          `${from} `,
          make("i", { className: part.kind }),
          ` ${to}`,
        );
    const middle = whole ? "" : `, mean ${text(mean)}`;
    const finite = others ? ` (of the finite ones; ${others} are not)` : "";
    const asks = part.kind === "weights" ? " · a row is who asks; it sums to one" : "";
    this.numbers.replaceChildren(
      `min ${text(low)}${middle}, max ${text(high)}${finite}${asks} `,
      colours,
      ` ${this.ends}`,
    );
    this.cell.textContent = this.grid.sentence();
    this.#tabulate(this.table);
  }

  #tabulate(wanted) {
    this.table?.remove();
    this.table = wanted
      ? make("div", { className: "table", tabIndex: 0 }, this.grid.table())
      : null;
    if (this.table) this.tables.after(this.table);
    this.tables.setAttribute("aria-expanded", `${Boolean(this.table)}`);
  }

  // ### Beside its line
  //
  // At its height, or as much higher as it takes to be seen whole. On a narrow screen the style sheet
  // puts it below.
  #align() {
    if (this.#held) return this.#loosen();
    const line = this.open && document.querySelector(".line.stepped");
    if (!line) return;
    const { height } = this.element.getBoundingClientRect();
    const head = document.querySelector(".md-header")?.getBoundingClientRect().bottom ?? 0;
    const top = line.getBoundingClientRect().top;
    // A line that is out of sight has its panel out of sight.
    const seen = top > head && top < innerHeight;
    const highest = seen ? Math.max(head + 4, Math.min(top, innerHeight - height - 8)) : top;
    this.#place(highest);
  }

  // At this height of the screen.
  #place(top) {
    const from = this.section.offsetParent?.getBoundingClientRect().top ?? 0;
    this.element.style.setProperty("--at", `${top - from}px`);
  }

  // ### It stays under the hand
  //
  // Who presses a button again and again should not have to run after it. So from a press on, the panel
  // stays where it is on the screen, whatever scrolls below it. When the pointer leaves it, it glides to
  // its line; if it has become too long for its place, when the pointer leaves its bar.
  #held = false;
  #pressed = false;

  #holds() {
    this.element.addEventListener("pointerdown", ({ pointerType }) => {
      this.#pressed = true;
      if (pointerType === "mouse") this.#hold();
    });
    // What a browser knows of the pointer, and the click that comes with the release of a button, may
    // be later than these events.
    for (const part of [this.element, this.bar])
      part.addEventListener("pointerleave", () => requestAnimationFrame(() => this.#loosen()));
    for (const event of ["pointerup", "pointercancel"]) {
      addEventListener(event, () => {
        requestAnimationFrame(() => {
          this.#pressed = false;
          this.#loosen();
        });
      });
    }
  }

  #hold() {
    // On a narrow screen it stays anyway.
    if (getComputedStyle(this.element).position === "fixed") return;
    const { left, top } = this.element.getBoundingClientRect();
    this.element.style.setProperty("--held-left", `${left}px`);
    this.element.style.setProperty("--held-top", `${top}px`);
    this.element.classList.add("held");
    this.#held = true;
  }

  #loosen() {
    const { scrollHeight, clientHeight } = this.element;
    const whole = scrollHeight <= clientHeight;
    const over = (whole ? this.element : this.bar).matches(":hover");
    if (this.#held && !this.#pressed && !over) this.#release();
  }

  #release() {
    const { top } = this.element.getBoundingClientRect();
    this.#held = false;
    // First to the same place of the page, at once.
    this.element.style.transition = "none";
    this.element.classList.remove("held");
    this.#place(top);
    this.element.getBoundingClientRect();
    this.element.style.transition = "";
    this.#align();
  }

  // ### The line lights up, with its note
  #light() {
    this.#darken();
    const line = document.getElementById(`L${this.#run.steps[this.#step].line}`);
    if (!line) return;
    line.classList.add("stepped");
    line.closest(".row")?.classList.add("active");
    line.querySelector("a[data-line]")?.setAttribute("aria-current", "step");
    const { top, bottom } = line.getBoundingClientRect();
    const isSeen = innerHeight * HIGHEST <= top && top <= innerHeight * LOWEST;
    if (!this.#followed && !(isSeen && bottom <= this.#free())) {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      const end = document.documentElement.scrollHeight - innerHeight;
      this.#aim = Math.max(0, Math.min(end, scrollY + top - innerHeight * GOAL));
      this.#quiet = still ? 0 : performance.now() + 900;
      scrollTo({ top: this.#aim, behavior: still ? "instant" : "smooth" });
    }
    this.#align();
  }

  // Where the panel begins that lies below the page, as high as it may become: the numbers of a step
  // come a moment later than its line.
  #free() {
    const { position, maxHeight } = getComputedStyle(this.element);
    return position === "fixed" ? innerHeight - parseFloat(maxHeight) : innerHeight;
  }

  #darken() {
    for (const one of document.querySelectorAll(".line.stepped, .row.active")) {
      one.classList.remove("stepped", "active");
      one.querySelector("a[aria-current=step]")?.removeAttribute("aria-current");
    }
  }

  // ### The step follows the scrolling
  //
  // It is that of the line which has come nearest to where a line is looked at. What the panel itself
  // scrolls is left out: the way to its aim, and the aim.
  #followed = false;

  #follow() {
    if (!this.open || !this.follows || this.#followed) return;
    const aimed = this.#aim !== null && Math.abs(scrollY - this.#aim) < 2;
    if (aimed || performance.now() < this.#quiet) return;
    this.#aim = null;
    this.#followed = true;
    requestAnimationFrame(async () => {
      const from = scrollY;
      const step = this.#looked();
      if (step !== null) await this.go(step);
      this.#followed = false;
      // Meanwhile the reader may have scrolled on.
      if (scrollY !== from) this.#follow();
    });
  }

  // The step of the line that is looked at, or null where that is the step already.
  #looked() {
    const { steps } = this.#run;
    const away = (line) =>
      Math.abs(
        document.getElementById(`L${line}`).getBoundingClientRect().top - innerHeight * GOAL,
      );
    const lines = [...new Set(this.#order.map((at) => steps[at].line))].filter((line) =>
      document.getElementById(`L${line}`),
    );
    const nearest = lines.reduce((a, b) => (away(b) < away(a) ? b : a));
    return nearest === steps[this.#step].line
      ? null
      : ofLine(steps, this.#order, nearest, this.#step);
  }

  // Inside of the panel, and where the focus is nowhere.
  #key(event) {
    const { target, key } = event;
    if (!(target instanceof Element)) return;
    const here = this.element.contains(target) || target === document.body;
    if (
      !this.open ||
      !here ||
      target.matches("input, select, textarea") ||
      event.ctrlKey ||
      event.altKey ||
      event.metaKey
    )
      return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by) this.#move(by);
    else if (key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  #swipes() {
    let start = null;
    this.element.addEventListener("pointerdown", (event) => {
      const field =
        event.target instanceof Element && event.target.matches("input, select, textarea");
      start = event.pointerType === "mouse" || field ? null : event;
    });
    this.element.addEventListener("pointerup", (event) => {
      if (!start) return;
      const [x, y] = [event.clientX - start.clientX, event.clientY - start.clientY];
      start = null;
      if (Math.abs(x) > SWIPE && Math.abs(x) > 2 * Math.abs(y)) this.#move(-Math.sign(x));
    });
  }
}

// ## The recorded run
//
// `trace.json` lies beside the page, and is fetched once. Numbers are a text there, which is read
// when they are looked at.
const files = new Map();

// A browser fetches nothing from the disk. There the same is in a script, which tells of it.
function fromDisk(address) {
  const script = make("script", { src: address });
  return new Promise((resolve, reject) => {
    const came = (/** @type {CustomEvent} */ { detail }) => resolve(detail);
    addEventListener("trace", came, { once: true });
    script.onerror = () => reject(new Error(address));
    document.head.append(script);
  });
}

function fetched(address) {
  if (!files.has(address)) {
    files.set(
      address,
      location.protocol === "file:"
        ? fromDisk(address.replace(/json$/, "js"))
        : fetch(address).then((answer) =>
            answer.ok ? answer.json() : Promise.reject(new Error(`${address}: ${answer.status}`)),
          ),
    );
  }
  return files.get(address);
}

const beside = (name) => new URL(name, location.href.split("#")[0]).href;
const number = (word) => Number(word.replace("inf", "Infinity"));

// Whole numbers are numbers of tokens, or of places: nothing is large or small among them.
const kindOf = (dtype) => (dtype === "bool" ? "mask" : dtype.includes("int") ? "whole" : "values");

/** @returns {Drawn} */
function tensor(record, [name, axes, index]) {
  const [whole, slice, dtype, axis, low, mean, high, data] = record.tensors[index];
  return {
    ...{
      name,
      axes,
      low,
      mean,
      high,
      shape: slice ?? whole,
      data: data ? data.split(" ").map(number) : [],
    },
    kind: axis === null ? kindOf(dtype) : "weights",
    axis: axis ?? undefined,
    whole: slice ? whole : undefined,
  };
}

/**
 * @param {string} address
 * @returns {Promise<Run>}
 */
export async function recorded(address) {
  const record = await fetched(address);
  const left = record.left_out;
  return {
    title: "The recorded run",
    limit: record.limit,
    more: left ? `${left} more steps, in further rounds of these lines, are left out.` : "",
    start: record.start,
    steps: record.steps.map(([line, parts, pass]) => ({
      line,
      pass,
      bound: parts.map(([name]) => name).join(", "),
    })),
    value: async (step) => record.steps[step][1].map((part) => tensor(record, part)),
  };
}

// ## One tensor, for the card of a line
/**
 * @param {string} name
 * @param {string[]} axes
 * @param {number[]} sizes
 * @param {number} index of the tensor in the record
 */
export async function tell(name, axes, sizes, index) {
  const sheet = styled(new URL("live.css", import.meta.url));
  const [record] = await Promise.all([fetched(beside("trace.json")), sheet]);
  const found = tensor(record, [name, axes, index]);
  const title = `${name.replace(/^return/, "→")}: ${record.tensors[index][2]} [${named(axes, sizes)}]`;
  const told = make("div", { className: "tensor" }, make("code", {}, title));
  if (found.low !== null)
    told.append(make("p", {}, `min ${found.low}, mean ${found.mean}, max ${found.high}`));
  if (!found.data.length) return told;
  const grid = new Grid();
  // It can be drawn once it knows its style.
  document.body.append(grid.element);
  grid.element.style.setProperty("--height", "110");
  grid.show(found, { limit: record.limit });
  grid.element.remove();
  const others = grid.others.map((axis) => `${axes[axis]} 0`).join(", ");
  told.append(grid.element, ...(others ? [make("p", {}, `at ${others}`)] : []));
  return told;
}

// ## Begin
//
// Called when the reader asks for it: the panel is at the first step of the page's own. Where the page
// can run the reader's own text, a button fetches what that needs.
/** @param {HTMLElement} section */
export async function start(section) {
  const sheet = styled(new URL("live.css", import.meta.url));
  const [run] = await Promise.all([recorded(beside(section.dataset.trace)), sheet]);
  const panel = new Panel(section);
  // From the disk a browser starts no model.
  if (section.dataset.live && location.protocol !== "file:") {
    const own = make("button", {
      type: "button",
      textContent: `Run it with your own text (${section.dataset.size})`,
    });
    own.addEventListener("click", () => {
      const failed = () => (own.textContent = "It can’t be fetched. Try again");
      import("./own_text.js").then(({ start: begin }) => begin(panel, section, own), failed);
    });
    panel.details.append(own);
  }
  await panel.show(run);
  return panel;
}
