// ---
// title: Grid
// summary: The picture of a tensor, two axes at a time, in colours that mean the same on the whole page.
// ---
//
// A tensor has a name for each axis. Two axes are drawn as rows and columns; for each further one
// there is a slider. Colours depend on the kind of the numbers, never on the tensor, so that two
// pictures of one page can be compared:
//
// * "weights" go from 0 to 1, and sum to one along a row
// * "mask" is 0 or 1
// * "values" go from minus a limit to the limit, with zero in the colour of the ground
// * "whole" are whole numbers, of tokens or of places. They have no colours: 64 is not more than 3

import { quoted, sign } from "./characters.js";
import { make } from "./elements.js";

/**
 * A tensor as it is drawn: a name and a size for each axis, the numbers, and of which kind they are.
 * `axis` says along which one weights sum to one. `low`, `mean` and `high` are worked out where they
 * are missing; `whole` is the shape of the tensor that `data` is a slice of, where it is one.
 *
 * @typedef {object} Drawn
 * @property {string} name
 * @property {string[]} axes
 * @property {number[]} shape
 * @property {ArrayLike<number> & Iterable<number>} data
 * @property {"values" | "weights" | "mask" | "whole"} kind
 * @property {number} [axis]
 * @property {number | null} [low]
 * @property {number | null} [mean]
 * @property {number | null} [high]
 * @property {number} [others]
 * @property {number[]} [whole]
 */

// ## Numbers as text

/**
 * @param {number | null | undefined} number
 * @param {number} digits
 */
export function text(number, digits = 3) {
  if (number === null || number === undefined) return "–";
  if (Number.isNaN(number)) return "not a number";
  if (!Number.isFinite(number)) return number < 0 ? "−∞" : "∞";
  const size = Math.abs(number);
  const short =
    size && (size < 1e-3 || size >= 1e5)
      ? number.toExponential(digits - 1)
      : String(+number.toPrecision(digits));
  return short.replace("e+", "e").replaceAll("-", "−");
}

// In a cell there is room for a few characters.
const brief = (number) => text(number, 2).replace(/^(−?)0\./, "$1.");

/**
 * `seq_len_q 7, batch_size 3`; an axis without a name is its length.
 *
 * @param {string[]} axes
 * @param {number[]} shape
 */
export const named = (axes, shape) =>
  shape
    .map((size, at) => (axes[at] === String(size) ? `${size}` : `${axes[at]} ${size}`))
    .join(", ");

// Along these axes one place is like the other. Where another can be rows, they have sliders.
const ALIKE = ["batch_size", "heads"];

// ## Which axes are rows and columns
//
// Two axes of one kind, `seq_len_q` and `seq_len_k`, belong together; otherwise columns are the last
// axis, and rows the first that isn't alike. Weights are read along the axis on which they sum to one.
/** @param {Pick<Drawn, "axes" | "shape" | "axis">} tensor */
export function shown({ axes, shape, axis }) {
  const long = shape.flatMap((size, at) => (size > 1 ? [at] : []));
  if (long.length < 2) return [-1, long[0] ?? -1];
  const stems = axes.map((name) => name.replace(/_[a-z]$/, ""));
  const partner = (of) => long.find((at) => at !== of && stems[at] === stems[of]);
  if (axis !== undefined && shape[axis] > 1)
    return [partner(axis) ?? long.find((at) => at !== axis), axis];
  const first = long.find((at) => partner(at) !== undefined);
  if (first !== undefined) return [first, partner(first)];
  return [long.slice(0, -1).find((at) => !ALIKE.includes(axes[at])) ?? long[0], long.at(-1)];
}

// ## The place of a number on its scale, from -1 to 1
//
// Null stands for what has none: infinite, or not a number.
/**
 * @param {number} number
 * @param {Drawn["kind"]} kind
 * @param {number} limit
 */
export function shade(number, kind, limit) {
  if (!Number.isFinite(number)) return null;
  if (kind === "whole") return 0;
  const full = kind === "values" ? limit : 1;
  return Math.max(-1, Math.min(1, number / full));
}

// ## Lowest, mean and highest number, for a tensor that comes without them
/** @param {Drawn["data"]} data */
export function summary(data) {
  let low = Infinity,
    high = -Infinity,
    sum = 0,
    count = 0;
  for (const number of data) {
    if (!Number.isFinite(number)) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
    sum += number;
    count += 1;
  }
  return count
    ? { low, mean: sum / count, high, others: data.length - count }
    : { low: null, mean: null, high: null, others: data.length };
}

// ## The grid
//
// `words` are labels for the places of an axis, by its name. `onCell` is told which cell the reader
// looks at, and whether by the keyboard.
export class Grid {
  /** @type {Drawn | undefined} */
  tensor;
  limit = 3;
  /** @type {Record<string, string[]>} */
  words = {};
  // The axes that are rows and columns, -1 if there is none, and their sizes; and all others.
  row = -1;
  column = -1;
  size = [1, 1];
  /** @type {number[]} */
  others = [];
  /** @type {number[]} */
  strides = [];
  // What the sliders say, by the names of the axes, and where the reader looks.
  /** @type {Record<string, number>} */
  picked = {};
  cell = [0, 0];

