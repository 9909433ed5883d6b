#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The dashboard's page without a browser: who is asked for the token, and how often. Its scripts run in node, with as much of a
# browser around them as they touch.

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
PAGE = "lib/serve/page"
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

tap.done_testing()
