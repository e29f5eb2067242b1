// Makes the scripts of a site from their modules. One request as JSON on the standard input:
//
// * `esbuild` is the folder of that package, and `out` an empty one
// * `plain` are scripts that the pages load by themselves. Each becomes one file with all that it
//   imports, and no name of its own is seen by another script
// * `addressOfPlain` is the module that says where such a script lies
// * `modules` are fetched when a reader asks for them. What several of them import becomes a file
//   that they share

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

/** @type {Record<"esbuild" | "out" | "addressOfPlain", string> & Record<"plain" | "modules", string[]>} */
const { esbuild, out, plain, modules, addressOfPlain } = JSON.parse(fs.readFileSync(0, "utf-8"));
const { build } = createRequire(path.join(esbuild, "package.json"))(esbuild);

// On the site all scripts lie in one folder. What is imported by a call stays a file of its own.
const fetchedLater = {
  name: "fetched later",
  setup(/** @type {import("esbuild").PluginBuild} */ building) {
    building.onResolve({ filter: /^\./ }, ({ kind, path: place }) =>
      kind === "dynamic-import" ? { path: `./${path.basename(place)}`, external: true } : undefined,
    );
  },
};
const options = {
  bundle: true,
  charset: "utf8",
  chunkNames: "shared-[hash]",
  entryNames: "[name]",
  logLevel: "silent",
  minify: true,
  outdir: out,
  plugins: [fetchedLater],
  target: "es2022",
};
// A plain script knows its address by another name than a module.
const address = { define: { "import.meta.url": "address" }, inject: [addressOfPlain] };
await build({ ...options, ...address, entryPoints: plain, format: "iife" });
await build({ ...options, entryPoints: modules, format: "esm", splitting: true });
