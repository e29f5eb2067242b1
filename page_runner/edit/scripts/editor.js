// ---
// title: Editor
// summary: CodeMirror, set up for a page: notes folded away, results at the ends of lines.
// ---

import {
  defaultKeymap,
  history,
  historyKeymap,
  indentWithTab,
  redo,
  undo,
} from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import {
  Compartment,
  EditorState,
  RangeSetBuilder,
  StateEffect,
  StateField,
} from "@codemirror/state";
import {
  BlockType,
  Decoration,
  EditorView,
  GutterMarker,
  ViewPlugin,
  WidgetType,
  gutter,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// ## Notes are folded away
//
// Docstrings and comments on lines of their own stand beside the code, as they do on the page. `fold`
// is given the ranges that are hidden, each of whole lines. One with a `title` has a button in its
// place, which opens the note as the page shows it: `open` is whether it is, `note` makes it, and
// `toggle` is called for the button.
const fold = StateEffect.define();
const hidden = Decoration.replace({ block: true });

class Folded extends WidgetType {
  constructor({ title, open, note, toggle }) {
    super();
    Object.assign(this, { title, open, note, toggle });
  }

  eq(other) {
    return other.title === this.title && other.open === this.open;
  }

  toDOM() {
    const element = document.createElement("div");
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: this.title });
    button.addEventListener("click", () => this.toggle());
    element.className = "folded";
    element.append(button);
    this.updateDOM(element);
    return element;
  }

  // The button stays the same one, and keeps the focus.
  updateDOM(element) {
    const [button, note] = element.children;
    button.setAttribute("aria-expanded", `${this.open}`);
    note?.remove();
    if (this.open) element.append(this.note());
    return button.textContent === this.title;
  }

  ignoreEvent() {
    return true;
  }
}

const inPlace = (range) =>
  range.title ? Decoration.replace({ block: true, widget: new Folded(range) }) : hidden;

const folded = StateField.define({
  create: () => Decoration.none,
  update(ranges, transaction) {
    const told = transaction.effects.find((effect) => effect.is(fold));
    if (told)
      return Decoration.set(told.value.map((range) => inPlace(range).range(range.from, range.to)));
    return ranges.map(transaction.changes);
  },
  provide: (field) => [
    EditorView.decorations.from(field),
    EditorView.atomicRanges.of((view) => view.state.field(field)),
  ],
});

// What can't be seen isn't deleted by accident, nor joined with the line above or below.
const kept = EditorState.changeFilter.of((transaction) => {
  if (!["input", "delete", "move"].some((name) => transaction.isUserEvent(name))) return true;
  const ranges = [];
  const { doc } = transaction.startState;
  transaction.startState.field(folded).between(0, doc.length, (from, to) => {
    ranges.push(Math.max(0, from - 1), Math.min(doc.length, to + 1));
  });
  return ranges;
});

// ## Room for notes
//
// A class begins level with its note. Where the notes before it are longer than their code, an empty
// place of the right height stands above it.
const space = StateEffect.define();

class Space extends WidgetType {
  constructor(height) {
    super();
    this.height = height;
  }

  eq(other) {
    return other.height === this.height;
  }

  toDOM() {
    const element = document.createElement("div");
    element.style.height = `${this.height}px`;
    return element;
  }

  get estimatedHeight() {
    return this.height;
  }
}

const spaces = StateField.define({
  create: () => Decoration.none,
  update(ranges, transaction) {
    const told = transaction.effects.find((effect) => effect.is(space));
    if (!told) return ranges.map(transaction.changes);
    return Decoration.set(
      told.value.map(({ at, height }) =>
        Decoration.widget({ widget: new Space(height), block: true, side: -1 }).range(at),
      ),
    );
  },
  provide: (field) => EditorView.decorations.from(field),
});

// ## What a run has said of each line
//
// `say` is given `{ lines: [{ line, text, title, differs, below }], error }`, and of an error, if there
// is one, `{ line, start, end, text }`. The `title` has all that is known of a line: who points at the
// text reads it on a card.
const say = StateEffect.define();

class Result extends GutterMarker {
  constructor({ text, title, differs }) {
    super();
    Object.assign(this, { text, title, differs });
  }

  eq(other) {
    return other.text === this.text && other.title === this.title && other.differs === this.differs;
  }

