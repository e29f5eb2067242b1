// ---
// title: Results
// summary: What stands at the end of each line after a run, and what differs from the page's own.
// ---

const VALUES = 3;

// A tensor as the worker tells it.
const tensor = ([name, shape, dtype, first, mark, times]) => ({
  name,
  shape,
  dtype,
  first,
  mark,
  times,
});
const label = (name) => name.replace(/^(return|yield)/, "→");
const sizes = (shape) => `[${shape.join(", ")}]`;

// ## Names of axes
//
// The examples have a different prime for each axis, so a length has a name. `tensors` are the
// measured ones, with `axes` and lengths; `letters` those of the legend.
export function names(tensors, letters) {
  const found = new Map();
  for (const [, axes, lengths] of tensors) {
    for (const [at, axis] of axes.entries()) {
      if (!/^[a-z_]\w*$/i.test(axis) || lengths[at] === 1) continue;
      const known = found.get(lengths[at]);
      // Queries and keys may be as long as each other.
      found.set(lengths[at], known === undefined || known === axis ? axis : shorter(known, axis));
    }
  }
  const short = (axis) => letters.get(axis) ?? letters.get(`${axis}_q`);
  return { axis: (length) => found.get(length), letter: (length) => short(found.get(length)) };
}

const shorter = (one, other) =>
  [one, other].sort((a, b) => a.length - b.length || (a < b ? -1 : 1))[0];

const inLetters = (shape, known) => {
  const letters = shape.map((length) => (length === 1 ? "1" : known.letter(length)));
  return letters.every(Boolean) ? letters.join(" ") || "scalar" : sizes(shape);
};

export const inWords = (shape, known) =>
  `[${shape.map((length) => (known.axis(length) ? `${known.axis(length)} ${length}` : `${length}`)).join(", ")}]`;

const dtyped = ({ dtype }) => (dtype === "float32" ? "" : ` ${dtype}`);
const valued = ({ first, shape }, most) => {
  const all = shape.reduce((product, length) => product * length, 1);
  return first.length
    ? ` ${first.slice(0, most).join(" ")}${all > Math.min(most, first.length) ? " …" : ""}`
    : "";
};

// ## What differs
//
// `own` are the lines of the page as it is, `now` those of the edited one, `map` which is which. A
// line differs where it gave other tensors: another name, shape or type, or other numbers. A run that
// has `failed` did not come to all of them.
const key = ([name, shape, dtype, , mark]) => `${name} ${shape} ${dtype} ${mark}`;

function same(now, own, failed) {
  return (
    (failed || now.length === own.length) &&
    now.every((one, at) => own[at] && key(one) === key(own[at]))
  );
}

export function compared(now, own, map, failed) {
  return Object.entries(now).map(([number, found]) => {
    const line = Number(number);
    const before = own?.[map.get(line)] ?? [];
    return {
      line,
      tensors: found.map(tensor),
      before: before.map(tensor),
      differs: Boolean(own) && !same(found, before, failed),
    };
  });
}

// Lines of the page that gave tensors, and are no longer reached.
export function missed(now, own, map) {
  const reached = new Set(Object.keys(now).map((line) => map.get(Number(line))));
  return Object.keys(own ?? {}).filter((line) => !reached.has(Number(line))).length;
}

// ## In words
//
// As much as there is room for: shapes with values, shapes, or only that something differs.
export function ending({ tensors, before, differs }, known, room) {
  const isNew = (shape) => !before.some((one) => `${one.shape}` === `${shape}`);
  const shown = tensors.filter(
    (one, at) => tensors.findIndex(({ name }) => name === one.name) === at,
  );
  const several = shown.length > 1;
  const parts = shown.map((one) => {
    const shapes = tensors.filter(({ name }) => name === one.name).length;
    const more = shapes > 1 ? ` (+${shapes - 1})` : "";
    const name = several || one.name.startsWith("return") ? `${label(one.name)} ` : "";
    return {
      shape: `${name}${differs && isNew(one.shape) ? sizes(one.shape) : inLetters(one.shape, known)}${more}`,
      values: several ? "" : valued(one, VALUES),
    };
  });
  const shapes = parts.map(({ shape }) => shape).join(" · ");
  const whole = `${shapes}${parts.map(({ values }) => values).join("")}`;
  return [whole, shapes].find((text) => text.length + (differs ? 2 : 0) <= room) ?? "";
}

// ### All that is known of a line
export function told(one, known) {
  const sentence = (found) =>
    `${label(found.name)} ${inWords(found.shape, known)}${dtyped(found)}:${valued(found, found.first.length)}${found.times > 1 ? `, ${found.times} times` : ""}`;
  const now = one.tensors.map(sentence);
  if (!one.differs) return now;
  return [
    ...now,
    one.before.length
      ? `on the page: ${one.before.map(sentence).join("; ")}`
      : "on the page: nothing at this line",
  ];
}
