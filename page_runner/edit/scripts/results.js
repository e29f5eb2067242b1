// ---
// title: Results
// summary: What stands at the end of each line after a run, and what differs from the page's own.
// ---

const VALUES = 3;
// So many calls that differ are told in full.
const MOST_TOLD = 3;

// A tensor as the worker tells it, with the first values of its first call. What is no tensor has no
// shape: its type stands for the dtype, and its text for the first value.
const tensor = ([name, shape, dtype, calls, times]) => ({
  name,
  shape,
  dtype,
  calls: calls.map(([number, first, mark]) => ({ name, shape, dtype, number, first, mark })),
  first: calls[0][1],
  times,
});
const label = (name) => name.replace(/^(return|yield)/, "→");
const sizes = (shape) => (shape ? `[${shape.join(", ")}]` : "");

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
  if (!shape) return "";
  const letters = shape.map((length) => (length === 1 ? "1" : known.letter(length)));
  return letters.every(Boolean) ? letters.join(" ") || "scalar" : sizes(shape);
};

export const inWords = (shape, known) =>
  sizes(shape?.map((length) => (known.axis(length) ? `${known.axis(length)} ${length}` : length)));

const dtyped = ({ dtype }) => (dtype === "float32" ? "" : ` ${dtype}`);
const valued = ({ first, shape }, most) => {
  if (!shape) return first.map((text) => ` ${text}`).join("");
  const all = shape.reduce((product, length) => product * length, 1);
  return first.length
    ? ` ${first.slice(0, most).join(" ")}${all > Math.min(most, first.length) ? " …" : ""}`
    : "";
};

// ## What differs
//
// `own` are the lines of the page as it is, `now` those of the edited one, `map` which is which. A
// line differs where one of its calls gave another tensor: another name, shape or type, or other
// numbers. A run that has `failed` did not come to all of them.
const key = ({ shape, dtype, mark }) => `${shape} ${dtype} ${mark}`;
const inOrder = (tensors) =>
  tensors.flatMap(({ calls }) => calls).sort((one, other) => one.number - other.number);
const timesOf = (tensors) => tensors.reduce((sum, { times }) => sum + times, 0);

// What was bound to each name, call by call: those of which the page's own run gave something else.
// `before` or `now` is missing where the other run had more calls.
function differences(now, before, failed) {
  const ofName = (tensors, name) => tensors.filter((one) => one.name === name);
  return [...new Set([...now, ...before].map(({ name }) => name))].flatMap((name) => {
    const [news, olds] = [ofName(now, name), ofName(before, name)];
    const [a, b] = [inOrder(news), inOrder(olds)];
    const counts = [timesOf(olds), timesOf(news)];
    const length = failed ? a.length : Math.max(a.length, b.length);
    const found = Array.from({ length }, (_, at) => ({ name, before: b[at], now: a[at], counts }))
      .map((one, at) => ({ ...one, number: (one.now ?? one.before).number ?? at + 1 }))
      .filter((one) => !one.now || !one.before || key(one.now) !== key(one.before));
    // More calls than are kept.
    if (!found.length && !failed && counts[0] !== counts[1])
      return [{ name, counts, number: Math.min(...counts) + 1 }];
    return found;
  });
}

export function compared(now, own, map, failed) {
  return Object.entries(now).map(([number, found]) => {
    const line = Number(number);
    const [tensors, before] = [found, own?.[map.get(line)] ?? []].map((all) => all.map(tensor));
    const differing = own ? differences(tensors, before, failed) : [];
    return { line, tensors, before, differing, differs: differing.length > 0 };
  });
}

// Lines of the page that gave tensors, and are no longer reached.
export function missed(now, own, map) {
  const reached = new Set(Object.keys(now).map((line) => map.get(Number(line))));
  return Object.keys(own ?? {}).filter((line) => !reached.has(Number(line))).length;
}

// ## What came of a run
//
// The words of a prediction, and which of them a run has made true.
export const OUTCOMES = {
  same: "nothing changes",
  numbers: "other numbers, of the same shapes",
  shapes: "another shape, or other calls",
  error: "an error",
};

