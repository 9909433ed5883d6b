// SPDX-License-Identifier: Apache-2.0
// What this recording holds, and for what it does not hold the tool that has it.

import { byId, h, none, put, table } from "./dom.js";
import { count, ns } from "./format.js";

export function recorded(caps, stat) {
	const at = byId("recorded").querySelector(".body"), cover = stat.coverage;
	const item = (c) => h("li", { class: c.available ? null : "no" }, h("span", { class: "sign", "aria-hidden": "true" }, c.available ? "✓" : "–"), h("b", {}, c.label),
		h("small", {}, c.available ? (c.source ? `from ${c.source}` : "recorded") : `not recorded${c.required_tool ? `: ${c.required_tool} has it` : ""}`), c.tooltip && h("small", {}, c.tooltip));
	const losses = cover.losses || [];

	put(at, h("p", { class: "note" }, `${count(cover.events)} events over ${ns(cover.duration_ns)}, ${cover.lost ? `${count(cover.lost)} lost` : "none lost"}${cover.start ? `, from ${cover.start.replace("T", " ").slice(0, 23)} UTC` : ""}${cover.growing ? "; it is still being written" : cover.complete ? "" : "; the recording did not end cleanly"}.`),
		losses.length > 0 && table(losses, [{ name: "lost because", text: true, show: (x) => x.reason }, { name: "events", show: (x) => count(x.events ?? x.count) }]),
		caps.length ? h("ul", { class: "caps" }, [...caps].sort((a, b) => b.available - a.available).map(item)) : none("Not known."),
		cover.layers?.length > 0 && h("details", { class: "card", css: { "margin-top": ".8rem" } }, h("summary", {}, `Where probes stood: ${count(cover.layers.length)} libraries`), table(cover.layers, [
			{ name: "layer", text: true, show: (x) => x.layer },
			{ name: "process", text: true, show: (x) => x.pid ?? "" },
			{ name: "library", text: true, wrap: true, show: (x) => x.path || "" },
			{ name: "attached", show: (x) => `${x.attached} of ${x.requested}` },
			{ name: "why not", text: true, wrap: true, show: (x) => x.reason || "" },
		])));
}
