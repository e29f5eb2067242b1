// ---
// title: Going on
// summary: The reader writes a beginning, and a model in the browser goes on from it.
// ---
//
// Fetched by the first click, with the model. The text appears where the recorded ones are, letter by
// letter, as the model writes them.

import { quoted } from "./characters.js";
import { make } from "./elements.js";
import { Model, fetchedJson, learned, numbers } from "./model.js";

const LENGTH = 240;
const OPTIONS = { temperature: 0.8, topK: 0, topP: 1, minP: 0 };
const models = new WeakMap();

// The model of a form is fetched once. `report` gets the share of its weights that has come.
async function fetchedModel(form, report) {
  const address = new URL(form.dataset.graph, document.baseURI).href;
  const graph = await fetchedJson(address);
  const weights = learned(graph.weights, (bytes) => report(bytes / graph.bytes));
  const model = new Model(graph, numbers(graph, address, weights));
  await model.loaded;
  return { graph, model, seed: 0 };
}

function unknown(prompt, symbols) {
  // The last symbol stands for all that the text of the training hasn't.
  const known = new Set(Array.from(symbols).slice(0, -1));
  const others = [...new Set(prompt)].filter((one) => !known.has(one));
  return others.length
    ? `The model doesn’t know ${others.map(quoted).join(", ")}, and reads “�”.`
    : "";
}

export async function start(form) {
  const button = form.querySelector("button");
  const said = form.querySelector(".said");
  const prompt = form.querySelector("textarea").value;
  if (!prompt) {
    said.textContent = "The model needs at least one character to go on from.";
    return;
  }
  try {
    const percent = (share) => (button.textContent = `${Math.round(100 * share)} %`);
    if (!models.has(form)) models.set(form, await fetchedModel(form, percent));
    const about = models.get(form);
    said.textContent = unknown(prompt, about.graph.symbols);
    await write(about, prompt, place(form));
    button.textContent = "Write again";
  } catch (error) {
    said.textContent = `${error.message}. Try again.`;
    button.textContent = "Write on";
  }
}

// The place of the recorded texts, if they stand before the form; else a place of its own behind it.
function place(form) {
  const figure = form.previousElementSibling?.matches("figure.typed")
    ? form.previousElementSibling
    : null;
  figure?.dispatchEvent(new Event("live"));
  const there = (figure ?? form.parentElement).querySelector(".live");
  if (there) return there;
  const text = make("pre", { className: "live" });
  if (figure) figure.querySelector(".samples").append(text);
  else form.after(text);
  return text;
}

async function write(about, prompt, text) {
  const rest = make("span", { className: "typing" });
  text.replaceChildren(make("code", {}, make("b", {}, prompt), rest));
  const job = { prompt, n: LENGTH, seed: about.seed++, options: OPTIONS, cached: true };
  await about.model.ask("write", job, ({ written }) => (rest.textContent = written));
  rest.className = "";
}
