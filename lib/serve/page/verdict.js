// SPDX-License-Identifier: Apache-2.0
// What stalled, who did it, where, how much it cost and what to do: first of all, in words.

import { byId, command, h, put, severity } from "./dom.js";
import { parts } from "./chart.js";
import { count, kindName, ns, percent } from "./format.js";

const fact = (name, ...value) => [h("dt", {}, name), ...value];

export function without(c) {
	const step = c.counterfactual?.find((x) => x.what === "step"), wall = c.counterfactual?.find((x) => x.what === "wall");
	const range = (x) => (Math.abs(x.high_ns - x.low_ns) < x.low_ns * 0.01 ? ns(x.low_ns) : `${ns(x.low_ns)} to ${ns(x.high_ns)}`);

	if (step)
		return [range(step), `a step on average, instead of ${ns(step.from_ns)}`];
	return wall ? [range(wall), `for all of it, instead of ${ns(wall.from_ns)}`] : null;
}

export function gain(r) {
	if (!(r.gain_high_ns > 0) && !(r.gain_low_ns > 0))
		return r.basis || null;
	return `Expected to give back ${!r.gain_low_ns ? `up to ${ns(r.gain_high_ns)}` : `${ns(r.gain_low_ns)}${r.gain_high_ns > r.gain_low_ns ? ` to ${ns(r.gain_high_ns)}` : ""}`}${r.basis ? `: ${r.basis}` : ""}`;
}

export const fix = (r, key) => h("div", { class: "fix" }, h("p", {}, r.action), r.command && command(r.command, r.kind, key), gain(r) && h("p", { class: "gain" }, gain(r)));

function stalled(report, words) {
	const c = report.chains[0], site = c.sites?.[0], better = without(c);
	const whose = report.breakdown?.find((b) => b.pid === c.victim?.pid);
	const facts = [];

	if (c.culprit?.text)
		facts.push(h("div", {}, fact("Who did it", h("dd", {}, c.culprit.text))));
	if (c.lost_ns > 0)
		facts.push(h("div", {}, fact("Time lost", h("dd", { class: "big num" }, ns(c.lost_ns), h("small", {}, `${percent(c.share_of_wall)} of wall time, ${count(c.count)} ${c.counted || "times"}`)))));
	if (site)
		facts.push(h("div", {}, fact("Where in the program", h("dd", {}, site.text.split(" < ")[0], h("small", {}, `in ${site.op}`)))));
	if (better)
		facts.push(h("div", {}, fact("Without it", h("dd", { class: "num" }, better[0], h("small", {}, better[1])))));
	return h("div", { class: `card ${c.severity}` }, severity(c.severity, `${WORD[c.severity] || c.severity}: ${kindName(c.kind)}`),
		h("h1", {}, c.summary), h("dl", { class: "facts" }, facts),
		whose && [h("h3", {}, `Where the time of ${whose.comm || "the process"} (pid ${whose.pid}) went`), parts(whose.calling_threads ? whose.calling_parts : whose.parts, words, true)],
		c.recommendations?.[0] && [h("h3", { css: { "margin-top": "1rem" } }, "What to do"), fix(c.recommendations[0], "fix")],
		h("p", { class: "also" }, report.chains.length > 1 ? `${count(report.chains.length - 1)} more ${report.chains.length > 2 ? "causes were" : "cause was"} found: ` : "", h("a", { href: "#problems" }, "the evidence"), ", ",
			h("a", { href: "#call" }, "the worst call, taken apart"), ", ", h("a", { href: "#time" }, "how it went over time")));
}
const WORD = { HIGH: "High", MEDIUM: "Medium", LOW: "Low" };

function healthy(report, words) {
	const cover = report.coverage, whose = report.breakdown?.[0], doubts = [];

	if (!cover.events)
		return h("div", { class: "card" }, h("h1", {}, "The recording holds no events yet."), h("p", {}, "When a process that is recorded makes its first call this page says so by itself."));
	if (cover.host_recorded === false)
		doubts.push("What the host did was not recorded (scheduling, disks, locks): a stall by it would not be seen.");
	if (cover.lost)
		doubts.push(`${count(cover.lost)} events were lost.`);
	return h("div", { class: "card GOOD" }, severity("GOOD", "Nothing stalled"),
		h("h1", {}, `Nothing took a noticeable part of ${ns(cover.duration_ns)}: ${count(cover.events)} events, and no cause worth telling.`),
		doubts.map((d) => h("p", {}, d)),
		whose && [h("h3", {}, `Where the time of ${whose.comm || "the process"} (pid ${whose.pid}) went`), parts(whose.calling_threads ? whose.calling_parts : whose.parts, words, true)]);
}

export function verdict(report, words) {
	const at = byId("verdict");

	at.removeAttribute("aria-busy");
	put(at, report.chains.length ? stalled(report, words) : healthy(report, words));
}
