// SPDX-License-Identifier: Apache-2.0
// How it went over time: latency by op, states of threads, what was lost to which cause, system and GPU.

import { byId, h, none, put, severity, wide, card } from "./dom.js";
import { bars, chart, legend, partColour, partPattern, rank } from "./chart.js";
import { bytes, callOf, kindName, ns, percent, since, unit } from "./format.js";

const kept = { op: null, log: true };
const middle = (x) => x.map((_, i) => i);
const times = (c, n) => middle(n).map((i) => c.t_ns + (i + 0.5) * c.span_ns);

function latency(stat, report, open, again) {
	const all = (stat.latency || []).filter((c) => stat.ops.some((o) => o.op === c.op && o.source === c.source && o.layer !== "host"));
	const total = (c) => stat.ops.find((o) => o.op === c.op && o.source === c.source)?.total_ns || 0;
	const top = report.chains[0], to = stat.coverage.duration_ns;

	all.sort((a, b) => total(b) - total(a));
	if (!all.length)
		return wide("Latency of calls", none("No calls were recorded."));
	const named = top?.sites?.[0]?.op || top?.op;
	const chosen = all.find((c) => `${c.source} ${c.op}` === kept.op) || all.find((c) => c.op === named) || all[0];
	const at = times(chosen, chosen.counts);
	const series = [["p50", "p50_ns", "c0"], ["p99", "p99_ns", "c1"], ["longest", "max_ns", "c6"]].map(([name, key, of]) => ({ name, of, at, v: chosen[key] }));
	const moments = (top?.timeline || []).filter(callOf).map((m) => ({ t: m.t_ns, text: `${m.text} (show this call)`, go: () => open(callOf(m)) }));

	return wide("Latency of calls",
		h("div", { class: "chips", role: "group", "aria-label": "Operation" }, all.slice(0, 12).map((c) =>
			h("button", { type: "button", "data-key": `lat ${c.op}`, "aria-pressed": String(c === chosen), onclick: () => { kept.op = `${c.source} ${c.op}`; again(); } }, c.op))),
		chart(series, { from: 0, to, show: ns, log: kept.log, moments, height: 220, label: `${chosen.op}: how long calls took over time` }),
		h("div", { class: "row" }, legend(series), moments.length ? h("span", { class: "note" }, "▲ a call of the first cause: choose one to take it apart") : null,
			h("button", { type: "button", "data-key": "log", "aria-pressed": String(kept.log), css: { "margin-left": "auto" }, onclick: () => { kept.log = !kept.log; again(); } }, "Logarithmic")));
}

function states(stat, words) {
	const st = stat.states, names = Object.keys(st?.parts || {}).sort((a, b) => rank(a) - rank(b));

	if (!names.length)
		return card("States of the threads that make calls", none("Not recorded."));
	const at = times(st, st.parts[names[0]]);
	// The first and the last span may lie beyond what was recorded.
	const width = (i) => Math.max(1, Math.min(stat.coverage.duration_ns, st.t_ns + (i + 1) * st.span_ns) - Math.max(0, st.t_ns + i * st.span_ns));
	const series = names.map((n) => ({ name: words[n] || n, of: partColour(n), pattern: partPattern(n), at, v: st.parts[n].map((x, i) => x / width(i)), area: true }));

	return card("States of the threads that make calls",
		h("p", { class: "note" }, "How many threads were in which state, on average"),
		chart(series, { from: 0, to: stat.coverage.duration_ns, show: (v) => String(Number(v.toFixed(1))), share: true, label: "States of threads over time" }), legend(series));
}

function lost(report, show, to) {
	const rows = report.chains.filter((c) => c.lost_ns > 0);

	if (!rows.length)
		return card("Time lost, by cause", none(report.chains.length ? "The causes that were found cost no time that could be measured." : "Nothing was lost to a cause that can be told."));
	return card("Time lost, by cause", h("p", { class: "note" }, `Of all threads together, and as a share of the ${ns(to)} of the one that lost most; causes overlap where two take the same`),
		bars(rows.slice(0, 10).map((c) => ({ name: `${kindName(c.kind)}: ${c.culprit?.text || c.victim?.comm || ""}`, v: c.share_of_wall ?? c.lost_ns / to, of: c.severity === "HIGH" ? "c1" : c.severity === "MEDIUM" ? "c4" : "c6", text: `${ns(c.lost_ns)} (${percent(c.share_of_wall)})`, sign: severity(c.severity), href: "#problems", go: () => show(c.id) })), 1));
}

