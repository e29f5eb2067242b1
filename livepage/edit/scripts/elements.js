// ---
// title: Elements of the editor
// summary: How its elements are made.
// ---

export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// Its name is what stands on it; `title` says more.
export function button(text, act, title = "") {
  return make("button", { type: "button", textContent: text, onclick: act, title });
}

// Nothing is shown before its style has come.
export function styled(href) {
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  const link = make("link", { rel: "stylesheet", href });
  document.head.append(link);
  return new Promise((resolve) => (link.onload = link.onerror = resolve));
}

export async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} can’t be fetched: ${answer.status}.`);
  return answer;
}

export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
