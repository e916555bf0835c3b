// Bundles src/ into the Python package. The first line of the script names what it was made from, so that a test can
// tell without Node whether the committed bundle is stale.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const OUT = "../src/centrality/explorer/static/";
const digest = (text) => createHash("sha256").update(text).digest("hex");
const files = readdirSync("src").sort().map((name) => `src/${name}`);

const target = ["es2022", "chrome123", "firefox121", "safari17.5"];
const made = (entry) =>
  build({ entryPoints: [entry], bundle: true, minify: true, format: "esm", target, write: false });
// Shaders are strings to esbuild. In their language space around these signs means nothing after the first line.
const tight = (shader) => {
  const [version, ...lines] = shader.split("\n");
  return `${version}\n${lines.join(" ").replace(/\s*([*/=<>!?:;,(){}&|])\s*/g, "$1")}`;
};
const script = (await made("src/main.ts")).outputFiles[0].text.replace(/`#version[^`]*`/g, tight);
const style = (await made("src/style.css")).outputFiles[0].text;

const from = digest(["build.mjs", "package-lock.json", ...files].map((path) => digest(readFileSync(path))).join(""));
writeFileSync(`${OUT}explorer.js`, `/* sources ${from} bundle ${digest(script + style)} */\n${script}`);
writeFileSync(`${OUT}explorer.css`, style);
console.log(`explorer.js ${script.length} bytes, explorer.css ${style.length} bytes`);
