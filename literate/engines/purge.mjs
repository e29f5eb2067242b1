// Drops from the style sheets of a built site what no page of it uses: node purge.mjs SITE
//
// A third of the engine's sheets is for what no page here has, variables among it, and a third of
// our own is comments and blanks. The first paint waits for all of it; the first answer of a server
// brings about 14 kB (RFC 6928), and a sheet that is longer waits for a second one.

import fs from "node:fs";
import process from "node:process";
import { build } from "esbuild";
import { PurgeCSS } from "purgecss";

process.chdir(process.argv[2]);
const pages = "**/*.html";
const scripts = "assets/**/*.js";
const content = [pages, scripts];

// The engines' sheets lie at two depths.
const engine = fs.globSync("assets/stylesheets/{*,*/*}.css");
const formulas = fs.globSync("assets/katex/*.css");

/** @param {import("purgecss").UserDefinedOptions} options */
const purge = async (options) => {
  for (const { file, css } of await new PurgeCSS().purge(options)) fs.writeFileSync(file, css);
};
await purge({ content, css: [...engine, ...formulas] });

// What no sheet asks for now, those fetched later included, and no script names, is nobody's.
const used = new Set();
for (const sheet of fs.globSync("assets/**/*.css"))
  for (const [, name] of fs.readFileSync(sheet, "utf-8").matchAll(/var\(\s*(--[\w-]+)/g))
    used.add(name);
for (const script of fs.globSync(scripts))
  for (const [name] of fs.readFileSync(script, "utf-8").matchAll(/--[a-z][\w-]*/g)) used.add(name);
await purge({ content, css: engine, variables: true, safelist: { variables: [...used] } });

await build({
  absWorkingDir: process.cwd(),
  allowOverwrite: true,
  entryPoints: ["assets/literate.css", "assets/forms.css"],
  logLevel: "warning",
  minify: true,
  outdir: "assets",
});
