// The search: a dialogue over the index that literate/search.py writes.
//
// literate.js loads this script at the first click on its button, and from then on the button is
// this script's. What comes from the index is put into the page as text, never as HTML.
(() => {
  const assets = new URL(".", document.currentScript.src);
  const root = new URL("..", assets);
  // A folder on the disk has no server that would answer with the page inside it.
  const file = location.protocol === "file:" ? "index.html" : "";
  const most = 50;

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // The dialogue

  const input = element("input", {
    "aria-activedescendant": "",
    "aria-autocomplete": "list",
    "aria-controls": "search-results",
    "aria-expanded": "false",
    "aria-label": "Search",
    autocapitalize: "off",
    autocomplete: "off",
    enterkeyhint: "go",
    id: "search-input",
    placeholder: "Words, names, parts of names",
    role: "combobox",
    spellcheck: "false",
    type: "text",
  });
  const close = element("button", { class: "search-close", type: "button" }, "Close");
  const form = element("form", {}, input, close);
  const count = element("p", { class: "search-count", role: "status" });
  const list = element("div", { "aria-label": "Results", id: "search-results", role: "listbox" });
  const dialog = element("dialog", { "aria-label": "Search", class: "search" }, form, count, list);

  let options = [];
  let active = -1;

  function activate(index) {
    options[active]?.setAttribute("aria-selected", "false");
    active = index;
    options[active]?.setAttribute("aria-selected", "true");
    options[active]?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active]?.id ?? "");
  }

  dialog.addEventListener("keydown", (event) => {
    // What a key does on the page, it doesn't do behind the dialogue. Closed, the dialogue keeps the
    // focus until the browser draws again.
    if (!dialog.open) return;
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !options.length) return;
    event.preventDefault();
    activate((active + step + options.length) % options.length);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    options[active]?.click();
  });
  list.addEventListener("click", (event) => {
    const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
    if (event.target.closest("a") && !elsewhere) dialog.close();
  });
  close.addEventListener("click", () => dialog.close());
  // A click beside the dialogue has the dialogue itself as its target.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  input.addEventListener("input", update);

  // The index

  let rows = [];
  let notes = [];
  const asked = new Set();
  let coming = 0;
  let failed = false;

  // In small letters, with every letter in its old place.
  function folded(text) {
    const lower = text.toLowerCase();
    return { text, lower: lower.length === text.length ? lower : text };
  }

  addEventListener("search-names", ({ detail }) => {
    rows = detail.flatMap(([title, address, entries]) =>
      entries.map(([anchor, name, heading, line, names]) => ({
        title: folded(title),
        address,
        anchor,
        name: folded(name),
        own: anchor && anchor === name ? name.split(".").at(-1).toLowerCase() : "",
        // The top of a page has the title of the page as its heading.
        heading: folded(heading || (anchor ? "" : title)),
        line,
        names: folded(names),
      })),
    );
  });
  addEventListener("search-notes", ({ detail }) => {
    notes = detail.map(folded);
  });

  function load(name) {
    if (asked.has(name)) return;
    asked.add(name);
    coming += 1;
    failed = false;
    const script = element("script", { src: new URL(name, assets) });
    script.addEventListener("load", () => {
      coming -= 1;
      update();
    });
    script.addEventListener("error", () => {
      asked.delete(name);
      coming -= 1;
      failed = true;
      update();
    });
    document.head.append(script);
  }

  // The comparison

  const isPartOfWord = (character) => /[\p{L}\p{M}\p{N}]/u.test(character);
  const isCapital = (character) => /\p{Lu}/u.test(character);

  // A word begins behind anything else than a letter, and at a capital inside a name: three times
  // in `HTMLPage_parser`.
  function begins(text, at) {
    const [before, here, after] = [text[at - 1] ?? "", text[at] ?? "", text[at + 1] ?? ""];
    if (!isPartOfWord(before)) return true;
    return isCapital(here) && (!isCapital(before) || (isPartOfWord(after) && !isCapital(after)));
  }

  function ends(text, at) {
    return at >= text.length || !isPartOfWord(text[at]) || begins(text, at);
  }

  // Where a word of the query stands. Only the last one may be unfinished.
  function* places({ text, lower }, { word, last }) {
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) {
      if (!begins(text, at)) continue;
      const whole = ends(text, at + word.length);
      if (whole || last) yield { at, whole };
    }
  }

  // 0 without a place, 1 for the beginning of a word, 2 for a word.
  function fit(field, query) {
    let best = 0;
    for (const { whole } of places(field, query)) {
      if (whole) return 2;
      best = 1;
    }
    return best;
  }

  function hasName({ lower }, { word }) {
    const inside = (at) => at >= 0 && at < lower.length && lower[at] !== " " && lower[at] !== "\n";
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) {
      if (!inside(at - 1) && !inside(at + word.length)) return true;
    }
    return false;
  }

  // What a word of the query is worth in a row: a definition of that name comes before a heading,
  // that before a name in the code, a part of a name, and a word of the note.
  function worth(row, note, query) {
    if (query.word === row.own) return 9;
    const heading = fit(row.heading, query);
    if (heading === 2) return 7;
    const names = fit(row.names, query);
    if (names && hasName(row.names, query)) return 6;
    if (heading) return 5;
    const parts = Math.max(names, row.own && fit(row.name, query));
    if (parts) return 2 + parts;
    return note ? fit(note, query) : 0;
  }

  function score(row, note, queries) {
    let sum = 0;
    let own = 0;
    let told = 0;
    for (const query of queries) {
      const value = worth(row, note, query);
      own += value;
      // What a row doesn't say itself, its page or its definition may say.
      if (!value && !fit(row.title, query) && !fit(row.name, query)) return 0;
      sum += value || 0.5;
      // Where a note speaks of what stands beside it, more is to be read.
      if (value && note && fit(note, query)) told += 0.5;
    }
    if (!own) return 0;
    // The definition that has all the words in its name comes before the page about it, and the
    // more of its name they are, the earlier. A method's own name does, whatever its class is called.
    const named = row.own && queries.every((query) => fit(row.name, query));
    const length = queries.reduce((all, query) => all + query.word.length, 0);
    const alone = queries.every((query) => row.own.includes(query.word));
    return named ? sum + 1 + length / (alone ? row.own : row.name.text).length : sum + told;
  }

  function find(queries) {
    const found = [];
    rows.forEach((row, index) => {
      const value = queries.length && score(row, notes[index], queries);
      if (value) found.push({ row, note: notes[index], value });
    });
    // Equals stay in reading order.
    return found.sort((one, other) => other.value - one.value);
  }

  function wordsOf(text) {
    const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}_]+/gu) ?? [];
    return words.map((word, index) => ({ word, last: index === words.length - 1 }));
  }

  // The results

  function update() {
    const queries = wordsOf(input.value);
    const found = find(queries);
    options = found.slice(0, most).map((one, index) => option(one, queries, index));
    list.replaceChildren(...options);
    list.scrollTop = 0;
    list.hidden = !options.length;
    list.setAttribute("aria-busy", String(coming > 0));
    input.setAttribute("aria-expanded", String(options.length > 0));
    activate(options.length ? 0 : -1);
    count.textContent = summary(queries.length, found.length);
  }

  function summary(words, found) {
    if (failed) return "The index can't be loaded. Close the search and open it again.";
    if (!words) return "";
    if (coming && !found) return "Loading the index";
    const results = `${found || "No"} ${found === 1 ? "result" : "results"}`;
    return found > most ? `${results}, the first ${most} are shown` : results;
  }

  function option({ row, note }, queries, index) {
    const path = [element("span", {}, ...marked(row.title, queries))];
    const name = row.name.text
      ? element("code", {}, ...marked(row.name, queries))
      : element("span", {}, ...marked(row.heading, queries));
    if (name.textContent && row.anchor) path.push(" › ", name);

    const text = [];
    if (row.name.text && row.heading.text) {
      text.push(element("strong", {}, ...marked(row.heading, queries)), " ");
    }
    // A name in the code, where nothing else shows why the row was found.
    const seen = [row.heading, row.name, ...(note ? [note] : [])];
    const hidden = queries.filter((query) => !seen.some((field) => fit(field, query)));
    const names = hidden.flatMap((query) => nameWith(row, query) ?? []);
    const different = names.filter(
      ({ name }, at) => names.findIndex((other) => other.name.text === name.text) === at,
    );
    for (const { name } of different) text.push(element("code", {}, ...marked(name, queries)), " ");
    if (note) text.push(...marked(excerpt(note, queries), queries));

    const line = names[0]?.line ?? row.line;
    const anchor = names[0] && names[0].line > row.line ? `L${names[0].line}` : row.anchor;
    const where = line ? [element("small", {}, `line ${line}`)] : [];
    return element(
      "a",
      {
        "aria-selected": "false",
        href: new URL(row.address + file + (anchor && `#${anchor}`), root),
        id: `search-${index}`,
        role: "option",
        tabindex: "-1",
      },
      element("span", { class: "search-path" }, element("span", {}, ...path), ...where),
      element("span", { class: "search-text" }, ...text),
    );
  }

  // The first name that a word fits, and its line.
  function nameWith(row, query) {
    for (const [offset, line] of row.names.text.split("\n").entries()) {
      const name = line.split(" ").find((one) => fit(folded(one), query));
      if (name) return { name: folded(name), line: row.line + offset };
    }
    return undefined;
  }

  // The part of a note around the first word that was looked for.
  function excerpt({ text, lower }, queries) {
    const first = queries
      .map((query) => places({ text, lower }, query).next().value?.at ?? Infinity)
      .reduce((one, other) => Math.min(one, other), Infinity);
    const near = Math.min(first - 40, text.length - 200);
    const from = first === Infinity || near < 40 ? 0 : text.lastIndexOf(" ", near) + 1;
    const until = text.length - from < 220 ? text.length : text.lastIndexOf(" ", from + 200);
    const cut = text.slice(from, Math.max(until, from + 100));
    return folded(`${from ? "… " : ""}${cut}${from + cut.length < text.length ? " …" : ""}`);
  }

  // A text, with the words that were looked for in elements of their own.
  function marked(field, queries) {
    const found = queries.flatMap((query) =>
      [...places(field, query)].map(({ at }) => ({ at, end: at + query.word.length })),
    );
    const nodes = [];
    let from = 0;
    for (const { at, end } of found.sort((one, other) => one.at - other.at)) {
      if (at < from) continue;
      nodes.push(field.text.slice(from, at), element("mark", {}, field.text.slice(at, end)));
      from = end;
    }
    return [...nodes, field.text.slice(from)];
  }

  // The first use

  function open() {
    load("search-names.js");
    load("search-notes.js");
    if (!dialog.open) dialog.showModal();
    input.select();
    update();
  }

  document.querySelector(".find").addEventListener("click", open);
  document.body.append(dialog);
  // Shown without its styles, the dialogue would jump.
  const style = element("link", { href: new URL("search.css", assets), rel: "stylesheet" });
  style.addEventListener("load", open);
  style.addEventListener("error", open);
  document.head.append(style);
})();