  toDOM() {
    const element = document.createElement("span");
    Object.assign(element, {
      className: this.differs ? "result differs" : "result",
      textContent: this.text,
    });
    element.dataset.told = this.title;
    return element;
  }
}

// Where there is no room beside the code, a result stands below its line.
class Below extends WidgetType {
  constructor(result) {
    super();
    this.result = new Result(result);
  }

  eq(other) {
    return this.result.eq(other.result);
  }

  toDOM() {
    const element = document.createElement("div");
    element.append(this.result.toDOM());
    element.className = element.firstChild.className;
    element.firstChild.className = "";
    element.dataset.told = element.firstChild.dataset.told;
    return element;
  }
}

class Failure extends WidgetType {
  constructor(text) {
    super();
    this.text = text;
  }

  eq(other) {
    return other.text === this.text;
  }

  toDOM() {
    const element = document.createElement("div");
    Object.assign(element, { className: "failure", textContent: this.text });
    return element;
  }
}

const NOTHING = { results: new RangeSetBuilder().finish(), marks: Decoration.none };

function told(state, { lines, error }) {
  const within = lines.filter(({ line }) => line <= state.doc.lines);
  const results = new RangeSetBuilder();
  const marks = [];
  for (const one of within) {
    const { from, to } = state.doc.line(one.line);
    if (one.below)
      marks.push(Decoration.widget({ widget: new Below(one), block: true, side: 1 }).range(to));
    else if (one.text || one.differs) results.add(from, from, new Result(one));
    if (one.differs) marks.push(Decoration.line({ class: "differs" }).range(from));
  }
  if (error && error.line <= state.doc.lines) {
    const line = state.doc.line(error.line);
    const [from, to] = [
      line.from + (error.start ?? 0),
      error.end === null ? line.to : line.from + error.end,
    ];
    marks.push(Decoration.line({ class: "failed" }).range(line.from));
    if (from < Math.min(to, line.to))
      marks.push(Decoration.mark({ class: "at" }).range(from, Math.min(to, line.to)));
    marks.push(
      Decoration.widget({ widget: new Failure(error.text), block: true, side: 1 }).range(line.to),
    );
  }
  return { results: results.finish(), marks: Decoration.set(marks, true) };
}

const said = StateField.define({
  create: () => NOTHING,
  update({ results, marks }, transaction) {
    const effect = transaction.effects.find((one) => one.is(say));
    if (effect) return effect.value ? told(transaction.state, effect.value) : NOTHING;
    return { results: results.map(transaction.changes), marks: marks.map(transaction.changes) };
  },
  provide: (field) => EditorView.decorations.from(field, ({ marks }) => marks),
});

const resultColumn = gutter({
  class: "results",
  side: "after",
  markers: (view) => view.state.field(said).results,
});

// ## Lines that the reader has changed
const change = StateEffect.define();

const changedLines = StateField.define({
  create: () => Decoration.none,
  update(ranges, transaction) {
    const effect = transaction.effects.find((one) => one.is(change));
    if (!effect) return ranges.map(transaction.changes);
    const { doc } = transaction.state;
    return Decoration.set(
      effect.value.map((line) => Decoration.line({ class: "changed" }).range(doc.line(line).from)),
    );
  },
  provide: (field) => EditorView.decorations.from(field),
});

// ## Lines that are longer than a narrow screen
//
// They go on below, four columns behind their own indentation, as on the page.
const hanging = ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.decorations = indented(view);
    }

    update({ view, docChanged, viewportChanged }) {
      if (docChanged || viewportChanged) this.decorations = indented(view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function indented(view) {
  const marks = new RangeSetBuilder();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to;) {
      const line = view.state.doc.lineAt(at);
      const columns = line.text.length - line.text.trimStart().length;
      marks.add(
        line.from,
        line.from,
        Decoration.line({ attributes: { style: `--in: ${columns}` } }),
      );
      at = line.to + 1;
    }
  }
  return marks.finish();
}

const wrapping = [EditorView.lineWrapping, hanging];

