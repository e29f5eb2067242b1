// Reads one JSON text per line, [formula, isDisplay], and answers with one: {html} or {error}.
// HTML is for the eye, MathML beside it for screen readers and for copying.
const path = require("node:path");
const readline = require("node:readline");
const katex = require(path.join(process.argv[2], "dist", "katex.js"));

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const [formula, displayMode] = JSON.parse(line);
  let answer;
  try {
    const options = { displayMode, output: "htmlAndMathml", strict: "error", throwOnError: true };
    answer = { html: katex.renderToString(formula, options) };
  } catch (error) {
    answer = { error: String(error.rawMessage || error.message) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