  /**
   * @param {object} options
   * @param {(sentence: string, byKey: boolean) => void} [options.onCell]
   * @param {() => void} [options.onPick]
   */
  constructor({ onCell = () => {}, onPick = () => {} } = {}) {
    this.onCell = onCell;
    this.onPick = onPick;
    this.canvas = make("canvas", { tabIndex: 0 });
    this.canvas.setAttribute("role", "img");
    this.across = make("span", { className: "across" });
    this.down = make("span", { className: "down" });
    this.element = make("div", { className: "tensor-grid" }, this.across, this.down, this.canvas);
    this.sliders = make("div", { className: "sliders" });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => this.draw());
    this.canvas.addEventListener("blur", () => this.draw());
  }

  /**
   * @param {Drawn} tensor
   * @param {object} options
   * @param {number} [options.limit]
   * @param {Record<string, string[]>} [options.words]
   */
  show(tensor, { limit = 3, words = {} } = {}) {
    this.tensor = tensor;
    this.limit = limit;
    this.words = words;
    const { axes, shape } = tensor;
    [this.row, this.column] = shown(tensor);
    this.strides = shape.map((_, at) =>
      shape.slice(at + 1).reduce((product, size) => product * size, 1),
    );
    this.size = [shape[this.row] ?? 1, shape[this.column] ?? 1];
    const others = shape.flatMap((size, at) =>
      size > 1 && at !== this.row && at !== this.column ? [at] : [],
    );
    this.others = others;
    this.sliders.replaceChildren(...others.map((at) => this.slider(axes[at], shape[at])));
    this.cell = this.cell.map((at, which) => Math.min(at, this.size[which] - 1));
    this.across.textContent = this.column < 0 ? "" : `${axes[this.column]} →`;
    this.down.textContent = this.row < 0 ? "" : `${axes[this.row]} →`;
    this.draw();
  }

  // What is picked of an axis stays picked in the next tensor that has it.
  slider(name, size) {
    const value = Math.min(this.picked[name] ?? 0, size - 1);
    this.picked[name] = value;
    const told = make("output", {}, this.label(name, value));
    const range = make("input", { type: "range", min: 0, max: size - 1, value });
    range.addEventListener("input", () => {
      this.picked[name] = +range.value;
      told.textContent = this.label(name, +range.value);
      this.draw();
      this.onPick();
    });
    return make("label", {}, `${name} `, range, " ", told);
  }

  label(name, at) {
    const word = this.words[name]?.[at];
    return word === undefined ? `${at}` : `${at} ${quoted(word)}`;
  }

  at(row, column) {
    const { axes, data } = this.tensor;
    let offset = row * (this.strides[this.row] ?? 0) + column * (this.strides[this.column] ?? 0);
    for (const other of this.others)
      offset += this.strides[other] * (this.picked[axes[other]] ?? 0);
    return data[offset];
  }

  // As large as there is room for: with its number in each cell, or else as squares. Where the places
  // of an axis are letters or whole numbers each of them is seen, and what has no room is scrolled to.
  fit() {
    const [rows, columns] = this.size;
    const style = getComputedStyle(this.element);
    const wide = (this.element.clientWidth || 320) - 14;
    const high = parseFloat(style.getPropertyValue("--height")) || 160;
    const gutter = [rows > 1 ? 22 : 2, columns > 1 ? 14 : 2];
    const room = [(wide - gutter[0]) / columns, (high - gutter[1]) / rows];
    const digits = Math.max(...this.seen().map((number) => brief(number).length));
    const whole = this.tensor.kind === "whole";
    const numbers = whole || (room[0] >= Math.min(26, 5.5 * digits + 2) && room[1] >= 12);
    const least = [0, 1].map((which) =>
      this.words[this.tensor.axes[[this.row, this.column][which]]] ? [10, 8][which] : 2,
    );
    if (numbers) {
      const narrow = whole ? 5.5 * digits + 4 : 0;
      return {
        gutter,
        numbers,
        cell: [
          Math.floor(Math.max(narrow, least[1], Math.min(room[0], 52))),
          Math.floor(Math.max(12, Math.min(room[1], 20))),
        ],
      };
    }
    // Letters are higher than wide.
    const square = Math.floor(Math.min(room[0], Math.max(room[1], 5), 24));
    return { gutter, numbers, cell: [Math.max(least[1], square), Math.max(least[0], square)] };
  }

  // The numbers that are drawn.
  seen() {
    const [rows, columns] = this.size;
    return Array.from({ length: rows * columns }, (_, at) =>
      this.at(Math.floor(at / columns), at % columns),
    );
  }

  draw() {
    if (!this.tensor) return;
    const { axes, shape, whole = shape, kind, data } = this.tensor;
    const [rows, columns] = this.size;
    const { gutter, cell, numbers } = (this.place = this.fit());
    const scale = devicePixelRatio || 1;
    const { canvas } = this;
    const [width, height] = [gutter[0] + columns * cell[0] + 1, gutter[1] + rows * cell[1] + 1];
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const [more, less, zero, ink] = [
      "caretColor",
      "textDecorationColor",
      "backgroundColor",
      "color",
    ].map((name) => style[name]);
    context.font = `${cell[0] < 34 ? 9 : 10}px ${style.fontFamily}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const number = this.at(row, column);
        const [x, y] = [gutter[0] + column * cell[0], gutter[1] + row * cell[1]];
        const place = shade(number, kind, this.limit);
        context.globalAlpha = Math.abs(place ?? 0);
        context.fillStyle = place > 0 ? more : less;
        context.fillRect(x, y, cell[0], cell[1]);
        context.globalAlpha = 1;
        // On a strong colour the letters have the colour of the ground.
        context.fillStyle = Math.abs(place ?? 0) > 0.6 ? zero : ink;
        if (numbers)
          context.fillText(brief(number), x + cell[0] / 2, y + cell[1] / 2 + 1, cell[0] - 2);
        else if (place === null) context.fillRect(x + cell[0] / 4, y + cell[1] / 2, cell[0] / 2, 1);
      }
    }
    context.fillStyle = context.strokeStyle = ink;
    this.ticks(context, this.row, rows, cell[1], (at) => [
      gutter[0] / 2,
      gutter[1] + (at + 0.5) * cell[1],
    ]);
    this.ticks(context, this.column, columns, cell[0], (at) => [
      gutter[0] + (at + 0.5) * cell[0],
      gutter[1] / 2,
    ]);
    if (document.activeElement === canvas) {
      context.lineWidth = 2;
      context.strokeRect(
        gutter[0] + this.cell[1] * cell[0] + 1,
        gutter[1] + this.cell[0] * cell[1] + 1,
        cell[0] - 2,
        cell[1] - 2,
      );
    }
    const { low, high } = this.tensor.low === null ? summary(data) : this.tensor;
    canvas.setAttribute(
      "aria-label",
      `[${named(axes, whole)}]: rows ${axes[this.row] ?? "none"}, columns ${axes[this.column] ?? "none"}, from ${text(low)} to ${text(high)}`,
    );
  }

  // Each letter of a text; of numbers as many as there is room for.
  ticks(context, axis, count, size, where) {
    if (count < 2) return;
    const words = this.words[this.tensor.axes[axis]];
    const every = words ? 1 : Math.ceil(16 / size);
    for (let at = 0; at < count; at += every) {
      const word = words?.[at] ?? `${at}`;
      context.fillText(sign(word), ...where(at), 20);
    }
  }

  point(event) {
    if (!this.tensor) return;
    const box = this.canvas.getBoundingClientRect();
    const { gutter, cell } = this.place;
    this.look(
      Math.floor((event.clientY - box.top - gutter[1]) / cell[1]),
      Math.floor((event.clientX - box.left - gutter[0]) / cell[0]),
      false,
    );
  }

  key(event) {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[
      event.key
    ];
    if (!move || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.look(this.cell[0] + move[0], this.cell[1] + move[1], true);
    this.draw();
  }

  look(row, column, byKey) {
    const within = (at, size) => Math.max(0, Math.min(size - 1, at));
    this.cell = [within(row, this.size[0]), within(column, this.size[1])];
    this.onCell(this.sentence(), byKey);
  }

  // `seq_len_q 2, d_k 5: 0.318`; of attention between characters, `“l” looks at “ ” 0.61`
  sentence() {
    const { axes, kind } = this.tensor;
    const [asks, seen] = [this.row, this.column].map(
      (axis, which) => this.words[axes[axis]]?.[this.cell[which]],
    );
    if (kind === "weights" && asks !== undefined && seen !== undefined)
      return `${quoted(asks)} looks at ${quoted(seen)} ${text(this.at(...this.cell), 2)} (places ${this.cell[0]} and ${this.cell[1]})`;
    const place = [this.row, this.column].flatMap((axis, which) =>
      axis < 0 ? [] : [`${axes[axis]} ${this.label(axes[axis], this.cell[which])}`],
    );
    return `${place.join(", ")}${place.length ? ": " : ""}${text(this.at(...this.cell), 4)}`;
  }

  // The same numbers for those who read tables.
  table() {
    const { axes } = this.tensor;
    const [rows, columns] = this.size;
    const count = (size) => Array.from({ length: size }, (_, at) => at);
    const head = (scope, content) => make("th", { scope }, content);
    const heads = count(columns).map((column) =>
      head("col", this.column < 0 ? "" : this.label(axes[this.column], column)),
    );
    return make(
      "table",
      { className: "tensor" },
      make("caption", {}, `${axes[this.row] ?? ""} ↓ ${axes[this.column] ?? ""} →`),
      make("thead", {}, make("tr", {}, make("td"), ...heads)),
      make(
        "tbody",
        {},
        ...count(rows).map((row) =>
          make(
            "tr",
            {},
            head("row", this.row < 0 ? "" : this.label(axes[this.row], row)),
            ...count(columns).map((column) => make("td", {}, text(this.at(row, column)))),
          ),
        ),
      ),
    );
  }
}
