#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The dashboard's page in a browser: without an error, without a request to anybody else, wide and narrow, light and dark, for
# recordings with every kind of panel; what it says is what explain says, the keyboard reaches everything, and names that are
# markup stay text. Pictures of it land in $SHOTS, when set. make check-consumers runs this where the browser is (CHECKERS).

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import tap  # noqa: E402

SHOT = os.path.join(os.environ.get("CHECKERS", "../shared/checkers"), "shot")
if not os.path.exists(SHOT):
    tap.skip_all(f"optional: no {SHOT} here (CHECKERS says where)")
TMP = tempfile.TemporaryDirectory(prefix="ingero-test.")
PICTURES = os.environ.get("SHOTS", TMP.name)
os.makedirs(PICTURES, exist_ok=True)


def recording(name, *args):
    path = os.path.join(TMP.name, name + ".ige")
    subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "-q", "-o", path, *args], check=True)
    return path


def shot(url, name, *args):
    p = subprocess.run([SHOT, "--wait", "html[data-ready]", *args, url, os.path.join(PICTURES, name + ".png")], capture_output=True, text=True, timeout=300)
    try:
        seen = json.loads(p.stdout)
    except ValueError:
        seen = None
    return p, seen


def looks(url, name, *args):
    """A picture without an error; what the last --eval said."""
    p, seen = shot(url, name, *args)
    # The page may be asking for news just when the browser is closed.
    bad = seen and (seen["console"] or seen["errors"] or seen["outside"] or [f for f in seen["failed"] if not f.endswith("/api/v1/live: net::ERR_ABORTED")])
    tap.ok(seen and p.returncode < 2 and seen["status"] == 200 and not bad, name, p.stdout[-1500:] + p.stderr[-500:])
    return seen["evals"] if seen else [None]