export function outcome(found, missed, error) {
  if (error) return "error";
  const differing = found.flatMap((one) => one.differing);
  const reshaped = ({ before, now }) => `${before?.shape}` !== `${now?.shape}`;
  const calls = ({ before, now }) => !before || !now;
  if (missed || differing.some((one) => calls(one) || reshaped(one))) return "shapes";
  return differing.length ? "numbers" : "same";
}

// ## In words
//
// As much as there is room for: what was and what is, shapes with values, shapes, or only that something
// differs.
export function ending(one, known, room) {
  const { tensors, before, differs } = one;
  const isNew = (shape) => !before.some((other) => `${other.shape}` === `${shape}`);
  const shown = tensors.filter(
    (each, at) => tensors.findIndex(({ name }) => name === each.name) === at,
  );
  const several = shown.length > 1;
  const parts = shown.map((each) => {
    const shapes = tensors.filter(({ name }) => name === each.name).length;
    const more = shapes > 1 ? ` (+${shapes - 1})` : "";
    const name = several || each.name.startsWith("return") ? `${label(each.name)} ` : "";
    return {
      shape: `${name}${differs && isNew(each.shape) ? sizes(each.shape) : inLetters(each.shape, known)}${more}`,
      values: several && each.shape ? "" : valued(each, VALUES),
    };
  });
  const shapes = parts.map(({ shape }) => shape.trim()).join(" · ");
  const whole = parts.map(({ shape, values }) => `${shape.trim()}${values}`.trim()).join(" · ");
  const texts = [...[VALUES, 1].map((most) => arrow(one, most)), whole, shapes];
  return texts.find((text) => text && text.length + (differs ? 2 : 0) <= room) ?? "";
}

// What was and what is, in the first call that differs.
function arrow({ tensors, differing: [first] }, most) {
  if (!first?.before || !first.now) return "";
  const { before, now, number } = first;
  const reshaped = `${before.shape}` !== `${now.shape}`;
  const [old, come] = reshaped
    ? [sizes(before.shape), sizes(now.shape)]
    : [before, now].map((one) => `${valued(one, most)}${dtypeIfOther(before, now, one)}`.trim());
  if (old === come) return "";
  const several = new Set(tensors.map(({ name }) => name)).size > 1;
  const call = number > 1 ? `call ${number}: ` : "";
  return `${call}${several ? `${label(first.name)} ` : ""}${old} → ${come}`;
}

const dtypeIfOther = (before, now, one) => (before.dtype === now.dtype ? "" : ` ${one.dtype}`);

// ### All that is known of a line
export function told(one, known) {
  const all = (found) => valued(found, found.first.length);
  const shape = (found) => (found.shape ? ` ${inWords(found.shape, known)}` : "");
  const sentence = (found) =>
    `${label(found.name)}${shape(found)}${dtyped(found)}:${all(found)}${found.times > 1 ? `, ${found.times} times` : ""}`;
  if (!one.differs) return one.tensors.map(sentence);
  const lines = one.differing.slice(0, MOST_TOLD).map((found) => toldOf(found, known));
  const rest = one.differing.length - lines.length;
  return rest > 0 ? [...lines, `${rest} more that differ`] : lines;
}

// One call that differs: what it gave on the page, and what it gives now.
function toldOf({ name, before, now, number, counts }, known) {
  const shape = (found) => `${inWords(found.shape, known)}${dtyped(found)}`.trim();
  const all = (found) => valued(found, found.first.length);
  const often = Math.max(...counts);
  const call = often > 1 ? `, call ${number} of ${often}` : "";
  const head = `${label(name)}${call}`;
  if (!before && !now) return `${label(name)}: on the page ${counts[0]} times → now ${counts[1]}`;
  if (!before) return `${head}: on the page nothing → now ${shape(now)}:${all(now)}`;
  if (!now) return `${head}: on the page ${shape(before)}:${all(before)} → now nothing`;
  if (shape(before) !== shape(now))
    return `${head}: on the page ${shape(before)}:${all(before)} → now ${shape(now)}:${all(now)}`;
  if (all(before) === all(now))
    return `${head} ${shape(now)}: the first numbers are as on the page,${all(now)}; later ones differ`;
  return `${head} ${shape(now)}: on the page${all(before)} → now${all(now)}`;
}
