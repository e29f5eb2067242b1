// What the search compares: the words of a query with those of all rows, and which row comes first.
// It knows nothing of the page that shows the results.

/**
 * * `own` is the last part of the `name` of a definition
 * * `terms` are those that a page explains, and `paper` is the title of what it implements
 * * `page` is the number of the page, and `aside` is how far it comes behind others that fit as well
 *
 * @typedef {Record<"title" | "address" | "anchor" | "name" | "own" | "heading" | "note" | "names" | "paper", string> & { terms: string[], page: number, aside: 0 | 1 | 2 }} Entry
 */

/**
 * What is looked for: each of the `choices` is one way to say it, as words that must all be there,
 * and what it is worth to find them. `rarity` is what the finding of any of them is worth.
 *
 * @typedef {{ choices: { words: string[], worth: number }[], rarity: number }} Idea
 */

// What a word is worth where it stands. A title is worth more than what is below it.
const worths = { title: 5, terms: 5, paper: 2, heading: 4, own: 4, name: 1.5, names: 1, note: 1 };
const places = /** @type {(keyof typeof worths)[]} */ (Object.keys(worths));
// What it is worth if the whole of a name was asked for, and nothing else.
const wholes = { terms: 0.9, title: 0.7, paper: 0.8, heading: 0.35, own: 0.35 };
const labels = /** @type {(keyof typeof wholes)[]} */ (Object.keys(wholes));
// What is about the subject, programs of the same package, and what is about the site.
const ranks = [1, 0.8, 0.5];
// What a row gets from its page, from the name of the page, and for words that stand together.
const ofPage = { all: 0.5, name: 0.7, together: 0.2 };
// Where a word is worth half of what it can be, in a row and in a page.
const half = { row: 2, page: 20 };
// Each further row of a page is worth less, so that other pages are seen, too.
const further = 0.6;
// So many rows are looked at a second time.
const again = 80;

const stops = new Set(
  (
    "a about actually an and any are as at be been between by can could did difference do does doing " +
    "explain explained for from get give had has have how i if in into is it its just know like me " +
    "mean means meaning my need needs of on or our please should so than that the their them then " +
    "there these this to understand use used using versus vs want was we what when where which " +
    "error expected forgot found runtimeerror typeerror valueerror " +
    "while who why will with without work working works would you your"
  ).split(" "),
);

// The words of a text

/**
 * The parts of a text that are words, with their places. `get_scores`, `HeadScores` and `gpt2` have
 * two of them each, and are words as well.
 *
 * @param {string} text
 */
export function* wordsIn(text) {
  for (const { 0: run, index } of text.matchAll(/[\p{L}\p{N}_]+/gu)) {
    const parts = [...run.matchAll(/\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+(?!\p{Ll})|\p{N}+/gu)];
    const compound = parts.length > 1;
    if (compound)
      yield { word: run.replaceAll("_", ""), from: index, length: run.length, compound };
    for (const part of parts)
      yield { word: part[0], from: index + part.index, length: part[0].length, compound: false };
  }
}

/** @type {Map<string, string>} */
const stemmed = new Map();

/**
 * A word without its ending. Britons and Americans are to find the same.
 *
 * @param {string} word
 */
export function stem(word) {
  let found = stemmed.get(word);
  if (found === undefined) {
    found = word.toLowerCase();
    if (found.length > 3)
      found = found
        .replace(/(?<=[^aeious])ies$/, "y")
        .replace(/(?<=[^su])s$/, "")
        .replace(/is(?=(e|ed|er|ing|ation)$)/, "iz")
        .replace(/(?<=iz)(e|ed|ing|ation)$/, "")
        .replace(/(?<=[aeiouy].*[^e])(ing|ed)$/, "")
        .replace(/(?<=[^lsz])([bdgmnprt])\1$/, "$1")
        .replace(/(?<=..[^e])e$/, "");
    stemmed.set(word, found);
  }
  return found;
}

