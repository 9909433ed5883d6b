// SPDX-License-Identifier: Apache-2.0
// Operations: how often, how long, in any order; and the search for one of them.

import { byId, h, none, put, table } from "./dom.js";
import { about, count, ns, percent } from "./format.js";

const kept = { by: "total", down: true, layer: null, find: "" };
const LAYERS = { runtime: "CUDA runtime", driver: "CUDA driver", graph: "Graphs", nccl: "NCCL", nvtx: "Marks", host: "Host" };
const layerOf = (o) => o.layer || (["cuda", "driver", "nccl", "nvtx", "graph"].includes(o.source) ? o.source : "host");

// Of calls that were recorded in windows: how many there were, and times as much longer as all of them took.
const guessed = (o) => o.estimated_count !== undefined;
const made = (o) => o.estimated_count ?? o.count;
const whole = (o, time) => (o.estimated_total_ns && o.total_ns ? (time * o.estimated_total_ns) / o.total_ns : time);

function shape(d) {
	const top = Math.max(...(d?.counts || [0]));

	if (!top)
		return "";
	return h("span", { class: "hist", role: "img", title: `Durations from ${ns(d.from_ns)}, a bar for each doubling`, "aria-label": `${d.counts.length} doublings from ${ns(d.from_ns)}` },
		d.counts.map((n) => h("i", { css: { height: `${n ? 12 + (88 * Math.log1p(n)) / Math.log1p(top) : 0}%` } })));
}

export function ops(stat, open) {
	const again = () => ops(stat, open), at = byId("ops").querySelector(".body");
	const layers = [...new Set(stat.ops.map(layerOf))];
	const rows = stat.ops.filter((o) => (!kept.layer || layerOf(o) === kept.layer) && (!kept.find || o.op.toLowerCase().includes(kept.find.toLowerCase())));
	const most = Math.max(...stat.ops.map((o) => whole(o, o.lost_ns || 0))) || 1;

	if (!stat.ops.length) {
		put(at, none("No operations were recorded."));
		return;
	}
	put(at, h("div", { class: "row" },
		h("div", { class: "chips", role: "group", "aria-label": "Layer" }, [null, ...layers].map((l) => h("button", { type: "button", "data-key": `layer ${l}`, "aria-pressed": String(kept.layer === l), onclick: () => { kept.layer = l; again(); } }, l ? LAYERS[l] || l : "All"))),
		h("label", { class: "field" }, "Find ", h("input", { type: "search", "data-key": "find", value: kept.find, size: 14, "aria-label": "Find an operation", oninput: (ev) => { kept.find = ev.target.value; const p = ev.target.selectionStart; again(); const i = at.querySelector("[data-key=find]"); i.focus({ preventScroll: true }); i.setSelectionRange(p, p); } }))),
	h("div", { class: "card" }, table(rows, [
		{ name: "operation", text: true, of: (o) => o.op, show: (o) => [h("button", { type: "button", class: "link", title: "Take its longest call apart", "data-key": `op ${o.source} ${o.op}`, onclick: () => open(o.op) }, o.op), o.flags?.includes("tail") && h("span", { class: "flag", title: "p99 is more than ten times p50" }, "tail"), o.errors > 0 && h("span", { class: "flag bad" }, `${count(o.errors)} failed`)] },
		{ name: "layer", text: true, cls: "wide-only", of: (o) => LAYERS[layerOf(o)] || layerOf(o) },
		{ name: "calls", of: made, show: (o) => about(guessed(o), count(made(o))) },
		{ name: "p50", of: (o) => o.p50_ns, show: (o) => ns(o.p50_ns) },
		{ name: "p95", cls: "wide-only", of: (o) => o.p95_ns, show: (o) => ns(o.p95_ns) },
		{ name: "p99", of: (o) => o.p99_ns, show: (o) => ns(o.p99_ns) },
		{ name: "longest", of: (o) => o.max_ns, show: (o) => ns(o.max_ns) },
		{ name: "total", of: (o) => whole(o, o.total_ns), show: (o) => about(guessed(o), ns(whole(o, o.total_ns))) },
		{ name: "own", cls: "wide-only", tip: "Less the calls inside", of: (o) => whole(o, o.self_ns), show: (o) => about(guessed(o), ns(whole(o, o.self_ns))) },
		{ name: "wall", cls: "wide-only", tip: "Own time as a share of wall time", of: (o) => o.share, show: (o) => about(guessed(o), percent(o.share)) },
		{ name: "lost", tip: "Taken by the host: preempted, waiting for a CPU, disk, lock", of: (o) => whole(o, o.lost_ns), show: (o) => [o.lost_ns ? about(guessed(o), ns(whole(o, o.lost_ns))) : "–", h("span", { class: "inbar wide-only" }, h("i", { css: { width: `${(100 * whole(o, o.lost_ns || 0)) / most}%` } }))] },
		{ name: "shape", cls: "wide-only", tip: "How durations are spread, logarithmic", show: (o) => shape(o.durations) },
	], kept, again, "ops")));
}
