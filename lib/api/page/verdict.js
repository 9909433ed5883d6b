// SPDX-License-Identifier: Apache-2.0
// What stalled, who did it, where, how much it cost and what to do: first of all, in words.

import { byId, command, h, put, severity } from "./dom.js";
import { parts } from "./chart.js";
import { about, count, kindName, ns, of, percent } from "./format.js";
import { hasMean, perStep, stepped, steps } from "./steps.js";

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
		facts.push(h("div", {}, fact("Time lost", h("dd", { class: "big num" }, about(c.covered, ns(c.lost_ns)), h("small", {}, `${about(c.covered, percent(c.share_of_wall))} of wall time, ${about(c.covered, count(c.count))} ${c.counted || "times"}`)))));
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

// Of a program with steps: how long one takes, and where it goes. Causes are below, in what stalled it.
function stepping(report, of_) {
	const { path } = of_, x = path.steps, facts = [];

	facts.push(h("div", {}, fact(hasMean(x) ? "A step" : "All steps", h("dd", { class: "big num" }, perStep(of_, of_.phase.ns), x.p50_ns > 0 && hasMean(x) && h("small", {}, `median ${ns(x.p50_ns)}, p99 ${ns(x.p99_ns)}`)))));
	facts.push(h("div", {}, fact("Steps", h("dd", { class: "num" }, `${x.at_least ? "≥" : x.estimated ? "~" : ""}${count(x.count)}`, h("small", {}, `in ${ns(of_.phase.ns)}`)))));
	facts.push(h("div", {}, fact("Loop", h("dd", {}, x.function || "?", h("small", {}, `${(x.file || "").split("/").pop()}:${x.first_line}${x.last_line > x.first_line ? `-${x.last_line}` : ""}`)))));
	return h("div", { class: `card ${["LOW", "LOW", "MEDIUM", "HIGH"][report.step_verdict.severity] || "LOW"}` }, h("h1", {}, report.step_verdict.text), h("dl", { class: "facts" }, facts), steps(of_),
		h("p", { class: "also" }, report.chains.length > 0 ? `${count(report.chains.length)} ${report.chains.length > 1 ? "causes were" : "cause was"} found: ` : "", h("a", { href: "#problems" }, "the evidence"), ", ",
			h("a", { href: "#call" }, "the worst call, taken apart"), ", ", h("a", { href: "#time" }, "how it went over time")));
}

const WORD = { HIGH: "High", MEDIUM: "Medium", LOW: "Low" };

const plain = (title, ...more) => h("div", { class: "card" }, h("h1", {}, title), more);

// Where threads stood that came no further.
const standing = (report, words) => (report.standing || []).slice(0, 8).map((x) => h("li", {}, `${x.comm || "?"} (pid ${x.pid}), ${of(x.threads, "thread")}, ${ns(x.longest_ns)}: ${words[x.part] || x.part}`,
	x.frames?.length > 0 && h("div", { class: "mono" }, x.frames.slice(0, 4).join(" < "))));

// Calls that may be missing from the time recorded; not those of a process that was there before.
const uncovered = (cover) => (cover.uncovered || []).filter((x) => x.ns === null || x.since_ns >= 0);
const missed = (rows) => h("ul", {}, rows.slice(0, 8).map((x) => h("li", {}, `Calls of ${x.ns === null ? "" : `${x.from_start ? "the first " : ""}${ns(x.ns)} of `}${x.comm || "?"} (pid ${x.pid}) were not recorded: `,
	x.path ? `its ${x.path.split("/").pop()}: ` : "", x.reason)), rows.length > 8 && h("li", {}, `${count(rows.length - 8)} more`));

// Tiers of calls that were recorded in windows; in so little of the time that nothing follows.
const windows = (cover) => (cover.paused || []).map((p) => h("p", {}, `Of the time, calls of the tier "${p.tier}" were recorded ${percent(p.covered)}.`));
const BLIND = 0.05;

// That no cause was found means what ingero-explain says it does: green only where somebody looked, and nothing was there.
function nothing(report, words, growing) {
	const cover = report.coverage, list = report.breakdown || [], whose = list[0], stands = standing(report, words), gaps = uncovered(cover);
	const lost = cover.lost ? h("p", {}, `${count(cover.lost)} events were lost.`) : null;

	if (!cover.events && cover.partial)
		return plain("Nothing can be said: no event could be read.");
	if (!cover.events && growing)
		return plain("The recording holds no events yet.", h("p", {}, "When a process that is recorded makes its first call this page says so by itself."));
	if (!cover.events)
		return plain("The recording holds no events, so nothing can be said about its processes.");
	if (!list.length)
		return plain("Nothing can be said: the recording holds no thread's calls or waits.", lost);
	if (cover.host_recorded === false)
		return plain("No cause was found, and of the host nothing can be said.", h("p", {}, "What the host did was not recorded (scheduling, disks, locks): a stall by it would not be seen."), lost);
	if (!list.some((p) => p.calls) && (gaps.length || cover.paused?.length))
		return plain(`No call is in the recording of ${ns(cover.duration_ns)}, and whether any was made is not known.`, gaps.length > 0 && missed(gaps), windows(cover), lost);
	if (!list.some((p) => p.calls))
		return plain(`No call was made in ${ns(cover.duration_ns)}: none began, and none returned.`, h("p", {}, "The program hangs, or has nothing to do."),
			stands.length > 0 && [h("h3", {}, "Where its threads stood in the end"), h("ul", {}, stands)], lost);
	const unsure = gaps.length || (cover.paused || []).some((p) => p.covered < BLIND);

	return h("div", { class: cover.partial || unsure ? "card" : "card GOOD" }, severity(cover.partial || unsure ? "LOW" : "GOOD", cover.partial ? "Not read whole" : unsure ? "Not recorded whole" : "Nothing stalled"),
		h("h1", {}, `${cover.partial ? "Nothing in what could be read" : "Nothing"} took a noticeable part of ${ns(cover.duration_ns)}: ${count(cover.events)} events, and no cause worth telling.`), lost, gaps.length > 0 && missed(gaps), windows(cover),
		whose && [h("h3", {}, `Where the time of ${whose.comm || "the process"} (pid ${whose.pid}) went`), parts(whose.calling_threads ? whose.calling_parts : whose.parts, words, true)]);
}

export function verdict(report, words, growing) {
	const at = byId("verdict"), of_ = stepped(report);

	at.removeAttribute("aria-busy");
	put(at, of_ ? stepping(report, of_) : report.chains.length ? stalled(report, words) : nothing(report, words, growing));
}
