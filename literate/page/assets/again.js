// What a reader has got wrong comes back: from the next day on, and once more a week later. It is kept
// in this browser and nowhere else.

/**
 * A question that was answered wrong: its page, the title of that, and its text; when it is `due`, in
 * milliseconds, and how often it was `right` since.
 *
 * @typedef {{ page: string, title: string, question: string, due: number, right: number }} Missed
 */

// Several sites can have the same host.
const SITE = new URL("..", import.meta.url).pathname;
const KEPT = `again ${SITE}`;
const OFF = `not again ${SITE}`;

// So often right, and it stays away.
const ENOUGH = 2;
const AT_ONCE = 3;

/**
 * The beginning of a day, some days on.
 *
 * @param {number} days
 */
const inDays = (days) => new Date().setHours(24 * days, 0, 0, 0);

export const isOn = () => !(OFF in localStorage);

/**
 * Without it nothing is kept, and what was kept is forgotten.
 *
 * @param {boolean} wanted
 */
export function turn(wanted) {
  localStorage.removeItem(wanted ? OFF : KEPT);
  if (!wanted) localStorage.setItem(OFF, "yes");
}

/** @returns {Missed[]} */
export function all() {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? "[]");
  } catch {
    // Somebody else has written there.
    return [];
  }
}

/**
 * @param {{ page: string, question: string }} one
 * @param {Missed[]} others what is kept beside it
 */
function keep({ page, question }, ...others) {
  const rest = all().filter((other) => other.page !== page || other.question !== question);
  try {
    localStorage.setItem(KEPT, JSON.stringify([...rest, ...others]));
  } catch {
    // A browser may refuse to remember.
  }
}

/**
 * A question was answered wrong.
 *
 * @param {{ page: string, title: string, question: string }} one
 */
export function miss({ page, title, question }) {
  if (isOn()) keep({ page, question }, { page, title, question, due: inDays(1), right: 0 });
}

/** @param {Missed} one */
export const forget = (one) => keep(one);

/**
 * It has come back, and was answered. Tells in how many days it comes again; 0 is never.
 *
 * @param {Missed} one
 * @param {boolean} isRight
 */
export function answered(one, isRight) {
  const right = isRight ? one.right + 1 : 0;
  const days = right >= ENOUGH ? 0 : isRight ? 7 : 1;
  if (days) keep(one, { ...one, right, due: inDays(days) });
  else forget(one);
  return days;
}

/** Those that are due, the longest first; not more than can be done at once. */
export const due = () =>
  all()
    .filter((one) => one.due <= Date.now())
    .sort((one, other) => one.due - other.due)
    .slice(0, AT_ONCE);
