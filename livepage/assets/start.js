// What can be started on a page: the recorded run, the questions about shapes, a model that writes.
// Each is fetched when it is asked for. This is a plain script behind
// literate.js, whose functions it uses.

function starter(className, text, act) {
  const button = make("button", className, text);
  button.type = "button";
  const refused = isFile ? "Not from a file: serve the folder of the site" : "It can’t be fetched";
  button.addEventListener("click", () => act(button).catch(() => say(button, refused)));
  return button;
}

// The panel is a module. A browser loads none from the disk, where a plain script takes its place.
function importPanel() {
  if (!isFile) return import("./panel.js");
  const script = make("script", "");
  script.src = fromDisk;
  return new Promise((resolve, reject) => {
    script.onload = () => resolve(self.panel);
    script.onerror = reject;
    document.head.append(script);
  });
}

const fromDisk = new URL("panel_from_disk.js", document.currentScript.src).href;

// ## What shape is this?

// The questions are at the end of a page with shapes.
// What is shown of other pages has none.
const lastRow = document.querySelector(".line[id] > .shape") && every(".row").at(-1);
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

// ## Texts type themselves, and a model goes on from the reader's beginning

const typed = document.querySelector("figure.typed");
if (typed && !isFile) import("./typed.js").then(({ start }) => start(typed));

for (const form of every("form.go-on")) {
  const button = form.querySelector("button");
  const failed = () => (form.querySelector(".said").textContent = isFile ? "Not from a file: serve the folder of the site." : "It can’t be fetched.");
  button.addEventListener("click", () => import("./go_on.js").then(({ start }) => start(form), failed));
}

// ## The recorded run

// A button in the place of the step that is there without a script. The panel is fetched with it.
for (const section of every("section.run")) {
  let panel = null;
  const step = async () => {
    panel ??= await (await importPanel()).start(section);
    await panel.go(panel.step);
    panel.after.focus({ preventScroll: true });
  };
  section.querySelector("details")?.replaceWith(starter("go", "Step through the recorded run", step));
}

// ## Edit
//
// The editor is fetched at the click, and so is Python. A link with a change in it shows the change,
// and waits for the click as well.

const edits = document.querySelector("[data-edit]");

function offerEditor({ edit: path, program, sources, size, script, target, label, record }) {
  const at = (address) => new URL(address, location.href.split("#")[0]).href;
  const refused = make("p", "refused", "This page was opened as a file, and from a file a browser starts no Python. Serve the folder of the site: python -m http.server");
  const open = async (button, name, given = {}) => {
    if (isFile) return button.closest("p, section").after(refused);
    const text = button.textContent;
    const closed = () => {
      button.disabled = false;
      button.focus();
    };
    button.disabled = true;
    button.textContent = "Loading …";
    try {
      const { open: begin } = await import(at(`${program}/${name}.js`));
      await begin({ path, sources: at(`${sources}/`), closed, ...given });
    } catch (error) {
      closed();
      throw error;
    } finally {
      button.textContent = text;
    }
  };
  const loads = `That loads Python into your browser, ${size} MB. Nothing is sent.`;
  const opens = starter("edit", `Edit (${size} MB)`, (button) => open(button, "edit"));
  opens.title = `Change the code and run it here. ${loads}`;
  edits.append(opens);

  // Some pages have a form of their own.
  if (script) {
    const section = make("section", script);
    const begins = starter("live first", `${label} (${size} MB)`, (button) => open(button, script, { section, target, record: record && at(record) }));
    begins.title = loads;
    section.append(begins);
    (edits.closest("p") ?? edits).after(section);
  }

  if (!location.hash.startsWith("#edit=") || isFile) return;
  const section = make("section", "shared");
  const says = `This link changes lines of this page. None of it has run. To run it, open it in the editor, which loads Python (${size} MB).`;
  section.append(make("p", "", says));
  import(at(`${program}/shared.js`)).then(async ({ show }) => {
    const shared = await show(section, location.hash);
    const shows = starter("edit", "Open in the editor", async (button) => {
      await open(button, "edit", { shared });
      section.remove();
    });
    if (shared) section.append(shows);
    else section.firstChild.textContent = "This link should carry a change of the page, but it is damaged. Ask for a new one.";
    edits.closest("p").after(section);
  });
}

if (edits) offerEditor(edits.dataset);
