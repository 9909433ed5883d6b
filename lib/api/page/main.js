// SPDX-License-Identifier: Apache-2.0
// The page: asks for what the panels draw, again when the recording has grown, and the keys.

import { byId, h, put } from "./dom.js";
import { ns } from "./format.js";
import { api, live, wantToken } from "./net.js";
import { verdict } from "./verdict.js";
import { time } from "./time.js";
import { problems, reveal } from "./problems.js";
import { ops } from "./ops.js";
import { call, open as openCall } from "./call.js";
import { machine } from "./machine.js";
import { recorded } from "./recorded.js";
import { box } from "./sql.js";

const PANELS = [["verdict", "Verdict"], ["time", "Over time"], ["problems", "What stalled it"], ["call", "One call"], ["ops", "Operations"], ["processes", "Processes"], ["graphs", "Graphs"], ["nccl", "NCCL"], ["host", "Host"], ["recorded", "Recorded"], ["sql", "SQL"]];
let words = {}, reading = null, again = false, drawn = "", stale = true; // stale: what is shown is nothing, or not all there will be

function notice(text) {
	byId("notice").hidden = !text;
	byId("notice").textContent = text || "";
}

function heading(about, stat, report) {
	const names = about.recordings.map((r) => r.name), hosts = [...new Set(stat.processes.map((p) => p.node).filter(Boolean))];

	put(byId("recording"), h("b", {}, names.length > 1 ? `${names.length} recordings` : names[0]), hosts.length ? ` on ${hosts.join(", ")}` : "",
		h("span", { class: "hide-narrow" }, ` · ${ns(stat.coverage.duration_ns)}${report.start ? ` from ${report.start.replace("T", " ").slice(0, 19)} UTC` : ""}`));
	document.title = report.chains.length ? `${report.chains[0].severity}: ${report.chains[0].kind} – ingero` : "ingero";
	byId("foot").textContent = `ingero ${about.version}. Metrics for Prometheus are at /metrics, the data of this page under /api/v1/ (ingero-dashboard(1)).`;
}

function navigation(report) {
	put(byId("nav"), PANELS.map(([id, name]) => h("a", { href: `#${id}`, "data-key": `nav ${id}` }, name, id === "problems" && report?.chains.length ? h("span", { class: "count" }, report.chains.length) : null)));
}

async function read() {
	if (reading) {
		again = true;
		return;
	}
	reading = true;
	try {
		const since = byId("since").value, about = await api("about");
		const [report, stat, caps] = await Promise.all([api("report", { since }), api("stat", { since }), api("capabilities")]);
		const now = JSON.stringify([since, report, stat, caps]);

		words = about.states;
		stale = stat.coverage.growing;
		notice([report.coverage.partial && `The recording could not be read whole: ${report.coverage.partial_reason}`, ...(about.notes || [])].filter(Boolean).join("\n"));
		if (now !== drawn) { // what is the same is left as it is
			const open = (id) => openCall(id, words);

			drawn = now;
			heading(about, stat, report);
			navigation(report);
			verdict(report, words, stat.coverage.growing);
			time(stat, report, words, open, reveal);
			problems(report, words, open);
			ops(stat, open);
			machine(stat, report, words);
			recorded(caps, stat);
			call(stat, report, words);
		}
	} catch (e) {
		stale = true;
		notice(`The recording cannot be shown: ${e.message}`);
		byId("verdict").removeAttribute("aria-busy");
	}
	reading = null;
	if (again) {
		again = false;
		read();
	}
}

// ---- light and dark ----

const THEMES = ["auto", "light", "dark"], system = matchMedia("(prefers-color-scheme: dark)");
let chosen = localStorage.getItem("ingero-theme") || "auto";

function theme() {
	const dark = chosen === "dark" || (chosen === "auto" && system.matches);

	document.documentElement.dataset.theme = dark ? "dark" : "light";
	byId("theme").textContent = { auto: "◐", light: "☀", dark: "☾" }[chosen];
	byId("theme").setAttribute("aria-label", `Colours: ${chosen}`);
	byId("theme").title = `Colours: ${chosen} (t)`;
}
function nextTheme() {
	chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
	localStorage.setItem("ingero-theme", chosen);
	theme();
}
system.addEventListener("change", theme);
byId("theme").addEventListener("click", nextTheme);
theme();

