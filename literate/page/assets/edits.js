// The editor of a page.
//
// It is fetched at the click, and so is Python. A link with a change in it shows the change, and
// waits for the click as well.

import { make } from "../../../page_runner/assets/elements.js";
import { every, first } from "./dom.js";
import { isFile } from "./plain.js";
import { starter } from "./starter.js";

/**
 * What the page says of its editor, as data of an element.
 *
 * * `edit` is the path of the source, and `size` what the editor weighs, in MB
 * * `program` is the folder of the editor's scripts, and `sources` that of the sources
 * * `exercises` are the kind of each exercise and its function, if the page has some, and `paste` is
 *   the address of the page that tests a reader's own code
 * * `script` is the form of its own that some pages have, with the `label` of its button; that gets
 *   `target`, and the `record` of a run. What it weighs is its `weight`. It stands below the definitions
 *   that it is `beside`, or below the field where a model writes on, or at the head of the page.
 *
 * @typedef {object} Offer
 * @property {string} edit
 * @property {string} program
 * @property {string} sources
 * @property {string} size
 * @property {string} [exercises]
 * @property {string} [paste]
 * @property {string} [script]
 * @property {string} [target]
 * @property {string} [label]
 * @property {string} [record]
 * @property {string} [weight]
 * @property {string} [beside]
 */

/** @param {string} address */
const beside = (address) => new URL(address, location.href.split("#")[0]).href;

/**
 * What is open: one text in the editor, and one form, at a time. Each has a Python of its own.
 *
 * @type {Record<string, { close?: () => void } | null>}
 */
const opened = { editor: null, form: null };

/**
 * Fetch a script of the editor and begin with it.
 *
 * @param {Offer} offer
 * @param {HTMLButtonElement} button
 * @param {string} name
 * @param {{ section?: HTMLElement, [other: string]: any }} given
 */
async function open({ edit: path, program, sources }, button, name, given = {}) {
  const kind = name === "edit" ? "editor" : "form";
  opened[kind]?.close?.();
  const text = button.textContent;
  const closed = () => {
    opened[kind] = null;
    given.section?.replaceChildren(button);
    button.disabled = false;
    button.focus();
  };
  button.disabled = true;
  button.textContent = "Loading …";
  try {
    const script = await import(beside(`${program}/${name}.js`));
    const all = { path, sources: beside(`${sources}/`), closed, ...given };
    opened[kind] = await script.open(all);
  } catch (error) {
    closed();
    throw error;
  } finally {
    button.textContent = text;
  }
}

const refused = make(
  "p",
  { className: "refused" },
  "This page was opened as a file, and from a file a browser starts no Python. " +
    "Serve the folder of the site: python -m http.server",
);

/**
 * A button that opens the editor, or a form of the page's own.
 *
 * @param {Offer} offer
 * @param {string} className
 * @param {string} text
 * @param {string} name of the script
 * @param {object} given to the script
 */
function opener(offer, className, text, name, given = {}) {
  return starter(className, text, async (button) => {
    if (isFile) button.closest("p, section").after(refused);
    else await open(offer, button, name, given);
  });
}

/**
 * @param {HTMLElement} place
 * @param {Offer} offer
 */
function offerEditor(place, offer) {
  const { size } = offer;
  // The page of a project that shows no code has nothing to edit.
  if (place.closest(".take")) {
    const loads = `That loads Python into your browser, ${size} MB. Nothing is sent.`;
    const opens = opener(offer, "edit", `Edit (${size} MB)`, "edit");
    opens.title = `Change the code and run it here. ${loads}`;
    place.append(opens);
  }

  // Some pages have a form of their own.
  for (const name of offer.beside?.split(" ") ?? []) {
    document.getElementById(name)?.closest(".row")?.after(form(offer, name));
  }
  if (offer.script && !offer.beside) {
    const head = place.closest("p") ?? place;
    (first("form.go-on") ?? head).after(form(offer));
  }
}

/**
 * A form of the page's own, or one for one of its definitions.
 *
 * @param {Offer} offer
 * @param {string} [name]
 */
function form(offer, name = "") {
  const { script = "", label, target, record, weight } = offer;
  const section = make("section", { className: script });
  const given = { section, target, record: record && beside(record), name };
  const begins = opener(offer, "live first", `${label} (${weight} MB)`, script, given);
  begins.title = `That loads Python into your browser, ${weight} MB. Nothing is sent.`;
  if (name) begins.setAttribute("aria-describedby", name);
  section.append(begins);
  return section;
}

/**
 * A button for each exercise. They are done in the editor, and judged there.
 *
 * @param {Offer} offer
 * @param {string} exercises
 */
function offerExercises(offer, exercises) {
  const section = make("section", { className: "exercises" });
  for (const [number, one] of exercises.split(", ").entries()) {
    const [kind, of] = one.split(" ");
    const before = exercises.split(", ").indexOf(one) < number;
    const line = before ? "another line" : "a line";
    const texts = {
      write: `Write ${line} of ${of}`,
      shape: `Make a shape in ${of}`,
      mend: `Mend a bug in ${of}`,
      assemble: `Put the lines of ${of} in order`,
    };
    const text = texts[/** @type {keyof typeof texts} */ (kind)];
    // Lines to assemble have a place of their own; all others are done in the editor.
    const place = kind === "assemble" ? make("div") : null;
    const given = { exercise: number, ...(place && { section: place }) };
    const opens = opener(offer, "live", text, place ? "assemble" : "edit", given);
    opens.title = `Your code is judged here. Python is loaded for it, ${offer.size} MB.`;
    place?.append(opens);
    section.append(place ?? opens);
  }
  if (offer.paste) {
    const own = make("a", { href: offer.paste, textContent: "Test your own attention or model" });
    section.append(make("p", {}, own));
  }
  every(".row").at(-1)?.after(section);
}

/**
 * The change that the address carries.
 *
 * @param {HTMLElement} place
 * @param {Offer} offer
 */
async function showShared(place, offer) {
  const says = make(
    "p",
    {},
    "This link changes the lines below. None of it has run. To run it, open it in the editor, " +
      `which loads Python (${offer.size} MB).`,
  );
  const section = make("section", { className: "shared" }, says);
  const { show } = await import(beside(`${offer.program}/shared.js`));
  const shared = await show(section, location.hash);
  if (shared) {
    const opens = starter("edit", "Open in the editor", async (button) => {
      await open(offer, button, "edit", { shared });
      section.remove();
    });
    section.append(opens);
  } else {
    says.textContent =
      "This link should carry a change of the page, but it is damaged. Ask for a new one.";
  }
  place.closest("p").after(section);
}

const place = first("[data-edit]");
if (place) {
  // The page's template writes all of it.
  const offer = /** @type {Offer} */ (/** @type {unknown} */ (place.dataset));
  offerEditor(place, offer);
  if (offer.exercises) offerExercises(offer, offer.exercises);
  if (location.hash.startsWith("#edit=")) {
    if (isFile) place.closest("p").after(refused);
    else showShared(place, offer);
  }
}
