// SPDX-License-Identifier: Apache-2.0
// Where a step of a program goes: the lines of its loop with most of it, each with its largest causes.

import { h } from "./dom.js";
import { bars } from "./chart.js";
import { ns } from "./format.js";

const ROWS = 8, WHY = 3, WHY_LEAST = 0.01, LOSS_HIGH = 0.1, LOSS_MEDIUM = 0.02; // shares of a step, as of the text report and of causes

// The program that the report is about: {path, phase}; null: none has steps.
export function stepped(report) {
	const v = report.step_verdict, path = v && report.paths?.find((p) => p.pid === v.pid && p.tid === v.tid && p.steps);
	const phase = path?.phases.find((p) => p.name === "steps");

	return phase?.ns > 0 ? { path, phase } : null;
}

// Whether there is a mean step: not where only a lower bound of their number is known, or as good as that.
export const hasMean = (s) => !s.at_least && !(s.estimated && s.most > 4 * s.fewest);

// Of a step where their number is known, else of all of them.
export const perStep = ({ path }, x) => ns(hasMean(path.steps) ? x / path.steps.count : x);

function row(of, r) {
	const why = r.why.filter((c) => c.ns >= WHY_LEAST * of.phase.ns).slice(0, WHY);
	const lost = Math.max(0, ...r.why.filter((c) => c.severity > 0).map((c) => c.ns)) / of.phase.ns;

	return { name: [h("b", {}, r.line || "elsewhere"), r.site ? ` > ${r.site}` : "", why.map((c) => h("small", { class: "why" }, h("b", { class: "num" }, perStep(of, c.ns)), ` ${c.text}`))],
		v: r.ns, text: `${((100 * r.ns) / of.phase.ns).toFixed(1)} %, ${perStep(of, r.ns)}`, of: lost >= LOSS_HIGH ? "high" : lost >= LOSS_MEDIUM ? "medium" : "low" };
}

const PHASES = { start: "Before the first step", between: "Between steps", end: "After the last" };

// Its table, and what lies outside of the steps.
export function steps(of) {
	const rest = of.phase.rows.slice(ROWS), more = rest.reduce((sum, r) => sum + r.ns, 0), rows = of.phase.rows.slice(0, ROWS).map((r) => row(of, r));

	if (more > 0)
		rows.push({ name: `${rest.length} more lines`, v: more, text: `${((100 * more) / of.phase.ns).toFixed(1)} %, ${perStep(of, more)}`, of: "low" });
	return [h("h3", {}, hasMean(of.path.steps) ? "Where a step goes, by line" : "Where the steps go, by line"), of.phase.lead.length > 0 && h("p", { class: "note" }, `in ${of.phase.lead.join(" > ")}`),
		bars(rows, of.phase.ns),
		h("p", { class: "note" }, of.path.phases.filter((p) => PHASES[p.name] && p.ns > 0).map((p) => h("span", { class: "phase" }, `${PHASES[p.name]}: ${ns(p.ns)}. `)))];
}
