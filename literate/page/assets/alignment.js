// Which lines of two programs belong together, and which words of two lines differ.

// A line is words, signs and blanks: the blanks at its beginning are its place in the program.
const words = (text) => text.match(/\w+|\s+|[^\w\s]/g) ?? [];

// Each element of one list beside an element of the other, or beside nothing, in the order of both;
// so that the sum of `gain` over all pairs is as large as it can be. Pairs with no gain are none.
// Given back are pairs of indices, with -1 for nothing.
export function align(left, right, gain) {
  const width = right.length + 1;
  const best = new Float64Array((left.length + 1) * width);
  const gains = left.map((one) => right.map((other) => gain(one, other)));
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const at = i * width + j;
      const alone = Math.max(best[at + width], best[at + 1]);
      const paired = gains[i][j] > 0 ? best[at + width + 1] + gains[i][j] : 0;
      best[at] = Math.max(alone, paired);
    }
  }
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const at = i * width + j;
    const both = i < left.length && j < right.length;
    if (both && gains[i][j] > 0 && best[at] === best[at + width + 1] + gains[i][j])
      pairs.push([i++, j++]);
    else if (j === right.length || (i < left.length && best[at] === best[at + width]))
      pairs.push([i++, -1]);
    else pairs.push([-1, j++]);
  }
  return pairs;
}

// Signs stand in every line, and tell nothing.
const telling = (text) => text.match(/\w+/g) ?? [];

// How much two lines have in common, as a share of their words: 1 if they are equal.
function alike(left, right) {
  const counts = new Map();
  for (const word of left) counts.set(word, (counts.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of right) {
    const count = counts.get(word) ?? 0;
    if (count) common++;
    counts.set(word, count - 1);
  }
  return (2 * common) / (left.length + right.length);
}

// An equal line counts as much as it is long, one that was changed by what it has in common. Two lines
// with less than half of their words in common are not the same line.
export function alignLines(left, right) {
  const split = (texts) => texts.map((text) => ({ text, seen: telling(text) }));
  return align(split(left), split(right), (one, other) => {
    const length = one.seen.length + other.seen.length;
    if (one.text === other.text) return length + 2;
    const share = alike(one.seen, other.seen);
    return share > 0.5 ? share * length : 0;
  });
}

// Where two lines differ: for each a list of [start, end], in characters. Blanks at the beginning
// count only if nothing else differs.
export function differingWords(left, right) {
  const [one, other] = [words(left), words(right)];
  const pairs = align(one, other, (a, b) => Number(a === b));
  const found = [ranges(one, pairs, 0), ranges(other, pairs, 1)];
  const indents = [left, right].map((text) => text.length - text.trimStart().length);
  const behind = found.map((list, side) =>
    list
      .map(([start, end]) => [Math.max(start, indents[side]), end])
      .filter(([start, end]) => start < end),
  );
  return behind.flat().length ? behind : found;
}

function ranges(list, pairs, side) {
  const found = [];
  let start = 0;
  for (const pair of pairs) {
    if (pair[side] < 0) continue;
    const end = start + list[pair[side]].length;
    if (pair[1 - side] < 0) {
      if (found.at(-1)?.[1] === start) found.at(-1)[1] = end;
      else found.push([start, end]);
    }
    start = end;
  }
  return found;
}
