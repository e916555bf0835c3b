// Bundles src/ into the Python package. The first line of the script names what it was made from, so that a test can
// tell without Node whether the committed bundle is stale.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build, transform } from "esbuild";

const OUT = "../src/centrality/explorer/static/";
const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);
const files = readdirSync("src").sort().map((name) => `src/${name}`);

const target = ["es2022", "chrome123", "firefox121", "safari17.5"];
// What src/short.ts has a short name for: "Math.max" is written as Math_max, and Math_max as a letter.
const pairs = [...readFileSync("src/short.ts", "utf8").matchAll(/(\w+): ((\w+)_\1)\b/g)];
const define = Object.fromEntries(pairs.map(([, name, short, owner]) => [owner === "globalThis" ? name : `${owner}.${name}`, short]));
// Properties that can only be ours are a letter too: no library of the browser has one of that name, no text names it,
// and it is not in what Python, links or notebooks know.
const source = files.filter((path) => path.endsWith(".ts")).map((path) => readFileSync(path, "utf8").replace(/\/\*[^]*?\*\/|\/\/.*/g, "")).join("\n");
const LIBRARY = "node_modules/typescript/lib/";
const libraries = readdirSync(LIBRARY).filter((name) => /^lib\.(dom|es)[\w.]*\.d\.ts$/.test(name)).map((name) => readFileSync(LIBRARY + name, "utf8")).join("\n");
const told = `render model el save_changes ${["header", "state", "notebook"].map((name) => readFileSync(`src/${name}.ts`, "utf8")).join("\n")}`;
const known = new Set([...libraries.matchAll(/^ +(?:readonly |get |set )*"?(\w+)"?\??[(:<]/gm), ...told.matchAll(/(\w+)/g), ...source.matchAll(/["`](\w+)["`]|dataset\.(\w+)/g)].map(([, name, data]) => name ?? data));
const ours = [...new Set([...source.matchAll(/\.([a-z]\w+)/g)].map(([, name]) => name))].filter((name) => !known.has(name) && !/^from/.test(name));
const mangleProps = new RegExp(`^(${ours.join("|")})$`);
const made = (entry, more = {}) =>
  build({ entryPoints: [entry], bundle: true, minify: true, format: "esm", target, write: false, ...more });
// Shaders are strings to esbuild. In their language space around these signs means nothing after the first line.
const tight = (shader) => {
  const [first, ...lines] = shader.split("\n");
  return `${first}\n${lines.join(" ").replace(/\s*([*/=<>!?:;,(){}&|+-])\s*/g, "$1").replace(/\b0(\.\d)|(\d\.)0\b/g, "$1$2")}`;
};
// Names of CSS variables are ours alone, in the style sheet and where scripts set them: a letter does.
const variables = [...new Set(readFileSync("src/style.css", "utf8").match(/--[a-z-]+(?=:)/g)), "--weight"];
const lettered = (text) => text.replace(/--[a-z-]+/g, (name) => (variables.includes(name) ? `--${variables.indexOf(name).toString(36)}` : name));
const bundle = (await made("src/main.ts", { define, inject: ["src/short.ts"], mangleProps })).outputFiles[0].text;
const again = (await transform(bundle, { minify: true, format: "esm", target })).code; // more can be left out, once it is one file
const script = again.replace(/`(#version|\nuniform)[^`]*`/g, tight).replace(/"--[a-z-]+"/g, lettered);
const style = lettered((await made("src/style.css")).outputFiles[0].text);

const from = digest(["build.mjs", "package-lock.json", ...files].map((path) => digest(readFileSync(path))).join(""));
writeFileSync(`${OUT}explorer.js`, `/* sources ${from} bundle ${digest(script + style)} */\n${script}`);
writeFileSync(`${OUT}explorer.css`, style);
console.log(`explorer.js ${script.length} bytes, explorer.css ${style.length} bytes`);
