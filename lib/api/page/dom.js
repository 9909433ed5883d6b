// SPDX-License-Identifier: Apache-2.0
// Elements of the page. Text always becomes a text node: what a recording says is never markup.

const SVG = "http://www.w3.org/2000/svg";

// Texts of the programs have "us", for terminals that lack the letter; what is typed stays as it is.
const VERBATIM = new Set(["PRE", "TEXTAREA", "OPTION", "SCRIPT"]);
const micro = (text) => text.replace(/(\d) us\b/g, "$1 µs");

function fill(el, props, kids) {
	for (const [key, value] of Object.entries(props || {})) {
		if (value === undefined || value === null || value === false)
			continue;
		if (key.startsWith("on"))
			el.addEventListener(key.slice(2), value);
		else if (key === "of") // the colour by name of a variable
			el.style.setProperty("--of", `var(--${value})`);
		else if (key === "css")
			for (const [name, v] of Object.entries(value))
				el.style.setProperty(name, v);
		else
			el.setAttribute(key, value === true ? "" : value);
	}
	el.append(...kids.flat(Infinity).filter((k) => k !== null && k !== undefined && k !== false).map((k) => (typeof k === "string" && !VERBATIM.has(el.tagName) ? micro(k) : k)));
	return el;
}

export const h = (tag, props, ...kids) => fill(document.createElement(tag), props, kids);
export const s = (tag, props, ...kids) => fill(document.createElementNS(SVG, tag), props, kids);
export const byId = (id) => document.getElementById(id);

// New content of a panel; what had the focus has it still, when it is there again (data-key).
export function put(into, ...kids) {
	const at = document.activeElement, key = at && into.contains(at) && at.dataset.key;

	into.replaceChildren(...kids.flat(Infinity).filter(Boolean));
	if (key)
		into.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

const SIGNS = {
	HIGH: "M8 0.500 15.500 8 8 15.500 0.500 8z", // diamond
	MEDIUM: "M8 1 15.500 15H0.500z", // triangle
	LOW: "M2 2h12v12H2z",
	GOOD: "M8 0a8 8 0 1 0 .01 0zM7 11.800 3.300 8.100l1.500-1.500L7 8.800l4.300-4.300 1.500 1.500z",
};
const WORDS = { HIGH: "High", MEDIUM: "Medium", LOW: "Low", GOOD: "Good" };
export const severity = (name, word) =>
	h("span", { class: `severity ${SIGNS[name] ? name : "LOW"}` },
		s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: SIGNS[name] || SIGNS.LOW, "fill-rule": "evenodd" })), word || WORDS[name] || name);

export function copied(button, text) {
	const done = (word) => { button.textContent = word; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
	const area = h("textarea", {}, text);

	if (navigator.clipboard) {
		navigator.clipboard.writeText(text).then(() => done("Copied"), () => done("Not allowed"));
		return;
	}
	document.body.append(area); // plain http on another host: no clipboard but this
	area.select();
	done(document.execCommand("copy") ? "Copied" : "Not allowed");
	area.remove();
	button.focus();
}

// kind: "code" is for the program, anything else for a shell.
export const command = (text, kind, key) =>
	h("div", { class: kind === "code" ? "command" : "command sh" }, h("pre", {}, text),
		h("button", { type: "button", "aria-label": `Copy: ${text}`, "data-key": key, onclick: (ev) => copied(ev.currentTarget, text) }, "Copy"));

// columns: {name, of(row) for sorting, show(row), text, cls, tip}; kept: {by, down}, changed by clicks.
export function table(rows, columns, kept, again, cls) {
	const by = columns.find((c) => c.name === kept?.by), order = [...rows];

	if (by) {
		const way = kept.down ? -1 : 1;

		order.sort((a, b) => {
			const x = by.of(a), y = by.of(b);

			return way * (typeof x === "string" || typeof y === "string" ? String(x ?? "").localeCompare(String(y ?? "")) : (x ?? -1) - (y ?? -1));
		});
	}
	const head = columns.map((c) => {
		const class_ = [c.text && "text", c.cls].filter(Boolean).join(" ") || null;

		if (!kept || !c.of)
			return h("th", { scope: "col", class: class_, title: c.tip }, c.name);
		const on = kept.by === c.name;

		return h("th", { scope: "col", class: class_, title: c.tip, "aria-sort": on ? (kept.down ? "descending" : "ascending") : null },
			h("button", { type: "button", "data-key": `sort ${cls} ${c.name}`, onclick: () => { kept.down = on ? !kept.down : !c.text; kept.by = c.name; again(); } },
				c.name, on ? (kept.down ? " ▾" : " ▴") : ""));
	});

	return h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, h("table", { class: cls }, h("thead", {}, h("tr", {}, head)),
		h("tbody", {}, order.map((row) => h("tr", {}, columns.map((c) =>
			h("td", { class: [c.text && "text", c.wrap && "wrap", c.cls].filter(Boolean).join(" ") || null }, c.show ? c.show(row) : String(c.of(row) ?? "")))))))); 
}

export const none = (text) => h("p", { class: "none" }, text);
export const card = (title, ...kids) => h("div", { class: "card" }, title && h("h3", {}, title), kids);
export const wide = (title, ...kids) => h("div", { class: "card wide" }, title && h("h3", {}, title), kids);
