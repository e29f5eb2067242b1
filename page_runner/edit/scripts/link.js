// ---
// title: Link
// summary: An edited page as an address: the lines that differ, packed, in the fragment.
// ---
//
// A fragment stays in the browser: no server is told. What is packed is, for each module, a list of
// `[line, lines that are gone, lines that have come]`. The lines that are gone are there so that a
// change still finds its place when the page has become longer since.

import { difference } from "./difference.js";

export const NAME = "edit=";

async function piped(bytes, stream) {
  return new Uint8Array(
    await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer(),
  );
}

// ## Pack and unpack

export async function pack(changes) {
  const bytes = await piped(
    new TextEncoder().encode(JSON.stringify(changes)),
    new CompressionStream("deflate-raw"),
  );
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

// What a link says, or null if it says nothing that can be read.
export async function unpack(fragment) {
  const text = fragment.replace(/^#/, "");
  if (!text.startsWith(NAME)) return null;
  try {
    const letters = atob(text.slice(NAME.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const changes = JSON.parse(
      new TextDecoder().decode(await piped(bytes, new DecompressionStream("deflate-raw"))),
    );
    const isText = (one) => typeof one === "string";
    const isPart = ([line, gone, come]) =>
      Number.isInteger(line) && [...gone, ...come].every(isText);
    return Object.values(changes).every((parts) => parts.every(isPart)) ? changes : null;
  } catch {
    return null;
  }
}

// ## The change of a text, and the text with a change

export function changesOf(own, now) {
  const [old, lines] = [own.split("\n"), now.split("\n")];
  return difference(old, lines).map(({ at, gone, to, come }) => [
    at + 1,
    old.slice(at, at + gone),
    lines.slice(to, to + come),
  ]);
}

// A part whose lines are no longer where they were is looked for in the nearest place; `lost` are
// those that are nowhere.
export function changed(own, parts) {
  const lines = own.split("\n");
  const lost = [];
  let moved = 0;
  for (const part of parts) {
    const [line, gone, come] = part;
    const at = place(lines, line - 1 + moved, gone);
    if (at === null) {
      lost.push(part);
      continue;
    }
    lines.splice(at, gone.length, ...come);
    moved = at - (line - 1) + come.length - gone.length;
  }
  return { text: lines.join("\n"), lost };
}

function place(lines, wanted, gone) {
  const fits = (at) =>
    at >= 0 && at <= lines.length && gone.every((line, index) => lines[at + index] === line);
  if (!gone.length) return fits(wanted) ? wanted : null;
  for (let far = 0; far <= lines.length; far += 1) {
    for (const at of [wanted - far, wanted + far]) if (fits(at)) return at;
  }
  return null;
}
