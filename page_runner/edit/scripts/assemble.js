// ---
// title: Assemble
// summary: The lines of a function lie shuffled among wrong ones, and the reader puts them in order.
// ---
//
// Two lists: the program, and the lines that are left. A click takes a line from one to the other; it
// can be dragged, too, and in the program the arrow keys move it. What the program gives is judged as
// any other exercise: by its results, so any order that works is right.

import { button, fetched, make, styled } from "./elements.js";
import { Python } from "./python.js";

const here = (name) => new URL(name, import.meta.url).href;
// All lines stand as far to the right as their block; the reader needn't see that of each.
const blanks = (text) => text.match(/^ */)[0].length;
const outdented = (text, by) => text.replace(new RegExp(`^ {${by}}`, "gm"), "");
// So far a pointer moves before it drags.
const DRAGS = 6;
// So many milliseconds after a drag, a click is one.
const CLICKS = 100;

// ## Open it
//
// In `section`; `exercise` is the number among the exercises of the page, and `closed` is called when
// the reader is done with it.
export async function open({ section, path, sources, exercise, closed }) {
  const beside = (name) => new URL(name, location.href.split("#")[0]);
  const [index, exercises] = await Promise.all([
    fetched(`${sources}index.json`).then((answer) => answer.json()),
    fetched(beside("exercises.json")).then((answer) => answer.json()),
    styled(here("edit.css")),
  ]);
  const python = new Python({ place: here("."), sources, path, index });
  return new Assembly(section, python, path, exercises[exercise], closed);
}

