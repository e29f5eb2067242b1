// Lines of code, and links to them.

import { around, every } from "./dom.js";

const lineNumbers = /^#L(\d+)(?:-L?(\d+))?$/;

/**
 * Mark the lines that the address names: the browser itself knows no ranges.
 *
 * @param {boolean} scroll
 */
export function aim(scroll) {
  for (const line of every(".line.aimed")) line.classList.remove("aimed");
  const found = lineNumbers.exec(location.hash);
  if (!found) return;
  const [first, last] = [+found[1], +(found[2] ?? found[1])].sort((a, b) => a - b);
  const lines = every(".line[id]").filter((line) => {
    const number = +line.id.slice(1);
    return first <= number && number <= last;
  });
  for (const line of lines) line.classList.add("aimed");
  if (scroll && lines.length) bringIntoView(lines[0]);
}

/**
 * Where a note stands above its code, who comes for the first line of a row sees the note, too.
 *
 * @param {HTMLElement} line
 */
function bringIntoView(line) {
  const row = line.closest(".row");
  const height = line.getBoundingClientRect().bottom - row.getBoundingClientRect().top;
  const whole = row.querySelector(".line[id]") === line && height < innerHeight * 0.8;
  (whole ? row : line).scrollIntoView();
}

/**
 * To set the address would scroll to the line, which the reader already sees.
 *
 * @param {string} hash
 */
function goQuietly(hash) {
  const top = scrollY;
  location.hash = hash;
  scrollTo({ top, behavior: "instant" });
}

let quiet = false;
addEventListener("hashchange", () => {
  aim(!quiet);
  quiet = false;
});

document.addEventListener("click", (event) => {
  // The number of a line of another page leads there.
  const number = around(event, ".line[id] > a[data-line]")?.dataset.line;
  if (!number || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const from = event.shiftKey && lineNumbers.exec(location.hash)?.[1];
  const ends = [+(from || number), +number].sort((a, b) => a - b);
  const hash = ends[0] === ends[1] ? `#L${number}` : `#L${ends[0]}-L${ends[1]}`;
  if (hash !== location.hash) {
    quiet = true;
    goQuietly(hash);
  }
});

// All line numbers together are one stop of the Tab key; from there the arrows go from line to line.
const numbers = every("a[data-line]");
if (numbers.length) numbers[0].tabIndex = 0;
document.addEventListener("keydown", (event) => {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  const focused = document.activeElement;
  const at = step && focused instanceof HTMLElement ? numbers.indexOf(focused) : -1;
  const next = at < 0 ? null : numbers[at + step];
  if (!next) return;
  event.preventDefault();
  for (const number of numbers) number.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
