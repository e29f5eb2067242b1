// What a page can do beyond being read. Without this script it still reads in full.
//
// The build makes one plain script of this and all that it imports: a browser loads no modules from
// a folder on the disk. What is imported by a call is fetched when the reader asks for it.

import { aim } from "./lines.js";
import "./choices.js";
import "./buttons.js";
import "./lights.js";
import "./card.js";
import "./ticks.js";
import "./find.js";
import "./disk.js";
import "./start.js";
import "./edits.js";

aim(true);
// Fonts and pictures have come, and may have moved what was aimed at.
addEventListener("load", () => aim(true));
