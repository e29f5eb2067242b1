// ---
// title: Edit
// summary: The code of a page becomes an editor, and what is typed there runs.
// ---
//
// This script and all that it needs is fetched when the reader asks for it.

import { lineMap, difference } from "./difference.js";
import { Editor } from "./editor.js";
import { button, copied, fetched, make, styled } from "./elements.js";
import { NAME, changed, changesOf, pack } from "./link.js";
import { Notes, docstrings, noteLines } from "./notes.js";
import { Output } from "./output.js";
import { Python } from "./python.js";
import { Card } from "./card.js";
import { OUTCOMES, compared, ending, missed, names, outcome, told } from "./results.js";

const here = (name) => new URL(name, import.meta.url).href;
const several = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);
// It stands where a line is missing.
const HOLE = "YOUR_LINE";
const KEY = isMac ? "⌘ ↵" : "Ctrl ↵";

// ## Open the editor
//
// * `path` is the module of the page, and `sources` the address of all modules
// * `shared` are the changes of a link, by module
// * `exercise` is the number of an exercise, which is then in the editor
// * `closed` is called when the reader goes back to the page
export async function open({ path, sources, shared = null, exercise = null, closed = () => {} }) {
  const python = fetched(`${sources}index.json`).then(
    async (answer) => new Python({ place: here("."), sources, path, index: await answer.json() }),
  );
  const beside = (name) => new URL(name, location.href.split("#")[0]);
  const [own, about, exercises] = await Promise.all([
    fetched(`${sources}${path}`).then((answer) => answer.text()),
    fetched(beside("about.json")).then((answer) => answer.json()),
    exercise === null ? [] : fetched(beside("exercises.json")).then((answer) => answer.json()),
    styled(here("edit.css")),
  ]);
  const session = new Session({ path, sources, own, about, python: await python, closed });
  if (shared) await session.change(shared);
  if (exercises.length) session.ask(exercises[exercise]);
  return session;
}

class Session {
  constructor({ path, sources, own, about, python, closed }) {
    Object.assign(this, { path, sources, python, closed });
    this.current = path;
    this.texts = new Map([[path, own]]);
    this.states = new Map();
    this.own = null;
    this.found = [];
    // The notes that are open in the code, by the first line of their docstring.
    this.unfolded = new Set();
    this.ended = new AbortController();
    this.names = this.#names(about);
    this.#build();
    this.#open(path);
    this.notes = new Notes(this.column, this.editor, (line) => this.#lineNow(line));
    this.#fold();
    document.body.classList.add("editing");
    this.#placeNotes();
    this.#listen();
    // The button that opened it can be screens away.
    this.element.scrollIntoView({ block: "start" });
    this.editor.focus();
  }

  #names({ tensors }) {
    const legend = [...document.querySelectorAll(".axes span")];
    // Of several letters that stand for one name the first is its own.
    const letters = new Map(
      legend
        .reverse()
        .map((one) => [one.lastChild.textContent.trim(), one.firstElementChild.textContent]),
    );
    return names(Object.values(tensors).flat(), letters);
  }

