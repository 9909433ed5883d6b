// SPDX-License-Identifier: Apache-2.0
// One call: its time as a bar of states, who took it, what was inside it in order, and where it was called from.

import { byId, h, none, put, table } from "./dom.js";
import { parts, partColour } from "./chart.js";
import { callOf, ns, since } from "./format.js";
import { api } from "./net.js";

let shown = null, names = [];

function draw(c, words) {
	const inner = c.inside || [], deep = Math.max(0, ...inner.map((x) => x.depth));
	const lane = (depth) => h("div", { class: "lane" }, inner.filter((x) => x.depth === depth).map((x) => h("span", { of: x.op ? "c6" : partColour(x.part), css: { left: `${(100 * x.since_ns) / c.dur_ns}%`, width: `${(100 * x.dur_ns) / c.dur_ns}%` }, title: `${x.op || words[x.part] || x.part} ${ns(x.dur_ns)}${x.who ? `: ${x.who}` : ""}` }, x.op || `${words[x.part] || x.part}${x.who ? `: ${x.who}` : ""}`)));

	return h("div", { class: "card stack" },
		h("div", {}, h("h3", {}, `${c.op} took ${ns(c.dur_ns)}`), h("p", { class: "note" }, `${c.comm || "?"} (pid ${c.pid}), thread ${c.tid}${c.node ? ` on ${c.node}` : ""}, ${since(c.t_ns)} after the start${c.error ? `, failed: ${c.error}` : ""}${c.open ? ", had not returned" : ""}`),
			parts(c.parts, words, true)),
		c.takers?.length > 0 && h("div", {}, h("h3", {}, "Who took it"), table(c.takers, [
			{ name: "who", text: true, wrap: true, show: (x) => x.who || "nobody to name" },
			{ name: "how", text: true, show: (x) => words[x.part] || x.part },
			{ name: "for", show: (x) => ns(x.ns) },
			{ name: "of the call", show: (x) => `${((100 * x.ns) / c.dur_ns).toFixed(1)} %` },
		])),
		inner.length > 0 && h("div", {}, h("h3", {}, "What was inside, from left to right"), h("div", { class: "lanes" }, h("div", { class: "lane" }, h("span", { of: "c0", css: { left: 0, width: "100%" } }, c.op)), Array.from({ length: deep }, (_, i) => lane(i + 1))),
			!c.inside_complete && h("p", { class: "note" }, "There was more inside than is kept.")),
		c.stack?.length > 0 && h("div", {}, h("h3", {}, "Called from"), h("ol", { class: "frames mono" }, c.stack.map((f) => h("li", { class: /\(.+:\d+\)$/.test(f) ? "mine" : null }, f)))));
}

function chooser(words) {
	return h("form", { class: "row", onsubmit: (ev) => { ev.preventDefault(); open(new FormData(ev.target).get("id").trim(), words); } },
		h("label", { class: "field" }, "Call ", h("input", { name: "id", list: "call-names", value: shown || "", size: 28, "data-key": "call id", "aria-label": "An operation, for the longest of its calls, or THREAD@END", placeholder: "operation, or thread@end" })), h("span", { class: "note hide-narrow" }, "an operation, for the longest of its calls"),
		h("datalist", { id: "call-names" }, names.map((n) => h("option", { value: n }))), h("button", { type: "submit" }, "Take apart"));
}

export async function open(id, words, quiet) {
	const at = byId("call").querySelector(".body");

	if (!id)
		return;
	shown = id;
	if (!quiet)
		byId("call").scrollIntoView({ block: "start" });
	try {
		const c = await api("call", { id });

		if (shown === id)
			put(at, chooser(words), draw(c, words));
	} catch (e) {
		if (shown === id)
			put(at, chooser(words), h("p", { class: "error" }, e.message));
	}
	if (!quiet)
		byId("call").focus({ preventScroll: true });
}

export function call(stat, report, words) {
	names = stat.ops.filter((o) => o.layer && o.layer !== "host").map((o) => o.op);
	const worst = report.chains[0]?.timeline?.filter(callOf).sort((a, b) => b.lost_ns - a.lost_ns)[0];

	if (shown === null && !names.length)
		put(byId("call").querySelector(".body"), none("No calls were recorded."));
	else if (shown === null)
		open(worst ? callOf(worst) : names.includes(report.chains[0]?.op) ? report.chains[0].op : names[0], words, true);
}
