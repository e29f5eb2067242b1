// Two pages side by side: their numbers, their code with only the differences lit, their curves.
// What can be chosen stands in the table of the page itself, which reads without this script, too.

import { make, styled } from "../../../page_runner/assets/elements.js";
import { alignLines, differingWords } from "./alignment.js";
import { drawCurves } from "./curves.js";
import { codeOf } from "./page_code.js";

const section = document.getElementById("compare");
/** @type {HTMLTableElement} */
const table = document.querySelector("table.recorded");
const heads = [...table.tHead.rows[0].cells];
const columns = heads.map((cell) => cell.textContent);
// The first column names the page and the second leads to it; `Code` is what of it is compared.
const NAMED = 2;
const CODE = columns.indexOf("Code");

await styled(new URL("compare.css", import.meta.url));

// ## What can be chosen

// A page is named in the address as below the folder of all attentions: `mha`, `positions/alibi`.
const shortened = (name) => name.replace(/^transformers\//, "").replace(/\/$/, "");

const attentions = new Map();
for (const { cells } of table.tBodies[0].rows) {
  const link = cells[1].querySelector("a");
  const path = link.href.slice(new URL("..", location.href.split(/[?#]/)[0]).href.length);
  const key = shortened(path);
  attentions.set(key, {
    key,
    url: link.href,
    title: cells[0].textContent,
    name: cells[CODE].textContent,
    cells,
  });
}

const DEFAULTS = { a: "mha", b: "positions/alibi" };
const status = make("p");
status.setAttribute("role", "status");

const selects = Object.fromEntries(
  Object.entries({ a: "Left", b: "Right" }).map(([side, label]) => {
    const select = make("select");
    const groups = new Map();
    for (const { key, title } of attentions.values()) {
      const folder = key.includes("/") ? key.split("/")[0] : "attention";
      if (!groups.has(folder)) {
        groups.set(folder, make("optgroup"));
        groups.get(folder).label = folder[0].toUpperCase() + folder.slice(1);
      }
      groups.get(folder).append(new Option(title, key));
    }
    select.append(...groups.values());
    select.id = `compare-${side}`;
    select.addEventListener("change", () => {
      const query = new URLSearchParams({ a: selects.a.value, b: selects.b.value });
      history.pushState(null, "", `?${query}`.replaceAll("%2F", "/"));
      compare();
    });
    const shown = make("label", {}, label);
    shown.htmlFor = select.id;
    section.append(make("div", { className: "chosen" }, shown, select));
    return [side, select];
  }),
);
const results = make("div");
section.append(status, results);

function readAddress() {
  const asked = new URLSearchParams(location.search);
  const [a, b] = ["a", "b"].map((side) => shortened(asked.get(side) ?? ""));
  selects.b.value = attentions.has(b) ? b : DEFAULTS.b;
  // An address with one page compares it with the usual other one.
  selects.a.value = attentions.has(a) ? a : b === DEFAULTS.a ? DEFAULTS.b : DEFAULTS.a;
}

addEventListener("popstate", () => {
  readAddress();
  compare();
});

// ## The numbers

function numbersOf(left, right) {
  const head = make(
    "tr",
    {},
    make("th"),
    ...[left, right].map((one) => {
      const link = make("a", {}, one.title);
      link.href = one.url;
      const cell = make("th", {}, link);
      cell.scope = "col";
      return cell;
    }),
  );
  head.cells[0].append(make("span", { className: "visually-hidden" }, "Number"));
  const body = make("tbody");
  for (let at = NAMED; at < columns.length; at++) {
    const texts = [left, right].map(({ cells }) => cells[at].textContent || "–");
    if (at === CODE || texts.every((text) => text === "–")) continue;
    const name = make("th", {}, ...heads[at].cloneNode(true).childNodes);
    name.scope = "row";
    const numbers = heads[at].classList.contains("number") && !texts.includes("–");
    const differ = numbers && texts[0] !== texts[1] ? "differs" : "";
    body.append(
      make("tr", { className: differ }, name, ...texts.map((text) => make("td", {}, text))),
    );
  }
  return make("table", { className: "numbers" }, make("thead", {}, head), body);
}

// ## The code

// The shapes of a line, with the names of axes that mean the same on all pages. A measured line can
// have several: one for each call.
function shapesOf({ shape }) {
  const same = shape
    .replace(/\b(?:seq_len_[qk]|n_new|n_keys)\b/g, "seq_len")
    .replace(/\bnum_heads\b/g, "heads")
    .replace(/\bembed_dim\b/g, "d_model");
  return new Set(same.match(/\[[^[\]]*\](?!:)/g)?.filter((one) => !/^\[\d+\]$/.test(one)));
}

// Two lines have different shapes if they have none in common.
function shapesDiffer(left, right) {
  const [one, other] = [shapesOf(left), shapesOf(right)];
  return one.size > 0 && other.size > 0 && ![...one].some((shape) => other.has(shape));
}

// The line's own elements, with the ranges of characters marked.
function codeWith(line, ranges) {
  const code = make("code");
  code.append(...line.code.cloneNode(true).childNodes);
  for (const link of code.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  code.normalize();
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (texts.nextNode()) nodes.push(texts.currentNode);
  let start = 0;
  for (const node of nodes) {
    const end = start + node.length;
    // From the last to the first, so that what stands before keeps its place in the text.
    for (const [first, last] of ranges.toReversed()) {
      const [from, to] = [Math.max(first, start) - start, Math.min(last, end) - start];
      if (from >= to) continue;
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      range.surroundContents(make("mark"));
    }
    start = end;
  }
  return code;
}

const SAID = { removed: "Only left: ", added: "Only right: ", changed: "Changed: ", equal: "" };

function cellOf(line, side, kind, ranges, differs) {
  const cell = make("div", { className: side });
  cell.setAttribute("role", "cell");
  if (!line) return cell;
  cell.dataset.line = line.number;
  if (SAID[kind]) cell.append(make("span", { className: "visually-hidden" }, SAID[kind]));
  cell.append(codeWith(line, ranges));
  if (line.shape) {
    // The first shape of each tensor; all of them in its title.
    const shown = line.shape
      .split("\n")
      .map((one) => one.split(" or ")[0])
      .join(" · ");
    const shape = make("span", { className: differs ? "shape differs" : "shape" }, shown);
    shape.title = line.shape;
    cell.append(shape);
  }
  return cell;
}

function rowOf(left, right) {
  const kind = !right
    ? "removed"
    : !left
      ? "added"
      : left.text === right.text
        ? "equal"
        : "changed";
  const differs = Boolean(left && right) && shapesDiffer(left, right);
  const [one, other] = kind === "changed" ? differingWords(left.text, right.text) : [[], []];
  const row = make("div", { className: `pair ${kind}${differs ? " shapes" : ""}` });
  row.setAttribute("role", "row");
  row.append(
    cellOf(left, "left", kind, one, differs),
    cellOf(right, "right", kind, other, differs),
  );
  return row;
}

const NOTHING = { lines: [] };
const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

function partOf(key, left, right) {
  const [one, other] = [left ?? NOTHING, right ?? NOTHING];
  const pairs = alignLines(
    one.lines.map(({ text }) => text),
    other.lines.map(({ text }) => text),
  );
  const rows = pairs.map(([i, j]) => rowOf(one.lines[i], other.lines[j]));
  const lit = rows.filter((row) => !row.classList.contains("equal")).length;
  const shapes = rows.filter((row) => row.classList.contains("shapes")).length;
  const both = left && right;
  const told = !both
    ? `only ${left ? "left" : "right"}: ${count(rows.length, "line")}`
    : `${lit ? `${lit} of ${count(rows.length, "line")} lit` : `the same ${count(rows.length, "line")}`}${shapes ? `; other shapes: ${shapes}` : ""}`;
  const name =
    key === "class" ? "the class" : key.replace(/ (?:class|\(\))$/, "").replace(" ", ".");
  const part = make(
    "details",
    { className: "part" },
    make("summary", {}, make("strong", {}, name), ` ${told}`),
  );
  // What only one side has, and not on its own page, is folded.
  part.open = lit + shapes > 0 && (both || !(left ?? right).elsewhere);
  const owners = [
    [left, "left"],
    [right, "right"],
  ].filter(([one]) => one?.inherited);
  if (owners.length) {
    const said = owners.map(([one, side]) => `${side}: inherited from ${one.inherited}`).join("; ");
    part.append(make("p", { className: "inherited" }, said));
  }
  const grid = make("div", { className: "pairs highlight" }, ...rows);
  grid.setAttribute("role", "table");
  grid.setAttribute("aria-label", `${name}, line by line`);
  part.append(grid);
  return { part, lit, shapes, equal: rows.length - lit };
}

// The parts of both, each beside its counterpart: in the order of the left, what only the right has
// behind what it follows there.
function counterparts(left, right) {
  const theirs = new Map(right.map((part) => [part.key, part]));
  const order = left.map(({ key }) => key);
  right.forEach(({ key }, at) => {
    if (!order.includes(key)) order.splice(at ? order.indexOf(right[at - 1].key) + 1 : 0, 0, key);
  });
  const ours = new Map(left.map((part) => [part.key, part]));
  return order.map((key) => [key, ours.get(key), theirs.get(key)]);
}

// ## All of it

let latest = 0;

async function compare() {
  const asked = ++latest;
  const [left, right] = [attentions.get(selects.a.value), attentions.get(selects.b.value)];
  status.textContent = "The pages are being fetched.";
  try {
    const codes = await Promise.all([left, right].map(({ url, name }) => codeOf(url, name)));
    const curves = await drawCurves(left.key, right.key, shortened);
    // Another choice has been made meanwhile.
    if (asked !== latest) return;
    const parts = counterparts(...codes).map((one) => partOf(...one));
    const sum = (name) => parts.reduce((total, one) => total + one[name], 0);
    const key =
      "Lit lines differ, and in a line that both have, the words that differ: − stands only on the left, + only on the right, ~ on both. A shape is in colour if the other side has none like it.";
    results.replaceChildren(
      make("div", { className: "scrolled" }, numbersOf(left, right)),
      make("h3", {}, "Code"),
      make("p", { className: "key" }, key),
      ...parts.map(({ part }) => part),
      make("h3", {}, "Curves"),
      make("div", { className: "curves" }, ...curves),
    );
    status.textContent = `Lines that differ: ${sum("lit")}. Lines that are the same: ${sum("equal")}. Shapes that differ: ${sum("shapes")}.`;
  } catch (error) {
    if (asked !== latest) return;
    results.replaceChildren();
    status.textContent = `The pages can't be compared: ${error.message}.`;
  }
}

readAddress();
compare();
