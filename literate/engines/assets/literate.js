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
  const number = event.target.closest?.("a[data-line]")?.dataset.line;
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

// ## Buttons on each block of code

function addButtons(block) {
  const lines = every(".line", block);
  const numbered = lines.filter((line) => line.id);
  const [first, last] = [numbered[0].id, numbered.at(-1).id];
  const range = first === last ? `line ${first.slice(1)}` : `lines ${first.slice(1)} to ${last.slice(1)}`;

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

  const links = make("button", "", "Link");
  links.setAttribute("aria-label", `Copy a link to ${range}`);
  links.addEventListener("click", () => {
    // Lines of this block that the reader has marked, or all of it.
    const marked = block.querySelector(".aimed") && lineNumbers.test(location.hash);
    const hash = first === last ? `#${first}` : `#${first}-${last}`;
    const address = new URL(marked ? location.hash : hash, location);
    copy(links, address.href).catch(() => goQuietly(address.hash));
  });

  const actions = block.querySelector(".actions") ?? make("div", "actions");
  for (const button of [links, copies]) button.type = "button";
  actions.append(links, copies);
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
      scrolling.observe(target.querySelector("pre"));
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

for (const link of every(".headerlink")) {
  link.addEventListener("click", () => {
    navigator.clipboard?.writeText(link.href).then(
      () => (status.textContent = "Link copied"),
      () => {},
    );
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

// The name under a place of the screen, with the group of places that stand for the same.
async function lightNameAt(x, y) {
  const { names } = await about(location.href);
  const caret = document.caretPositionFromPoint?.(x, y);
  const before = document.caretRangeFromPoint?.(x, y);
  const [node, offset] = caret
    ? [caret.offsetNode, caret.offset]
    : [before?.startContainer, before?.startOffset];
  const line = node?.parentElement?.closest(".line[id]");
  if (!line) return;
  const upTo = document.createRange();
  upTo.setStart(line.lastElementChild, 0);
  upTo.setEnd(node, offset);
  const [number, column] = [+line.id.slice(1), upTo.toString().length];
  for (const [name, groups] of Object.entries(names)) {
    const word = name.replace("self.", "");
    for (const group of groups) {
      for (let index = 0; index < group.length; index += 2) {
        const start = group[index + 1];
        if (group[index] !== number || column < start || column > start + word.length) continue;
        kept = true;
        lightPlaces(group, word.length);
        lightSymbols(new Set([word]));
        return;
      }
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
  const inCode = event.target.closest?.(".row pre") && !event.target.closest("a");
  if (inCode && getSelection().isCollapsed) lightNameAt(event.clientX, event.clientY);
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
  const found = (await about(location.href)).tensors[line.id.slice(1)] ?? [];
  return found.map(([name, axes, sizes, dtype, low, mean, high, picture]) => {
    const one = make("div", "tensor");
    const shape = sizes.map((size, index) => (axes[index] === `${size}` ? size : `${axes[index]} ${size}`));
    one.append(make("code", "", `${name.replace("return", "→")}: ${dtype} [${shape.join(", ")}]`));
    if (low !== null) one.append(make("p", "", `min ${low}, mean ${mean}, max ${high}`));
    if (picture) one.append(...draw(picture, axes));
    return one;
  });
}

// The picture is a text: the two axes that it shows, and a digit from 0 to f for each number.
function draw(picture, axes) {
  const [shown, digits] = picture.split(":");
  const rows = digits.split("/");
  const canvas = make("canvas", "");
  [canvas.width, canvas.height] = [rows[0].length, rows.length];
  canvas.style.width = `${rows[0].length * 7}px`;
  canvas.style.height = `${rows.length * 7}px`;
  const context = canvas.getContext("2d");
  const light = getComputedStyle(card).getPropertyValue("--picture-low");
  const dark = getComputedStyle(card).getPropertyValue("--picture-high");
  rows.forEach((row, y) =>
    [...row].forEach((digit, x) => {
      context.fillStyle = `color-mix(in srgb, ${dark} ${(parseInt(digit, 16) / 15) * 100}%, ${light})`;
      context.fillRect(x, y, 1, 1);
    }),
  );
  const names = shown.split(",").filter(Boolean).map((axis) => axes[axis]);
  const others = axes.length > names.length ? ", the others at 0" : "";
  return [canvas, make("p", "", `${names.join(" × ")}${others}`)];
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
  // The card says all that the browser would say from this attribute.
  shape?.removeAttribute("title");
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

// ## Keys

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    hide();
    darken();
  }
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key !== "j" && event.key !== "k") return;
  const all = every(".row");
  const top = headerHeight() + 12;
  const at = all.findIndex((row) => row.getBoundingClientRect().bottom > top);
  const here = document.activeElement?.closest(".row");
  const from = here ? all.indexOf(here) : at - (event.key === "j");
  const next = all[from + (event.key === "j" ? 1 : -1)];
  if (!next) return;
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView();
});

const headerHeight = () => document.querySelector(".md-header")?.offsetHeight ?? 0;

// ## Where the reader is

// A heading of the page itself ends a definition; one within it doesn't.
const headings = every(".row :is(h2, .definition)[id]");
if (headings.some((one) => one.matches(".definition"))) {
  const here = make("nav", "here");
  here.setAttribute("aria-label", "Definition in view");
  here.hidden = true;
  // Not inside of the article: there all that follows would have to be looked at again.
  document.querySelector("article").before(here);
  // Wherever a reader is, the letters of the shapes can be looked up.
  const legend = document.querySelector(".axes")?.cloneNode(true);
  let shown = "";
  const follow = () => {
    const top = headerHeight() + 56;
    const passed = headings.filter((one) => one.getBoundingClientRect().top < top);
    const last = passed.at(-1);
    const name = last?.matches(".definition") ? last.id : "";
    if (name === shown) return;
    shown = name;
    here.hidden = !name;
    const parts = name.split(".");
    const links = parts.map((part, index) => {
      const link = make("a", "", part);
      link.href = `#${parts.slice(0, index + 1).join(".")}`;
      return link;
    });
    here.replaceChildren(...links, ...(legend ? [legend] : []));
  };
  addEventListener("scroll", () => requestAnimationFrame(follow), { passive: true });
  // At the top of the page there is none, and nobody has to look for it.
  if (scrollY || location.hash) requestAnimationFrame(follow);
}

// The theme calls two things “Navigation”.
document.querySelector(".md-path")?.setAttribute("aria-label", "Path");

// ## Lists to tick off

// What is ticked is kept in the reader's browser, by the place that the item leads to.
for (const box of every(".task-list-item > input")) {
  const link = box.closest("li").querySelector("a");
  const key = `ticked ${link.pathname}${link.hash}`;
  box.setAttribute("aria-label", `${link.textContent}: done`);
  box.checked = key in localStorage;
  box.addEventListener("change", () => {
    if (box.checked) localStorage.setItem(key, "yes");
    else localStorage.removeItem(key);
  });
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
