// Bundles src/ into the Python package. The first line of the script names what it was made from, so that a test can
// tell without Node whether the committed bundle is stale.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const OUT = "../src/centrality/apps/explorer/static/";
const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);
const files = readdirSync("src", { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile()).map((entry) => `${entry.parentPath}/${entry.name}`).sort();

const target = ["es2022", "chrome123", "firefox121", "safari17.5"];
// Programs for the graphics card stand in texts, which no minifier reads: their lines are sent without what indents them.
const shaders = { name: "shaders", setup: ({ onLoad }) => onLoad({ filter: /(points|mixing)\.ts$/ }, ({ path }) => ({
  loader: "ts", contents: readFileSync(path, "utf8").replace(/`(#version|\nuniform)[^`]*`/g, (text) => text.replace(/\n\s+/g, "\n")) })) };
const made = async (entry) =>
  (await build({ plugins: [shaders], entryPoints: [entry], bundle: true, minify: true, format: "esm", target, write: false })).outputFiles[0].text;
const [script, style] = [await made("src/main.ts"), await made("src/style.css")];

const from = digest(["build.mjs", "package-lock.json", ...files].map((path) => digest(readFileSync(path))).join(""));
writeFileSync(`${OUT}explorer.js`, `/* sources ${from} bundle ${digest(script + style)} */\n${script}`);
writeFileSync(`${OUT}explorer.css`, style);
console.log([script, style].map((text) => `${text.length} bytes, ${gzipSync(text, { level: 9 }).length} gzipped`).join("; "));