class Assembly {
  constructor(section, python, path, asked, closed) {
    Object.assign(this, { python, path, asked, closed, dropped: 0 });
    this.checks = button("Check", () => this.check(), "Run the example with your program");
    this.checks.className = "runs";
    this.stops = button("Stop", () => this.stop(), "End this run and start Python anew");
    this.stops.disabled = true;
    const bar = make(
      "div",
      { className: "bar" },
      this.checks,
      this.stops,
      button("Begin anew", () => this.begin()),
      button("Close", () => this.close()),
    );
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "Lines to assemble");
    this.status = make("p", { className: "status" });
    this.status.setAttribute("role", "status");
    this.program = this.#list("ol", "program", "Your program");
    this.left = this.#list("ul", "left", "Lines that are left");
    const given = (text) =>
      make("pre", { hidden: !text }, make("code", {}, outdented(text, blanks(asked.head))));
    // In the program the lines stand below the head, as far in as they belong.
    const inside = blanks(asked.lines[0].text) - blanks(asked.head);
    this.program.style.marginInlineStart = `${inside}ch`;
    this.element = make(
      "div",
      { className: "editor assembly" },
      make(
        "p",
        {},
        `Put lines into ${asked.of} until it does what the page’s does. Some of them are mistakes. `,
        "Click a line to take it, or drag it; in the program the arrow keys move it.",
      ),
      bar,
      this.status,
      make(
        "div",
        { className: "lists" },
        make("div", {}, given(asked.head), this.program, given(asked.tail)),
        this.left,
      ),
    );
    section.replaceChildren(this.element);
    this.begin();
    this.#say("Python is starting. Begin meanwhile.");
    python.addEventListener("ready", () => this.waiting || this.#say("Python is ready."));
    python.addEventListener("failed", ({ detail }) => this.#say(`Python can’t start: ${detail}`));
    this.left.querySelector("button")?.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "nearest" });
  }

  #say(text) {
    this.status.textContent = text;
  }

  #list(name, className, label) {
    const list = make(name, { className });
    list.setAttribute("aria-label", label);
    return list;
  }

  // ## Lines
  begin() {
    this.program.replaceChildren();
    this.left.replaceChildren(...this.asked.lines.map((line) => this.#piece(line)));
  }

  #piece(line) {
    const takes = make(
      "button",
      { type: "button", className: "takes", draggable: false, onclick: () => this.#clicked(piece) },
      make("code", {}, outdented(line.text, blanks(line.text))),
    );
    const move = (sign, by, label) => {
      const made = button(sign, () => this.#move(piece, by), label);
      made.setAttribute("aria-label", label);
      return made;
    };
    const moves = make(
      "span",
      { className: "moves" },
      move("↑", -1, "Move this line up"),
      move("↓", 1, "Move this line down"),
    );
    const handle = make("span", { className: "handle", textContent: "⠿", ariaHidden: "true" });
    const piece = make("li", { className: "piece" }, handle, takes, moves);
    piece.line = line;
    piece.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.#move(piece, by);
    });
    this.#drags(piece);
    return piece;
  }

  // The click that comes with the end of a drag is none.
  #clicked(piece) {
    if (performance.now() - this.dropped > CLICKS) this.#take(piece);
  }

  #take(piece) {
    const isIn = piece.parentElement === this.program;
    // The focus goes on to the line that comes next: whoever uses keys takes several.
    const next = piece.nextElementSibling ?? piece.previousElementSibling;
    (isIn ? this.left : this.program).append(piece);
    (next ?? piece).querySelector(".takes").focus({ preventScroll: true });
    this.#placed(piece);
  }

  #move(piece, by) {
    if (piece.parentElement !== this.program) return;
    const focused = document.activeElement;
    if (by < 0) piece.previousElementSibling?.before(piece);
    else piece.nextElementSibling?.after(piece);
    if (piece.contains(focused)) focused.focus({ preventScroll: true });
    this.#placed(piece);
  }

  #placed(piece) {
    for (const one of this.element.querySelectorAll(".failed, .why")) {
      one.classList.remove("failed");
      if (one.matches(".why")) one.remove();
    }
    const lines = [...this.program.children];
    const at = lines.indexOf(piece);
    this.#say(at < 0 ? "Put aside." : `Line ${at + 1} of ${lines.length}.`);
  }

  // ## By drag
  //
  // A mouse takes a line anywhere, a finger at its handle: elsewhere a finger scrolls.
  #drags(piece) {
    piece.addEventListener("pointerdown", (event) => {
      const onHandle = event.target.closest(".handle");
      if (event.button || event.target.closest(".moves")) return;
      if (event.pointerType !== "mouse" && !onHandle) return;
      const [x, y] = [event.clientX, event.clientY];
      // A line that goes to the other list would lose the pointer, so the page listens.
      const drag = new AbortController();
      const on = (name, act) => document.addEventListener(name, act, { signal: drag.signal });
      on("pointermove", (moved) => {
        const isFar = Math.hypot(moved.clientX - x, moved.clientY - y) > DRAGS;
        if (isFar) piece.classList.add("dragged");
        if (piece.matches(".dragged")) this.#drop(piece, moved);
      });
      const ended = () => {
        drag.abort();
        if (!piece.matches(".dragged")) return;
        piece.classList.remove("dragged");
        this.dropped = performance.now();
        this.#placed(piece);
      };
      on("pointerup", ended);
      on("pointercancel", ended);
    });
  }

  #drop(piece, { clientX, clientY }) {
    const over = (list) => {
      const { left, right, top, bottom } = list.getBoundingClientRect();
      return left <= clientX && clientX <= right && top <= clientY && clientY <= bottom;
    };
    const list = [this.program, this.left].find(over);
    if (!list) return;
    const below = [...list.children].find((one) => {
      const { top, height } = one.getBoundingClientRect();
      return one !== piece && clientY < top + height / 2;
    });
    if (below) below.before(piece);
    else list.append(piece);
  }

  // ## Judge it
  async check() {
    if (this.waiting) return;
    const { asked, path, python } = this;
    const pieces = [...this.program.children];
    if (!pieces.length) return this.#say("Nothing to judge yet: put lines into the program.");
    const lines = pieces.map((piece) => piece.line.text);
    const text = `${[...asked.before, ...lines, ...asked.after].join("\n")}\n`;
    this.waiting = this.checks.disabled = true;
    this.stops.disabled = false;
    this.#say(python.times ? "Judging …" : "Python is starting …");
    try {
      const { said, error } = await python.judge(path, { [path]: text }, asked);
      if (error) this.#failed(error, pieces);
      else this.#told(said);
    } catch (error) {
      if (error.message !== "stopped") this.#say(error.message);
    } finally {
      this.waiting = this.checks.disabled = false;
      this.stops.disabled = true;
    }
    return null;
  }

  // The line that the error names, if it is one of the pieces.
  #failed({ type, message, places }, pieces) {
    const number = places.findLast((place) => place.path === this.path)?.line ?? 0;
    let above = this.asked.before.length;
    const failed = pieces.find((piece) => {
      above += piece.line.text.split("\n").length;
      return number <= above;
    });
    if (failed && number > this.asked.before.length) failed.classList.add("failed");
    this.#say(`With this program the example stops. ${type}: ${message}`);
  }

  // When it is right, the lines that are left say what is wrong with them.
  #told(said) {
    this.#say(said);
    if (!said.startsWith("Right")) return;
    for (const piece of this.left.children) {
      const why = piece.line.wrong || "this line is in the page’s program";
      piece.append(make("p", { className: "why", textContent: why }));
    }
  }

  stop() {
    this.python.stop();
    this.#say("Stopped. Python is starting anew …");
  }

  close() {
    this.python.close();
    this.closed();
  }
}
