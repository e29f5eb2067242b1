// What a page can do beyond being read. Without this script it still reads in full.

const every = (selector, within = document) => [...within.querySelectorAll(selector)];

function make(name, className, text = "") {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

// What is said to those who see it on a button is also said to those who don't.
const status = make("p", "visually-hidden");
status.setAttribute("role", "status");
document.body.append(status);

function say(button, word) {
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  button.textContent = status.textContent = word;
  setTimeout(() => {
    button.textContent = label;
    status.textContent = "";
  }, 1500);
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  say(button, "Copied");
}

// ## A page that was opened from the disk

const isFile = location.protocol === "file:";

// A folder there has no server that would answer with the page inside it.
for (const link of isFile ? document.links : []) {
  if (link.protocol === "file:" && link.pathname.endsWith("/")) link.pathname += "index.html";
}

// ## Lines, and links to them

const lineNumbers = /^#L(\d+)(?:-L?(\d+))?$/;

// Marks the lines that the address names: the browser itself knows no ranges.
function aim(scroll) {
  for (const line of every(".line.aimed")) line.classList.remove("aimed");
  const found = lineNumbers.exec(location.hash);
  if (!found) return;
  const [first, last] = [+found[1], +(found[2] ?? found[1])].sort((a, b) => a - b);
  const lines = every(".line[id]").filter((line) => {
    const number = +line.id.slice(1);
    return first <= number && number <= last;
  });
  for (const line of lines) line.classList.add("aimed");
  if (scroll && lines.length) bringIntoView(lines[0]);
}

// Where a note stands above its code, who comes for the first line of a row sees the note, too.
function bringIntoView(line) {
  const row = line.closest(".row");
  const height = line.getBoundingClientRect().bottom - row.getBoundingClientRect().top;
  const whole = row.querySelector(".line[id]") === line && height < innerHeight * 0.8;
  (whole ? row : line).scrollIntoView();
}

// To set the address would scroll to the line, which the reader already sees.
function goQuietly(hash) {
  const top = scrollY;
  location.hash = hash;
  scrollTo({ top, behavior: "instant" });
}

let quiet = false;
addEventListener("hashchange", () => {
  aim(!quiet);
  quiet = false;
});

document.addEventListener("click", (event) => {
  // That of a line of another page leads there.
  const number = event.target.closest?.(".line[id] > a[data-line]")?.dataset.line;
  if (!number || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const from = event.shiftKey && lineNumbers.exec(location.hash)?.[1];
  const ends = [+(from || number), +number].sort((a, b) => a - b);
  const hash = ends[0] === ends[1] ? `#L${number}` : `#L${ends[0]}-L${ends[1]}`;
  if (hash !== location.hash) {
    quiet = true;
    goQuietly(hash);
  }
});

// All line numbers together are one stop of the Tab key; from there the arrows go from line to line.
const numbers = every("a[data-line]");
if (numbers.length) numbers[0].tabIndex = 0;
document.addEventListener("keydown", (event) => {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  const at = step ? numbers.indexOf(document.activeElement) : -1;
  const next = at < 0 ? null : numbers[at + step];
  if (!next) return;
  event.preventDefault();
  for (const one of numbers) one.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

// ## What readers can choose: whether notes are shown, and the size of the code

const root = document.documentElement;
const bar = document.querySelector(".stepbar");

// A browser may refuse to remember.
function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {}
}

const isNote = (note) => [...note.children].some((one) => !one.matches(".definition, .uses"));
const noted = every(".row:not(.intro, .after) > .note[data-at]").filter(isNote);

function unfold(row, isOpen) {
  row.classList.toggle("open", isOpen);
  row.querySelector(".opener")?.setAttribute("aria-expanded", isOpen);
  const note = row.querySelector(":scope > .note");
  // On a phone the first words of a closed note are seen; what is in them can't be used.
  note.inert = root.matches(".demand") && !isOpen && !note.querySelector(":scope > .definition");
}

function addOpener(note) {
  const row = note.parentElement;
  const opener = make("button", "opener");
  opener.type = "button";
  opener.setAttribute("aria-label", `Note on line ${note.dataset.at}`);
  opener.addEventListener("click", () => unfold(row, !row.matches(".open")));
  const heading = note.querySelector(":scope > .definition");
  if (heading) heading.after(opener);
  else note.before(opener);
}

function demand(isOn) {
  root.classList.toggle("demand", isOn);
  for (const note of noted) {
    if (isOn && !note.parentElement.querySelector(".opener")) addOpener(note);
    unfold(note.parentElement, false);
  }
}

// A link can lead into a note.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const row = target?.closest(".note") && target.closest(".row");
  if (row && root.matches(".demand")) unfold(row, true);
}

const SIZES = [1, 1.125, 1.25, 1.4];

if (bar && noted.length) {
  const switches = make("span", "switches");
  const size = make("button", "code-size");
  let at = Math.max(0, SIZES.indexOf(+root.style.getPropertyValue("--code-scale")));
  const tell = () => (size.textContent = `Code size: ${Math.round(SIZES[at] * 100)} %`);
  size.addEventListener("click", () => {
    at = (at + 1) % SIZES.length;
    root.style.setProperty("--code-scale", SIZES[at]);
    remember("code size", SIZES[at]);
    tell();
  });
  tell();
  const toggle = make("button", "demand-toggle", "Code first, notes on demand");
  toggle.addEventListener("click", () => {
    const isOn = !root.matches(".demand");
    demand(isOn);
    toggle.setAttribute("aria-pressed", isOn);
    remember("notes", isOn ? "demand" : "beside");
  });
  toggle.setAttribute("aria-pressed", root.matches(".demand"));
  for (const one of [size, toggle]) one.type = "button";
  switches.append(size, toggle);
  bar.append(switches);
  if (root.matches(".demand")) demand(true);
  openTarget();
  addEventListener("hashchange", openTarget);
}

// ## Buttons on each block of code

function addButtons(block) {
  const lines = every(".line", block);
  const numbers = lines.map((line) => line.querySelector("a[data-line]")?.dataset.line).filter(Boolean);
  if (!numbers.length) return;
  const [first, last] = [numbers[0], numbers.at(-1)];
  const range = first === last ? `line ${first}` : `lines ${first} to ${last}`;

  const copies = make("button", "", "Copy");
  copies.setAttribute("aria-label", `Copy ${range}`);
  copies.addEventListener("click", () => {
    const text = lines.map((line) => line.lastElementChild?.textContent ?? "").join("\n");
    copy(copies, text + "\n").catch(() => {
      // The browser may refuse, on a page that is not served by https: then the lines are selected.
      getSelection().selectAllChildren(block.querySelector("code"));
      say(copies, "Selected");
    });
  });

  const actions = block.querySelector(".actions") ?? make("div", "actions");
  copies.type = "button";
  actions.append(copies);
  block.append(actions);
}

// Whatever scrolls by itself can be reached by the keyboard; what doesn't scroll is no stop.
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const one of every(".katex-display")) scrolling.observe(one);

// They are made when their block comes near what is in view: to make all at once would hold the page up.
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      addButtons(target);
    }
  },
  { rootMargin: "50%" },
);
for (const block of every(".row > .code")) near.observe(block);