  // ## What is seen
  #build() {
    this.runs = button("Run", () => this.run(), `Run the page with your changes (${KEY})`);
    this.runs.className = "runs";
    this.runs.append(make("kbd", { textContent: KEY, ariaHidden: "true" }));
    this.stops = button("Stop", () => this.stop(), "End this run and start Python anew");
    this.stops.disabled = true;
    this.resets = button("Page’s own", () => this.reset(), "Back to the code of the page");
    this.module = make("select", { onchange: () => this.show(this.module.value) });
    this.module.setAttribute("aria-label", "Module that is edited");
    const first = this.python.message.first;
    for (const one of [this.path, ...first.filter((other) => other !== this.path)]) {
      this.module.append(
        make("option", {
          value: one,
          textContent: one === this.path ? `${one.split("/").at(-1)} (this page)` : one,
        }),
      );
    }
    this.predicts = make(
      "select",
      { title: "Say first what the run will give; it is told afterwards" },
      make("option", { value: "", textContent: "I predict …" }),
      ...Object.entries(OUTCOMES).map(([value, textContent]) =>
        make("option", { value, textContent }),
      ),
    );
    this.predicts.setAttribute("aria-label", "Your prediction of the run");
    this.comments = make("input", {
      type: "checkbox",
      checked: !Notes.beside,
      onchange: () => this.#fold(),
    });
    this.checks = button(
      "Check",
      () => this.check(),
      "Run the example with your code and with the lesson’s, and compare",
    );
    this.checks.className = "runs";
    this.checks.hidden = true;
    this.bar = make(
      "div",
      { className: "bar" },
      ...[
        this.checks,
        this.predicts,
        this.runs,
        this.stops,
        button("Undo", () => this.editor.undo()),
        button("Redo", () => this.editor.redo()),
        this.resets,
        this.module,
      ],
      ...[
        button("Link", () => this.link(), "Copy a link to this page with your changes"),
        button("Download", () => this.download(), "Download the edited module"),
      ],
      ...[
        make(
          "label",
          { title: "Show comments and docstrings in the code" },
          this.comments,
          " Notes in the code",
        ),
        button("Close", () => this.close(), "Close the editor"),
      ],
    );
    this.bar.setAttribute("role", "toolbar");
    this.bar.setAttribute("aria-label", "Editor");
    this.status = make("p", { className: "status", textContent: "Python is starting …" });
    this.status.setAttribute("role", "status");
    this.details = make("p", { className: "details" });
    // Where there is little room, it is scrolled.
    this.foot = make("div", { className: "foot", tabIndex: 0 });
    this.foot.setAttribute("role", "group");
    this.foot.setAttribute("aria-label", "What the run gave");
    this.output = new Output();
    this.foot.append(this.details, this.output.element);
    this.column = make("div", { className: "notes" });
    const code = make("div", { className: "typed" });
    this.element = make(
      "section",
      { className: "editor" },
      make("div", { className: "head" }, this.bar, this.status),
      make("div", { className: "columns" }, this.column, code),
      this.foot,
    );
    this.element.setAttribute("aria-label", "The code of this page, to edit");
    // What sticks to the upper edge stays below the header of the page.
    const header = document.querySelector(".md-header")?.offsetHeight ?? 0;
    this.element.style.setProperty("--below-header", `${header}px`);
    const all = [...document.querySelectorAll(".row:has(> .code)")];
    (all[1] ?? all[0]).before(this.element);
    this.editor = new Editor(code, {
      onRun: () => this.run(),
      onChange: () => this.#changed(),
      onMove: () => this.#tell(),
      onShape: () => this.#placeNotes(),
      onNote: () => this.#toggleNearest(),
      wraps: !Notes.beside,
    });
    this.card = new Card(this.element);
  }

  #listen() {
    const { python } = this;
    python.addEventListener("ready", () => this.#ready());
    python.addEventListener("failed", ({ detail }) => this.#say(`Python can’t start: ${detail}`));
    python.addEventListener("printed", ({ detail }) => this.quiet || this.output.print(detail));
    python.addEventListener("drawn", ({ detail }) => this.quiet || this.output.draw(detail));
    if (python.times) this.#ready();
    const widened = () => {
      this.comments.checked = !Notes.beside;
      this.editor.wrap(!Notes.beside);
      this.#fold();
      this.#results();
      this.#placeNotes();
    };
    Notes.width.addEventListener("change", widened, { signal: this.ended.signal });
  }

  #say(text, ...more) {
    this.status.replaceChildren(text, ...more);
  }

  // ## The page's own run comes first: what differs from it is lit
  async #ready() {
    const seconds = (this.python.times.page / 1000).toFixed(1);
    this.element.dataset.ready = seconds;
    try {
      await this.#ownRun();
    } catch {
      return;
    }
    if (this.waiting) return;
    const error = this.ownError;
    if (error) this.#say(`The page’s own code doesn’t run here: ${error.type}: ${error.message}`);
    else this.#say(`Ready after ${seconds} s. ${this.task ?? "Change a line and run it."}`);
  }

  #ownRun() {
    this.owning ??= this.#runOwn().catch((error) => {
      this.owning = null;
      throw error;
    });
    return this.owning;
  }

  async #runOwn() {
    this.quiet = true;
    try {
      const { lines, error } = await this.python.run(this.path, {});
      [this.own, this.ownError] = [lines, error];
    } finally {
      this.quiet = false;
    }
  }

  // ## Modules
  #open(path) {
    const known = this.states.get(path);
    this.editor.show(known ?? this.editor.fresh(this.texts.get(path)));
    this.current = path;
    this.module.value = path;
  }

  async show(path) {
    this.states.set(this.current, this.editor.state);
    if (!this.texts.has(path))
      this.texts.set(path, await (await fetched(`${this.sources}${path}`)).text());
    this.#open(path);
    this.column.hidden = path !== this.path;
    this.#fold();
    this.#changed();
    this.#results();
    this.editor.focus();
  }

  textOf(path) {
    return path === this.current
      ? this.editor.text
      : (this.states.get(path)?.doc.toString() ?? this.texts.get(path));
  }

  edited() {
    const paths = [...this.texts.keys()].filter(
      (path) => this.textOf(path) !== this.texts.get(path),
    );
    return Object.fromEntries(paths.map((path) => [path, this.textOf(path)]));
  }

  // ## Notes
  #code() {
    return [...document.querySelectorAll(".row > .code .line[id]")].map(({ id }) =>
      Number(id.slice(1)),
    );
  }

  // The comments are hidden where they stand beside the code, and what the module says of itself stands
  // above in any case. Where there is no beside, a docstring is folded, and opens as the note of the page.
  #fold() {
    const text = this.texts.get(this.path);
    const notes = this.current === this.path ? noteLines(text, this.#code()) : [];
    const shown = this.comments.checked ? notes.splice(1) : [];
    const now = new Map([...this.#map()].map(([line, own]) => [own, line]));
    this.folded = Notes.beside ? [] : docstrings(text, shown);
    const ranges = [
      ...notes.map(([first, last]) => ({ first, last })),
      ...this.folded.map(([first, last]) => ({ first, last, ...this.#opener(first) })),
    ];
    this.editor.fold(
      ranges
        .map((range) => ({ ...range, first: now.get(range.first), last: now.get(range.last) }))
        .filter(({ first, last }) => first && last >= first),
    );
  }

  #opener(first) {
    const note = this.notes.ofDocstring(first);
    if (!note) return {};
    const title = note.title.length > 40 ? `${note.title.slice(0, 39).trimEnd()}…` : note.title;
    const open = this.unfolded.has(first);
    return { title, open, note: note.make, toggle: () => this.#toggle(first) };
  }

  #toggle(first) {
    if (!this.unfolded.delete(first)) this.unfolded.add(first);
    this.#fold();
  }

  // That of the function in which the cursor is: its docstring is the last above it, or stands below.
  #toggleNearest() {
    const line = this.#map().get(this.editor.line) ?? this.editor.line;
    const found = this.folded.findLast(([first]) => first <= line + 1) ?? this.folded[0];
    if (found) this.#toggle(found[0]);
  }

  #map() {
    return lineMap(this.texts.get(this.current).split("\n"), this.editor.text.split("\n"));
  }

  #lineNow(line) {
    this.places ??= new Map([...this.#map()].map(([now, own]) => [own, now]));
    for (let at = line; at > 0; at -= 1) if (this.places.has(at)) return this.places.get(at);
    return 1;
  }

  #placeNotes() {
    if (this.placing || !this.notes || this.current !== this.path) return;
    this.placing = requestAnimationFrame(() => {
      this.placing = null;
      if (this.element.isConnected && this.current === this.path) this.notes.place();
    });
  }

  // ## The text has changed
  #changed() {
    this.places = null;
    const [old, now] = [this.#begun(), this.editor.text];
    const parts = difference(old.split("\n"), now.split("\n"));
    // Where lines are gone, the one that follows tells.
    const last = now.split("\n").length;
    const lines = new Set(
      parts.flatMap(({ to, come }) =>
        come ? Array.from({ length: come }, (_, at) => to + at + 1) : [Math.min(last, to + 1)],
      ),
    );
    queueMicrotask(
      () => this.element.isConnected && this.editor.mark([...lines].sort((a, b) => a - b)),
    );
    this.resets.disabled = !parts.length;
    this.element.classList.toggle("stale", Boolean(this.result));
    this.#placeNotes();
  }

  // What the reader began with: the page's own, or an exercise.
  #begun() {
    return this.exercise && this.current === this.path
      ? this.exercise.text
      : this.texts.get(this.current);
  }

  reset() {
    this.editor.replace(this.#begun());
    this.editor.focus();
  }

  // ## An exercise
  //
  // One line is missing, or wrong. What differs from the page is not lit: that would be the answer.
  ask(exercise) {
    this.exercise = exercise;
    this.checks.hidden = false;
    // What differs from the page would be the answer.
    this.predicts.hidden = true;
    this.resets.textContent = "Begin anew";
    this.resets.title = "Back to the exercise as it was";
    this.editor.show(this.editor.fresh(exercise.text));
    this.#fold();
    this.#changed();
    const writes = exercise.kind !== "mend";
    const { text, of, first, shape } = exercise;
    const head = new RegExp(`def ${of.split(".").at(-1)}\\b`);
    const begins =
      text
        .split("\n")
        .slice(0, first)
        .findLastIndex((line) => head.test(line)) + 1;
    this.editor.go(writes ? first : begins);
    this.task = writes
      ? `Write the line of ${of} that is missing, in the place of ${HOLE}.${shape ? ` With it, ${shape}.` : ""}`
      : `One line of ${of} is wrong. Find it, and mend it.`;
    this.#say(this.task);
    this.editor.focus();
  }

  async check() {
    if (this.waiting) return;
    const text = this.textOf(this.path);
    if (text.includes(HOLE))
      return this.#say(`Nothing to judge yet: write your line in the place of ${HOLE}.`);
    if (text === this.exercise.text)
      return this.#say("Nothing to judge yet: the code is as you found it.");
    await this.#while("Judging …", async () => {
      const { said, error } = await this.python.judge(this.path, this.edited(), this.exercise);
      this.editor.say({ lines: [], error: this.#errorHere(error) });
      this.#say(error ? `With your code the example stops. ${error.type}: ${error.message}` : said);
    });
    return null;
  }

  // The changes that a link brings. Nothing runs by itself.
  async change(shared) {
    const lost = [];
    const paths = Object.keys(shared).filter((path) => this.python.message.first.includes(path));
    for (const path of [
      ...paths.filter((one) => one !== this.path),
      ...paths.filter((one) => one === this.path),
    ]) {
      await this.show(path);
      const { text, lost: nowhere } = changed(this.texts.get(path), shared[path]);
      lost.push(...nowhere.map(([line]) => line));
      this.editor.replace(text);
    }
    if (this.current !== this.path) await this.show(this.path);
    const first = difference(
      this.texts.get(this.path).split("\n"),
      this.editor.text.split("\n"),
    )[0];
    if (first) this.editor.go(first.to + 1);
    const unused = Object.keys(shared).filter((one) => !paths.includes(one));
    if (lost.length)
      this.task = `The page has changed since this link was made: the change at line ${lost.join(", ")} has no place any more.`;
    else if (unused.length)
      this.task = `This page does not use ${unused.join(" and ")}, so nothing of it is changed.`;
    // It is said again when Python is ready.
    if (this.task) this.#say(this.task);
  }

  // ## Run
  async run() {
    if (this.waiting) return;
    this.output.clear();
    await this.#while("Running …", async () => {
      await this.#ownRun();
      const began = performance.now();
      this.result = await this.python.run(this.path, this.edited());
      this.took = performance.now() - began;
      this.element.classList.remove("stale");
      this.#results();
      this.#summary();
    });
  }

  // While Python works, nothing else can be asked of it, and it can be stopped.
  async #while(says, act) {
    this.waiting = true;
    this.runs.disabled = this.checks.disabled = true;
    this.stops.disabled = false;
    const slow = setTimeout(
      () => this.#say(this.python.times ? says : "Python is starting …"),
      200,
    );
    try {
      await this.python.ready;
      await act();
    } catch (error) {
      if (error.message !== "stopped") this.#say(error.message);
    } finally {
      clearTimeout(slow);
      this.waiting = false;
      this.runs.disabled = this.checks.disabled = false;
      this.stops.disabled = true;
    }
  }

  stop() {
    this.python.stop();
    this.#say("Stopped. Python is starting anew …");
  }

  // What differs is known for the page that runs, and no other.
  #results() {
    if (!this.result || this.current !== this.path) {
      this.found = [];
      this.editor.say({
        lines: [],
        error: this.result ? this.#errorHere(this.result.error) : null,
      });
      return;
    }
    const { lines, error } = this.result;
    const map = this.#map();
    const own = this.exercise ? null : this.own;
    this.found = compared(lines, own, map, Boolean(error));
    this.missed = missed(lines, own, map);
    const below = !Notes.beside;
    const { columns } = this.editor;
    const { doc } = this.editor.state;
    const shown = this.found.map((one) => {
      const room = below ? columns : columns - doc.line(one.line).length - 2;
      return {
        line: one.line,
        text: ending(one, this.names, room),
        title: told(one, this.names).join("\n"),
        differs: one.differs,
        below,
      };
    });
    this.editor.say({ lines: shown, error: this.#errorHere(error) });
    this.#tell();
  }

  #errorHere(error) {
    const place = error?.places.findLast(({ path }) => path === this.current);
    return place ? { ...place, text: `${error.type}: ${error.message}` } : null;
  }

  #summary() {
    const { error, example } = this.result;
    const predicted = this.#predicted();
    const time =
      this.took < 1000 ? `${Math.round(this.took)} ms` : `${(this.took / 1000).toFixed(1)} s`;
    if (error) {
      const inner = error.places.at(-1);
      const name = inner?.path.split("/").at(-1);
      const where = inner
        ? ` at line ${inner.line}${inner.path === this.path ? "" : ` of ${name}`}`
        : "";
      const goes =
        inner &&
        button("Go there", async () => {
          if (inner.path !== this.current) await this.show(inner.path);
          this.editor.go(inner.line);
          this.editor.focus();
        });
      this.#say(`${predicted}${error.type}${where}: ${error.message} `, ...(goes ? [goes] : []));
      return;
    }
    const differ = this.found.filter(({ differs }) => differs).length;
    const parts = [
      differ
        ? `${several(differ, "line")} differ${differ === 1 ? "s" : ""} from the page’s own run`
        : "",
      this.missed ? `${several(this.missed, "line")} of the page gave nothing` : "",
    ];
    const same = this.exercise
      ? "Press Check to have it judged"
      : "Shapes and values are those of the page’s own run";
    const compared = parts.filter(Boolean).join(", ") || same;
    const nothing = example ? "" : " The page has no example(), so it was only imported.";
    this.#say(`${predicted}Ran in ${time}. ${compared}.${nothing}`);
    this.element.dataset.ran = time;
  }

  // Whether it came as the reader has said. The next run gets a prediction of its own.
  #predicted() {
    const { value } = this.predicts;
    // Beside the page's own code nothing is known to compare with.
    const isKnown = this.current === this.path && !this.exercise;
    this.predicts.value = "";
    if (!value || !isKnown) return "";
    const came = outcome(this.found, this.missed, this.result.error);
    const said = OUTCOMES[came];
    return came === value
      ? `As you predicted: ${said}. `
      : `You predicted: ${OUTCOMES[value]}. It is: ${said}. `;
  }

  // The line of the cursor, in full.
  #tell() {
    const one = this.found.find(({ line }) => line === this.editor.line);
    this.details.ariaLive = one?.differs ? "polite" : "off";
    this.details.replaceChildren(
      ...(one
        ? told(one, this.names).flatMap((text) => [make("span", { textContent: text }), " "])
        : []),
    );
  }

  // ## Take it along
  async link() {
    const changes = Object.fromEntries(
      Object.entries(this.edited()).map(([path, text]) => [
        path,
        changesOf(this.texts.get(path), text),
      ]),
    );
    if (!Object.keys(changes).length)
      return this.#say("Nothing is changed yet, so the address of the page is the link.");
    const address = `${location.href.split("#")[0]}#${NAME}${await pack(changes)}`;
    history.replaceState(history.state, "", address);
    const isCopied = await copied(address);
    return this.#say(
      `${isCopied ? "The link is copied" : "The link is in the address bar"}: it has your changes in it, and nothing was sent anywhere.`,
    );
  }

  download() {
    const address = URL.createObjectURL(new Blob([this.editor.text], { type: "text/x-python" }));
    make("a", { href: address, download: this.current.split("/").at(-1) }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }

  close() {
    this.python.close();
    this.ended.abort();
    this.card.close();
    this.notes.close();
    this.element.remove();
    document.body.classList.remove("editing");
    this.closed();
  }
}
