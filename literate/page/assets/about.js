// What a page knows of itself: fetched when it is first asked for.

/**
 * The tensor that a line binds in one call: its name, its axes, their lengths, and its number in
 * the record of the run.
 *
 * @typedef {[name: string, axes: string[], lengths: number[], index: number]} Measured
 */

/**
 * * `names` has, for each name of the code, where it stands: groups of line, column, line, column …
 * * `definitions` has the title and the first sentence of each definition
 * * `tensors` has what each line was seen to bind
 *
 * @typedef {object} About
 * @property {Record<string, number[][]>} names
 * @property {Record<string, [string, string]>} definitions
 * @property {Record<string, Measured[]>} tensors
 */

/** @type {Map<string, Promise<About>>} */
const known = new Map();

/**
 * What the page at an address knows; nothing, if it can't be had.
 *
 * @param {string} address
 * @returns {Promise<About>}
 */
export function about(address) {
  const file = new URL("about.json", address.split("#")[0]).href;
  if (!known.has(file)) {
    const nothing = { names: {}, definitions: {}, tensors: {} };
    const asked = fetch(file).then((answer) => (answer.ok ? answer.json() : nothing));
    known.set(
      file,
      asked.catch(() => nothing),
    );
  }
  return known.get(file);
}