// A snippet is a file that runs by itself; with this script it is copied, not downloaded.
for (const link of every("a.copies")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    fetch(link.href)
      .then((answer) => (answer.ok ? answer.text() : Promise.reject(answer.status)))
      .then((text) => copy(link, text))
      .catch(() => (location.href = link.href));
  });
}

// ## What the page knows: fetched when it is first asked for

const known = new Map();

function about(address) {
  const file = new URL("about.json", address.split("#")[0]).href;
  if (!known.has(file)) {
    const nothing = { names: {}, definitions: {}, tensors: {} };
    const asked = fetch(file).then((answer) => (answer.ok ? answer.json() : nothing));
    known.set(file, asked.catch(() => nothing));
  }
  return known.get(file);
}

// ## Symbols and names light up wherever they stand

let kept = false;

// Names are lit as ranges, without a single element for them in the page.
const lit = self.Highlight && CSS.highlights ? new Highlight() : null;
if (lit) CSS.highlights.set("lit", lit);

function darken() {
  kept = false;
  lit?.clear();
  for (const one of every(".lit")) one.classList.remove("lit");
}

function lightSymbols(keys) {
  for (const one of every("[data-s]")) if (keys.has(one.dataset.s)) one.classList.add("lit");
}

function lightPlaces(numbers, length) {
  for (let index = 0; index < numbers.length; index += 2) {
    const text = document.getElementById(`L${numbers[index]}`)?.lastElementChild;
    const range = text && rangeIn(text, numbers[index + 1], length);
    if (range) lit?.add(range);
  }
}

