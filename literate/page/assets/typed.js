// ---
// title: Typed
// summary: The text that is chosen types itself; without motion it is there at once.
// ---
//
// Which text is shown, radio buttons and the style sheet say. This script only lets it come letter by
// letter. What is not yet typed keeps its place, so nothing moves.

const LETTERS_A_SECOND = 90;
const PAUSE = 900;

export function start(figure) {
  const choices = [...figure.querySelectorAll("input")];
  const texts = [...figure.querySelectorAll(".samples code")];
  let turn = 0;

  // Only the newest choice goes on typing. `follow` says whether the next text comes after this one.
  function type(at, follow) {
    const mine = ++turn;
    const element = texts[at];
    const text = element.textContent;
    const came = new Text();
    const rest = document.createElement("span");
    rest.className = "yet-to-come";
    const shown = document.createElement("span");
    shown.className = "typing";
    shown.append(came);
    element.replaceChildren(shown, rest);
    const began = performance.now();
    const step = (now) => {
      const letters = Math.min(text.length, Math.floor(((now - began) / 1000) * LETTERS_A_SECOND));
      if (mine === turn && letters < text.length) {
        came.data = text.slice(0, letters);
        rest.textContent = text.slice(letters);
        requestAnimationFrame(step);
        return;
      }
      element.textContent = text;
      if (mine === turn && follow && choices[at + 1])
        setTimeout(() => mine === turn && choose(at + 1), PAUSE);
    };
    step(began);
  }

  function choose(at) {
    choices[at].checked = true;
    type(at, true);
  }

  // A choice of the reader's ends what goes on, a text that a model writes just now as well.
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  for (const [at, choice] of choices.entries()) {
    choice.addEventListener("change", () => {
      figure.querySelector(".live")?.remove();
      if (still) turn++;
      else type(at, false);
    });
  }
  figure.addEventListener("live", () => {
    turn++;
    // None is shown now; so each of them can be chosen, the last one too.
    for (const choice of choices) choice.checked = false;
  });
  if (!still) choose(0);
}
