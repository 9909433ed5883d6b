// SPDX-License-Identifier: Apache-2.0
// Processes, their loops and device memory; CUDA graphs; NCCL; what the host was waited for.

import { byId, card, h, none, put, table, wide } from "./dom.js";
import { bars, chart, parts } from "./chart.js";
import { bytes, count, ns, of, percent, since, small } from "./format.js";

const sorts = { steps: {}, graphs: {}, comms: {}, host: {} };
const who = (x) => `${x.comm || "?"} (pid ${x.pid ?? "?"})`;

function process(p, words, partly) {
	return wide(who(p), h("p", { class: "note" }, `${p.command ? `${p.command} · ` : ""}${count(p.calls)} calls${partly ? " recorded" : ""} · ${of(p.calling_threads ?? p.threads, "thread that makes calls", "threads that make calls")}, of ${p.threads}${p.node ? ` · on ${p.node}` : ""}`),
		parts(p.calling_threads ? p.calling_parts : p.parts, words));
}

function loop(st, words) {
	const slow = st.slow || [];

	return wide(`Steps of ${st.comm || "?"} (thread ${st.tid})`,
		h("p", { class: "note" }, `${st.windows ? `~${count(st.estimated_count)}, ${count(st.count)} of them recorded in ${count(st.windows)} windows` : `${count(st.count)} steps`}, median ${ns(st.p50_ns)}, p99 ${ns(st.p99_ns)}, longest ${ns(st.max_ns)}; ${count(st.slow_count)} took half as much again as the median, or more`),
		parts(st.parts, words),
		slow.length > 0 && table(slow, [
			{ name: "slow step", text: true, show: (x) => `number ${count(x.number)}` },
			{ name: "began", show: (x) => since(x.t_ns) },
			{ name: "took", show: (x) => ns(x.dur_ns) },
			{ name: "mostly", text: true, show: (x) => { const [k, v] = Object.entries(x.parts || {}).sort(([, a], [, b]) => b - a)[0] || []; return k ? `${words[k] || k} ${ns(v)}` : ""; } },
		]));
}

function memory(m, to, partly) {
	const hist = m.history, at = (hist?.most_bytes || []).map((_, i) => hist.first_ns + (i + 0.5) * hist.span_ns);

	return card(`Device memory of ${who(m)}`,
		h("p", { class: "note" }, `${bytes(m.peak_bytes)} at most, ${since(m.peak_ns)} after the start; ${bytes(m.live_bytes)} ${m.ended ? "when it ended" : "in the end"}; ${count(m.allocations)} allocations, ${count(m.frees)} frees${m.failed ? `, ${count(m.failed)} refused` : ""}${partly ? ": as far as calls were recorded, in windows" : ""}`),
		at.length > 0 && chart([{ name: "held at most", of: "c0", at, v: hist.most_bytes, area: true }], { from: 0, to: Math.max(to, at[at.length - 1]), show: bytes, bytes: true, height: 120, label: "Device memory held over time" }),
		m.sites?.length > 0 && table(m.sites, [
			{ name: "from", text: true, wrap: true, show: (x) => x.text || "no stack" },
			{ name: "at the peak", show: (x) => bytes(x.bytes_at_peak) },
			{ name: "in the end", show: (x) => bytes(x.live_bytes) },
			{ name: "allocations", show: (x) => count(x.allocations) },
		]));
}

function processes(stat, report, words) {
	const at = byId("processes").querySelector(".body"), list = report.breakdown || [], to = stat.coverage.duration_ns;
	const paused = (stat.coverage.paused || []).map((p) => p.tier);
	const loops = [...(report.steps || [])].sort((a, b) => b.slow_count - a.slow_count).slice(0, 4);

	put(at, list.length || stat.processes.length ? h("div", { class: "grid" }, list.slice(0, 8).map((p) => process(p, words, paused.length > 0)), loops.map((l) => loop(l, words)), (report.memory || []).slice(0, 8).map((m) => memory(m, to, paused.includes("allocations")))) : none("No process made a call."));
}

// What became of graphs, by the runtime's calls where there are any, else the driver's, which the runtime makes in turn, else
// what the older agent has of them.
function graphSteps(stat) {
	const step = (o) => (/end_?capture/i.test(o.op) ? "captures" : /instantiate/i.test(o.op) ? "made" : /launch/i.test(o.op) ? "launches" : "others");
	const ops = stat.ops.filter((o) => o.source === "graph" || /^cu.*(Graph(?!ics)|Stream(Begin|End)Capture)/.test(o.op));
	const source = ["cuda", "driver", "graph"].find((name) => ops.some((o) => o.source === name)), steps = {};

	for (const o of ops.filter((x) => x.source === source)) {
		const sum = (steps[step(o)] ??= { count: 0, ns: 0 });

		sum.count += o.count;
		sum.ns += o.total_ns;
	}
	return source ? steps : null;
}

