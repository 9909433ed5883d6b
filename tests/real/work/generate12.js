// SPDX-License-Identifier: Apache-2.0
//
// As generate.mjs, with llama.cpp as @fugood/llama.node has it: CUDA 12, everything in one library.
//
//   node generate12.js PACKAGES MODEL TOKENS [gate]
const path = require("node:path");
const readline = require("node:readline");

const [packages, model, count, gate] = process.argv.slice(2);
const { loadModel } = require(path.join(packages, "node_modules/@fugood/llama.node"));

async function pass(gate) {
	if (!gate) return;
	console.log("ready");
	const lines = readline.createInterface({ input: process.stdin });
	await new Promise((resolve) => lines.once("line", resolve));
	lines.close();
	process.stdin.destroy();
}

async function main() {
	const context = await loadModel({ model, n_ctx: 1024, n_gpu_layers: 99, lib_variant: "cuda" });
	const options = { prompt: "the rain in the inner lane", temperature: 0, top_k: 1, seed: 1, ignore_eos: true };
	const first = Math.floor(count / 4);
	console.log((await context.completion({ ...options, n_predict: first })).text);
	await pass(gate);
	console.log((await context.completion({ ...options, n_predict: count - first })).text);
	await context.release();
}

main();
