// ---
// title: Card
// summary: All that is known of a line, beside the text at its end.
// ---

import { make } from "./elements.js";

const GAP = 4;

// ## The card of an editor
//
// It is there for who points at the end of a line, or touches it. Who moves the cursor to the line reads the
// same below the code.
export class Card {
  constructor(editor) {
    this.element = make("div", { className: "card told", hidden: true });
    document.body.append(this.element);
    const over = ({ target }) => {
      const owner = target instanceof Element ? target.closest("[data-told]") : null;
      if (owner) this.#show(owner);
      else this.element.hidden = true;
    };
    editor.addEventListener("pointerover", over);
    editor.addEventListener("click", over);
    editor.addEventListener("pointerleave", () => (this.element.hidden = true));
    editor.addEventListener("keydown", () => (this.element.hidden = true));
  }

  #show(owner) {
    const lines = owner.dataset.told.split("\n");
    this.element.replaceChildren(...lines.map((text) => make("p", { textContent: text })));
    this.element.hidden = false;
    const box = owner.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - width - 8));
    const isBelow = box.bottom + height + GAP < innerHeight;
    const top = isBelow ? box.bottom + GAP : box.top - height - GAP;
    this.element.style.left = `${left + scrollX}px`;
    this.element.style.top = `${top + scrollY}px`;
  }

  close() {
    this.element.remove();
  }
}
