// Elements of the page that are there already.

/**
 * All elements that a selector finds, within a part of the page.
 *
 * @param {string} selector
 * @param {ParentNode} within
 * @returns {HTMLElement[]}
 */
export const every = (selector, within = document) => [
  .../** @type {NodeListOf<HTMLElement>} */ (within.querySelectorAll(selector)),
];

/**
 * The first of them, or null.
 *
 * @param {string} selector
 * @param {ParentNode} within
 * @returns {HTMLElement | null}
 */
export const first = (selector, within = document) => within.querySelector(selector);

/**
 * The element that an event has happened to, or the nearest one around it, that fits a selector.
 *
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export const around = (event, selector) =>
  event.target instanceof Element ? event.target.closest(selector) : null;
