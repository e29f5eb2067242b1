// A card tells about a name or a tensor.

import { make } from "../../../page_runner/assets/elements.js";
import { about } from "./about.js";
import { isFile } from "./plain.js";

/** @typedef {(owner: HTMLElement) => Promise<Node[]>} Tell what a card says of its owner */

const card = make("div", { className: "card", id: "card", hidden: true });
card.setAttribute("role", "tooltip");
document.body.append(card);
let timer = 0;
/** @type {HTMLElement | null} */
let cardOf = null;

/**
 * @param {HTMLElement} owner
 * @param {Node[]} content
 * @param {DOMRect} box
 */
function show(owner, content, box) {
  card.replaceChildren(...content);
  card.hidden = false;
  const room = document.documentElement.clientWidth - card.offsetWidth - 8;
  // What is higher than the room above or below its owner is scrolled.
  const under = innerHeight - box.bottom - 8;
  const over = box.top - (document.querySelector(".md-header")?.clientHeight ?? 0) - 8;
  card.style.maxHeight = `${Math.max(under, over)}px`;
  const below = card.offsetHeight <= under || over < under;
  card.style.left = `${Math.max(8, Math.min(box.left, room)) + scrollX}px`;
  card.style.top = `${(below ? box.bottom + 4 : box.top - card.offsetHeight - 4) + scrollY}px`;
  owner.setAttribute("aria-describedby", "card");
  cardOf = owner;
}

function hide() {
  clearTimeout(timer);
  cardOf?.removeAttribute("aria-describedby");
  cardOf = null;
  card.hidden = true;
}

/** @param {HTMLAnchorElement} link */
async function tellName(link) {
  const name = decodeURIComponent(link.hash.slice(1));
  if (link.host !== location.host) {
    const full = name || link.pathname.split("/").pop().replace(".html", "");
    return [make("code", {}, full), make("p", {}, "in PyTorch’s documentation")];
  }
  const [title, sentence] = (await about(link.href)).definitions[name] ?? [];
  return title === undefined ? [] : [make("code", {}, title), make("p", {}, sentence)];
}

/** @param {HTMLElement} line */
async function tellTensors(line) {
  const panel = import("../../../page_runner/assets/panel.js");
  const [{ tensors }, { tell }] = await Promise.all([about(location.href), panel]);
  const told = (tensors[line.id.slice(1)] ?? []).map((tensor) => tell(...tensor));
  return [...(await Promise.all(told)), ...signs(line)];
}

/**
 * What “(+1)” and “…” mean at the end of a line: the build has put it into what a screen reader reads.
 *
 * @param {HTMLElement} line
 */
function signs(line) {
  const said = line.querySelector(".shape").getAttribute("aria-label").split("\n");
  return said.filter((one) => /^(\(\+|…)/.test(one)).map((one) => make("p", {}, one));
}

/**
 * A pointer that only passes by opens nothing; one that goes to the card keeps it.
 *
 * @param {HTMLElement} owner
 * @param {Tell} tell
 * @param {() => DOMRect} box
 * @param {number} wait
 */
function soon(owner, tell, box, wait) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const content = await tell(owner);
    if (content.length) show(owner, content, box());
  }, wait);
}

/**
 * What there is to tell of an element, and where.
 *
 * @param {EventTarget} target
 * @returns {[HTMLElement, Tell, () => DOMRect] | null}
 */
function lookAt(target) {
  if (!(target instanceof Element)) return null;
  /** @type {HTMLAnchorElement | null} */
  const link = target.closest(".line span a");
  if (link) return [link, () => tellName(link), () => link.getBoundingClientRect()];
  const shape = target.closest(".shape");
  // The card says all that the browser would say from this attribute. From the disk there is none.
  if (!isFile) shape?.removeAttribute("title");
  return shape ? [shape.parentElement, tellTensors, () => shape.getBoundingClientRect()] : null;
}

document.addEventListener("pointerover", ({ target }) => {
  if (target instanceof Node && card.contains(target)) return clearTimeout(timer);
  const found = lookAt(target);
  if (!found) {
    clearTimeout(timer);
    if (!card.hidden) timer = setTimeout(hide, 250);
  } else if (found[0] !== cardOf) {
    soon(...found, card.hidden ? 200 : 100);
  } else {
    clearTimeout(timer);
  }
});

document.addEventListener("focusin", ({ target }) => {
  if (!(target instanceof HTMLElement) || !target.matches(":focus-visible")) return;
  /** @type {HTMLElement | null} */
  const line = target.closest("a[data-line]")?.closest(".line:has(> .shape)");
  if (line)
    soon(
      target,
      () => tellTensors(line),
      () => line.getBoundingClientRect(),
      0,
    );
  else if (target.matches(".line span a")) soon(...lookAt(target), 0);
  else hide();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
});
