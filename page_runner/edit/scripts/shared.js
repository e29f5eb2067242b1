// ---
// title: Shared
// summary: A link that carries a change: its lines are shown, and nothing runs.
// ---
//
// This is fetched only for an address with a change in it. What it shows is text from a stranger, so
// it is put in as text, and the reader decides.

import { make, styled } from "./elements.js";
import { unpack } from "./link.js";

const MOST_LINES = 40;

// The changes as the lines that go and come; null if the fragment can't be read.
export async function show(section, fragment) {
  const changes = await unpack(fragment);
  if (!changes) return null;
  await styled(new URL("edit.css", import.meta.url).href);
  const rows = Object.entries(changes).flatMap(([path, parts]) => [
    make("p", { textContent: path }),
    ...parts
      .flatMap(([line, gone, come]) => [
        ...gone.map((text) => ["−", line, text]),
        ...come.map((text) => ["+", line, text]),
      ])
      .map(([sign, line, text]) =>
        make("code", { textContent: `${sign} ${text}`, title: `line ${line}` }),
      ),
  ]);
  const shown = rows.slice(0, MOST_LINES);
  const lines = make("div", { className: "lines", tabIndex: 0 }, ...shown);
  if (rows.length > shown.length)
    lines.append(make("p", { textContent: `… and ${rows.length - shown.length} more lines` }));
  section.append(lines);
  return changes;
}
