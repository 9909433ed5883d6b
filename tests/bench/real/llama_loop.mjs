// SPDX-License-Identifier: Apache-2.0
//
// Generates tokens with llama.cpp as node-llama-cpp has it (CUDA 13), all layers on the GPU, without an end; a line for each
// STRIDE tokens as of the double's load:
//
//   node llama_loop.mjs PROGRESS PACKAGES MODEL STRIDE
import fs from "node:fs";
import path from "node:path";

const CONTEXT = 1024;
const [progress, packages, modelPath, stride] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(path.join(packages, "node_modules/node-llama-cpp/dist/index.js"));

const llama = await getLlama({ gpu: "cuda", build: "never", skipDownload: true, progressLogs: false, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath, gpuLayers: "max" });
const context = await model.createContext({ contextSize: CONTEXT, batchSize: 256 });
const sequence = context.getSequence();
const file = fs.openSync(progress, "a");

function moment() {
	const { user, system } = process.cpuUsage();
	return { wall: process.hrtime.bigint(), cpu: BigInt(user + system) * 1000n };
}

// The text begins anew before the context is full; what that takes is in no unit.
async function generate() {
	let last, count = 0;
	await sequence.clearHistory();
	for await (const _ of sequence.evaluate(model.tokenize("the rain in the inner lane"), { temperature: 0, yieldEogToken: true })) {
		if (count % stride === 0) {
			const now = moment();
			if (last) fs.writeSync(file, `${now.wall} ${now.wall - last.wall} ${now.cpu - last.cpu} 0 0\n`);
			last = now;
		}
		if (++count > CONTEXT - 64) break;
	}
}

await generate();
console.log("ready", process.pid);
for (;;) await generate();
