// The dialogue of the search.
//
// It is there at once, so no letter is lost that is typed behind the `/`. What it does is a script
// of its own, which is fetched when it is first used. Where a project names the search of its theme,
// that one is there, and this one is not.

import { make } from "../../../page_runner/assets/elements.js";
import { first } from "./dom.js";
import { load } from "./plain.js";

if (!document.querySelector(".md-search")) offer();

function offer() {
  const button = make("button", { className: "find", type: "button" });
  button.setAttribute("aria-label", "Search");
  button.setAttribute("aria-keyshortcuts", "/ Control+K Meta+K");
  button.innerHTML =
    '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="10" cy="10" r="6"/><path d="m15 15 6 6"/></svg>' +
    '<span>Search</span><kbd aria-hidden="true">/</kbd>';
  first(".md-header__inner")?.append(button);

  const dialog = make("dialog", { className: "search" });
  dialog.setAttribute("aria-label", "Search");
  dialog.innerHTML =
    '<form><input aria-label="Search" autocomplete="off" placeholder="Words, names, parts of names" spellcheck="false">' +
    '<button type="button">Close</button></form><p role="status"></p><ol></ol>';
  document.body.append(dialog);
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  // A click beside the dialogue has the dialogue itself as its target.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  function fetchScript() {
    load("search.js").catch(() => {
      dialog.querySelector("p").textContent =
        "The search can't be loaded. Close it and open it again.";
      button.addEventListener("click", fetchScript, { once: true });
    });
  }
  button.addEventListener("click", fetchScript, { once: true });
  button.addEventListener("click", () => {
    dialog.showModal();
    dialog.querySelector("input").select();
  });

  addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    const pressed = key === "k" ? ctrlKey !== metaKey : key === "/" && !ctrlKey && !metaKey;
    if (!pressed || altKey) return;
    if (target instanceof Element) {
      const field = "input:not([type=radio], [type=checkbox]), textarea, select";
      const typing = target.closest(field)?.checkVisibility();
      if (typing || (target instanceof HTMLElement && target.isContentEditable)) return;
    }
    event.preventDefault();
    button.click();
  });
}
