// SPDX-License-Identifier: Apache-2.0
// Every cause that was found: its evidence, where it was lost, when, and what to do about it.

import { byId, h, none, put, severity, table } from "./dom.js";
import { parts } from "./chart.js";
import { about, callOf, capital, count, ns, percent, since, unit } from "./format.js";
import { fix, without } from "./verdict.js";

const opened = new Set();
let first = true; // the worst one is open at first

export function reveal(id) {
	opened.add(id);
	const at = document.querySelector(`details[data-id="${CSS.escape(id)}"]`);

	if (at) {
		at.open = true;
		at.scrollIntoView({ block: "start" });
		at.querySelector("summary").focus({ preventScroll: true });
	}
}

function evidence(c) {
	const rows = [];
	const add = (what, value) => { if (value !== null && value !== undefined && value !== "") rows.push(h("dt", {}, what), h("dd", {}, value)); };

	add("Victim", c.victim && `${c.victim.comm || "?"} (pid ${c.victim.pid})`);
	add("Culprit", c.culprit?.text);
	add("Culprit's cgroup", c.culprit?.cgroup);
	if (c.lost_ns > 0)
		add("Lost", `${about(c.covered, ns(c.lost_ns))} in ${about(c.covered, count(c.count))} ${c.counted || "times"}`);
	if (c.lost_ms_per_s > 0)
		add("Per second of wall time", about(c.covered, `${c.lost_ms_per_s.toFixed(1)} ms`));
	if (c.explained > 0)
		add("Explains, of what the host took", percent(c.explained));
	for (const e of c.evidence || [])
		add(capital(e.what), e.text ?? (typeof e.value === "number" ? unit(e.value, e.unit) : null));
	const better = without(c);

	if (better)
		add("Without it", `${better[0]} ${better[1]}`);
	for (const x of c.counterfactual || [])
		if (x.what === "p99")
			add(`p99 of ${x.op} without it`, `${ns(x.low_ns)} instead of ${ns(x.from_ns)}`);
	if (c.coverage?.lower_bound)
		add("This is a lower bound", "events were lost");
	return h("dl", { class: "evidence" }, rows);
}

function chain(c, words, open) {
	const sites = (c.sites || []).filter((x) => x.text || x.op), symptom = c.symptom || [];
	const box = h("details", { class: "card chain", "data-id": c.id, open: opened.has(c.id) },
		h("summary", { "data-key": `chain ${c.id}` }, severity(c.severity), h("span", { class: "what" }, c.summary, c.outside_steps && h("small", { class: "outside" }, "before the first step or after the last")), h("span", { class: "lost num" }, c.lost_ns > 0 ? about(c.covered, ns(c.lost_ns)) : "")));
	const more = h("div", { class: "more" },
		h("div", {}, h("h3", {}, "Evidence"), evidence(c), Object.keys(c.lost || {}).length > 1 && [h("p", { class: "note" }, "What the loss is made of"), parts(c.lost, words)]),
		h("div", {}, h("h3", {}, "What to do"), (c.recommendations || []).map((r, i) => fix(r, `fix ${c.id} ${i}`)), !c.recommendations?.length && none("No advice for this kind.")),
		sites.length > 0 && h("div", { class: "wide" }, h("h3", {}, `Where in the program it was lost${c.covered ? ", as far as it was recorded" : ""}`), table(sites, [
			{ name: "call", text: true, of: (x) => x.op, show: (x) => x.op || "between calls" },
			{ name: "from", text: true, wrap: true, show: (x) => x.text || "no stack" },
			{ name: "lost", show: (x) => ns(x.lost_ns) },
			{ name: "calls hit", show: (x) => count(x.affected) },
			{ name: "of", show: (x) => count(x.calls) },
			{ name: "longest", show: (x) => (x.max_ns && x.calls ? h("button", { type: "button", class: "link", title: "Take the longest call apart", onclick: () => open(x.op) }, ns(x.max_ns)) : "–") },
		])),
		symptom.length > 0 && h("div", { class: "wide" }, h("h3", {}, "Which calls were slower for it"), table(symptom, [
			{ name: "operation", text: true, show: (x) => x.op },
			{ name: "lost", show: (x) => ns(x.lost_ns) },
			{ name: "p50", show: (x) => ns(x.p50_ns) },
			{ name: "p99", show: (x) => ns(x.p99_ns) },
			{ name: "p99 without it", show: (x) => ns(x.p99_without_ns) },
			{ name: "longest", show: (x) => ns(x.max_ns) },
			{ name: "calls hit", show: (x) => count(x.affected) },
			{ name: "calls alike", tip: "What p50, p99 and longest are of: calls of the size of which most was lost, without first ones", show: (x) => (x.n ? count(x.n) : "–") },
		])),
		(c.timeline || []).length > 0 && h("div", { class: "wide" }, h("h3", {}, "Moments that show it best"), h("ol", { class: "timeline" }, c.timeline.map((m) => h("li", {},
			h("span", { class: "num" }, since(m.t_ns)), h("span", { class: "layer" }, m.layer),
			h("span", {}, callOf(m) ? h("button", { type: "button", class: "link", title: "Take this call apart", onclick: () => open(callOf(m)) }, m.text) : m.text))))));

	box.append(more);
	box.addEventListener("toggle", () => (box.open ? opened.add(c.id) : opened.delete(c.id)));
	return box;
}

export function problems(report, words, open) {
	if (first && report.chains.length) {
		opened.add(report.chains[0].id);
		first = false;
	}
	put(byId("problems").querySelector(".body"), report.chains.length ? h("div", { class: "stack" }, report.chains.map((c) => chain(c, words, open))) : none("No cause was found that took a noticeable part of the time."),
		report.errors?.length > 0 && h("div", { class: "card", css: { "margin-top": ".9rem" } }, h("h3", {}, "Calls that failed"), table(report.errors, [
			{ name: "call", text: true, show: (x) => x.op },
			{ name: "error", text: true, show: (x) => x.name || String(x.code) },
			{ name: "process", text: true, show: (x) => `${x.comm || "?"} (pid ${x.pid})` },
			{ name: "times", show: (x) => count(x.count) },
			{ name: "from", text: true, wrap: true, show: (x) => x.sites?.map((y) => y.text).join("; ") || "" },
			{ name: "first", show: (x) => since(x.first_ns) },
			{ name: "last", show: (x) => since(x.last_ns) },
		])));
}
