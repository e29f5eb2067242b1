// Reads one JSON text per line, [formula, marked, isDisplay], and answers with one: {html, styles} or
// {error}. The MathML is that of the formula, for screen readers and for copying; the HTML, for the
// eye, is that of the marked formula, in which the symbols carry their keys.
const { createHash } = require("node:crypto");
const path = require("node:path");
const readline = require("node:readline");
const katex = require(path.join(process.argv[2], "dist", "katex.js"));
const width = require("./widths.js")(katex);

function set(formula, marked, displayMode) {
  const strict = { displayMode, throwOnError: true, strict: "error" };
  const mathml = katex.renderToString(formula, { ...strict, output: "mathml" });
  const options = { ...strict, output: "html", strict: "ignore", trust: isMark };
  let html;
  try {
    html = markup(marked, options);
  } catch {
    // There are places in TeX where a group can't stand; there the symbols do without their marks.
    html = markup(formula, options);
  }
  const math = /<math.*<\/math>/s.exec(mathml)[0];
  return html.replace('<span class="katex">', `$&<span class="katex-mathml">${math}</span>`);
}

// The pieces between which a formula may be broken have their widths before their fonts have come.
function markup(formula, options) {
  const tree = katex.__renderToDomTree(formula, options);
  const waiting = [tree];
  while (waiting.length) {
    const node = waiting.pop();
    waiting.push(...(node.children ?? []));
    if (!node.classes?.includes("katex-base")) continue;
    const found = width(node);
    if (Number.isFinite(found)) node.style.width = `${+found.toFixed(3)}em`;
  }
  return tree.toMarkup();
}

const isMark = (context) => context.command === "\\htmlData";

// A site that forbids inline styles can't have them in its formulas: each becomes a class, whose name
// is made from the style, so that it is the same on every page.
function classes(html) {
  const styles = {};
  const named = html.replace(/<[a-z][^>]* style="[^"]*"[^>]*>/g, (tag) => {
    const style = / style="([^"]*)"/.exec(tag)[1];
    const name = "k" + createHash("sha256").update(style).digest("hex").slice(0, 8);
    styles[name] = style;
    const rest = tag.replace(/ style="[^"]*"/, "");
    return / class="/.test(rest)
      ? rest.replace(/ class="/, `$&${name} `)
      : rest.replace(/^<[a-z]+/, `$& class="${name}"`);
  });
  return { html: named, styles };
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  let answer;
  try {
    answer = classes(set(...JSON.parse(line)));
  } catch (error) {
    answer = { error: String(error.rawMessage || error.message) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
