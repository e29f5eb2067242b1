// Reads one JSON text per line, [formula, isDisplay, keys], and answers with one: {html, keys} or
// {error}. The MathML is for screen readers and for copying, the HTML for the eye: in it the symbols
// that have one of the keys carry it. The answer's keys are those of all symbols of the formula.
const { createHash } = require("node:crypto");
const path = require("node:path");
const readline = require("node:readline");
const katex = require(path.join(process.argv[2], "dist", "katex.js"));

const UPRIGHT = ["mathrm", "mathit", "mathsf", "textit"];
const WORDS = ["mathord", "text", "operatorname", "font", "accent", "overline"];
const LETTER = /^\\(Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|ell)$/;

const isBoldSymbol = (node) => node.type === "mclass" && node.body[0]?.font === "boldsymbol";

// A letter or a word, with what hangs on it.
const isSymbol = (node) =>
  WORDS.includes(node.type) ||
  isBoldSymbol(node) ||
  (node.type === "textord" && LETTER.test(node.text)) ||
  (node.type === "supsub" && node.base !== null && isSymbol(node.base));

// How a part of a formula is spelled, without what only says how it is set: `d_{\text{model}}` is
// `d_model`, which is also the name in the code.
function spelled(node) {
  if (Array.isArray(node)) return node.map(spelled).join("");
  switch (node.type) {
    case "mathord":
    case "textord":
    case "atom":
      return node.text.replace("\\prime", "-prime").replace("\\", "");
    case "supsub": {
      const above = node.sup ? spelled(node.sup) : "";
      const hat = above && !above.startsWith("-prime") ? "^" : "";
      return spelled(node.base) + (node.sub ? `_${spelled(node.sub)}` : "") + hat + above;
    }
    case "font":
      return (UPRIGHT.includes(node.font) ? "" : `${node.font}-`) + spelled(node.body);
    case "accent":
      return `${node.label.slice(1)}-${spelled(node.base)}`;
    case "overline":
      return `overline-${spelled(node.body)}`;
    case "text":
    case "ordgroup":
    case "operatorname":
    case "mclass":
      return spelled(node.body);
  }
  return JSON.stringify(node, (name, value) => (name === "loc" ? undefined : value));
}

// What can't stand in an attribute as it is gets a number.
function keyOf(node) {
  const key = spelled(node);
  if (/^[\w^.-]+$/.test(key)) return key;
  return `f.${createHash("md5").update(key).digest("hex").slice(0, 8)}`;
}

// The tree with its symbols inside elements that carry their keys. Fractions and roots are symbols
// as a whole, and hold others.
function marked(node, keys, found) {
  if (Array.isArray(node)) return node.map((one) => marked(one, keys, found));
  if (node === null || typeof node !== "object") return node;
  // The word of `\bmod` is a sign.
  if (node.type === "mclass" && !isBoldSymbol(node)) return node;
  const isWhole = node.type === "genfrac" || node.type === "sqrt";
  let inside = node;
  if (isWhole || isSymbol(node)) found.push(keyOf(node));
  const key = isWhole || isSymbol(node) ? found.at(-1) : null;
  if (node.type === "supsub" && key === null) {
    // The script of something that is no symbol, `\sum_{i}`, holds none.
    inside = { ...node, base: marked(node.base, keys, found) };
  } else if (key === null || isWhole) {
    const parts = Object.entries(node).filter(([name]) => name !== "loc");
    inside = Object.fromEntries(parts.map(([name, one]) => [name, marked(one, keys, found)]));
  }
  if (!keys.includes(key)) return inside;
  return { type: "html", mode: node.mode, attributes: { "data-s": key }, body: [inside] };
}

// KaTeX sets texts, not trees. So this one command stands for the tree that is to be set.
let tree;
katex.__defineFunction({
  type: "styling",
  names: ["\\literate@tree"],
  numArgs: 0,
  handler: () => tree,
});

const MACROS = {
  "\\qquad": "\\hskip2em\\relax\\allowbreak", // A new line on a narrow screen.
  // What TeX or its packages have under another name.
  "\\mbox": "\\text",
  "\\textsc": "\\text",
  "\\ensuremath": "{#1}",
  "\\mathds": "\\mathbb",
  "\\mathbbm": "\\mathbb",
  "\\hdots": "\\ldots",
};

// As much of a wrong formula as can be set: what KaTeX doesn't know stands in it as it is typed. What
// stands behind a percent sign would be lost.
function attempted(formula, displayMode) {
  if (/(^|[^\\])%/.test(formula)) return "";
  const tolerant = { displayMode, throwOnError: false, strict: "ignore", macros: { ...MACROS } };
  const html = katex.renderToString(formula, { ...tolerant, errorColor: "inherit" });
  return html.includes("katex-error") ? "" : html;
}

function set(formula, displayMode, keys) {
  const macros = { ...MACROS };
  const strict = { displayMode, throwOnError: true, strict: "error", macros };
  const mathml = katex.renderToString(formula, { ...strict, output: "mathml" });
  const found = [];
  const body = marked(katex.__parse(formula, strict), keys, found);
  tree = { type: "styling", mode: "math", style: displayMode ? "display" : "text", body };
  const shown = found.some((key) => keys.includes(key)) ? "\\literate@tree" : formula;
  const plain = katex.renderToString(shown, { ...strict, output: "html" });
  const html = plain.replace(
    /<span class="mspace allowbreak"><\/span>(<span class="mspace"[^>]*><\/span>)*<\/span>/g,
    "$&<br>",
  );
  const math = /<math.*<\/math>/s.exec(mathml)[0];
  const whole = html.replace('<span class="katex">', `$&<span class="katex-mathml">${math}</span>`);
  return { html: whole, keys: found };
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const [formula, displayMode, keys] = JSON.parse(line);
  let answer;
  try {
    answer = set(formula, displayMode, keys);
  } catch (error) {
    const html = attempted(formula, displayMode);
    answer = { error: String(error.rawMessage || error.message), html };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
