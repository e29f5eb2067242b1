// ---
// title: Quiz
// summary: What shape does this line give? The measured shapes are the answers.
// ---
//
// Each line with a measured shape is a question. The reader types the axes by their names, by their
// letters on this page, or by their sizes in the example, or chooses them. What is wrong is told at
// once: axes that have changed places, an axis too many, two axes where the tensor has one.

import { make, styled } from "../../../page_runner/assets/elements.js";

function button(text, act, label = "") {
  const made = make("button", { type: "button", textContent: text, onclick: act });
  if (label) made.setAttribute("aria-label", label);
  return made;
}

// ## Reading an answer

// `[seq_len, batch, heads * d_k]`, `7 3 10` and `i b h*d` are lists of axes. Brackets and commas
// don't matter, and blanks separate, unless they stand beside a sign.
export function parts(text) {
  const bare = text.replace(/[[\](){}]|torch\.Size/g, " ").replace(/\s*(\/\/|[-+*])\s*/g, "$1");
  return bare.split(/[\s,;×]+/).filter(Boolean);
}

// The size of an axis in the example, whatever it was called; null if nobody knows that name. Sums of
// products are all that there is.
export function size(part, sizes) {
  const value = (one) => (/^\d+$/.test(one) ? +one : (sizes.get(one.toLowerCase()) ?? null));
  const product = (text) => {
    const [first, ...rest] = text.split(/(\/\/|\*)/);
    return rest.reduce((sum, one, at) => {
      if (at % 2 === 0) return sum;
      return rest[at - 1] === "*" ? sum * value(one) : Math.floor(sum / value(one));
    }, value(first));
  };
  const terms = part.split(/([-+])/);
  if (terms.some((term) => term.split(/\/\/|\*|[-+]/).some((one) => one && value(one) === null)))
    return null;
  return terms.reduce(
    (sum, one, at) =>
      at % 2 ? sum : terms[at - 1] === "-" ? sum - product(one) : sum + product(one),
    0,
  );
}

// What the names on a page stand for: the axes of its tensors, and their letters in its legend. A name
// that is often written shorter is known by that as well.
export function vocabulary(tensors, letters) {
  const sizes = new Map();
  for (const [, axes, lengths] of tensors) {
    axes.forEach(
      (axis, at) => /^[a-z_]\w*$/i.test(axis) && sizes.set(axis.toLowerCase(), lengths[at]),
    );
  }
  const [heads, width] = [sizes.get("heads"), sizes.get("d_k")];
  const also = { batch: "batch_size", seq: "seq_len", vocab: "n_vocab" };
  for (const [short, long] of Object.entries(also))
    if (sizes.has(long) && !sizes.has(short)) sizes.set(short, sizes.get(long));
  if (heads && width && !sizes.has("d_model")) sizes.set("d_model", heads * width);
  for (const [letter, name] of letters) if (sizes.has(name)) sizes.set(letter, sizes.get(name));
  return sizes;
}

// ## Judging it

const told = (axes, lengths) =>
  `[${axes.map((axis, at) => (axis === `${lengths[at]}` ? axis : `${axis} ${lengths[at]}`)).join(", ")}]`;
const named = (axis, length) =>
  axis === `${length}` ? `the length ${length}` : `${axis}, of length ${length}`;
const number = (count) =>
  `${["no axes", "one axis", "two axes", "three axes", "four axes", "five axes"][count] ?? `${count} axes`}`;
const total = (lengths) => lengths.reduce((product, one) => product * one, 1);

// `shapes` are all that the line was seen to give, each with its axes and their lengths. The result
// has `right`, and a sentence.
export function judge(text, shapes, sizes) {
  const given = parts(text);
  if (!given.length) return { right: false, said: "Type the axes in their order, or choose them." };
  const lengths = given.map((part) => size(part, sizes));
  const unknown = given.filter((_, at) => lengths[at] === null);
  if (unknown.length)
    return {
      right: false,
      said: `No axis of this page is called ${unknown.map((one) => `“${one}”`).join(" or ")}.`,
    };
  const same = (one) =>
    one.length === lengths.length && one.every((length, at) => length === lengths[at]);
  const found = shapes.find(([, one]) => same(one));
  if (found) {
    const others = shapes.filter((one) => one !== found).map(([axes, one]) => told(axes, one));
    return {
      right: true,
      said: `Right: ${told(...found)}${others.length ? `. Other calls give ${others.join(" or ")}` : ""}.`,
    };
  }
  const sorted = (list) => [...list].sort((a, b) => a - b).join();
  const shuffled = shapes.find(([, one]) => sorted(one) === sorted(lengths));
  if (shuffled) {
    const [axes, one] = shuffled;
    const moved = axes.map((_, at) => at).filter((at) => one[at] !== lengths[at]);
    const [first, second] = moved;
    const places = moved.map((at) => `axis ${at} is ${named(axes[at], one[at])}`).join(", ");
    const swap =
      moved.length === 2
        ? `${axes[first]} and ${axes[second]} have changed places`
        : "the axes are right, but in another order";
    return { right: false, said: `Nearly: ${swap}. Counted from 0, ${places}.` };
  }
  const [, one] = shapes.find(([, each]) => each.length === lengths.length) ?? shapes[0];
  if (one.length !== lengths.length) {
    const equal =
      total(one) === total(lengths) ? " The numbers are as many, but cut into other axes." : "";
    return {
      right: false,
      said: `The tensor has ${number(one.length)}, and you gave ${number(lengths.length)}.${equal}`,
    };
  }
  const at = one.findIndex((length, index) => length !== lengths[index]);
  return { right: false, said: `Not yet: axis ${at}, counted from 0, isn’t ${given[at]}.` };
}

// ## The questions of a page

