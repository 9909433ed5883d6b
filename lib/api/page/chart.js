// SPDX-License-Identifier: Apache-2.0
// Charts as SVG in the pixels there are: lines and stacked areas over time, which say what is under the pointer, or, with the
// keyboard, under a line moved by the arrow keys. Every line has a pattern besides its colour.

import { h, s } from "./dom.js";
import { since } from "./format.js";

const DASHES = [null, "6 3", "2 3", "9 3 2 3", "4 2 1 2 1 2", "12 4", "1 3", "8 2 2 2 2 2"];
const LEFT = 56, RIGHT = 10, TOP = 8, BOTTOM = 20;

function ticks(top, n) {
	const raw = top / n, power = 10 ** Math.floor(Math.log10(raw || 1));
	const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((x) => x >= raw) || 10 * power;
	const out = [];

	for (let v = 0; v <= top * 1.0001; v += step)
		out.push(v);
	return out;
}

function binary(top, n) { // bytes: multiples of powers of two
	let step = 1;

	while (top / step > n)
		step *= 2;
	return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

function decades(low, top) { // with 2 and 5 between, where there are few
	const span = Math.log10(top / low), between = span < 1.5 ? [1, 2, 5] : span < 3 ? [1, 3] : [1], out = [];

	for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(top)); e++)
		out.push(...between.map((m) => m * 10 ** e));
	return out;
}

const timeTicks = (from, to, n) => {
	const span = (to - from) / 1e9, raw = span / n;
	const step = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400].find((x) => x >= raw) || raw;
	const out = [];

	for (let t = Math.ceil(from / 1e9 / step) * step; t <= to / 1e9 + 1e-9; t += step)
		out.push(t * 1e9);
	return out;
};
const clock = (t) => {
	const x = t / 1e9;

	return x < 60 ? `${Number(x.toFixed(3))} s` : x < 3600 ? `${Math.floor(x / 60)}:${String(Math.round(x % 60)).padStart(2, "0")}` : `${Math.floor(x / 3600)}h${String(Math.floor((x % 3600) / 60)).padStart(2, "0")}`;
};

export function dash(i) { return DASHES[i % DASHES.length]; }

export const legend = (series) => h("div", { class: "legend" }, series.map((x, i) =>
	h("span", {}, x.area ? h("i", { class: `swatch ${x.pattern || ""}`, of: x.of }) :
		s("svg", { viewBox: "0 0 28 10", of: x.of, "aria-hidden": "true" }, s("line", { x1: 0, x2: 28, y1: 5, y2: 5, "stroke-dasharray": x.dash ?? dash(i) })), x.name)));

/*
 * series: [{name, of, at: [ns], v: [number|null], area}], all areas share at. o: {from, to (ns), height, show(v), log, top, bytes,
 * moments: [{t, text, go()}], label, half}: half a span, by which points stand in the middle.
 */
