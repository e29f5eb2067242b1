// The code of a page, as its HTML has it: definitions, what they inherit, and what else they use.

const pages = new Map();

// A page is fetched once.
export function fetchPage(address) {
  const url = address.split("#")[0];
  if (!pages.has(url)) {
    const asked = fetch(url)
      .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(`${answer.status}`))))
      .then((html) => definitionsOf(new DOMParser().parseFromString(html, "text/html"), url));
    asked.catch(() => pages.delete(url));
    pages.set(url, asked);
  }
  return pages.get(url);
}

function lineOf(element, url) {
  const code = element.lastElementChild;
  const links = [...code.querySelectorAll("a")].map(
    (a) => new URL(a.getAttribute("href"), url).href,
  );
  const shape = element.querySelector(":scope > .shape")?.getAttribute("title") ?? "";
  const text = code.textContent;
  return { number: +element.id.slice(1), text, code, links, shape, url };
}

// The definitions of a page by their names, each cut into parts: the head of a class and its methods,
// or all of a function.
function definitionsOf(document, url) {
  const found = new Map();
  let lines = null;
  let decorators = [];
  for (const element of document.querySelectorAll(".line[id]")) {
    const line = lineOf(element, url);
    const name = /^(?:class|(?:async )?def) (\w+)/.exec(line.text)?.[1];
    if (line.text.startsWith("@")) {
      decorators.push(line);
      lines = null;
    } else if (name) {
      lines = [...decorators, line];
      decorators = [];
      found.set(name, { name, url, line, lines, isClass: line.text.startsWith("class") });
    } else if (/^[^\s)]/.test(line.text)) {
      lines = null;
    } else {
      lines?.push(line);
    }
  }
  for (const one of found.values()) one.parts = one.isClass ? methodsOf(one) : [partOf("()", one)];
  return found;
}

const partOf = (name, { lines, url, name: owner }) => ({ name, lines, url, owner });

function methodsOf({ lines, url, name: owner }) {
  const parts = [{ name: "class", lines: [], url, owner }];
  for (const line of lines) {
    const begins = /^ {4}(?:@|(?:async )?def )/.test(line.text);
    const last = parts.at(-1);
    if (begins && !last.lines.at(-1)?.text.startsWith("    @"))
      parts.push({ name: "", lines: [], url, owner });
    parts.at(-1).lines.push(line);
    const name = /^ {4}(?:async )?def (\w+)/.exec(line.text)?.[1];
    if (name && !parts.at(-1).name) parts.at(-1).name = name;
  }
  return parts;
}

// A class with the classes that it inherits from, the nearest first. Those of other packages are none
// of ours: no page of this site defines them.
async function familyOf(definition) {
  const base = definition.isClass && definition.line.links[0];
  const name =
    base &&
    new URL(base).origin === location.origin &&
    decodeURIComponent(new URL(base).hash.slice(1));
  const parent = name && (await fetchPage(base)).get(name);
  return parent ? [definition, ...(await familyOf(parent))] : [definition];
}

// The parts of a class as it works: its own, and the methods that it inherits, in the order of those.
function partsOf(family) {
  const [own, ...others] = family;
  const mine = new Map(own.parts.map((part) => [part.name, part]));
  if (!others.length) return own.parts;
  const inherited = partsOf(others).slice(1);
  const merged = inherited.map((part) => mine.get(part.name) ?? { ...part, inherited: part.owner });
  const names = new Set(merged.map((part) => part.name));
  return [
    mine.get("class"),
    ...merged,
    ...own.parts.filter((part) => part.name !== "class" && !names.has(part.name)),
  ];
}

// All that makes up an attention: the definition itself, and what its code and the code that it
// inherits name of this site. Each part has a key by which it finds its counterpart.
export async function codeOf(address, name) {
  const main = (await fetchPage(address)).get(name);
  if (!main) throw new Error(`no ${name} on ${address}`);
  const family = await familyOf(main);
  const seen = new Set(family.map(({ url, name }) => `${url}#${name}`));
  const parts = partsOf(family).map((part) => ({
    ...part,
    key: part.name === "()" ? "forward" : part.name,
  }));
  const waiting = family.flatMap(({ lines }) => lines);
  while (waiting.length) {
    const line = waiting.shift();
    for (const link of line.links) {
      const [page, anchor] = link.split("#");
      const known = anchor && new URL(page).origin === location.origin;
      const used = known && (await fetchPage(page)).get(decodeURIComponent(anchor).split(".")[0]);
      if (!used || seen.has(`${page}#${used.name}`)) continue;
      seen.add(`${page}#${used.name}`);
      const relatives = await familyOf(used);
      waiting.push(...relatives.flatMap(({ lines }) => lines));
      for (const part of partsOf(relatives))
        parts.push({ ...part, elsewhere: page !== address, key: `${used.name} ${part.name}` });
    }
  }
  return parts;
}
