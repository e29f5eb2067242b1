// Scripts that are fetched later and are no modules: a browser loads those from the disk, too.

import { make } from "../../../page_runner/assets/elements.js";

// A page that was opened as a file: nobody answers for it.
export const isFile = location.protocol === "file:";

/**
 * Load a script that lies beside this one.
 *
 * @param {string} name
 * @returns {Promise<unknown>}
 */
export function load(name) {
  const script = make("script", { src: new URL(name, import.meta.url) });
  const loaded = new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = reject;
  });
  document.head.append(script);
  return loaded;
}