function questions(tensors) {
  const lines = [...document.querySelectorAll(".line[id]:has(> .shape)")];
  return lines.flatMap((line) => {
    const byName = new Map();
    for (const [name, axes, lengths] of tensors[line.id.slice(1)] ?? []) {
      const known = byName.get(name) ?? byName.set(name, []).get(name);
      if (axes.length && !known.some(([, one]) => `${one}` === `${lengths}`))
        known.push([axes, lengths]);
    }
    const code = line.lastElementChild.textContent.trim();
    const found = [...byName].filter(([, shapes]) => shapes.length);
    return found.map(([name, shapes]) => ({ line: line.id, code, name, shapes }));
  });
}

const asked = (name) => {
  const [, kind, rest] = /^(return|yield)?(.*)$/.exec(name);
  if (!kind) return ["What is the shape of ", make("code", { textContent: name }), "?"];
  return rest
    ? [`What is the shape of part ${rest} of what it gives back?`]
    : ["What is the shape of what it gives back?"];
};

// ## Counts, in this browser only

const PREFIX = "shapes ";
const counts = (key) => JSON.parse(localStorage.getItem(key) ?? "[0,0]");

function count(right) {
  const key = PREFIX + location.pathname;
  const [known, all] = counts(key);
  localStorage.setItem(key, JSON.stringify([known + right, all + 1]));
}

function everywhere() {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  const [known, all] = keys.map(counts).reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
  return { keys, known, all };
}

// ## The quiz itself

export async function start(section, about) {
  await styled(new URL("quiz.css", import.meta.url));

  const legend = [...document.querySelectorAll(".axes span")];
  const letters = legend.map((one) => [
    one.firstElementChild.textContent,
    one.lastChild.textContent.trim(),
  ]);
  const sizes = vocabulary(Object.values(about.tensors).flat(), letters);
  const all = questions(about.tensors);
  let at = 0;
  let tries = 0;

  const heading = make("h2", { textContent: "What shape is this?", tabIndex: -1 });
  const where = make("p", { className: "where" });
  const code = make("pre", {}, make("code"));
  const field = make("input", {
    id: "shape-answer",
    autocomplete: "off",
    spellcheck: false,
    placeholder: "axis, axis, …",
  });
  field.setAttribute("autocapitalize", "off");
  const label = make("label", { htmlFor: field.id });
  const said = make("p", { className: "said" });
  said.setAttribute("role", "status");
  const score = make("p", { className: "score" });
  const check = make("button", { type: "submit", textContent: "Check" });
  const next = button("Next", () => ask(at + 1));
  const shows = button("Show the answer", () => answer());
  const form = make("form", {}, label, field, check, shows, next);
  const choices = make("div", { className: "choices" });
  choices.setAttribute("role", "group");
  choices.setAttribute("aria-label", "Axes to choose from");
  const hides = make("input", { type: "checkbox", checked: true, onchange: () => hide() });
  const toggle = make("label", {}, hides, " Hide the shapes in the code");
  const forgets = button("Forget the counts", () => {
    for (const key of everywhere().keys) localStorage.removeItem(key);
    tell();
    said.textContent = "The counts are forgotten.";
  });
  const closes = button("Close", () => {
    document.body.classList.remove("guessing");
    section.replaceChildren(opener);
    opener.focus();
  });
  const opener = section.firstElementChild;
  section.replaceChildren(
    heading,
    where,
    code,
    form,
    choices,
    said,
    make("div", { className: "foot" }, score, toggle, forgets, closes),
  );
  section.setAttribute("aria-label", heading.textContent);

  const hide = () => document.body.classList.toggle("guessing", hides.checked);
  const tell = () => {
    const [known, here] = counts(PREFIX + location.pathname);
    const { known: right, all: most } = everywhere();
    score.textContent = `Right at the first try: ${known} of ${here} on this page, ${right} of ${most} in all.`;
    forgets.disabled = !most;
  };

  // A name is added behind what stands there.
  const add = (name) => {
    const before = field.value.trim().replace(/[,\]]+$/, "");
    field.value = before ? `${before}, ${name}` : name;
  };
  const remove = () => (field.value = parts(field.value).slice(0, -1).join(", "));
  for (const axis of new Set(all.flatMap(({ shapes }) => shapes.flatMap(([axes]) => axes)))) {
    choices.append(button(axis, () => add(axis), `Add ${axis}`));
  }
  choices.append(button("⌫", remove, "Remove the last axis"));

  function ask(index) {
    at = index % all.length;
    tries = 0;
    const { line, code: text, name } = all[at];
    const link = make("a", { href: `#${line}`, textContent: `line ${line.slice(1)}` });
    where.replaceChildren(`Question ${at + 1} of ${all.length}, `, link);
    code.firstElementChild.textContent = text;
    label.replaceChildren(...asked(name));
    field.value = said.textContent = said.className = "";
    next.hidden = true;
    check.hidden = shows.hidden = false;
    tell();
    field.focus({ preventScroll: true });
    section.scrollIntoView({ block: "nearest" });
  }

  const over = () => {
    check.hidden = shows.hidden = true;
    next.hidden = false;
    next.textContent = at + 1 < all.length ? "Next" : "From the beginning";
    next.focus();
  };
  const answer = () => {
    if (!tries) count(false);
    tries += 1;
    said.className = "said";
    said.textContent = `It is ${all[at].shapes.map((one) => told(...one)).join(" or ")}.`;
    tell();
    over();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (check.hidden) return;
    const { right, said: sentence } = judge(field.value, all[at].shapes, sizes);
    said.className = right ? "said right" : "said";
    said.textContent = sentence;
    if (!parts(field.value).length) return;
    if (!tries) count(right);
    tries += 1;
    tell();
    if (right) over();
  });

  hide();
  ask(0);
}