// Most words of a site are there many times: each has the numbers of its stems.
/** @type {string[]} */
const numbered = [];
/** @type {Map<string, number>} */
const numbers = new Map();
/** @type {Map<string, number[]>} */
const ofRuns = new Map();

function numbersIn(/** @type {string} */ text) {
  /** @type {number[]} */
  const all = [];
  for (const run of text.match(/[\p{L}\p{N}_]+/gu) ?? []) {
    let found = ofRuns.get(run);
    if (!found) ofRuns.set(run, (found = [...wordsIn(run)].map(({ word }) => number(stem(word)))));
    for (const one of found) all.push(one);
  }
  return all;
}

function number(/** @type {string} */ stem) {
  let found = numbers.get(stem);
  if (found === undefined) {
    found = numbered.push(stem) - 1;
    numbers.set(stem, found);
  }
  return found;
}

function stems(/** @type {string} */ text) {
  return numbersIn(text).map((one) => numbered[one]);
}

// The index

/**
 * What a word is worth in rows or pages: their numbers, and the worths.
 *
 * @typedef {{ keys: number[], values: number[] }} Worths
 */

/**
 * @param {Worths[]} index by the number of a stem
 * @param {number} found
 * @param {number} key not less than any before
 * @param {number} value
 */
function add(index, found, key, value) {
  const { keys, values } = (index[found] ??= { keys: [], values: [] });
  if (keys.at(-1) === key) values[values.length - 1] += value;
  else {
    keys.push(key);
    values.push(value);
  }
}

/**
 * @param {Entry} entry
 * @param {keyof typeof worths} place
 * @returns {string[]}
 */
function saidAt(entry, place) {
  if (place === "terms") return entry.terms;
  return entry[place] && !(place === "title" && entry.anchor) ? [entry[place]] : [];
}

/**
 * @param {Entry[]} entries
 * @param {string[][]} same groups of words that mean the same
 * @param {Record<string, string[]>} near what the site doesn't have, and what is near to it
 */
