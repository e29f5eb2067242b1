// Symbols and names light up wherever they stand.

import { about } from "./about.js";
import { around, every } from "./dom.js";

let kept = false;

// Names are lit as ranges, without a single element for them in the page.
const lit = self.Highlight && CSS.highlights ? new Highlight() : null;
if (lit) CSS.highlights.set("lit", lit);

export function darken() {
  kept = false;
  lit?.clear();
  for (const symbol of every(".lit")) symbol.classList.remove("lit");
}

/** @param {Set<string>} keys */
function lightSymbols(keys) {
  for (const symbol of every("[data-s]")) {
    if (keys.has(symbol.dataset.s)) symbol.classList.add("lit");
  }
}

/**
 * @param {number[]} numbers line, column, line, column …
 * @param {number} length
 */
function lightPlaces(numbers, length) {
  for (let index = 0; index < numbers.length; index += 2) {
    const text = document.getElementById(`L${numbers[index]}`)?.lastElementChild;
    const range = text && rangeIn(text, numbers[index + 1], length);
    if (range) lit?.add(range);
  }
}

/**
 * @param {Element} element
 * @param {number} start
 * @param {number} length
 */
function rangeIn(element, start, length) {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const size = node.nodeValue.length;
    if (start < size) {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, Math.min(size, start + length));
      return range;
    }
    start -= size;
  }
  return null;
}

/**
 * @param {Set<string>} keys
 * @param {boolean} keep
 */
async function lightKeys(keys, keep) {
  darken();
  kept = keep;
  lightSymbols(keys);
  const { names } = await about(location.href);
  for (const key of keys) {
    for (const name of [key, `self.${key}`]) {
      for (const group of names[name] ?? []) lightPlaces(group, key.length);
    }
  }
}

/** @param {HTMLElement} formula */
const keysIn = (formula) => new Set(every("[data-s]", formula).map((symbol) => symbol.dataset.s));

document.addEventListener("click", (event) => {
  const symbol = around(event, "[data-s]");
  if (symbol) {
    lightKeys(new Set([symbol.dataset.s]), true);
    return;
  }
  darken();
});

document.addEventListener("pointerover", (event) => {
  const symbol = around(event, "[data-s]");
  if (!kept && symbol) lightKeys(new Set([symbol.dataset.s]), false);
});

document.addEventListener("pointerout", (event) => {
  if (!kept && around(event, "[data-s]")) darken();
});

for (const formula of every(".katex")) {
  if (!formula.querySelector("[data-s]")) continue;
  formula.tabIndex = 0;
  formula.addEventListener("focus", () => lightKeys(keysIn(formula), false));
  formula.addEventListener("blur", darken);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") darken();
});
