// What can be started on a page: the recorded run, the questions, a model that writes. Each is
// fetched when it is asked for.

import { make } from "../../../page_runner/assets/elements.js";
import { about } from "./about.js";
import { every, first } from "./dom.js";
import { isFile, load } from "./plain.js";
import { refused, starter } from "./starter.js";

// ## Questions with answers to choose from

// Where the script can't be had, the answers are read as they stand there.
if (first("details.question > .task-list")) load("questions.js").catch(() => {});

// ## What was wrong comes back

// On the page with the steps of a course, above the first of them and the words before it.
const firstStep = first(".path-step");
if (firstStep && !isFile) {
  const again = make("section", { className: "again" });
  (firstStep.previousElementSibling ?? firstStep).before(again);
  import("./review.js").then(({ start }) => start(again));
}

// A link to what a program changes arrives where that is open.
function openProgram() {
  const program = document.getElementById(location.hash.slice(1));
  if (program instanceof HTMLDetailsElement) program.open = true;
}
openProgram();
addEventListener("hashchange", openProgram);

// ## What shape is this?

// The questions are at the end of a page with shapes.
// What is shown of other pages has none.
const lastRow = first(".line[id] > .shape") && every(".row").at(-1);
if (lastRow) {
  const quiz = make("section", { className: "quiz" });
  const ask = async () => {
    const [{ start }, known] = await Promise.all([import("./quiz.js"), about(location.href)]);
    await start(quiz, known);
  };
  quiz.append(starter("live", "What shape is this? Guess the shapes of this page", ask));
  lastRow.after(quiz);
}

// ## A model that writes

// What a model wrote for the record, it does again in the browser for a reader who asks.
for (const figure of every("[data-write]")) {
  const size = (+figure.dataset.bytes / 1e6).toFixed(1);
  /** @param {HTMLButtonElement} button */
  const write = async (button) => {
    const { start } = await import("../../../page_runner/assets/writing.js");
    await start(figure, button);
  };
  figure.prepend(starter("live first", `Write your own (${size} MB)`, write));
}

// ## Texts type themselves, and a model goes on from the reader's beginning

const typed = first("figure.typed");
if (typed && !isFile) import("./typed.js").then(({ start }) => start(typed));

for (const form of every("form.go-on")) {
  const said = first(".said", form);
  const button = form.querySelector("button");
  button.addEventListener("click", async () => {
    // From here on, until the text is there, another click would begin a second one.
    button.disabled = true;
    try {
      const { start } = await import("../../../page_runner/assets/go_on.js");
      await start(form);
    } catch {
      said.textContent = refused;
    }
    button.disabled = false;
  });
}

// ## The recorded run

/**
 * What starts the panel. It is a module; from the disk a plain script takes its place.
 *
 * @returns {Promise<typeof import("../../../page_runner/assets/panel.js").start>}
 */
async function importPanel() {
  if (!isFile) return (await import("../../../page_runner/assets/panel.js")).start;
  let start = null;
  const came = (/** @type {CustomEvent} */ { detail }) => (start = detail);
  addEventListener("panel", came, { once: true });
  await load("panel_from_disk.js");
  return start;
}

// A button in the place of the step that is there without a script. The panel is fetched with it.
for (const section of every("section.run")) {
  /** @type {import("../../../page_runner/assets/panel.js").Panel | null} */
  let panel = null;
  const step = async () => {
    panel ??= await (await importPanel())(section);
    await panel.go(panel.step);
    panel.after.focus({ preventScroll: true });
  };
  first("details", section)?.replaceWith(starter("go", "Step through the recorded run", step));
}
