// SPDX-License-Identifier: Apache-2.0
// What this recording holds, and for what it does not hold the tool that has it.

import { byId, h, none, put, table } from "./dom.js";
import { count, ns, percent } from "./format.js";

/* So begin layers that are none (formats/records.def). */
const LOST = "lost ", lost = (x) => x.layer?.startsWith(LOST);

export function recorded(caps, stat) {
	const at = byId("recorded").querySelector(".body"), cover = stat.coverage;
	const item = (c) => h("li", { class: c.available ? null : "no" }, h("span", { class: "sign", "aria-hidden": "true" }, c.available ? "✓" : "–"), h("b", {}, c.label),
		h("small", {}, c.available ? (c.source ? `from ${c.source}` : "recorded") : `not recorded${c.required_tool ? `: ${c.required_tool} has it` : ""}`), c.tooltip && h("small", {}, c.tooltip));
	const losses = cover.losses || [], missing = (cover.layers || []).filter(lost), stood = (cover.layers || []).filter((x) => !lost(x));

	put(at, h("p", { class: "note" }, `${count(cover.events)} events over ${ns(cover.duration_ns)}, ${cover.lost ? `${count(cover.lost)} lost` : "none lost"}${cover.start ? `, from ${cover.start.replace("T", " ").slice(0, 23)} UTC` : ""}${cover.growing ? "; it is still being written" : cover.complete ? "" : "; the recording did not end cleanly"}.`),
		cover.paused?.length > 0 && table(cover.paused, [
			{ name: "recorded in windows", text: true, show: (x) => x.tier + (x.node ? ` on ${x.node}` : "") },
			{ name: "of the time", show: (x) => percent(x.covered) },
			{ name: "why", text: true, show: (x) => (x.reason === "budget" ? "to stay within the budget" : x.reason || "") },
			{ name: "so that", text: true, show: () => "their counts and totals are estimates (~)" },
		]),
		losses.length > 0 && table(losses, [{ name: "lost because", text: true, show: (x) => x.reason }, { name: "events", show: (x) => count(x.events ?? x.count) }]),
		missing.length > 0 && table(missing, [
			{ name: "lost beside events", text: true, show: (x) => x.layer.slice(LOST.length) + (x.node ? ` on ${x.node}` : "") },
			{ name: "how many", show: (x) => `${count(x.failed)} of ${count(x.requested)}` },
			{ name: "why", text: true, wrap: true, show: (x) => x.reason || "" },
		]),
		caps.length ? h("ul", { class: "caps" }, [...caps].sort((a, b) => b.available - a.available).map(item)) : none("Not known."),
		stood.length > 0 && h("details", { class: "card", css: { "margin-top": ".8rem" } }, h("summary", {}, `Where probes stood: ${count(stood.length)} libraries`), table(stood, [
			{ name: "layer", text: true, show: (x) => x.layer },
			{ name: "process", text: true, show: (x) => x.pid ?? "" },
			{ name: "library", text: true, wrap: true, show: (x) => x.path || "" },
			{ name: "attached", show: (x) => `${x.attached} of ${x.requested}` },
			{ name: "why not", text: true, wrap: true, show: (x) => x.reason || "" },
		])));
}
