// ---
// title: Elements of the editor
// summary: How its elements are made.
// ---

import { make, styled } from "../../assets/elements.js";

export { make, styled };

// Its name is what stands on it; `title` says more.
export function button(text, act, title = "") {
  return make("button", { type: "button", textContent: text, onclick: act, title });
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