export function ranking(entries, same, near) {
  // What each stem is worth in rows and in pages.
  /** @type {Worths[]} */
  const inAllRows = [];
  /** @type {Worths[]} */
  const inAllPages = [];
  /** @type {number[]} */
  const counts = [];
  /** @type {number[]} */
  const sums = [];
  for (const [row, entry] of entries.entries()) {
    const inRow = [];
    for (const place of places) {
      const here = [];
      for (const text of saidAt(entry, place))
        for (const one of numbersIn(text)) {
          if (!counts[one]) here.push(one);
          counts[one] = (counts[one] || 0) + 1;
        }
      // The second time a word is said is worth less than the first, and a word of many less, too.
      for (const one of here) {
        if (!sums[one]) inRow.push(one);
        const part = (worths[place] * counts[one]) / (counts[one] + 0.5 + here.length / 100);
        sums[one] = (sums[one] || 0) + part;
        counts[one] = 0;
      }
    }
    for (const one of inRow) {
      add(inAllRows, one, row, sums[one]);
      add(inAllPages, one, entry.page, sums[one]);
      sums[one] = 0;
    }
  }
  const rows = new Map(inAllRows.map((worths, one) => [numbered[one], worths]));
  const pages = new Map(inAllPages.map((worths, one) => [numbered[one], worths]));
  // The stems of words, as they are written.
  /** @type {Map<string, string>} */
  const written = new Map();
  // How many pages name a definition that stands on this page alone.
  /** @type {Map<number, number>} */
  const used = new Map();
  for (const { own, page } of entries) {
    const { keys = [] } = (own && pages.get(stems(own)[0])) || {};
    if (keys.length > (used.get(page) ?? 0) && /^\p{Lu}/u.test(own)) used.set(page, keys.length);
  }
  for (const [word, found] of stemmed) written.set(word.toLowerCase(), found);
  const count = (entries.at(-1)?.page ?? 0) + 1;
  const groups = [...same, ...Object.entries(near).map(([name, others]) => [name, ...others])].map(
    (group) => group.map(withoutStops),
  );
  const absent = new Set(Object.keys(near).map((name) => withoutStops(name).join(" ")));

  function withoutStops(/** @type {string} */ text) {
    return stems(
      text.replace(/[\p{L}\p{N}_]+/gu, (run) => (stops.has(run.toLowerCase()) ? "" : run)),
    );
  }

  // The query

  const rarity = (/** @type {string} */ word) =>
    Math.log(1 + count / (0.5 + (pages.get(word)?.keys.length ?? 0)));

  /** Words that a word may be the beginning of. */
  function begun(/** @type {string} */ word) {
    const found = [...written].filter(([other]) => other.startsWith(word) && other !== word);
    return [...new Set(found.map(([, stem]) => stem))];
  }

  /** Words that are nearly written like it. */
  function like(/** @type {string} */ word) {
    const most = word.length < 4 ? 0 : word.length < 8 ? 1 : 2;
    let best = most + 1;
    /** @type {string[]} */
    let found = [];
    for (const [other, stem] of written) {
      if (other[0] !== word[0] || Math.abs(other.length - word.length) > most) continue;
      const far = distance(word, other, best);
      if (far > best || far > most) continue;
      if (far < best) found = [];
      best = far;
      found.push(stem);
    }
    return [...new Set(found)];
  }

  /**
   * @param {string} query
   * @returns {{ ideas: Idea[], unknown: string[], wanting: string[] }}
   */
  function understood(query) {
    // A compound that isn't there is looked for by its parts.
    const runs = (query.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((run) => {
      const [first, ...parts] = wordsIn(run);
      if (!first?.compound) return first ? [run] : [];
      const there = rows.has(stem(first.word)) || begun(first.word.toLowerCase()).length;
      return there ? [run] : parts.map(({ word }) => word);
    });
    const said = runs.filter((run) => !stops.has(run.toLowerCase()));
    const asked = (said.length ? said : runs).map((run) => ({ run, parts: stems(run) }));
    const unknown = [];
    const wanting = [];
    const ideas = [];
    for (let at = 0; at < asked.length;) {
      // The longest of the words of readers that begins here.
      let taken = 0;
      /** @type {string[][]} */
      let others = [];
      for (const group of groups)
        for (const name of group)
          for (let to = at + 1, sofar = []; to <= asked.length; to++) {
            sofar.push(...asked[to - 1].parts);
            if (sofar.join(" ") !== name.join(" ") || to - at < taken) continue;
            others = to - at > taken ? group : [...others, ...group];
            taken = to - at;
          }
      const some = asked.slice(at, at + (taken || 1));
      at += some.length;
      const words = some.flatMap(({ parts }) => parts);
      const choices = [];
      const wanted = absent.has(words.join(" "));
      if (wanted) wanting.push(some.map(({ run }) => run).join(" "));
      else choices.push(...waysToSay(some, at === asked.length && !/\s$/.test(query), unknown));
      for (const other of others)
        if (other.join(" ") !== words.join(" "))
          choices.push({ words: other, worth: wanted ? 0.9 - 0.1 * others.indexOf(other) : 0.8 });
      const known = choices.filter(({ words }) => words.every((word) => rows.has(word)));
      const rare = (/** @type {string[]} */ words) =>
        words.reduce((sum, word) => Math.max(sum, rarity(word)), 0);
      ideas.push({ choices: known, rarity: rare(known.length ? known[0].words : words) });
    }
    return { ideas, unknown, wanting };
  }

  /**
   * @param {{ run: string, parts: string[] }[]} some
   * @param {boolean} typing whether the last word may go on
   * @param {string[]} unknown gets what isn't there
   */
  function waysToSay(some, typing, unknown) {
    if (some.length > 1) return [{ words: some.flatMap(({ parts }) => parts), worth: 1 }];
    const [{ run, parts }] = some;
    const lower = run.toLowerCase().replaceAll("_", "");
    const choices = [];
    const whole = parts[0];
    if (rows.has(whole)) choices.push({ words: [whole], worth: 1 });
    if (parts.length > 1 && parts.slice(1).every((part) => rows.has(part)))
      choices.push({ words: parts.slice(1), worth: 0.9 });
    if ((typing && lower.length > 1) || lower.length > 3 || !choices.length)
      for (const word of lower.length > 1 ? begun(lower) : [])
        choices.push({ words: [word], worth: choices.length ? 0.5 : 0.7 });
    if (choices.length) return choices;
    for (let cut = 3; cut < lower.length - 2; cut++) {
      const both = [lower.slice(0, cut), lower.slice(cut)].map(stem);
      if (both.every((word) => rows.has(word))) choices.push({ words: both, worth: 0.8 });
    }
    if (!choices.length)
      choices.push(...like(lower).map((word) => ({ words: [word], worth: 0.7 })));
    if (!choices.length) unknown.push(run);
    return choices;
  }

  // The comparison

  /**
   * What an idea is worth in each row or page where one of its choices is: at most 1.
   *
   * @param {Idea} idea
   * @param {Map<string, Worths>} index
   * @param {number} half where a word is worth half
   */
  function found({ choices }, index, half) {
    /** @type {Map<number, number>} */
    const best = new Map();
    for (const { words, worth } of choices) {
      const [first, ...rest] = words.map((word) => {
        const { keys, values } = index.get(word);
        return new Map(keys.map((key, at) => [key, values[at]]));
      });
      for (const [key, value] of first) {
        const least = rest.reduce((sofar, one) => Math.min(sofar, one.get(key) ?? 0), value);
        const now = (worth * least) / (least + half);
        if (now > (best.get(key) ?? 0)) best.set(key, now);
      }
    }
    return best;
  }

  /** @type {Map<Entry, { words: Set<string>, parts: Set<string>, place: string }[]>} */
  const names = new Map();
  function namesOf(/** @type {Entry} */ entry) {
    let found = names.get(entry);
    if (!found) {
      found = labels.flatMap((place) =>
        saidAt(entry, place).map((name) => {
          const simple = [...wordsIn(name)].filter(({ compound }) => !compound);
          const parts = new Set(simple.map(({ word }) => stem(word)));
          return { words: new Set(stems(name)), parts, place };
        }),
      );
      names.set(entry, found);
    }
    return found;
  }

  /**
   * What the names of a row are worth, by the share of the ideas that a name says, and the share of
   * the name that they are.
   *
   * @param {Entry} entry
   * @param {Idea[]} ideas
   * @param {number} total of the rarities
   * @param {boolean} code whether the query is a name in code
   */
  function named(entry, ideas, total, code) {
    let most = 0;
    for (const { words, parts, place } of namesOf(entry)) {
      if (!parts.size) continue;
      const said = new Set();
      let sum = 0;
      for (const { choices, rarity } of ideas) {
        const here = choices.filter(({ words: all }) => all.every((word) => words.has(word)));
        sum += (rarity / total) * Math.max(0, ...here.map(({ worth }) => worth));
        for (const choice of here)
          choice.words.forEach((word) => parts.has(word) && said.add(word));
      }
      const worth = wholes[place] * (code ? (place === "own" ? 2 : 0.5) : 1);
      most = Math.max(most, worth * sum ** 2 * (said.size / parts.size) ** 2);
    }
    return most;
  }

  /**
   * The share of neighbours in the query that are neighbours in a row, or nearly so.
   *
   * @param {Entry} entry
   * @param {Idea[]} ideas
   */
  function together(entry, ideas) {
    const text = ["heading", "note"].flatMap((place) => stems(entry[place]));
    const begins = ideas.map(({ choices }) => new Set(choices.map(({ words }) => words[0])));
    const pairs = new Set();
    for (let at = 1; at < text.length; at++)
      for (let idea = 1; idea < ideas.length; idea++)
        if (begins[idea].has(text[at]))
          if (begins[idea - 1].has(text[at - 1]) || begins[idea - 1].has(text[at - 2]))
            pairs.add(idea);
    return pairs.size / (ideas.length - 1);
  }

  /** @param {string} query */
  return function search(query) {
    const { ideas, unknown, wanting } = understood(query);
    const code = /[\p{Ll}\p{N}]\p{Lu}|[\p{L}\p{N}]_/u.test(query);
    const total = ideas.reduce((sum, { rarity }) => sum + rarity, 0);
    const inRows = ideas.map((idea) => found(idea, rows, half.row));
    const inPages = ideas.map((idea) => found(idea, pages, half.page));
    const value = (of, key) =>
      of.reduce((sum, one, at) => sum + ideas[at].rarity * (one.get(key) ?? 0), 0) / total;
    const share = (of, key) =>
      of.reduce((sum, one, at) => sum + (one.has(key) ? ideas[at].rarity : 0), 0) / total;
    /** @type {Map<number, number>} */
    const worthOfPage = new Map();
    for (const one of inPages) for (const page of one.keys()) worthOfPage.set(page, 0);
    for (const page of worthOfPage.keys())
      worthOfPage.set(page, ofPage.all * value(inPages, page) * share(inPages, page) ** 1.5);
    // What is said of a page at its top holds for its rows.
    /** @type {Map<number, number>} */
    const top = new Map();
    const candidates = new Set(inRows.flatMap((one) => [...one.keys()]));
    const results = [];
    for (const row of candidates) {
      const { page, anchor, aside, heading } = entries[row];
      const name = named(entries[row], ideas, total, code);
      if (!anchor) top.set(page, Math.max(top.get(page) ?? 0, name));
      const own = value(inRows, row) * (0.3 + 0.7 * share(inRows, row));
      results.push({ row, page, own: own + name + (heading ? 0.02 : 0), rank: ranks[aside] });
    }
    for (const one of results)
      one.own =
        (one.own + worthOfPage.get(one.page) + ofPage.name * (top.get(one.page) ?? 0)) *
        one.rank *
        (0.5 + 0.5 * share(inPages, one.page)) *
        (1 + 0.03 * Math.log2(1 + (used.get(one.page) ?? 0)));
    results.sort((one, other) => other.own - one.own);
    if (ideas.length > 1)
      for (const one of results.slice(0, again))
        one.own += together(entries[one.row], ideas) * one.rank * ofPage.together;
    results.sort((one, other) => other.own - one.own);
    /** @type {Map<number, number>} */
    const before = new Map();
    for (const one of results) {
      const times = before.get(one.page) ?? 0;
      before.set(one.page, times + 1);
      one.own *= further ** times;
    }
    results.sort((one, other) => other.own - one.own);
    return {
      results: results.map(({ row, own }) => ({ entry: entries[row], worth: own })),
      words: new Set(ideas.flatMap(({ choices }) => choices.flatMap(({ words }) => words))),
      unknown,
      elsewhere: wanting,
      whole: !ideas.length || share(inPages, results[0]?.page) > 0.999,
    };
  };
}

/**
 * How many letters are wrong, missing, too many or exchanged with their neighbour.
 *
 * @param {string} one
 * @param {string} other
 * @param {number} most more than that needn't be counted
 */
function distance(one, other, most) {
  let before = [];
  let last = [...Array(other.length + 1).keys()];
  for (let row = 1; row <= one.length; row++) {
    const now = [row];
    for (let at = 1; at <= other.length; at++) {
      const wrong = one[row - 1] === other[at - 1] ? 0 : 1;
      now[at] = Math.min(last[at] + 1, now[at - 1] + 1, last[at - 1] + wrong);
      if (row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1])
        now[at] = Math.min(now[at], before[at - 2] + 1);
    }
    if (Math.min(...now) > most) return most + 1;
    [before, last] = [last, now];
  }
  return last[other.length];
}