export function chart(series, o) {
	const box = h("div", { class: "chart" }), tip = h("div", { class: "tip", hidden: true });
	const stacked = series.some((x) => x.area), height = o.height || 170;
	const values = series.flatMap((x) => x.v).filter((v) => v !== null && v > 0);
	let width = 0, svg = null;

	const sums = stacked ? series[0].at.map((_, i) => series.reduce((sum, x) => sum + (x.v[i] || 0), 0)) : [];
	const top = o.top || (stacked ? Math.max(...sums, 0) : Math.max(...values, 0)) * (o.log ? 1.3 : 1.06) || 1;
	const low = o.log ? Math.min(...values, top) / 1.3 : 0;
	const X = (t) => LEFT + ((t - o.from) / (o.to - o.from || 1)) * (width - LEFT - RIGHT);
	const Y = (v) => {
		const part = o.log ? (Math.log(Math.max(v, low)) - Math.log(low)) / (Math.log(top) - Math.log(low) || 1) : v / top;

		return TOP + (1 - part) * (height - TOP - BOTTOM);
	};

	function lines(x) { // pieces between which nothing is known
		const out = [];
		let open = false;

		x.v.forEach((v, i) => {
			if (v === null || (o.log && v <= 0)) {
				open = false;
				return;
			}
			out.push(`${open ? "L" : "M"}${X(x.at[i]).toFixed(1)} ${Y(v).toFixed(1)}`);
			open = true;
		});
		return out.join("");
	}

	function areas() {
		const base = series[0].at.map(() => 0), out = [];
		const step = series[0].at.length > 1 ? (series[0].at[1] - series[0].at[0]) / 2 : 0;

		for (const x of series) {
			const under = [...base], edge = [], back = [];

			x.v.forEach((v, i) => { base[i] += v || 0; });
			x.at.forEach((t, i) => { // steps: a span is as wide as it is
				const l = X(Math.max(o.from, t - step)).toFixed(1), r = X(Math.min(o.to, t + step)).toFixed(1);

				edge.push(`${l} ${Y(base[i]).toFixed(1)} ${r} ${Y(base[i]).toFixed(1)}`);
				back.unshift(`${r} ${Y(under[i]).toFixed(1)} ${l} ${Y(under[i]).toFixed(1)}`);
			});
			out.push(s("path", { class: "area", of: x.of, d: `M${edge.join("L")}L${back.join("L")}Z` }));
		}
		return out;
	}

	function draw() {
		const cross = s("line", { class: "cross", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
		const dots = stacked ? [] : series.map((x) => s("circle", { class: "dot", r: 4, of: x.of, visibility: "hidden" }));
		const marks = o.log ? decades(low, top).filter((v) => v >= low && v <= top) : o.bytes ? binary(top, 4) : ticks(top, 4);

		// Where the axis starts is written, too.
		if (o.log && !(marks[0] < low * 1.25))
			marks.unshift(low);
		const grid = marks.map((v) => [
			s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: Y(v), y2: Y(v) }),
			s("text", { x: LEFT - 6, y: Y(v) + 4, "text-anchor": "end" }, o.show(v))]);
		const times = timeTicks(o.from, o.to, Math.max(2, width / 110)).map((t) => s("text", { x: X(t), y: height - 4, "text-anchor": X(t) > width - 30 ? "end" : "middle" }, clock(t)));
		const moments = (o.moments || []).filter((m) => m.t >= o.from && m.t <= o.to).map((m) =>
			s("path", { class: "moment", tabindex: m.go ? 0 : null, role: m.go ? "button" : null, "aria-label": m.text, d: `M${X(m.t)} ${height - BOTTOM}l-5 8h10z`, onclick: m.go, onkeydown: (ev) => { if (ev.key === "Enter" && m.go) m.go(); } }, s("title", {}, m.text)));
		let at = -1;

		function show(i) {
			const t = series.find((x) => x.at[i] !== undefined)?.at[i];

			if (t === undefined)
				return;
			at = i;
			cross.setAttribute("x1", X(t));
			cross.setAttribute("x2", X(t));
			cross.setAttribute("visibility", "visible");
			dots.forEach((d, k) => {
				const x = series[k], n = nearest(x, t), v = x.v[n];

				d.setAttribute("visibility", v === null || v === undefined ? "hidden" : "visible");
				if (v !== null && v !== undefined) {
					d.setAttribute("cx", X(x.at[n]));
					d.setAttribute("cy", Y(v));
				}
			});
			tip.replaceChildren(h("div", {}, since(t)), ...series.map((x, k) => ({ x, k, v: x.v[nearest(x, t)] })).filter(({ v }) => !stacked || v).map(({ x, v }) =>
				h("div", {}, h("i", { class: "swatch", of: x.of }), x.name, h("b", {}, v === null || v === undefined ? "–" : stacked && sums[i] && o.share ? `${((100 * v) / sums[i]).toFixed(1)} %` : o.show(v)))));
			tip.hidden = false;
			tip.style.left = `${Math.max(0, Math.min(X(t) + 12, width - tip.offsetWidth - 4))}px`;
			tip.style.top = "4px";
		}
		function hide() {
			tip.hidden = true;
			cross.setAttribute("visibility", "hidden");
			dots.forEach((d) => d.setAttribute("visibility", "hidden"));
		}
		const first = series.reduce((a, b) => (b.at.length > a.at.length ? b : a), series[0]);

		const drawn = s("svg", { height, role: "img", tabindex: 0, "aria-label": o.label || "",
			onpointermove: (ev) => show(nearest(first, o.from + ((ev.clientX - svg.getBoundingClientRect().left - LEFT) / (width - LEFT - RIGHT)) * (o.to - o.from))),
			onpointerleave: hide, onblur: hide,
			onkeydown: (ev) => {
				if (ev.key !== "ArrowLeft" && ev.key !== "ArrowRight")
					return;
				ev.preventDefault();
				show(Math.max(0, Math.min(first.at.length - 1, at < 0 ? 0 : at + (ev.key === "ArrowRight" ? 1 : -1))));
			} },
		grid, times, stacked ? areas() : series.map((x, i) => s("path", { class: "serie", of: x.of, d: lines(x), "stroke-dasharray": x.dash ?? dash(i) })),
		cross, dots, moments);

		svg?.remove();
		svg = drawn;
		svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		box.prepend(svg);
	}

	box.append(tip);
	new ResizeObserver(() => {
		const now = Math.floor(box.clientWidth);

		if (now > 40 && now !== width) {
			width = now;
			draw();
		}
	}).observe(box);
	return box;
}