function rangeIn(element, start, length) {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (start < node.length) {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, Math.min(node.length, start + length));
      return range;
    }
    start -= node.length;
  }
  return null;
}

async function lightKeys(keys, keep) {
  darken();
  kept = keep;
  lightSymbols(keys);
  const { names } = await about(location.href);
  for (const key of keys) {
    for (const name of [key, `self.${key}`]) {
      for (const group of names[name] ?? []) lightPlaces(group, key.length);
    }
  }
}

const keysIn = (formula) => new Set(every("[data-s]", formula).map((one) => one.dataset.s));

document.addEventListener("click", (event) => {
  const symbol = event.target.closest?.("[data-s]");
  if (symbol) {
    lightKeys(new Set([symbol.dataset.s]), true);
    return;
  }
  darken();
});

document.addEventListener("pointerover", (event) => {
  const symbol = event.target.closest?.("[data-s]");
  if (!kept && symbol) lightKeys(new Set([symbol.dataset.s]), false);
});

document.addEventListener("pointerout", (event) => {
  if (!kept && event.target.closest?.("[data-s]")) darken();
});

for (const formula of every(".katex")) {
  if (!formula.querySelector("[data-s]")) continue;
  formula.tabIndex = 0;
  formula.addEventListener("focus", () => lightKeys(keysIn(formula), false));
  formula.addEventListener("blur", darken);
}

// ## A card tells about a name or a tensor

const card = make("div", "card");
card.id = "card";
card.setAttribute("role", "tooltip");
card.hidden = true;
document.body.append(card);
let timer = 0;
let cardOf = null;

function show(owner, content, box) {
  card.replaceChildren(...content);
  card.hidden = false;
  const room = document.documentElement.clientWidth - card.offsetWidth - 8;
  const below = box.bottom + card.offsetHeight + 8 < innerHeight;
  card.style.left = `${Math.max(8, Math.min(box.left, room)) + scrollX}px`;
  card.style.top = `${(below ? box.bottom + 4 : box.top - card.offsetHeight - 4) + scrollY}px`;
  owner.setAttribute("aria-describedby", "card");
  cardOf = owner;
}

function hide() {
  clearTimeout(timer);
  cardOf?.removeAttribute("aria-describedby");
  cardOf = null;
  card.hidden = true;
}

async function tellName(link) {
  const name = decodeURIComponent(link.hash.slice(1));
  if (link.host !== location.host) {
    const full = name || link.pathname.split("/").pop().replace(".html", "");
    return [make("code", "", full), make("p", "", "in PyTorch’s documentation")];
  }
  const found = (await about(link.href)).definitions[name];
  return found ? [make("code", "", found[0]), make("p", "", found[1])] : [];
}

async function tellTensors(line) {
  const [{ tensors }, { tell }] = await Promise.all([about(location.href), import("./panel.js")]);
  return Promise.all((tensors[line.id.slice(1)] ?? []).map((found) => tell(...found)));
}

// A pointer that only passes by opens nothing; one that goes to the card keeps it.
function soon(owner, tell, box, wait) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const content = await tell(owner);
    if (content.length) show(owner, content, box());
  }, wait);
}

