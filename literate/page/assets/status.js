// What a button says when it was used.

import { make } from "../../../page_runner/assets/elements.js";

// What is said to those who see it on a button is also said to those who don't.
const status = make("p", { className: "visually-hidden" });
status.setAttribute("role", "status");
document.body.append(status);

/**
 * A word on a button, for a moment.
 *
 * @param {HTMLElement} button
 * @param {string} word
 */
export function say(button, word) {
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  button.textContent = status.textContent = word;
  setTimeout(() => {
    button.textContent = label;
    status.textContent = "";
  }, 1500);
}

/**
 * Put a text into the clipboard, and say so.
 *
 * @param {HTMLElement} button
 * @param {string} text
 */
export async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  say(button, "Copied");
}