// ---- keys ----

const KEYS = [["1 … 9", "go to a panel", null], ["j k", "next, previous panel"], ["/", "find an operation"], ["s", "the SQL box"], ["t", "light, dark, as the system"], ["← →", "on a chart: move along it"], ["?", "this list"]];

put(byId("help"), h("form", { method: "dialog" }, h("h2", {}, "Keys"), h("dl", {}, KEYS.map(([k, what]) => [h("dt", {}, k.split(" ").map((x) => (x === "…" ? " … " : [h("kbd", {}, x), " "]))), h("dd", {}, what)])), h("button", { autofocus: true }, "Close")));
byId("keys").addEventListener("click", () => byId("help").showModal());

function go(id) {
	byId(id).scrollIntoView({ block: "start" });
	byId(id).focus({ preventScroll: true });
}
const panelNow = () => Math.max(0, PANELS.findLastIndex(([id]) => byId(id).getBoundingClientRect().top < 160));

document.addEventListener("keydown", (ev) => {
	if (ev.ctrlKey || ev.metaKey || ev.altKey || ev.target.closest("input, textarea, select, dialog"))
		return;
	const act = {
		"?": () => byId("help").showModal(), t: nextTheme, s: () => { go("sql"); byId("sql").querySelector("textarea").focus(); },
		"/": () => { go("ops"); byId("ops").querySelector("[type=search]")?.focus(); },
		j: () => go(PANELS[Math.min(PANELS.length - 1, panelNow() + 1)][0]), k: () => go(PANELS[Math.max(0, panelNow() - 1)][0]),
	}[ev.key] || (/^[1-9]$/.test(ev.key) && (() => go(PANELS[ev.key - 1][0])));

	if (act) {
		ev.preventDefault();
		act();
	}
});

let marking = false;

function mark() { // where in the page we are
	const here = PANELS[panelNow()][0];

	marking = false;
	for (const a of byId("nav").children) {
		const is = a.getAttribute("href") === `#${here}`;

		if (is && a.getAttribute("aria-current") !== "true" && a.parentNode.scrollWidth > a.parentNode.clientWidth)
			a.parentNode.scrollTo({ left: a.offsetLeft - 40 });
		a.setAttribute("aria-current", String(is));
	}
}
addEventListener("scroll", () => { if (!marking) { marking = true; requestAnimationFrame(mark); } }, { passive: true });

// ---- the token, where one is wanted ----

wantToken((wrong) => new Promise((given) => {
	const dialog = byId("login"), field = h("input", { type: "password", autofocus: true, "aria-label": "Token", autocomplete: "current-password" });

	put(dialog, h("form", { method: "dialog", onsubmit: () => given(field.value.trim()) }, h("h2", {}, "Token"),
		h("p", {}, wrong ? "That token is not right. " : "", "This server wants its token: it printed an address with one when it started, or was given one (--token-file)."), h("div", { class: "row" }, field, h("button", { class: "primary" }, "Open"))));
	dialog.addEventListener("cancel", () => given(null), { once: true });
	if (!dialog.open)
		dialog.showModal();
}));

// ---- what is new ----

let seen = null;

function state(now) {
	const badge = byId("live");

	badge.className = `badge ${now.growing ? "on" : "done"}`;
	badge.textContent = now.growing ? "live" : "ended";
	badge.title = now.growing ? "The recording is being written; this page follows it" : "Nothing is written to the recording";
	if (stale || (seen !== null && seen !== now.version))
		read();
	seen = now.version;
	document.documentElement.dataset.ready = "true"; // for who draws pictures of the page
}

navigation(null);
box();
byId("since").addEventListener("change", read);
await read();
mark();
live(state, () => {
	byId("live").className = "badge off";
	byId("live").textContent = "no connection";
});