function nearest(x, t) {
	let best = 0;

	for (let i = 1; i < x.at.length; i++)
		if (Math.abs(x.at[i] - t) < Math.abs(x.at[best] - t))
			best = i;
	return best;
}

// Bars of a list: [{name, of, v, text, href}]; of the largest of them, or of most.
export function bars(rows, most) {
	const top = most || Math.max(...rows.map((r) => r.v), 0) || 1;

	return h("div", { class: "bars" }, rows.map((r) => h("div", { class: "bar-row", of: r.of },
		h("span", {}, r.sign, " ", r.href ? h("a", { href: r.href, onclick: r.go }, r.name) : r.name), h("b", { class: "num" }, r.text),
		h("span", { class: "track" }, h("span", { class: "fill", css: { width: `${(100 * r.v) / top}%` } })))));
}

const PATTERN = { preempted: "hatch", runqueue: "dots", throttled: "hatch", disk: "dots", lock: "hatch", wakeup: "dots" };
const KNOWN = ["self", "call", "device", "preempted", "runqueue", "wakeup", "wait_unknown", "throttled", "stolen", "disk", "lock", "fault", "idle", "unknown"];

// Classes of the critical path, which a step is divided into, look like the states of threads that they are of.
const CLASSES = { "own code": "self", "in call": "call", "memory reclaim": "fault", "memory compaction": "fault", "page fault": "fault", "stolen by the hypervisor": "stolen", "wake-up latency": "wakeup", "CPU taken": "preempted", "runnable, occupant unknown": "runqueue", sleep: "idle", unexplained: "unknown", unknown: "unknown" };
const state = (name) => CLASSES[name] || name;

export const partColour = (name) => `p-${KNOWN.includes(state(name)) ? state(name) : "other"}`;
export const partPattern = (name) => PATTERN[state(name)] || "";

// Time divided into states: {name: ns}; words: what they are called.
export function parts(of, words, tall) {
	const all = Object.entries(of).filter(([, v]) => v > 0), sum = all.reduce((a, [, v]) => a + v, 0) || 1;

	all.sort(([a, x], [b, y]) => rank(a) - rank(b) || y - x);
	return [
		h("div", { class: `parts ${tall ? "tall" : ""}`, role: "img", "aria-label": all.map(([k, v]) => `${words[k] || k} ${((100 * v) / sum).toFixed(1)} %`).join(", ") },
			all.map(([k, v]) => h("span", { class: `p ${partPattern(k)}`, of: partColour(k), css: { width: `${(100 * v) / sum}%` }, title: `${words[k] || k} ${((100 * v) / sum).toFixed(1)} %` }))),
		h("ul", { class: "key" }, all.filter(([, v]) => v / sum >= 0.0005).sort(([, x], [, y]) => y - x).map(([k, v]) => h("li", {}, h("i", { class: `swatch ${partPattern(k)}`, of: partColour(k) }), `${words[k] || k} `, h("b", { class: "num" }, `${((100 * v) / sum).toFixed(1)} %`)))),
	];
}

// Its own first, then the device, what was taken from it, last what is not known.
export const rank = (k) => (state(k) === "self" ? 0 : k === "device" ? 1 : k === "idle" || k === "sleep" ? 8 : k === "unknown" ? 9 : 2);