const METRICS = { "cpu.busy": "CPU busy", "cpu.iowait": "Waiting for disks", "mem.used": "Memory used", "load.1m": "Load", "gpu.utilization": "GPU busy", "gpu.memory_used": "GPU memory used", "gpu.power": "GPU power", "gpu.temperature": "GPU temperature", "gpu.sm_clock": "GPU clock", "gpu.memory_utilization": "GPU memory busy", "gpu.pcie_rx": "To the GPU by PCIe", "gpu.pcie_tx": "From the GPU by PCIe",
	"psi.cpu.some": "Threads waited for a CPU", "psi.io.some": "Threads waited for disks", "psi.memory.some": "Threads waited for memory", "cpu.steal_time": "Stolen by the hypervisor" };

function metric(m, i, to) {
	const bytesUnit = m.unit === "B", c = m.series, name = METRICS[m.metric] || m.metric;
	const at = times(c, c.counts).map((t) => Math.min(Math.max(t, 0), to));
	const time = m.counter && { us: 1e6, ns: 1e9 }[m.unit]; // of a second: a share
	const show = (v) => (time ? percent(v / time) : m.counter ? `${unit(v, m.unit)}/s` : unit(v, m.unit));
	const whose = m.index === undefined || m.index === null ? (m.node || "") : `GPU ${m.index}`;
	const known = c.means.filter((v) => v !== null), average = m.counter ? known.reduce((a, v) => a + v, 0) / (known.length || 1) : m.mean, most = m.counter ? Math.max(...known, 0) : m.max;
	const topOf = m.unit === "%" ? 100 : undefined;

	return h("div", {}, h("h3", {}, name), h("p", { class: "note" }, `${whose ? `${whose}: ` : ""}${show(average)} on average${most > average ? `, ${show(most)} at most` : ""}`),
		chart([{ name, of: `c${i % 6}`, dash: "none", at, v: c.means }], { from: 0, to, show: bytesUnit ? bytes : show, top: topOf, bytes: bytesUnit, height: 110, label: `${name} over time` }));
}

function metrics(title, list, missing, to, more) {
	return card(title, list.length ? h("div", { class: "minis" }, list.map((m, i) => metric(m, i, to))) : !more?.length && none(missing), more);
}

// What held a GPU down, for how long, and the errors its driver told.
const limits = (gpus) => (gpus || []).map((g) => [
	g.limits.filter((l) => l.held_down).map((l) => h("p", {}, `GPU ${g.index ?? "?"} was held down for ${ns(l.ns)}: ${l.reason || "a reason that is not known"}`)),
	g.xids.map((x) => h("p", {}, `GPU ${g.index ?? "?"} had error XID ${x.xid}${x.pid ? ` (pid ${x.pid})` : ""}, ${since(x.t_ns)} after the start`))]).flat(2);

export function time(stat, report, words, open, show) {
	const to = stat.coverage.duration_ns, again = () => time(stat, report, words, open, show);
	const drawn = (stat.metrics || []).filter((m) => m.series?.counts.length && (m.max > 0 || /busy|utilization/.test(m.metric)));
	const gpu = drawn.filter((m) => m.metric.startsWith("gpu.") && m.pid === undefined), system = drawn.filter((m) => !m.metric.startsWith("gpu.") && m.device === undefined && m.pid === undefined);
	const rankOf = (m) => { const at = Object.keys(METRICS).indexOf(m.metric); return at < 0 ? 99 : at; };

	system.sort((a, b) => rankOf(a) - rankOf(b));
	gpu.sort((a, b) => (a.index ?? 0) - (b.index ?? 0) || rankOf(a) - rankOf(b));
	put(byId("time").querySelector(".body"), latency(stat, report, open, again), states(stat, words), lost(report, show, to),
		metrics("CPU and memory of the machine", system.slice(0, 4), "The machine was not sampled.", to),
		metrics("GPU", gpu.slice(0, 8), "The GPU was not sampled: there is no NVML on that machine, or it was not asked for. nvidia-smi dmon shows it live.", to, limits(stat.gpus)));
}