run = recording("incident", "incident", "--duration", "10s")
with dashboard.Dashboard(run) as d:
    if not d.url:
        tap.skip_all("optional: " + d.said.strip()[-100:])
    p, seen = shot(d.url, "first")
    if p.returncode == 2 or seen is None:
        tap.skip_all(f"optional: {SHOT}: {p.stderr.strip()[:100]}")
    report = json.loads(d.ask("/api/v1/report")[2])
    summary = (report.get("step_verdict") or {"text": report["chains"][0]["summary"]})["text"].replace(" us ", " µs ")
    told = looks(d.url, "wide-light", "--size", "1280x900", "--full", "--eval", "document.querySelector('#verdict h1').textContent",
                 "--eval", "[...document.querySelectorAll('section')].filter((s) => s.innerText.trim().length < 40).map((s) => s.id)",
                 "--eval", "document.querySelectorAll('#verdict .fix pre').length + document.querySelectorAll('#problems details[open] .timeline li').length",
                 "--eval", "[...document.querySelectorAll('svg path')].filter((p) => /NaN|undefined|Infinity/.test(p.getAttribute('d'))).length + [...document.querySelectorAll('main *')].filter((e) => !e.children.length && /NaN|undefined|\\[object/.test(e.textContent)).length")
    tap.same(told[:2], [summary, []], "the verdict is explain's, and no panel is empty")
    tap.ok(told[2] > 3, "with a command to type and the moments that show it", told)
    tap.same(told[3], 0, "and no number that is none")
    told = looks(d.url, "units", "--size", "1280x900", "--eval", "(document.querySelector('main').innerText.match(/\\d us\\b/g) || []).length",
                 "--eval", "[...document.querySelectorAll('#time .card')].filter((c) => c.clientHeight > c.scrollHeight + 4 || [...c.children].reduce((b, k) => Math.max(b, k.getBoundingClientRect().bottom), 0) < c.getBoundingClientRect().bottom - 40).length",
                 "--eval", "[...document.querySelectorAll('#processes .parts')].filter((p) => new Set([...p.children].map((c) => getComputedStyle(c).getPropertyValue('--of') + c.className)).size < p.children.length).length",
                 "--eval", "[...document.querySelectorAll('.chart svg')].filter((c) => !c.querySelector('text[text-anchor=end]')).length")
    tap.same(told, [0, 0, 0, 0], "one letter for micro, no card with nothing at its foot, no two states alike, an axis at each chart")
    looks(d.url, "wide-dark", "--size", "1280x900", "--scheme", "dark", "--full")
    for width in (375, 320):
        told = looks(d.url, f"phone-{width}", "--size", f"{width}x800", "--full", "--eval", "document.documentElement.scrollWidth")
        tap.ok(told[-1] <= width, f"nothing sticks out at {width} pixels", told)
    looks(d.url, "phone-dark", "--size", "375x800", "--scheme", "dark", "--full")
    told = looks(d.url, "theme", "--press", "t", "--press", "t", "--eval", "document.documentElement.dataset.theme")
    tap.same(told[-1], "dark", "t goes from the system's colours to light, to dark")
    told = looks(d.url, "keys", "--press", "?", "--eval", "document.querySelector('#help').open")
    tap.same(told[-1], True, "? lists the keys")
    told = looks(d.url, "panel", "--press", "3", "--eval", "document.activeElement.id")
    tap.same(told[-1], "problems", "a digit goes to a panel")
    told = looks(d.url, "sql", "--fill", "#sql textarea", "SELECT 6 * 7 AS answer, '<b>x</b>' AS text", "--click", "#run-sql", "--wait", "#sql tbody td",
                 "--eval", "[...document.querySelectorAll('#sql tbody td')].map((x) => x.textContent)", "--eval", "document.querySelectorAll('#sql tbody b').length")
    tap.same(told[-2:], [["42", "<b>x</b>"], 0], "SQL, whose answer stays text")
    told = looks(d.url, "sorted", "--click", "#ops th:nth-child(3) button", "--eval", "document.querySelector('#ops th:nth-child(3)').getAttribute('aria-sort')",
                 "--eval", "(() => { const n = [...document.querySelectorAll('#ops tbody td:nth-child(3)')].map((x) => Number(x.textContent.replaceAll(',', ''))); return n.every((x, i) => !i || n[i - 1] >= x); })()")
    tap.same(told[-2:], ["descending", True], "a column sorts")
    told = looks(d.url, "call", "--click", "#problems .timeline button", "--wait", "#call:focus", "--eval", "document.activeElement.id", "--eval", "document.querySelector('#call h3').textContent")
    tap.ok(told[-2] == "call" and " took " in told[-1], "a moment opens its call", told)

for scenario in ("graph-recapture", "straggler", "disk", "gpu-leak", "gpu-oom", "clean"):
    with dashboard.Dashboard(recording(scenario, scenario, "--duration", "25s" if scenario in ("gpu-leak", "gpu-oom") else "6s")) as d:
        told = looks(d.url, scenario, "--size", "1280x900", "--full", "--eval", "document.querySelector('#verdict .severity')?.textContent ?? ''", "--eval",
                     "[...document.querySelectorAll('main *')].filter((e) => !e.children.length && /NaN|undefined|\\[object/.test(e.textContent)).length")
        tap.ok(("Nothing stalled" not in told[0] or scenario == "clean") and told[1] == 0, f"{scenario}: says {told[0]}", told)
        if scenario == "graph-recapture":
            counted = d.json("graph-metrics")[1]
            told = looks(d.url, "graphs", "--eval", "[...document.querySelectorAll('#graphs dd')].slice(0, 3).map((x) => Number(x.textContent.replaceAll(',', '')))")
            tap.same(told[-1], [counted[k] for k in ("captures", "instantiations", "launches")], "graphs are counted as the server counts them")

# Whoever names a machine cannot make the page do anything.
with dashboard.Dashboard(recording("names", "incident", "--duration", "2s", "-n", '<img src=x onerror="document.title=1"><script>document.title=2</script>')) as d:
    told = looks(d.url, "names", "--eval", "document.querySelectorAll('main img, main script, header img').length", "--eval", "document.querySelector('#recording').textContent.includes('<img')", "--eval", "document.title")
    tap.ok(told[0] == 0 and told[1] and told[2] not in ("1", "2"), "names that are markup stay text", told)
tap.done_testing()
