// Reads one JSON text per line, [formula, marked, isDisplay], and answers with one: {html} or {error}.
// The MathML is that of the formula, for screen readers and for copying; the HTML, for the
// eye, is that of the marked formula, in which the symbols carry their keys.
const path = require("node:path");
const readline = require("node:readline");
const katex = require(path.join(process.argv[2], "dist", "katex.js"));

function set(formula, marked, displayMode) {
  const strict = { displayMode, throwOnError: true, strict: "error" };
  const mathml = katex.renderToString(formula, { ...strict, output: "mathml" });
  const options = { ...strict, output: "html", strict: "ignore", trust: isMark };
  let html;
  try {
    html = katex.renderToString(marked, options);
  } catch {
    // There are places in TeX where a group can't stand; there the symbols do without their marks.
    html = katex.renderToString(formula, options);
  }
  const math = /<math.*<\/math>/s.exec(mathml)[0];
  return html.replace('<span class="katex">', `$&<span class="katex-mathml">${math}</span>`);
}

const isMark = (context) => context.command === "\\htmlData";

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  let answer;
  try {
    answer = { html: set(...JSON.parse(line)) };
  } catch (error) {
    answer = { error: String(error.rawMessage || error.message) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
