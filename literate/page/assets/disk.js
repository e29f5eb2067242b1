// A page that was opened from the disk.

import { isFile } from "./plain.js";

// A folder there has no server that would answer with the page inside it.
for (const link of isFile ? document.links : []) {
  if (link instanceof HTMLAnchorElement && link.protocol === "file:") {
    if (link.pathname.endsWith("/")) link.pathname += "index.html";
  }
}
