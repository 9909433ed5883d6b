// SPDX-License-Identifier: Apache-2.0
//
// Generates tokens with llama.cpp as node-llama-cpp has it (CUDA 13), all layers on the GPU:
//
//   node generate.mjs PACKAGES MODEL TOKENS [gate]
//
// PACKAGES is the folder that node_modules is in. Prints the tokens. "gate": prints "ready" after the first quarter of them and goes
// on at a line of standard input.
import path from "node:path";
import readline from "node:readline";

const [packages, modelPath, count, gate] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(path.join(packages, "node_modules/node-llama-cpp/dist/index.js"));

const llama = await getLlama({ gpu: "cuda", build: "never", skipDownload: true, progressLogs: false, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath, gpuLayers: "max" });
const context = await model.createContext({ contextSize: 1024, batchSize: 256 });
const sequence = context.getSequence();
console.log("backend", llama.gpu, "layers", model.gpuLayers);

const tokens = [];
for await (const token of sequence.evaluate(model.tokenize("the rain in the inner lane"), { temperature: 0, yieldEogToken: true })) {
	tokens.push(token);
	if (gate && tokens.length === Math.floor(count / 4)) {
		console.log("ready");
		const lines = readline.createInterface({ input: process.stdin });
		await new Promise((resolve) => lines.once("line", resolve));
		lines.close();
		process.stdin.destroy();
	}
	if (tokens.length >= count) break;
}
console.log("tokens", tokens.join(" "));
await llama.dispose();
