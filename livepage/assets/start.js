// What can be started on a page: the recorded run, the questions about shapes, a model that writes.
// Each is fetched when it comes into view, or when it is asked for. This is a plain script behind
// literate.js, whose functions it uses.

function starter(className, text, act) {
  const button = make("button", className, text);
  button.type = "button";
  button.addEventListener("click", () => act(button).catch(() => say(button, "It can’t be fetched")));
  return button;
}

// ## What shape is this?

// The questions are at the end of a page with shapes.
const lastRow = document.querySelector(".row:has(.shape)") && every(".row").at(-1);
if (lastRow) {
  const quiz = make("section", "quiz");
  const ask = async () => (await import("./quiz.js")).start(quiz, await about(location.href));
  quiz.append(starter("live", "What shape is this? Guess the shapes of this page", ask));
  lastRow.after(quiz);
}

// ## A model that writes

// What a model wrote for the record, it does again in the browser for a reader who asks.
for (const figure of every("[data-write]")) {
  const size = (figure.dataset.bytes / 1e6).toFixed(1);
  const write = async (button) => (await import("./writing.js")).start(figure, button);
  figure.prepend(starter("live first", `Write your own (${size} MB)`, write));
}

// ## The recorded run can be stepped through once it is in view

const run = document.querySelector("section.run");
const seen = (entries, watch) => {
  if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
  watch.disconnect();
  import("./panel.js").then(({ start }) => start(run));
};
if (run) new IntersectionObserver(seen).observe(run);
