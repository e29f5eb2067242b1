// ---
// title: Panel from the disk
// summary: The panel as a plain script, for a page that was opened as a file.
// ---
//
// A browser loads no module from the disk. So the build makes one plain script of the panel and all
// that it imports, and what starts it is handed to the page with an event.

import { start } from "./panel.js";

dispatchEvent(new CustomEvent("panel", { detail: start }));
