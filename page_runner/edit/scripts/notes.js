// ---
// title: Notes
// summary: While the code is edited, each note stays beside its line as far as it can.
// ---
//
// The notes of the page are moved into a column beside the editor. Each begins level with its line, or
// below the note before it. Where a class or a function begins, the code waits for its note instead, as
// on the page. On a narrow screen there is no beside: then the notes are in the code, as comments.

import { make } from "./elements.js";

const GAP = 6;
const wide = () => matchMedia("(min-width: 60em)");
const sum = (spaces) => spaces.reduce((total, { height }) => total + height, 0);

// ## The rows of the page that have code
//
// Each with its note, if it has one, and its first line.
export function rows() {
  return [...document.querySelectorAll(".row:has(> .code)")].map((row) => {
    const note = row.querySelector(":scope > .note");
    const line = Number(row.querySelector(".code .line[id]")?.id.slice(1));
    const begins = Boolean(note?.querySelector(":scope > .definition, :scope > :is(h2, h3)"));
    return { row, note, line, begins };
  });
}

// ## Which lines of a page are notes
//
// All between two lines of code, but for blank ones at the ends. `code` are the numbers of the lines
// that the page shows as code.
export function noteLines(text, code) {
  const shown = new Set(code);
  const lines = text.split("\n");
  const found = [];
  let first = null;
  for (const [index, line] of [...lines, null].entries()) {
    const number = index + 1;
    const isNote = line !== null && !shown.has(number) && (line.trim() !== "" || first !== null);
    if (isNote) first ??= number;
    else if (first !== null) {
      let last = number - 1;
      while (!lines[last - 1].trim()) last -= 1;
      found.push([first, last]);
      first = null;
    }
  }
  return found;
}

// ### Which of them are docstrings
//
// Each with its first and its last line.
export function docstrings(text, notes) {
  const lines = text.split("\n");
  return notes.flatMap(([first, last]) => {
    const begins = lines.slice(first - 1, last).findIndex((line) => /^\s*[rR]?"""/.test(line));
    if (begins < 0) return [];
    const from = first + begins;
    const isWhole = /""".*"""\s*$/.test(lines[from - 1]);
    const ends = lines.slice(from, last).findIndex((line) => line.trimEnd().endsWith('"""'));
    return [[from, isWhole ? from : ends < 0 ? last : from + ends + 1]];
  });
}

// ## The column
//
// `lineNow` gives the place of a line of the page in the edited text.
export class Notes {
  constructor(column, editor, lineNow) {
    Object.assign(this, { column, editor, lineNow });
    // The introduction stays where it is.
    this.taken = rows().filter(
      ({ note, row }, index) => note && index > 0 && !row.contains(column),
    );
    this.homes = this.taken.map(({ note }) => [note, note.nextSibling, note.parentNode]);
    this.spaces = [];
    // A note keeps the look that it has in its row.
    for (const one of this.taken) {
      one.holder = make("div", { className: one.row.className }, one.note);
      one.holder.classList.remove("wide", "full");
      column.append(one.holder);
    }
    this.watch = new ResizeObserver(() => this.place());
    for (const { note } of this.taken) this.watch.observe(note);
  }

  static get width() {
    return wide();
  }

  static get beside() {
    return wide().matches;
  }

  // ### The note of a docstring, as the page has it
  //
  // It belongs to the last row that begins above it. What the page can do with a note is left out.
  ofDocstring(first) {
    const taken = this.taken.findLast(({ line }) => line < first);
    if (!taken) return null;
    const { note, row } = taken;
    const plain = () => {
      const copy = note.cloneNode(true);
      for (const one of copy.querySelectorAll(".uses, .headerlink, .opener")) one.remove();
      return copy;
    };
    const begins = plain();
    for (const one of begins.querySelectorAll(".katex-html")) one.remove();
    const title = begins.querySelector(":scope > :is(.definition, h2, h3)") ?? begins;
    const build = () => {
      const copy = plain();
      for (const one of copy.querySelectorAll("[id]")) one.removeAttribute("id");
      const holder = make("div", { className: `${row.className} open` }, copy);
      holder.classList.remove("wide", "full");
      return holder;
    };
    return { title: title.textContent.replace(/\s+/g, " ").trim(), make: build };
  }

  place() {
    if (!Notes.beside) return;
    const { editor, taken, spaces: old } = this;
    const heights = taken.map(({ holder }) => holder.offsetHeight);
    const spaces = [];
    // Where the last note ends.
    let below = 0;
    for (const [index, { holder, line, begins }] of taken.entries()) {
      const now = this.lineNow(line);
      let top = editor.top(now) - sum(old.filter((one) => one.line <= now)) + sum(spaces);
      if (begins && below > top) {
        const height = Math.ceil(below - top);
        spaces.push({ line: now, height });
        top += height;
      }
      top = Math.max(top, below);
      holder.style.top = `${top}px`;
      below = top + heights[index] + GAP;
    }
    this.column.style.minHeight = `${below}px`;
    if (JSON.stringify(spaces) === JSON.stringify(old)) return;
    this.spaces = spaces;
    editor.space(spaces);
  }

  // ### Put them back
  close() {
    this.watch.disconnect();
    for (const [note, next, parent] of this.homes) {
      parent.insertBefore(note, next);
    }
  }
}
