// SPDX-License-Identifier: Apache-2.0
// A box for SQL over the recording: reads only, a thousand rows at most. The first question makes an archive of it.

import { byId, h, put } from "./dom.js";
import { count, ns } from "./format.js";
import { sql } from "./net.js";

const EXAMPLES = [
	["Slowest calls", "SELECT op_name, pid, tid, duration/1e6 AS ms\nFROM named_events\nWHERE source_name IN ('CUDA', 'DRIVER')\nORDER BY duration DESC LIMIT 20"],
	["Calls per operation", "SELECT source_name, op_name, count(*) AS calls,\n       sum(duration)/1e6 AS total_ms, max(duration)/1e6 AS max_ms\nFROM named_events GROUP BY 1, 2 ORDER BY total_ms DESC"],
	["Calls per second", "SELECT (timestamp - (SELECT min(timestamp) FROM events))/1000000000 AS second,\n       count(*) AS events FROM events GROUP BY 1 ORDER BY 1"],
	["Causes", "SELECT severity, summary, root_cause FROM causal_chains"],
	["Tables", "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')"],
];

function cell(v) {
	return v === null ? "NULL" : typeof v === "number" && !Number.isInteger(v) ? String(Number(v.toPrecision(9))) : String(v);
}

export function box() {
	const at = byId("sql").querySelector(".body"), out = h("div", { "aria-live": "polite" });
	const text = h("textarea", { "aria-label": "A statement in SQL", spellcheck: "false", autocapitalize: "off", autocomplete: "off" }, EXAMPLES[0][1]);
	let running = 0;

	async function run() {
		const mine = ++running, began = performance.now();

		put(out, h("p", { class: "note" }, "Asking… the first question makes an archive of the recording, which takes a while for a long one."));
		try {
			const r = await sql(text.value, 1000);

			if (mine !== running)
				return;
			const number = r.columns.map((_, i) => r.rows.every((row) => row[i] === null || typeof row[i] === "number"));

			put(out, h("p", { class: "note" }, `${count(r.rows.length)} row${r.rows.length === 1 ? "" : "s"} in ${ns((performance.now() - began) * 1e6)}${r.truncated ? "; there are more" : ""}${r.partial ? "; of a recording that could not be read whole" : ""}`),
				h("div", { class: "table card", tabindex: 0, role: "group", "aria-label": "Answer" }, h("table", {}, h("thead", {}, h("tr", {}, r.columns.map((c, i) => h("th", { scope: "col", class: number[i] ? null : "text" }, c)))),
					h("tbody", {}, r.rows.map((row) => h("tr", {}, row.map((v, i) => h("td", { class: number[i] ? null : "text wrap" }, cell(v)))))))));
		} catch (e) {
			if (mine === running)
				put(out, h("p", { class: "error" }, e.message));
		}
	}

	text.addEventListener("keydown", (ev) => {
		if (ev.key === "Enter" && (ev.ctrlKey || ev.metaKey)) {
			ev.preventDefault();
			run();
		}
	});
	put(at, h("div", { class: "chips", role: "group", "aria-label": "Examples" }, EXAMPLES.map(([name, statement]) => h("button", { type: "button", onclick: () => { text.value = statement; text.focus(); } }, name))),
		text, h("div", { class: "row" }, h("button", { type: "button", class: "primary", id: "run-sql", onclick: run }, "Run"), h("span", { class: "note" }, "Ctrl+Enter. It can only read.")), out);
}
