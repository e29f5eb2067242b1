// ---
// title: Output
// summary: What the program printed and drew, below the code.
// ---

import { make } from "./elements.js";

export class Output {
  constructor() {
    this.text = make("pre", { tabIndex: 0 });
    this.text.setAttribute("aria-label", "What the program printed");
    this.figures = make("div", { className: "figures" });
    this.element = make(
      "div",
      { className: "output", hidden: true },
      make("p", { className: "label", textContent: "Output" }),
      this.text,
      this.figures,
    );
  }

  clear() {
    this.text.textContent = "";
    this.figures.replaceChildren();
    this.element.hidden = this.text.hidden = true;
  }

  print(text) {
    this.element.hidden = this.text.hidden = false;
    this.text.append(text);
  }

  // As a picture: nothing in it can run.
  draw(svg) {
    this.element.hidden = false;
    const count = this.figures.childElementCount + 1;
    this.figures.append(
      make("img", {
        alt: `Figure ${count} of the program`,
        src: `data:image/svg+xml,${encodeURIComponent(svg)}`,
      }),
    );
  }
}
