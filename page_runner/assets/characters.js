// ---
// title: Characters
// summary: What a character looks like.
// ---

/** @type {Record<string, string>} */
const SEEN = { "\n": "⏎", " ": "␣", "\t": "⇥" };

/**
 * A character that stands alone: there a blank needs a sign.
 *
 * @param {string} character
 */
export const sign = (character) => SEEN[character] ?? character;

/**
 * A character in quotation marks, where a blank is seen for what it is.
 *
 * @param {string} character
 */
export const quoted = (character) => `“${character === "\n" ? "⏎" : character}”`;
