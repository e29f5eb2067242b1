// Lists to tick off.

import { every, first } from "./dom.js";

/**
 * What is ticked is kept in the reader's browser.
 *
 * @param {HTMLInputElement} box
 * @param {string} key
 */
function keep(box, key) {
  box.checked = key in localStorage;
  box.addEventListener("change", () => {
    if (box.checked) localStorage.setItem(key, "yes");
    else localStorage.removeItem(key);
  });
}

// It is known by the place that the item leads to.
for (const box of every(".task-list-item > input")) {
  if (box.closest(".question") || !(box instanceof HTMLInputElement)) continue;
  const link = box.closest("li").querySelector("a");
  box.setAttribute("aria-label", `${link.textContent}: done`);
  keep(box, `ticked ${link.pathname}${link.hash}`);
}

// A page that is a step has the same boxes.
for (const box of every(".step input")) {
  if (box instanceof HTMLInputElement) keep(box, `ticked ${location.pathname}${box.dataset.step}`);
}

// The theme calls two things “Navigation”.
first(".md-path")?.setAttribute("aria-label", "Path");
