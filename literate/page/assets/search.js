// The search: what is typed into the dialogue of find.js is compared with the index that
// literate/page/search.py writes. What comes from the index is put into the page as text, never as
// HTML.

import { make } from "../../../page_runner/assets/elements.js";

const assets = new URL(".", import.meta.url);
const root = new URL("..", assets);
// A folder on the disk has no server that would answer with the page inside it.
const file = location.protocol === "file:" ? "index.html" : "";
const most = 50;

/** @type {HTMLDialogElement} */
const dialog = document.querySelector("dialog.search");
const input = dialog.querySelector("input");
const status = dialog.querySelector("[role=status]");
const list = dialog.querySelector("ol");
/**
 * * `own` is the last part of the `name` of a definition
 * * `terms` are those that a page explains
 *
 * @typedef {Record<"title" | "address" | "anchor" | "name" | "own" | "heading" | "note" | "names", string> & { terms: string[] }} Entry
 */

/** @typedef {{ word: string, expression: RegExp }} Word what is looked for */

/** @type {Entry[] | null} */
let entries = null;

// The index

addEventListener("search-index", (/** @type {CustomEvent} */ { detail }) => {
  entries = detail.flatMap(([title, address, found]) =>
    found.map(([anchor, name, heading, note, names, terms = []]) => {
      const own = anchor && anchor === name ? name.split(".").at(-1) : "";
      // The top of a page has the title of the page as its heading.
      const shown = heading || (anchor ? "" : title);
      return { title, address, anchor, name, own, heading: shown, note, names, terms };
    }),
  );
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

// The comparison

// A word of a text begins behind anything but a letter or a digit, and at a capital after a small
// letter: `get_scores` and `HeadScores` both have the word “scores”.
function pattern(word) {
  const letters = [...word].map((one) => `[${one}${one.toUpperCase()}]`);
  const capital = word[0].toUpperCase() + letters.slice(1).join("");
  return new RegExp(`(?<![\\p{L}\\p{N}])${letters.join("")}|(?<=[\\p{Ll}\\p{N}])${capital}`, "u");
}

/**
 * What a word is worth in an entry: a definition of that name comes before a heading, that before
 * a name in the code, and that before the words of the note. 0 if it isn't there.
 *
 * @param {Entry} entry
 * @param {Word} word
 */
function worth(entry, { word, expression }) {
  if (entry.own.toLowerCase() === word) return 10;
  if (expression.test(entry.heading)) return 6;
  if (expression.test(entry.own)) return 5;
  if (expression.test(entry.names)) return 3;
  return expression.test(entry.note) ? 2 : 0;
}

/**
 * What a page is worth that is about what was asked: it explains a term of that name, or its
 * title begins with it. Such a page comes before a definition that is only called so.
 *
 * @param {Entry} entry
 * @param {string} query
 */
function explains(entry, query) {
  if (entry.anchor) return 0;
  if (entry.terms.some((term) => term.toLowerCase() === query)) return 20;
  return entry.title.toLowerCase().startsWith(query) ? 8 : 0;
}

/**
 * Every word must be in the entry, or in what it belongs to, and at least one in the entry.
 *
 * @param {Entry} entry
 * @param {Word[]} words
 * @param {string} query
 */
function score(entry, words, query) {
  const found = words.map((one) => worth(entry, one));
  const around = `${entry.title} ${entry.name}`;
  const missing = words.filter((one, at) => !found[at] && !one.expression.test(around));
  if (missing.length || !found.some(Boolean)) return 0;
  // Of two, the one that has all the words in its name, and few others; a page before its parts.
  const labels = [entry.own, entry.heading, entry.name];
  const label = labels.find((text) => words.every(({ expression }) => expression.test(text)));
  const length = words.reduce((sum, { word }) => sum + word.length, 0);
  const named = label ? (4 * length) / label.length + (entry.anchor ? 0 : 4) : 0;
  return found.reduce((sum, one) => sum + one, named + explains(entry, query));
}

// The results

function update() {
  if (!entries) return;
  const query = input.value.trim().toLowerCase();
  const asked = query.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const words = asked.map((word) => ({ word, expression: pattern(word) }));
  const found = entries
    .map((entry) => ({ entry, value: words.length ? score(entry, words, query) : 0 }))
    .filter(({ value }) => value)
    // Of two that are worth the same, what has a heading of its own comes first.
    .sort((one, other) => other.value - one.value || +!one.entry.heading - +!other.entry.heading);
  list.replaceChildren(...found.slice(0, most).map(({ entry }) => result(entry, words)));
  const shown = found.length > most ? `, the first ${most} are shown` : "";
  const results = `${found.length || "No"} ${found.length === 1 ? "result" : "results"}${shown}`;
  status.textContent = words.length ? results : "";
}

/**
 * @param {Entry} entry
 * @param {Word[]} words
 */
function result({ title, address, anchor, name, heading, note, names }, words) {
  const path = [...marked(title, words)];
  const place = name || (anchor && heading);
  if (place) path.push(" › ", ...marked(place, words));
  // A name of the code, where nothing else shows why the row was found.
  const seen = `${heading} ${name} ${note}`;
  const hidden = words.filter(({ expression }) => !expression.test(seen));
  const code = hidden.map((one) => names.split(" ").find((other) => one.expression.test(other)));
  const text = [name && heading, ...code, excerpt(note, words)].filter(Boolean).join(" · ");
  const href = new URL(address + file + (anchor && `#${anchor}`), root);
  const link = make("a", { href }, make("b", {}, ...path), ...marked(text, words));
  return make("li", {}, link);
}

/**
 * The part of a note around the first word that was looked for.
 *
 * @param {string} note
 * @param {Word[]} words
 */
function excerpt(note, words) {
  const places = words.map(({ expression }) => note.search(expression)).filter((at) => at >= 0);
  const near = Math.min(Math.min(...places) - 40, note.length - 200);
  const from = near < 40 || !places.length ? 0 : note.lastIndexOf(" ", near) + 1;
  const rest = note.slice(from);
  const cut = rest.length > 220 ? rest.slice(0, 200).replace(/\S*$/, "…") : rest;
  return from ? `… ${cut}` : cut;
}

/**
 * A text, with the words that were looked for in elements of their own.
 *
 * @param {string} text
 * @param {Word[]} words
 * @returns {(string | Node)[]}
 */
function marked(text, words) {
  if (!words.length) return [text];
  const all = new RegExp(words.map(({ expression }) => expression.source).join("|"), "gu");
  const nodes = [];
  let from = 0;
  for (const { 0: word, index } of text.matchAll(all)) {
    nodes.push(text.slice(from, index), make("mark", {}, word));
    from = index + word.length;
  }
  return [...nodes, text.slice(from)];
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