// ## The editor
//
// * `onRun` is called for the key that runs; `onChange` when the text has changed, `onMove` when the
//   cursor has, and `onShape` when heights have
// * `onNote` is called for the key that opens the note at the cursor, and closes it
// * `wraps` is whether long lines go on below
export class Editor {
  constructor(
    parent,
    {
      onRun,
      onChange,
      onMove,
      onShape,
      onNote = () => {},
      label = "Code of this page",
      wraps = false,
    },
  ) {
    const runs = () => (onRun(), true);
    const notes = () => (onNote(), true);
    this.wraps = wraps;
    this.wrapping = new Compartment();
    this.extensions = [
      this.wrapping.of([]),
      history(),
      lineNumbers(),
      resultColumn,
      highlightActiveLine(),
      indentOnInput(),
      indentUnit.of("    "),
      bracketMatching(),
      python(),
      syntaxHighlighting(classHighlighter),
      ...[folded, kept, spaces, said, changedLines],
      keymap.of([
        { key: "Mod-Enter", run: runs },
        { key: "Shift-Enter", run: runs },
        { key: "Ctrl-Shift-[", mac: "Cmd-Alt-[", run: notes },
        { key: "Ctrl-Shift-]", mac: "Cmd-Alt-]", run: notes },
        ...defaultKeymap,
        ...historyKeymap,
        indentWithTab,
      ]),
      EditorView.contentAttributes.of({
        "aria-label": label,
        spellcheck: "false",
        autocapitalize: "off",
        autocorrect: "off",
      }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange();
        if (update.docChanged || update.selectionSet) onMove();
        if (update.geometryChanged || update.docChanged) onShape();
      }),
    ];
    this.view = new EditorView({ parent });
    // What scrolls can be scrolled by the keyboard.
    this.view.scrollDOM.tabIndex = 0;
  }

  // A text that begins anew, or a state that was left before.
  fresh(text) {
    return EditorState.create({ doc: text, extensions: this.extensions });
  }

  show(state) {
    this.view.setState(state);
    this.wrap(this.wraps);
  }

  wrap(wraps) {
    this.wraps = wraps;
    this.view.dispatch({ effects: this.wrapping.reconfigure(wraps ? wrapping : []) });
  }

  get state() {
    return this.view.state;
  }

  get text() {
    return this.view.state.doc.toString();
  }

  get line() {
    const { doc, selection } = this.view.state;
    return doc.lineAt(selection.main.head).number;
  }

  // ### Change the text as the reader would: it can be undone
  replace(text) {
    const { doc } = this.view.state;
    const old = doc.toString();
    let [start, end] = [0, 0];
    while (start < Math.min(old.length, text.length) && old[start] === text[start]) start += 1;
    while (
      end < Math.min(old.length, text.length) - start &&
      old.at(-1 - end) === text.at(-1 - end)
    )
      end += 1;
    if (old === text) return;
    this.view.dispatch({
      changes: { from: start, to: old.length - end, insert: text.slice(start, text.length - end) },
    });
  }

  undo() {
    undo(this.view);
  }

  redo() {
    redo(this.view);
  }

  // ### Fold lines away, from the `first` to the `last`
  fold(ranges) {
    const { doc } = this.view.state;
    const value = ranges.map(({ first, last, ...button }) => ({
      ...button,
      from: doc.line(first).from,
      to: doc.line(last).to,
    }));
    this.view.dispatch({ effects: fold.of(value) });
  }

  say(value) {
    this.view.dispatch({ effects: say.of(value) });
  }

  mark(lines) {
    this.view.dispatch({ effects: change.of(lines) });
  }

  space(places) {
    const value = places.map(({ line, height }) => ({
      at: this.view.state.doc.line(line).from,
      height,
    }));
    this.view.dispatch({ effects: space.of(value) });
  }

  go(line) {
    const { from } = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
    this.view.dispatch({
      selection: { anchor: from },
      effects: EditorView.scrollIntoView(from, { y: "center" }),
    });
  }

  // The upper edge of the code of a line, below the upper edge of the text.
  top(line) {
    const block = this.view.lineBlockAt(this.view.state.doc.line(line).from);
    const parts = Array.isArray(block.type) ? block.type : [block];
    return (parts.find((one) => one.type === BlockType.Text) ?? block).top;
  }

  // How many characters of a line are in view.
  get columns() {
    const { scrollDOM, defaultCharacterWidth } = this.view;
    const numbers = scrollDOM.querySelector(".cm-gutters-before")?.offsetWidth ?? 0;
    return Math.floor((scrollDOM.clientWidth - numbers) / defaultCharacterWidth) - 2;
  }

  focus() {
    this.view.focus();
  }
}
