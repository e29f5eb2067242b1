// ---
// title: Predictions
// summary: Before a step of a run is shown, the reader says what it gives, and is told at once.
// ---
//
// A question is made from the numbers of the step itself: the shape of what its line binds, the signs
// of its numbers, or whether they reach farther from zero than those of the step before. So each
// question has an answer that the code decides, and none has to be written.

import { make } from "./elements.js";
import { named, summary, text } from "./grid.js";

/** @typedef {import("./grid.js").Drawn} Drawn */

/**
 * What is asked, the answers of which one is right, and why it is.
 *
 * @typedef {{ ask: string, answers: string[], right: string, because: string }} Question
 */

// Of few random numbers, all can be above zero by chance.
const ENOUGH = 20;
// Nearer to each other than that, nobody can tell which of two is larger.
const CLEAR = 1.25;
const MOST = 4;

const isFloat = ({ kind }) => kind === "values" || kind === "weights";

/**
 * The lowest and the highest number, which the run says of the whole tensor where it keeps a slice.
 *
 * @param {Drawn} tensor
 */
function ends({ low, high, data }) {
  return low === null || low === undefined ? summary(data) : { low, high };
}

const lengths = (tensor) => tensor.whole ?? tensor.shape;
const name = (tensor) => tensor.name.replace(/^return/, "the result");

// ## Which shape?
//
// The wrong ones are likely mistakes: two axes that have changed places, or one that is missing.
/**
 * @param {Drawn} tensor
 * @returns {Question | null}
 */
export function shapeOf(tensor) {
  const axes = lengths(tensor).map((length, at) => ({ axis: tensor.axes[at], length }));
  if (axes.length < 2) return null;
  const said = (list) =>
    `[${named(
      list.map(({ axis }) => axis),
      list.map(({ length }) => length),
    )}]`;
  const [first, second, ...others] = axes;
  const swapped = [...axes.slice(0, -2), axes.at(-1), axes.at(-2)];
  const likely = [swapped, axes.slice(0, -1), [second, first, ...others], axes.slice(1)];
  const order = (list) => list.map(({ length }) => length).join();
  // Two axes of one length may change places, and the shape is still right.
  const wrong = likely.filter((list) => order(list) !== order(axes)).map(said);
  const right = said(axes);
  return {
    ask: `What shape has ${name(tensor)}?`,
    answers: [...new Set([right, ...wrong])].slice(0, MOST),
    right,
    because: `${name(tensor)} is ${right}`,
  };
}

// ## Which signs?
/**
 * @param {Drawn} tensor
 * @returns {Question | null}
 */
export function signsOf(tensor) {
  if (!isFloat(tensor) || tensor.data.length < ENOUGH) return null;
  const { low, high } = ends(tensor);
  const numbers = [...tensor.data];
  const isBelow = low < 0 || numbers.includes(-Infinity);
  const isAbove = high > 0 || numbers.includes(Infinity);
  if (!isBelow && !isAbove) return null;
  const answers = ["some below zero, some above", "none below zero", "none above zero"];
  const right = answers[isBelow && isAbove ? 0 : isAbove ? 1 : 2];
  const infinite = numbers.includes(-Infinity) ? ", and some are −∞" : "";
  return {
    ask: `Which signs have the numbers of ${name(tensor)}?`,
    answers,
    right,
    because: `${right}: they go from ${text(low)} to ${text(high)}${infinite}`,
  };
}

// ## Which of two is larger?
/**
 * @param {Drawn} tensor
 * @param {Drawn | null} before
 * @returns {Question | null}
 */
export function largerOf(tensor, before) {
  if (!before || !isFloat(tensor) || !isFloat(before)) return null;
  /** @param {Drawn} one */
  const reach = (one) => Math.max(Math.abs(ends(one).low), Math.abs(ends(one).high));
  const [old, now] = [reach(before), reach(tensor)];
  if (!(Math.max(old, now) >= CLEAR * Math.min(old, now))) return null;
  const isSame = before.name === tensor.name;
  const answers = isSame
    ? [`${name(tensor)} before this line`, `${name(tensor)} after it`]
    : [`${name(before)}, of the step before`, name(tensor)];
  return {
    ask: "Which has the number that is farthest from zero?",
    answers,
    right: answers[now > old ? 1 : 0],
    because: `${answers[0]} reaches ${text(old)}, and ${answers[1]} ${text(now)}`,
  };
}

// ## One question
//
// In turn one of each kind that has an answer; and the right answer isn't always at the same place.
/**
 * @param {Drawn} tensor
 * @param {Drawn | null} before
 * @param {number} turn
 * @returns {Question | null}
 */
export function question(tensor, before, turn) {
  const kinds = [shapeOf(tensor), signsOf(tensor), largerOf(tensor, before)];
  const possible = kinds.filter((one) => one !== null);
  if (!possible.length) return null;
  const chosen = possible[turn % possible.length];
  const at = turn % chosen.answers.length;
  return { ...chosen, answers: [...chosen.answers.slice(at), ...chosen.answers.slice(0, at)] };
}

// ## In the panel
//
// * `begin` hides what the next step gives, and `ask` asks for it; `before` is what the step before
//   has shown
// * `end` shows all of it
export class Predictions {
  #right = 0;
  #all = 0;

  /** @param {import("./panel.js").Panel} panel */
  constructor(panel) {
    this.panel = panel;
    this.element = make("div", { className: "prediction" });
    panel.bar.after(this.element);
  }

  get isHidden() {
    return document.documentElement.classList.contains("predicting");
  }

  #hide(isHidden) {
    document.documentElement.classList.toggle("predicting", isHidden);
  }

  begin() {
    this.#hide(true);
    this.element.replaceChildren();
  }

  end() {
    this.#hide(false);
    this.element.replaceChildren();
  }

  // It stands above the numbers, from which the reader may come.
  #show() {
    this.panel.element.scrollTop = 0;
  }

  /**
   * @param {number} step
   * @param {Drawn | null} before
   */
  ask(step, before) {
    const { panel } = this;
    // Meanwhile the reader may have gone on.
    if (panel.step !== step) return;
    const asked = panel.part && question(panel.part, before, this.#all);
    if (!asked) return this.end();
    const heading = make("p", { textContent: asked.ask });
    const answers = asked.answers.map((answer) =>
      make("button", {
        type: "button",
        textContent: answer,
        onclick: () => this.#answer(asked, answer),
      }),
    );
    const group = make("div", { className: "answers" }, ...answers);
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", asked.ask);
    this.element.replaceChildren(heading, group);
    this.#show();
    answers[0].focus({ preventScroll: true });
  }

  #answer({ right, because }, answer) {
    const isRight = answer === right;
    this.#all += 1;
    this.#right += isRight ? 1 : 0;
    const said = `${isRight ? "Right" : "No"}: ${because}.`;
    const score = ` ${this.#right} of ${this.#all} right.`;
    this.element.replaceChildren(
      make("p", { className: isRight ? "right" : "wrong" }, said, make("small", {}, score)),
    );
    this.#hide(false);
    this.#show();
    this.panel.said.textContent = said;
    this.panel.after.focus({ preventScroll: true });
  }
}
