// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, the same as the programs print them.

const three = (x) => (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));

export function ns(x) {
	if (x === null || x === undefined || Number.isNaN(x))
		return "–";
	const a = Math.abs(x);

	if (a < 1e3)
		return `${Math.round(x)} ns`;
	if (a < 999.5e3)
		return `${three(x / 1e3)} µs`;
	if (a < 999.5e6)
		return `${three(x / 1e6)} ms`;
	if (a < 60e9)
		return `${three(x / 1e9)} s`;
	const s = Math.round(x / 1e9);

	return s < 3600 ? `${Math.floor(s / 60)}m ${s % 60}s` : `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
}

export function bytes(x) {
	if (x === null || x === undefined)
		return "–";
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let i = 0;

	for (; x >= 1024 && i < units.length - 1; i++)
		x /= 1024;
	return i ? `${x.toFixed(1)} ${units[i]}` : `${Math.round(x)} B`;
}

export const count = (x) => (x === null || x === undefined ? "–" : Math.round(x).toLocaleString("en-US"));
export const percent = (x) => (x === null || x === undefined ? "–" : `${(x * 100).toFixed(1)} %`);
export const small = (x) => (Number.isInteger(x) ? count(x) : Math.abs(x) >= 1000 ? count(x) : String(Number(x.toPrecision(3))));
export const since = (x) => (x >= 60e9 ? `+${ns(x)}` : `+${(x / 1e9).toFixed(x < 10e9 ? 3 : 1)} s`);

// An estimate of what was not all recorded, marked as the programs mark it.
export const about = (estimate, text) => (estimate ? `~${text}` : text);

// "1 thread", "2 threads".
export const of = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// What a kind of cause is called: "GPU shared".
export const kindName = (kind) => kind.replaceAll("-", " ").replace(/\b(cpu|gpu|cuda|nccl|mps|numa|oom|pcie|psi|tcp|xid|gc|io)\b/g, (w) => w.toUpperCase());

// The call that a moment of a cause shows, by the name the server knows it by; null: it shows none.
export const callOf = (m) => (!m.event || m.event.op === "offcpu" ? null : `${m.event.tid}@${m.event.end}`);

// A value of a metric or of evidence in its unit.
export function unit(x, u) {
	switch (u) {
	case "ns": return ns(x);
	case "us": return ns(x * 1e3);
	case "B": return bytes(x);
	case "B/s": return `${bytes(x)}/s`;
	case "": case undefined: case null: return small(x);
	case "%": return `${small(x)} %`;
	case "Hz": return x >= 1e9 ? `${three(x / 1e9)} GHz` : `${three(x / 1e6)} MHz`;
	case "C": return `${small(x)} °C`;
	case "/s": return `${small(x)} /s`;
	default: return `${small(x)} ${u}`;
	}
}
