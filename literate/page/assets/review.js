// ---
// title: Three from last week
// summary: What a reader got wrong, wherever on the site, is asked again on the page of the course.
// ---
//
// Only the place of a question is kept; the question itself is fetched from its page. So it is asked as
// it stands there today, and one that is no longer there is forgotten.

import { make, styled } from "../../../page_runner/assets/elements.js";
import { all, answered, due, forget, isOn, turn } from "./again.js";
import { ask } from "./answers.js";
import { every } from "./dom.js";

/** @typedef {import("./again.js").Missed} Missed */

const WHEN = { 0: "It stays away from now on.", 1: "It comes back tomorrow." };
const day = (time) =>
  new Date(time).toLocaleDateString("en", { weekday: "long", day: "numeric", month: "long" });

// ## A question, from its page
/** @param {Missed} one */
async function fetched({ page, question }) {
  const answer = await fetch(page);
  if (!answer.ok) return null;
  const there = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = every("details.question", there).find(
    (each) => each.querySelector("summary").textContent === question,
  );
  if (!found) return null;
  // Links lead from this page where they led from that one.
  for (const name of ["href", "src"]) {
    for (const linked of every(`[${name}]`, found))
      linked.setAttribute(name, new URL(linked.getAttribute(name), answer.url).href);
  }
  return document.adoptNode(found);
}

/** @param {Missed} one */
async function item(one) {
  const question = await fetched(one).catch(() => null);
  /** @type {HTMLElement | null} */
  const list = question?.querySelector("ul.task-list");
  if (!list) return null;
  question.setAttribute("open", "");
  const whence = make(
    "p",
    { className: "whence" },
    "From ",
    make("a", { href: one.page }, one.title),
  );
  const element = make("div", { className: "missed" }, question, whence);
  ask(list, (isRight) => {
    const days = answered(one, isRight);
    whence.append(`. ${WHEN[days] ?? "It comes back in a week."}`);
  });
  return element;
}

// ## All of them
/** @param {HTMLElement} section */
export async function start(section) {
  await styled(new URL("review.css", import.meta.url));
  const heading = make("h2", { textContent: "Three from last week" });
  const state = make("p");
  const questions = make("div");
  const keeps = make("input", { type: "checkbox", checked: isOn() });
  const button = (textContent, onclick) => make("button", { type: "button", textContent, onclick });
  const exports = button("Export", download);
  const forgets = button("Forget all", () => {
    for (const one of all()) forget(one);
    show();
  });
  keeps.onchange = () => {
    turn(keeps.checked);
    show();
  };
  const label = make(
    "label",
    {},
    keeps,
    " Keep what I get wrong, in this browser. Nothing is sent.",
  );
  section.replaceChildren(
    heading,
    state,
    questions,
    make("div", { className: "foot" }, label, exports, forgets),
  );
  section.setAttribute("aria-label", heading.textContent);

  async function show() {
    const asked = due();
    const items = await Promise.all(asked.map(item));
    // What no page asks any more.
    for (const [at, one] of asked.entries()) if (!items[at]) forget(one);
    questions.replaceChildren(...items.filter(Boolean));
    const kept = all();
    exports.disabled = forgets.disabled = !kept.length;
    state.textContent = told(kept);
  }

  /** @param {Missed[]} kept */
  function told(kept) {
    if (!isOn()) return "Nothing is kept, so nothing comes back.";
    if (!kept.length)
      return "A question that you get wrong, on any page, comes back here from the next day on.";
    const count = `${kept.length} ${kept.length === 1 ? "question waits" : "questions wait"}`;
    if (questions.childElementCount) return `${count}; at most three are asked at once.`;
    return `${count}. The next one comes back on ${day(Math.min(...kept.map((one) => one.due)))}.`;
  }

  await show();
}

// ## Take it along
function download() {
  const told = all().map((one) => ({ ...one, due: new Date(one.due).toISOString() }));
  const blob = new Blob([JSON.stringify(told, null, 2)], { type: "application/json" });
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: "questions.json" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
