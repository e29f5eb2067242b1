// ---
// title: Elements
// summary: What the scripts of a page build their elements with.
// ---

/**
 * An element with its properties, and what is in it.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, unknown>} properties
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** @type {Map<string, Promise<unknown>>} */
const sheets = new Map();

/**
 * A style sheet. Nothing is shown before it has come, or it would jump; nor for who asks meanwhile.
 *
 * @param {string | URL} address
 * @returns {Promise<unknown>}
 */
export function styled(address) {
  const href = `${address}`;
  if (!sheets.has(href)) {
    const link = make("link", { rel: "stylesheet", href });
    sheets.set(href, new Promise((resolve) => (link.onload = link.onerror = resolve)));
    document.head.append(link);
  }
  return sheets.get(href);
}
