// What readers can choose: whether notes are shown, and the size of the code.

import { make } from "../../../page_runner/assets/elements.js";
import { every, first } from "./dom.js";

const SIZES = [1, 1.125, 1.25, 1.4];

const root = document.documentElement;
const bar = first(".stepbar");

/**
 * Keep a choice for the next page. A browser may refuse to remember.
 *
 * @param {string} name
 * @param {string} value
 */
function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {}
}

/** @param {HTMLElement} note */
const isNote = (note) => [...note.children].some((child) => !child.matches(".definition, .uses"));
const noted = every(".row:not(.intro, .after) > .note[data-at]").filter(isNote);

/**
 * Open or close the note of a row.
 *
 * @param {HTMLElement} row
 * @param {boolean} isOpen
 */
function unfold(row, isOpen) {
  row.classList.toggle("open", isOpen);
  row.querySelector(".opener")?.setAttribute("aria-expanded", `${isOpen}`);
  const note = first(":scope > .note", row);
  // On a phone the first words of a closed note are seen; what is in them can't be used.
  note.inert = root.matches(".demand") && !isOpen && !note.querySelector(":scope > .definition");
}

/** @param {HTMLElement} note */
function addOpener(note) {
  const row = note.parentElement;
  const opener = make("button", { className: "opener", type: "button" });
  opener.setAttribute("aria-label", `Note on line ${note.dataset.at}`);
  opener.addEventListener("click", () => unfold(row, !row.matches(".open")));
  const heading = note.querySelector(":scope > .definition");
  if (heading) heading.after(opener);
  else note.before(opener);
}

/** @param {boolean} isOn */
function demand(isOn) {
  root.classList.toggle("demand", isOn);
  for (const note of noted) {
    if (isOn && !note.parentElement.querySelector(".opener")) addOpener(note);
    unfold(note.parentElement, false);
  }
}

// What the address leads to. (Before the page is loaded, `:target` doesn't know it.)
function linked() {
  try {
    return document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    // Somebody has typed a percent sign.
    return null;
  }
}

// A link can lead into a note.
function openTarget() {
  const target = linked();
  /** @type {HTMLElement | null} */
  const row = target?.closest(".note") && target.closest(".row");
  if (row && root.matches(".demand")) unfold(row, true);
}

function sizeButton() {
  const button = make("button", { className: "code-size", type: "button" });
  let at = Math.max(0, SIZES.indexOf(+root.style.getPropertyValue("--code-scale")));
  const tell = () => (button.textContent = `Code size: ${Math.round(SIZES[at] * 100)} %`);
  button.addEventListener("click", () => {
    at = (at + 1) % SIZES.length;
    root.style.setProperty("--code-scale", `${SIZES[at]}`);
    remember("code size", `${SIZES[at]}`);
    tell();
  });
  tell();
  return button;
}

// It says what a click does, so that the way back has a name, too.
function demandButton() {
  const button = make("button", { className: "demand-toggle", type: "button" });
  const tell = () =>
    (button.textContent = root.matches(".demand")
      ? "Show all notes"
      : "Code first, notes on demand");
  button.addEventListener("click", () => {
    const isOn = !root.matches(".demand");
    demand(isOn);
    tell();
    remember("notes", isOn ? "demand" : "beside");
  });
  tell();
  return button;
}

if (bar && noted.length) {
  bar.append(make("span", { className: "switches" }, sizeButton(), demandButton()));
  if (root.matches(".demand")) demand(true);
  openTarget();
  addEventListener("hashchange", openTarget);
}