function graphs(stat) {
	const at = byId("graphs").querySelector(".body"), rows = stat.graphs || [], steps = graphSteps(stat), again = () => graphs(stat);

	if (!rows.length && !steps) {
		put(at, none("No CUDA graph was captured, made or launched."));
		return;
	}
	const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", { class: "num" }, value)), each = (name, x) => x && fact(name, ns(x.ns / x.count));
	const seconds = stat.coverage.duration_ns / 1e9, { captures, made, launches } = steps || {};

	put(at, h("div", { class: "card stack" },
		steps && h("dl", { class: "facts" }, fact("captures", count(captures?.count || 0)), fact("made executable", count(made?.count || 0)), fact("launches", count(launches?.count || 0)),
			each("a capture takes", captures), each("making one executable takes", made), launches && seconds > 0 && fact("launches per second", small(Math.round(launches.count / seconds * 10) / 10))),
		rows.length > 0 && table(rows, [
			{ name: "made in", text: true, wrap: true, of: (x) => x.text || "no stack" },
			{ name: "made", of: (x) => x.created, show: (x) => count(x.created) },
			{ name: "made again", tip: "After others of that place had been launched", of: (x) => x.again, show: (x) => count(x.again) },
			{ name: "launches", of: (x) => x.launches, show: (x) => count(x.launches) },
			{ name: "launches of each", of: (x) => x.launches / (x.created || 1), show: (x) => (x.launches / (x.created || 1)).toFixed(1) },
			{ name: "alive", of: (x) => x.alive, show: (x) => count(x.alive) },
		], sorts.graphs, again, "graphs")));
}

function nccl(stat, report) {
	const at = byId("nccl").querySelector(".body"), rows = stat.communicators || [];
	const ops = stat.ops.filter((o) => o.source === "nccl" || o.layer === "nccl"), late = report.chains.filter((c) => c.kind.startsWith("collective"));

	if (!rows.length && !ops.length) {
		put(at, none("No collective was recorded: this is one GPU, or the program has no NCCL that could be found."));
		return;
	}
	put(at, h("div", { class: "grid" },
		late.map((c) => wide(null, h("p", {}, h("b", {}, c.summary)))),
		rows.length > 0 && card("Time in calls, by rank", bars([...rows].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0)).slice(0, 32).map((r) => ({ name: `rank ${r.rank ?? "?"} of ${r.ranks ?? "?"}${r.node ? ` on ${r.node}` : ""}`, v: r.total_ns, of: "c0", text: ns(r.total_ns) })))),
		rows.length > 0 && card("Communicators", table([...rows].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0)), [
			{ name: "rank", of: (r) => r.rank, show: (r) => `${r.rank ?? "?"} of ${r.ranks ?? "?"}`, text: true },
			{ name: "process", text: true, of: (r) => r.pid },
			{ name: "calls", of: (r) => r.calls, show: (r) => count(r.calls) },
			{ name: "bytes", of: (r) => r.bytes, show: (r) => bytes(r.bytes) },
			{ name: "longest", of: (r) => r.max_ns, show: (r) => ns(r.max_ns) },
			{ name: "failed", of: (r) => r.errors + r.async_errors, show: (r) => count(r.errors + r.async_errors) },
		], sorts.comms, () => nccl(stat, report), "comms"))));
}

function host(stat, words) {
	const at = byId("host").querySelector(".body"), waits = (stat.host || []).filter((x) => x.ns > 0 && x.op !== "occupied").sort((a, b) => b.ns - a.ns);
	const cards = [];

	if (waits.length)
		cards.push(wide("What threads waited for, and who had the CPU", bars(waits.slice(0, 10).map((x) => ({ name: x.state && x.about === "task" ? `${x.text} (${words[x.state] || x.state})` : x.text || x.op, v: x.ns, of: x.about === "task" ? "c1" : "c0", text: `${ns(x.ns)}, ${of(x.count, "time")}` })))));
	if (stat.disks?.length)
		cards.push(card("Disks", table(stat.disks, [
			{ name: "device", text: true, show: (x) => `${x.mount || x.origin || x.device} ${x.what}` },
			{ name: "requests", show: (x) => count(x.count) },
			{ name: "bytes", show: (x) => bytes(x.bytes) },
			{ name: "p50", show: (x) => ns(x.p50_ns) },
			{ name: "p99", show: (x) => ns(x.p99_ns) },
			{ name: "queued", show: (x) => (x.queued ? percent(x.queue_ns / (x.queue_ns + x.device_ns)) : "–") },
		])));
	if (stat.files?.length)
		cards.push(card("Files that calls waited for", table(stat.files.slice(0, 20), [
			{ name: "file", text: true, wrap: true, show: (x) => x.path || "?" },
			{ name: "times", show: (x) => count(x.count) },
			{ name: "waited", show: (x) => ns(x.ns ?? x.total_ns) },
		])));
	if (stat.sockets?.length)
		cards.push(card("Sockets", table(stat.sockets.slice(0, 20), [
			{ name: "to", text: true, wrap: true, show: (x) => x.remote || x.local || "?" },
			{ name: "times", show: (x) => count(x.count) },
			{ name: "waited", show: (x) => ns(x.ns ?? x.total_ns) },
			{ name: "sent again", show: (x) => count(x.retransmits) },
		])));
	put(at, cards.length ? h("div", { class: "grid" }, cards) : none(stat.off_cpu_recorded === false ? "Where threads waited was not recorded." : "Nothing was waited for."));
}

export function machine(stat, report, words) {
	processes(stat, report, words);
	graphs(stat);
	nccl(stat, report);
	host(stat, words);
}
