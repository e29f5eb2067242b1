// What a page can do beyond being read. Without this script it still reads in full.

// A button on each block of code copies its lines, without their numbers and shapes.
for (const block of document.querySelectorAll(".row > .code")) {
  const lines = [...block.querySelectorAll(".line")];
  const numbered = lines.filter((line) => line.id);
  const [first, last] = [numbered[0].id, numbered[numbered.length - 1].id];
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  const range = first === last ? `line ${first.slice(1)}` : `lines ${first.slice(1)} to ${last.slice(1)}`;
  button.setAttribute("aria-label", `Copy ${range}`);
  button.addEventListener("click", () => {
    const text = lines.map((line) => line.lastElementChild?.textContent ?? "").join("\n");
    copy(button, text + "\n").catch(() => {
      // The browser may refuse, on a page that is not served by https: then the lines are selected.
      getSelection().selectAllChildren(block.querySelector("code"));
      say(button, "Selected");
    });
  });

  // A snippet is a file that runs by itself; with this script it is copied, not downloaded.
  const actions = document.createElement("div");
  actions.className = "actions";
  const snippet = block.querySelector(".snippet");
  if (snippet) {
    snippet.title = "Copy this definition with all that it needs";
    snippet.addEventListener("click", (event) => {
      event.preventDefault();
      fetch(snippet.href)
        .then((answer) => (answer.ok ? answer.text() : Promise.reject(answer.status)))
        .then((text) => copy(snippet, text))
        .catch(() => (location.href = snippet.href));
    });
    actions.append(snippet);
  }
  actions.append(button);
  block.append(actions);
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  say(button, "Copied");
}

const status = document.createElement("p");
status.className = "visually-hidden";
status.setAttribute("role", "status");
document.body.append(status);

function say(button, word) {
  const label = button.textContent;
  button.textContent = status.textContent = word;
  setTimeout(() => {
    button.textContent = label;
    status.textContent = "";
  }, 1500);
}

// Whatever scrolls by itself can be reached by the keyboard; what doesn't scroll is no stop.
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
document.querySelectorAll(".row pre, .katex-display").forEach((one) => scrolling.observe(one));

// The search is a script of its own, which is fetched when it is first used.
const searchScript = new URL("search.js", document.currentScript.src);
const find = document.createElement("button");
find.type = "button";
find.className = "find";
find.setAttribute("aria-label", "Search");
find.setAttribute("aria-keyshortcuts", "/ Control+K Meta+K");
find.innerHTML =
  '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="10" cy="10" r="6"/><path d="m15 15 6 6"/></svg>' +
  '<span>Search</span><kbd aria-hidden="true">/</kbd>';
document.querySelector(".md-header__inner")?.append(find);

function loadSearch() {
  const script = document.createElement("script");
  script.src = searchScript;
  script.addEventListener("error", () => {
    say(find.querySelector("span"), "Not loaded");
    find.addEventListener("click", loadSearch, { once: true });
  });
  document.head.append(script);
}
find.addEventListener("click", loadSearch, { once: true });

addEventListener("keydown", (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event;
  const pressed = key === "k" ? ctrlKey !== metaKey : key === "/" && !ctrlKey && !metaKey;
  const typing = target.closest?.("input:not([type=radio], [type=checkbox]), textarea, select");
  if (!pressed || altKey || typing?.checkVisibility() || target.isContentEditable) return;
  event.preventDefault();
  find.click();
});

// Where a note stands above its code, who comes for the first line of a row sees the note, too.
function showRow() {
  const line = document.querySelector(".line:target");
  const row = line?.closest(".row");
  if (row?.querySelector(".line[id]") !== line) return;
  const height = line.getBoundingClientRect().bottom - row.getBoundingClientRect().top;
  if (height < innerHeight * 0.8) row.scrollIntoView();
}
addEventListener("hashchange", showRow);
addEventListener("load", showRow);
