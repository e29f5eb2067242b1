// A button that fetches what it starts.

import { make } from "../../../page_runner/assets/elements.js";
import { isFile } from "./plain.js";
import { say } from "./status.js";

export const refused = isFile
  ? "Not from a file: serve the folder of the site."
  : "It can’t be fetched";

/**
 * @param {string} className
 * @param {string} text
 * @param {(button: HTMLButtonElement) => Promise<unknown>} act
 */
export function starter(className, text, act) {
  const button = make("button", { className, type: "button" }, text);
  const failed = () => say(button, refused);
  button.addEventListener("click", () => act(button).catch(failed));
  return button;
}
