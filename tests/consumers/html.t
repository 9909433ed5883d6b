#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The report as a page, in Chromium: it asks nobody for anything, says nothing on the console, fits a telephone without
# scrolling sideways, has colours of its own in the dark, and prints. A recording whose every name is markup makes no element and runs
# nothing. make check-consumers runs this where the tools are (CHECKERS).

import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

CHECKERS = os.environ.get("CHECKERS", "../shared/checkers")
EXPORT, DEMO, CORRELATE, MERGE = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "correlate", "merge"))
SHOT = os.path.join(CHECKERS, "shot")
TMP = tempfile.TemporaryDirectory()

if not os.path.exists(SHOT):
    tap.skip_all(f"optional: no {SHOT} here (CHECKERS says where)")


def path(name):
    return os.path.join(TMP.name, name)


def shot(page, *options):
    p = subprocess.run([SHOT, *options, f"file://{page}", path("x.png")], capture_output=True, text=True, timeout=300)
    try:
        return p.returncode, json.loads(p.stdout)
    except ValueError:
        return p.returncode, {"stderr": p.stderr, "evals": []}


with open(path("empty.html"), "w") as f:
    f.write("<!DOCTYPE html><title>x</title>")
status, told = shot(path("empty.html"))
if status == 2:
    tap.skip_all(f"optional: {SHOT}: {told.get('stderr', '').strip()[:100]}")


def page_of(name, *recordings):
    subprocess.run([EXPORT, "-q", "-f", "html", "-o", path(name), *recordings], check=True, timeout=600, stdin=subprocess.DEVNULL)
    return path(name)


def demo(name, *args):
    with open(path(name), "wb") as f:
        subprocess.run([DEMO, *args], stdout=f, check=True, timeout=300)
    return path(name)


two = page_of("two.html", demo("a.ige", "incident", "--duration", "2s", "-n", "node-a"), demo("b.ige", "straggler", "--duration", "2s", "-n", "node-b"))
WIDTH = "document.documentElement.scrollWidth <= innerWidth"
LARGEST = ("[...document.querySelectorAll('p,td,th,span,h1,h2,h3,dd,li,code')].filter(e => e.textContent.trim() && e.getClientRects().length "
           "&& parseFloat(getComputedStyle(e).fontSize) < 11).length")
for what, options in (("on a screen", ("--size", "1280x900")), ("on a telephone", ("--size", "375x800")), ("in the dark", ("--scheme", "dark")),
                      ("on a small telephone", ("--size", "320x600"))):
    status, told = shot(two, *options, "--full", "--eval", WIDTH, "--eval", LARGEST, "--eval", "getComputedStyle(document.body).backgroundColor",
                        "--eval", "document.querySelectorAll('h1').length + document.querySelectorAll('svg.course').length")
    tap.ok(status == 0 and told["requests"] == 1 and not told["console"], f"{what}: asks for nothing, nothing to complain about", told)
    tap.same(told["evals"][:2], [True, 0], f"{what}: nothing beyond its edge, no text too small to read")
    red, green, blue = map(int, re.findall(r"\d+", told["evals"][2])[:3])
    tap.same(red + green + blue < 200, "dark" in what, f"{what}: its background")
    tap.same(told["evals"][3], 2, f"{what}: a verdict, and a picture of when")

# Contrast as WCAG has it: 4.5 for text.
CONTRAST = """(() => {
  const lum = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
                     return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2] };
  const back = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c } return 'rgb(255,255,255)' };
  let worst = 21;
  for (const e of document.querySelectorAll('p,td,th,span,h1,h2,h3,h4,dd,dt,li,code,a,b,small,footer')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const a = lum(getComputedStyle(e).color), b = lum(back(e));
    worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)) }
  return worst })()"""
for scheme in ("light", "dark"):
    status, told = shot(two, "--scheme", scheme, "--eval", CONTRAST)
    tap.ok(status == 0 and told["evals"][0] >= 4.5, f"{scheme}: text stands out from what is behind it", told["evals"])

# On paper: every cause is there.
pdf = path("two.pdf")
p = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={path('profile')}",
                    f"--print-to-pdf={pdf}", f"file://{two}"], capture_output=True, text=True, timeout=300)
with open(pdf, "rb") as f:
    printed = f.read()
pages = len(re.findall(rb"/Type\s*/Page\b", printed))
tap.ok(p.returncode == 0 and 2 <= pages <= 15, "on paper: some pages", f"{pages} pages\n{p.stderr[-500:]}")

# What is in a recording is text: a script would have to say so to the console, an image would be asked for.
EVIL = "<img src=x onerror=console.log(1)><script>console.log(2)</script>\"'&</title></style>"
evil = page_of("node.html", demo("evil.ige", "errors", "--duration", "1s", "-n", EVIL))
with open(evil) as f:
    text = f.read()
tap.ok("&lt;img src=x onerror" in text and "<img" not in text and "<script" not in text, "a machine's name that is markup is text")
status, told = shot(evil, "--eval", "document.querySelectorAll('img,script,iframe,object,link').length",
                    "--eval", "document.body.innerText.includes('<img src=x onerror=console.log(1)>')")
tap.ok(status == 0 and told["requests"] == 1 and not told["console"], "... and runs nothing", told)
tap.same(told["evals"], [0, True], "... and is shown as it is")
for scenario in ("gpu-steal", "disk", "graph-serving", "kv-pressure", "clean", "rank-hang", "starved"):
    page = page_of("x.html", demo("x.ige", scenario, "--duration", "1s"))
    status, told = shot(page, "--size", "375x800", "--eval", WIDTH)
    tap.ok(status == 0 and told["evals"] == [True] and os.path.getsize(page) < 1 << 20, f"{scenario}: on a telephone", told)
tap.done_testing()