function lookAt(target) {
  const link = target.closest?.(".line span a");
  if (link) return [link, tellName, () => link.getBoundingClientRect()];
  const shape = target.closest?.(".shape");
  // The card says all that the browser would say from this attribute. From the disk there is none.
  if (!isFile) shape?.removeAttribute("title");
  return shape ? [shape.parentElement, tellTensors, () => shape.getBoundingClientRect()] : null;
}

document.addEventListener("pointerover", (event) => {
  if (card.contains(event.target)) return clearTimeout(timer);
  const found = lookAt(event.target);
  if (!found) {
    clearTimeout(timer);
    if (!card.hidden) timer = setTimeout(hide, 250);
  } else if (found[0] !== cardOf) {
    soon(...found, card.hidden ? 200 : 100);
  } else {
    clearTimeout(timer);
  }
});

document.addEventListener("focusin", ({ target }) => {
  if (!target.matches(":focus-visible")) return;
  const line = target.closest("a[data-line]")?.closest(".line:has(> .shape)");
  if (line) soon(target, () => tellTensors(line), () => line.getBoundingClientRect(), 0);
  else if (target.matches(".line span a")) soon(...lookAt(target), 0);
  else hide();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  hide();
  darken();
});

// The theme calls two things “Navigation”.
document.querySelector(".md-path")?.setAttribute("aria-label", "Path");

// ## Lists to tick off

// What is ticked is kept in the reader's browser, by the place that the item leads to.
for (const box of every(".task-list-item > input")) {
  if (box.closest(".question")) continue;
  const link = box.closest("li").querySelector("a");
  const key = `ticked ${link.pathname}${link.hash}`;
  box.setAttribute("aria-label", `${link.textContent}: done`);
  box.checked = key in localStorage;
  box.addEventListener("change", () => {
    if (box.checked) localStorage.setItem(key, "yes");
    else localStorage.removeItem(key);
  });
}

// A page that is a step has the same boxes.
for (const box of every(".step input")) {
  const key = `ticked ${location.pathname}${box.dataset.step}`;
  box.checked = key in localStorage;
  box.addEventListener("change", () => {
    if (box.checked) localStorage.setItem(key, "yes");
    else localStorage.removeItem(key);
  });
}

// ## Questions with answers to choose from

// A plain script, so a page that is opened as a file has it, too.
if (document.querySelector("details.question > .task-list")) {
  const script = document.createElement("script");
  script.src = new URL("questions.js", document.currentScript.src);
  document.head.append(script);
}

// ## Search

// The dialogue is there at once, so no letter is lost that is typed behind the `/`. What it does is
// a script of its own, which is fetched when it is first used.
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

const search = document.createElement("dialog");
search.className = "search";
search.setAttribute("aria-label", "Search");
search.innerHTML =
  '<form><input aria-label="Search" autocomplete="off" placeholder="Words, names, parts of names" spellcheck="false">' +
  '<button type="button">Close</button></form><p role="status"></p><ol></ol>';
document.body.append(search);
search.querySelector("button").addEventListener("click", () => search.close());
// A click beside the dialogue has the dialogue itself as its target.
search.addEventListener("click", (event) => event.target === search && search.close());

function loadSearch() {
  const script = document.createElement("script");
  script.src = searchScript;
  script.addEventListener("error", () => {
    search.querySelector("p").textContent = "The search can't be loaded. Close it and open it again.";
    find.addEventListener("click", loadSearch, { once: true });
  });
  document.head.append(script);
}
find.addEventListener("click", loadSearch, { once: true });
find.addEventListener("click", () => {
  search.showModal();
  search.querySelector("input").select();
});

addEventListener("keydown", (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event;
  const pressed = key === "k" ? ctrlKey !== metaKey : key === "/" && !ctrlKey && !metaKey;
  const typing = target.closest?.("input:not([type=radio], [type=checkbox]), textarea, select");
  if (!pressed || altKey || typing?.checkVisibility() || target.isContentEditable) return;
  event.preventDefault();
  find.click();
});

aim(true);
// Fonts and pictures have come, and may have moved what was aimed at.
addEventListener("load", () => aim(true));
