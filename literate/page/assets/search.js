// The search: what is typed into the dialogue of find.js is compared with the index that
// literate/page/search.py writes. What comes from the index is put into the page as text, never as
// HTML.

import { make } from "../../../page_runner/assets/elements.js";
import { ranking, stem, wordsIn } from "./ranking.js";

/** @typedef {import("./ranking.js").Entry} Entry */

const assets = new URL(".", import.meta.url);
const root = new URL("..", assets);
// A folder on the disk has no server that would answer with the page inside it.
const file = location.protocol === "file:" ? "index.html" : "";
const most = 50;
// What is worth less than this part of the first result is left out.
const least = 0.15;

/** @type {HTMLDialogElement} */
const dialog = document.querySelector("dialog.search");
const input = dialog.querySelector("input");
const status = dialog.querySelector("[role=status]");
const list = dialog.querySelector("ol");

/** @type {ReturnType<typeof ranking> | null} */
let search = null;

// The index

addEventListener("search-index", (/** @type {CustomEvent} */ { detail: { pages, same, near } }) => {
  const entries = pages.flatMap(([title, address, aside, found], page) =>
    found.map(([anchor, name, heading, note, names, terms = [], paper = ""]) => {
      const own = anchor && anchor === name ? name.split(".").at(-1) : "";
      return { title, address, page, aside, anchor, name, own, heading, note, names, terms, paper };
    }),
  );
  search = ranking(entries, same, near);
  update();
});

function load() {
  const script = make("script", { src: new URL("search-index.js", assets) });
  script.addEventListener("error", () => {
    status.textContent = "The index can't be loaded. Close the search and open it again.";
    dialog.addEventListener("close", load, { once: true });
  });
  document.head.append(script);
}

// The results

function update() {
  if (!search) return;
  const { results, words, unknown, elsewhere, whole } = search(input.value);
  const enough = (results[0]?.worth ?? 0) * least;
  const found = results.filter(({ worth }) => worth >= enough);
  list.replaceChildren(...found.slice(0, most).map(({ entry }) => result(entry, words)));
  const shown = found.length > most ? `, the first ${most} are shown` : "";
  const number = `${found.length || "No"} ${found.length === 1 ? "result" : "results"}${shown}`;
  const quoted = [...elsewhere, ...unknown].map((word) => `“${word}”`).join(", ");
  const others = found.length ? " Nearest first:" : "";
  status.textContent = quoted
    ? `No page is about ${quoted}.${others}`
    : found.length && !whole
      ? `No page has all of these words.${others}`
      : input.value.trim() && number;
}

/**
 * @param {Entry} entry
 * @param {Set<string>} words
 */
function result({ title, address, anchor, name, heading, note, names }, words) {
  const path = [...marked(title, words)];
  const place = name || (anchor && heading);
  if (place) path.push(" › ", ...marked(place, words));
  // A name of the code, where nothing else shows why the row was found.
  const seen = new Set([heading, name, note].flatMap((text) => [...places(text, words).keys()]));
  const code = names.split(" ").filter((other) => {
    const hidden = [...places(other, words).keys()].filter((word) => !seen.has(word));
    hidden.forEach((word) => seen.add(word));
    return hidden.length;
  });
  const text = [name && heading, ...code, excerpt(note, words)].filter(Boolean).join(" · ");
  const href = new URL(address + file + (anchor && `#${anchor}`), root);
  const link = make("a", { href }, make("b", {}, ...path), ...marked(text, words));
  return make("li", {}, link);
}

/**
 * Where each of the words is first said in a text.
 *
 * @param {string} text
 * @param {Set<string>} words
 */
function places(text, words) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const { word, from } of wordsIn(text)) {
    const known = stem(word);
    if (words.has(known) && !found.has(known)) found.set(known, from);
  }
  return found;
}

/**
 * The part of a note around the first word that was looked for.
 *
 * @param {string} note
 * @param {Set<string>} words
 */
function excerpt(note, words) {
  const first = Math.min(...places(note, words).values());
  const near = Math.min(first - 40, note.length - 200);
  const from = near < 40 ? 0 : note.lastIndexOf(" ", near) + 1;
  const rest = note.slice(from);
  const cut = rest.length > 220 ? rest.slice(0, 200).replace(/\S*$/, "…") : rest;
  return from ? `… ${cut}` : cut;
}

/**
 * A text, with the words that were looked for in elements of their own.
 *
 * @param {string} text
 * @param {Set<string>} words
 * @returns {(string | Node)[]}
 */
function marked(text, words) {
  const nodes = [];
  let done = 0;
  for (const { word, from, length } of wordsIn(text)) {
    if (from < done || !words.has(stem(word))) continue;
    nodes.push(text.slice(done, from), make("mark", {}, text.slice(from, from + length)));
    done = from + length;
  }
  return [...nodes, text.slice(done)];
}

// Keys

dialog.addEventListener("keydown", (event) => {
  // Closed, the dialogue keeps the focus until the page is next drawn; the key is the page's.
  if (!dialog.open) return;
  // What a key does on the page, it doesn't do behind the dialogue.
  event.stopPropagation();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  /** @type {HTMLElement[]} */
  const stops = [input, ...list.querySelectorAll("a")];
  const at = stops.findIndex((stop) => stop === document.activeElement);
  stops.at((at + step) % stops.length).focus();
});
// The return key in the field chooses the first result.
dialog.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector("a")?.click();
});
list.addEventListener("click", ({ ctrlKey, metaKey, shiftKey }) => {
  if (!ctrlKey && !metaKey && !shiftKey) dialog.close();
});
input.addEventListener("input", update);
load();
update();
