// ---
// title: Build
// summary: What a reader's browser fetches for the editor, made of npm's packages when the site is built.
// ---
//
// One request as JSON on the standard input:
//
// * `root` is a folder whose “node_modules” has esbuild, CodeMirror and Pyodide; `out` is an empty one
// * `scripts` is the folder of the scripts, and `trim` the module that makes the library smaller
// * `wanted` are names of modules of the standard library, and `files` those of the archive of
//   modules: pairs of a name and a place
// * `kernels` is the address of the kernels, from the folder of the scripts, or empty
//
// One answer: the wanted modules that are `missing`.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { root, out, scripts, trim, wanted, files, kernels } = JSON.parse(
  fs.readFileSync(0, "utf-8"),
);
const require = createRequire(path.join(root, "package.json"));
const pyodide = path.dirname(require.resolve("pyodide/package.json"));

// ## Scripts
//
// The worker loads Pyodide's own script, which lies beside it as it came.
const { info } = JSON.parse(fs.readFileSync(path.join(pyodide, "pyodide-lock.json"), "utf-8"));
const options = {
  define: {
    LOCK: JSON.stringify({ info, packages: {} }),
    KERNELS: JSON.stringify(kernels),
  },
  ...{
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    outdir: out,
    logLevel: "silent",
  },
  ...{
    nodePaths: [path.join(root, "node_modules")],
    external: ["./pyodide.mjs"],
    legalComments: "eof",
  },
};
const entries = ["assemble", "edit", "paste", "shared", "train", "worker"].map((name) =>
  path.join(scripts, `${name}.js`),
);
const { metafile } = await require("esbuild").build({
  ...options,
  entryPoints: entries,
  metafile: true,
});
fs.copyFileSync(path.join(scripts, "edit.css"), path.join(out, "edit.css"));

// ## Licences
//
// Those of all packages that are in the scripts, and where the rest comes from.
const packages = new Set(
  Object.keys(metafile.inputs).flatMap(
    (one) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(one)?.slice(0, 1) ?? [],
  ),
);
const licences = [...packages].sort().map((folder) => {
  const { name, version, license } = JSON.parse(
    fs.readFileSync(path.resolve(folder, "package.json"), "utf-8"),
  );
  const file = fs.readdirSync(path.resolve(folder)).find((one) => /^licen[cs]e/i.test(one));
  return `${name} ${version} (${license})\n\n${file ? fs.readFileSync(path.resolve(folder, file), "utf-8") : ""}`;
});
const { version, license } = JSON.parse(
  fs.readFileSync(path.join(pyodide, "package.json"), "utf-8"),
);
licences.push(
  `Pyodide ${version} (${license}), unchanged, from the npm package pyodide; its source is at https://github.com/pyodide/pyodide\n`,
  `Python ${info.python} (Python Software Foundation License, https://docs.python.org/3/license.html), as Pyodide has built it; its library is compiled, and shortened to what is used\n`,
);
fs.writeFileSync(path.join(out, "licences.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));

// ## Python
for (const name of ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"])
  fs.copyFileSync(path.join(pyodide, name), path.join(out, name));
const { loadPyodide } = await import(path.join(pyodide, "pyodide.mjs"));
const python = await loadPyodide();
python.FS.mkdirTree("/in");
python.FS.writeFile("/in/library.zip", fs.readFileSync(path.join(pyodide, "python_stdlib.zip")));
python.FS.writeFile("/in/trim.py", fs.readFileSync(trim));
python.runPython("import sys; sys.path.insert(0, '/in')");
const module = python.pyimport("trim");
const pairs = files.map(([name, place], index) => {
  python.FS.writeFile(`/in/${index}`, fs.readFileSync(place));
  return [name, `/in/${index}`];
});
module.pack(python.toPy(pairs), "/in/python.zip");
const missing = module.trim("/in/library.zip", python.toPy(wanted), "/in/python_stdlib.zip").toJs();
for (const name of ["python.zip", "python_stdlib.zip"])
  fs.writeFileSync(path.join(out, name), python.FS.readFile(`/in/${name}`));
console.log(JSON.stringify({ missing }));
