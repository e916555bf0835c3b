// Score rows by a model's ONNX file in the web's runtime, on one thread:
// node onnx_web.mjs RUNTIME MODEL INPUTS.json FOUND.json [TURNS]
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [runtime, model, given, found, turns = "1"] = process.argv.slice(2);
const ort = await import(pathToFileURL(runtime));
ort.env.wasm.numThreads = 1;

const arrays = {
  float64: (values) => Float64Array.from(values, (value) => value ?? NaN), // JSON has no NaN
  int64: (values) => BigInt64Array.from(values, BigInt),
  string: (values) => values,
};
const session = await ort.InferenceSession.create(model);
const inputs = {};
for (const [name, { type, values, shape }] of Object.entries(JSON.parse(await readFile(given)))) {
  inputs[name] = new ort.Tensor(type, arrays[type](values), shape);
}
let outputs = null;
const seconds = [];
for (let turn = 0; turn < Number(turns); turn++) {
  const before = process.cpuUsage();
  outputs = await session.run(inputs);
  const { user, system } = process.cpuUsage(before);
  seconds.push((user + system) / 1e6);
}
const plain = Object.entries(outputs).map(([name, tensor]) => [name, Array.from(tensor.data, Number)]);
await writeFile(found, JSON.stringify({ seconds, outputs: Object.fromEntries(plain) }));
