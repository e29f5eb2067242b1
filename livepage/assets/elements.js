// ---
// title: Elements
// summary: What the scripts of a page that runs build their elements with.
// ---

// An element with its properties, and what is in it.
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// A style sheet beside this script. Nothing is shown before it has come, or it would jump.
export function styled(file) {
  const href = new URL(file, import.meta.url).href;
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  const link = make("link", { rel: "stylesheet", href });
  document.head.append(link);
  return new Promise((resolve) => (link.onload = link.onerror = resolve));
}

// ## What a character looks like

const SEEN = { "\n": "⏎", " ": "␣", "\t": "⇥" };

// In quotation marks a blank is seen for what it is; alone it needs a sign.
export const sign = (character) => SEEN[character] ?? character;
export const quoted = (character) => `“${character === "\n" ? "⏎" : character}”`;
