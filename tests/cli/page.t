#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The dashboard's page without a browser: who is asked for the token, and how often; and that what it shows is what there is in the
# end. Its scripts run in node, with as much of a browser around them as they touch.

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

if not shutil.which("node"):
    tap.skip_all("optional: no node here")
PAGE = "lib/api/page"
TMP = tempfile.TemporaryDirectory(prefix="ingero-test.")

# What both need: globals that are a browser's, and who does not wait for ever.
COMMON = """
const global = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
const soon = (ms) => new Promise((go) => setTimeout(go, ms));
const within = (promise) => Promise.race([promise.catch((e) => String(e)), soon(2000).then(() => "nothing")]);
const store = (kept = {}) => ({ getItem: (k) => kept[k] ?? null, setItem: (k, v) => { kept[k] = v; } });
"""


def run(name, script, files):
    """What the script prints, as JSON; files: scripts beside it, of the page (None) or instead of those of the page."""
    folder = os.path.join(TMP.name, name)
    os.mkdir(folder)
    for file, text in {"package.json": '{"type":"module"}', "test.js": COMMON + script, **files}.items():
        if text is None:
            shutil.copy(os.path.join(PAGE, file), folder)
        else:
            with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
                f.write(text)
    p = subprocess.run(["node", os.path.join(folder, "test.js")], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return {"failed": p.stdout + p.stderr}


# ---- tokens

told = run("token", """
let right = "a+b/c=";
const asked = [], said = {};

global("location", { hash: "#token=a+b%2Fc=", pathname: "/" });
global("sessionStorage", store());
global("history", { replaceState: (a, b, to) => { said.left = to; } });
global("fetch", async (path, { headers }) => {
	const good = headers.Authorization === `Bearer ${right}`;

	await soon(path.endsWith("slow") ? 300 : 1);
	return { status: good ? 200 : 401, ok: good, statusText: "", json: async () => (good ? path : { error: "refused" }) };
});
const { api, wantToken } = await import("./net.js");

wantToken((wrong) => new Promise((given) => asked.push({ wrong: !!wrong, given })));
said.address = await within(api("first"));

right = "two";
const both = [api("b"), api("c")];

await soon(100);
said.questions = asked.length;
asked.at(-1)?.given("two");
said.both = await within(Promise.all(both));

right = "three";
const slow = api("slow"), quick = api("d");

await soon(100);
asked.at(-1)?.given("three");
said.quick = await within(quick);
said.slow = await within(slow);
said.later = asked.length;

right = "four";
const again = api("e");

await soon(100);
asked.at(-1)?.given("wrong");
await soon(100);
said.wrong = asked.map((a) => a.wrong);
asked.at(-1)?.given("four");
said.again = await within(again);
console.log(JSON.stringify(said));
process.exit(0);
""", {"net.js": None})
tap.same([told.get("address"), told.get("left")], ["api/v1/first", "/"], "a token in the address is taken as it stands there, and taken away")
tap.same([told.get("questions"), told.get("both")], [1, ["api/v1/b", "api/v1/c"]], "two that are refused at once: one question, and both are answered")
tap.same([told.get("quick"), told.get("slow"), told.get("later")], ["api/v1/d", "api/v1/slow", 2], "one that is refused after the token was given asks nobody")
tap.same([told.get("wrong"), told.get("again")], [[False, False, False, True], "api/v1/e"], "a wrong one is asked for again, and it is said")
if "failed" in told:
    tap.diag(told["failed"])

# ---- what is shown

STUBS = {
    "dom.js": """
const all = {}, element = () => ({ children: [], value: "", addEventListener() {}, removeAttribute() {}, setAttribute() {}, getBoundingClientRect: () => ({ top: 0 }) });
export const byId = (id) => (all[id] ??= element());
export const h = () => ({}), put = () => {};
""",
    "format.js": "export const ns = String;",
    "net.js": "export const api = (what) => answer(what), live = (told) => { hear.told = told; }, wantToken = () => {};",
    **{f"{part}.js": f"export const {part} = () => {{}};" for part in ("verdict", "time", "ops", "machine", "recorded")},
    "problems.js": "export const problems = () => {}, reveal = () => {};",
    "call.js": "export const call = () => {}, open = () => {};",
    "sql.js": "export const box = () => {};",
    "main.js": None,
}
told = run("shown", """
const said = {}, hear = {};
let growing = false, fails = false, reads = 0;

global("document", { documentElement: { dataset: {} }, addEventListener() {} });
global("matchMedia", () => ({ matches: false, addEventListener() {} }));
global("localStorage", store());
global("addEventListener", () => {});
global("requestAnimationFrame", () => {});
global("hear", hear);
global("answer", async (what) => {
	if (what === "about")
		reads++;
	if (fails)
		throw new Error("a limit");
	return { about: { version: "1", recordings: [{ name: "run.ige" }], states: {} }, report: { chains: [], coverage: { partial: false } },
		stat: { processes: [], coverage: { duration_ns: 1, growing } }, capabilities: [] }[what];
});
const hears = async (version) => {
	const before = reads;

	hear.told({ version, growing: false });
	await soon(100);
	return reads - before;
};

await import("./main.js?whole");
said.whole = [await hears("1"), await hears("1"), await hears("2")];
fails = true;
await import("./main.js?failed");
fails = false;
said.failed = [await hears("1"), await hears("1")];
growing = true;
await import("./main.js?grown");
growing = false;
said.grown = [await hears("1"), await hears("1")];
console.log(JSON.stringify(said));
process.exit(0);
""", STUBS)
tap.same(told.get("whole"), [0, 0, 1], "what is whole is read once, and again when it is another one")
tap.same(told.get("failed"), [1, 0], "what could not be read is read again as soon as the server has news")
tap.same(told.get("grown"), [1, 0], "so is what ended before the page heard of its growing")
if "failed" in told and isinstance(told["failed"], str):
    tap.diag(told["failed"])

# ---- no cause: what that means

told = run("verdict", """
const said = {};
const { verdict } = await import("./verdict.js");
const { shown } = await import("./dom.js");
const whole = { chains: [], coverage: { events: 5000, lost: 0, duration_ns: 2e9, host_recorded: true, partial: false }, standing: [],
	breakdown: [{ pid: 7, comm: "train", calls: 40, parts: {} }] };
const cases = {
	"clean": {}, "cut": { coverage: { partial: true } }, "empty": { coverage: { events: 0 } }, "growing": { coverage: { events: 0 } },
	"nothing read": { coverage: { events: 0, partial: true } }, "no thread": { breakdown: [] }, "no host": { coverage: { host_recorded: false } },
	"windows": { coverage: { paused: [{ tier: "launches", covered: 0.3 }] } }, "blind": { coverage: { paused: [{ tier: "waits", covered: 0.01 }] } },
	"paused": { breakdown: [{ pid: 7, comm: "train", calls: 0, parts: {} }], coverage: { paused: [{ tier: "waits", covered: 0.3 }] } },
	"estimated": { chains: [{ kind: "launch-bound", severity: "HIGH", summary: "", lost_ns: 4e9, share_of_wall: 0.4, count: 868, counted: "bursts", covered: 0.25 }] },
	"hangs": { breakdown: [{ pid: 7, comm: "train", calls: 0, parts: {} }], standing: [{ pid: 7, comm: "train", threads: 2, longest_ns: 1.4e9, part: "wakeup", frames: ["load_batch (train.py:6)", "main"] }] },
};

const why = [{ text: "waits for loader (pid 7)", ns: 600, severity: 3 }, { text: "on the CPU in step", ns: 100, severity: 0 }, { text: "small", ns: 1, severity: 0 }];
const stepping = (at_least) => ({ chains: [{ kind: "disk", severity: "HIGH", summary: "the disk took it" }], step_verdict: { text: "python3: ~10 steps", pid: 7, tid: 7, severity: 3 },
	paths: [{ pid: 7, tid: 8, steps: null, phases: [] }, { pid: 7, tid: 7, steps: { function: "run", file: "/srv/a.py", first_line: 2, last_line: 9, count: 10, estimated: true, at_least, p50_ns: 99, p99_ns: 200 },
		phases: [{ name: "start", ns: 100 }, { name: "steps", ns: 1000, causes: [{ severity: 3 }], lead: [], rows: [{ line: "step (a.py:3)", site: "next (l.py:1)", ns: 700, why }, { line: null, site: null, ns: 300, why: [] }] }] }] });

cases.stepping = stepping(false);
cases["at least"] = stepping(true);
cases["another one's"] = { ...stepping(false), paths: [] };
for (const [name, by] of Object.entries(cases)) {
	verdict({ ...whole, ...by, coverage: { ...whole.coverage, ...by.coverage } }, { wakeup: "waiting for another thread" }, name === "growing");
	said[name] = shown.last;
}
console.log(JSON.stringify(said));
process.exit(0);
""", {
    "dom.js": """
const text = (k) => (k === null || k === undefined || k === false ? "" : Array.isArray(k) ? k.map(text).join("") : String(k));
export const shown = { last: "" };
export const byId = () => ({ removeAttribute() {} });
export const h = (tag, props, ...kids) => `${text(kids)} `;
export const severity = (name, word) => `[${name} ${word || ""}] `;
export const command = () => "";
export const put = (at, ...kids) => { shown.last = text(kids); };
""",
    "chart.js": """
const text = (k) => (k === null || k === undefined || k === false ? "" : Array.isArray(k) ? k.map(text).join("") : String(k));
export const parts = () => "";
export const bars = (rows, most) => rows.map((r) => `{${text(r.name)}|${r.v}/${most}|${r.text}|${r.of}}`).join("");
""",
    "format.js": None,
    "steps.js": None,
    "verdict.js": None,
})
tap.ok("[GOOD Nothing stalled]" in told.get("clean", ""), "green where somebody looked and nothing was there", told)
tap.none([k for k, v in told.items() if k not in ("clean", "windows") and ("GOOD" in v or "Nothing stalled" in v)], "and nowhere else")
for name, part in (("cut", "could be read"), ("empty", "holds no events, so nothing can be said"), ("growing", "no events yet"), ("nothing read", "no event could be read"), ("no thread", "no thread's calls"),
                   ("windows", "were recorded 30.0 %"), ("blind", "Not recorded whole"), ("paused", "whether any was made is not known"), ("estimated", "~4.00 s~40.0 % of wall time, ~868 bursts"),
                   ("no host", "was not recorded"), ("hangs", "none began, and none returned"), ("hangs", "2 threads, 1.40 s: waiting for another thread"), ("hangs", "load_batch (train.py:6) < main"),
                   ("stepping", "python3: ~10 steps "), ("stepping", "100 nsmedian 99 ns, p99 200 ns"), ("stepping", "~10in 1.00 µs"), ("stepping", "runa.py:2-9"),
                   ("stepping", "{step (a.py:3)  > next (l.py:1)60 ns  waits for loader (pid 7) 10 ns  on the CPU in step |700/1000|70.0 %, 70 ns|high}"),
                   ("stepping", "{elsewhere |300/1000|30.0 %, 30 ns|low}"), ("stepping", "Before the first step: 100 ns."), ("stepping", "1 cause was found"),
                   ("at least", "≥10"), ("at least", "|70.0 %, 700 ns|"), ("another one's", "the disk took it")):
    tap.ok(part in told.get(name, ""), f"{name}: {part}", told.get(name, told))

# ---- calls that were recorded in windows: estimates are marked, and only they

told = run("ops", """
const { ops } = await import("./ops.js");
const { shown } = await import("./dom.js");
const row = { source: "cuda", layer: "runtime", errors: 0, p50_ns: 2000, p95_ns: 3000, p99_ns: 4000, max_ns: 9000, self_ns: 1e6, share: 0.1, lost_ns: 5e5 };

ops({ ops: [{ ...row, op: "cudaLaunchKernel", count: 100, total_ns: 2e6, estimated_count: 400, estimated_total_ns: 8e6, covered: 0.25 }, { ...row, op: "cudaStreamSynchronize", count: 50, total_ns: 3e6 }] }, () => {});
console.log(JSON.stringify(shown.rows));
process.exit(0);
""", {
    "dom.js": """
const text = (k) => (k === null || k === undefined || k === false ? "" : Array.isArray(k) ? k.map(text).join("") : String(k));
export const shown = { rows: {} };
export const byId = () => ({ querySelector: () => null });
export const h = (tag, props, ...kids) => text(kids);
export const none = () => "";
export const put = () => {};
export const table = (rows, columns) => { for (const r of rows) shown.rows[r.op] = Object.fromEntries(columns.map((c) => [c.name, text(c.show ? c.show(r) : c.of(r))])); return ""; };
""",
    "format.js": None,
    "ops.js": None,
})
row = told.get("cudaLaunchKernel", {})
tap.same([row.get(k) for k in ("calls", "p50", "total", "own", "wall", "lost")], ["~400", "2.00 µs", "~8.00 ms", "~4.00 ms", "~10.0 %", "~2.00 ms"], "operations: of all of the time, marked")
row = told.get("cudaStreamSynchronize", {})
tap.same([row.get(k) for k in ("calls", "total", "own")], ["50", "3.00 ms", "1.00 ms"], "operations: what was all recorded is as it was")
tap.done_testing()
