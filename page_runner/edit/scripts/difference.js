// ---
// title: Difference
// summary: Which lines of a text are new, which are gone, and which line is which.
// ---

// Below this product of lengths the longest common part is found exactly.
const MOST_CELLS = 4_000_000;

// ## The parts in which two lists of lines differ
//
// `[{ at, gone, to, come }]`: `gone` lines of the old list from `at` on, counted from 0, are replaced
// by `come` lines of the new one from `to` on.
export function difference(old, now) {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1;
  const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  return parts(pairs(a, b), a.length, b.length).map(({ at, gone, to, come }) => ({
    at: at + start,
    gone,
    to: to + start,
    come,
  }));
}

// The lines that stay: pairs of places, in their order.
function pairs(a, b) {
  const width = b.length + 1;
  if ((a.length + 1) * width > MOST_CELLS) return [];
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      longest[at] =
        a[i] === b[j]
          ? longest[at + width + 1] + 1
          : Math.max(longest[at + width], longest[at + 1]);
    }
  }
  const found = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const at = i * width + j;
    if (a[i] === b[j]) found.push([i++, j++]);
    else if (longest[at + width] >= longest[at + 1]) i += 1;
    else j += 1;
  }
  return found;
}

function parts(kept, oldLength, newLength) {
  const found = [];
  let [i, j] = [0, 0];
  for (const [a, b] of [...kept, [oldLength, newLength]]) {
    if (a > i || b > j) found.push({ at: i, gone: a - i, to: j, come: b - j });
    [i, j] = [a + 1, b + 1];
  }
  return found;
}

// ## Which line is which
//
// For each line of the new text, counted from 1, the line of the old one. A line that took the place
// of another is that one; one that was put in has none.
export function lineMap(old, now) {
  const map = new Map();
  let [i, j] = [0, 0];
  for (const { at, gone, to, come } of [
    ...difference(old, now),
    { at: old.length, gone: 0, to: now.length, come: 0 },
  ]) {
    while (j < to) map.set(++j, ++i);
    for (let k = 0; k < Math.min(gone, come); k += 1) map.set(to + k + 1, at + k + 1);
    [i, j] = [at + gone, to + come];
  }
  return map;
}
