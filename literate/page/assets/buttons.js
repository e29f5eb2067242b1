// Buttons on each block of code, and what scrolls by itself.

import { make } from "../../../page_runner/assets/elements.js";
import { every, first } from "./dom.js";
import { copy, say } from "./status.js";

/** @param {HTMLElement} block */
function addButtons(block) {
  const lines = every(".line", block);
  const numbers = lines.map((line) => first("a[data-line]", line)?.dataset.line).filter(Boolean);
  if (!numbers.length) return;
  const [top, bottom] = [numbers[0], numbers.at(-1)];
  const range = top === bottom ? `line ${top}` : `lines ${top} to ${bottom}`;

  const copies = make("button", { type: "button" }, "Copy");
  copies.setAttribute("aria-label", `Copy ${range}`);
  copies.addEventListener("click", () => {
    const text = lines.map((line) => line.lastElementChild?.textContent ?? "").join("\n");
    copy(copies, text + "\n").catch(() => {
      // The browser may refuse, on a page that is not served by https: then the lines are selected.
      getSelection().selectAllChildren(block.querySelector("code"));
      say(copies, "Selected");
    });
  });

  const actions = block.querySelector(".actions") ?? make("div", { className: "actions" });
  actions.append(copies);
  block.append(actions);
}

/**
 * A session of Python: what was typed is copied, without its prompts and the answers.
 *
 * @param {HTMLElement} session
 */
function addCopy(session) {
  /** @type {string[]} */
  const typed = [];
  let isTyped = false;
  for (const line of (session.textContent ?? "").split("\n")) {
    // Three dots below an answer belong to it.
    isTyped = /^>>>( |$)/.test(line) || (isTyped && /^\.\.\.( |$)/.test(line));
    if (isTyped && line.slice(4).trim()) typed.push(line.slice(4));
  }
  const text = typed.join("\n");
  const button = make("button", { type: "button", className: "copies-session" }, "Copy");
  button.setAttribute("aria-label", "Copy without prompts");
  button.addEventListener("click", () => {
    copy(button, text + "\n").catch(() => {
      // The prompts can't be selected.
      getSelection()?.selectAllChildren(session);
      say(button, "Selected");
    });
  });
  session.append(button);
}

for (const session of every(".note code.block:has(> .gp)")) addCopy(session);

// Whatever scrolls by itself can be reached by the keyboard; what doesn't scroll is no stop.
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const isHigh = target.matches(".drawn") && target.scrollHeight > target.clientHeight;
    const isCut = isHigh || target.scrollWidth > target.clientWidth;
    if (isCut) target.setAttribute("tabindex", "0");
    else target.removeAttribute("tabindex");
  }
});
for (const one of every(".katex-display, .exhibit .drawn")) scrolling.observe(one);

// They are made when their block comes near what is in view: to make all at once would hold the page up.
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || !(target instanceof HTMLElement)) continue;
      near.unobserve(target);
      addButtons(target);
    }
  },
  { rootMargin: "50%" },
);
for (const block of every(".row > .code")) near.observe(block);

// A snippet is a file that runs by itself; with this script it is copied, not downloaded.
for (const link of every("a.copies")) {
  if (!(link instanceof HTMLAnchorElement)) continue;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    fetch(link.href)
      .then((answer) => (answer.ok ? answer.text() : Promise.reject(answer.status)))
      .then((text) => copy(link, text))
      .catch(() => (location.href = link.href));
  });
}
