#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The README's lines under "Where people look" run as they are printed, and each answers with something. What it says `make demo-torch`
# printed has the headings of that script, and lines as ingero-explain prints them.

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import manual  # noqa: E402
import tap  # noqa: E402

with open("README.md", encoding="utf-8") as f:
    readme = f.read()
section = re.search(r"## Where people look\n(.*?)\n(?:## |Live, )", readme, re.S)[1]
lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
tap.ok(len(lines) >= 10, f"{len(lines)} lines")
with tempfile.TemporaryDirectory() as tmp:
    env = {**os.environ, "PATH": tap.BIN + ":" + os.environ["PATH"]}
    subprocess.run(["ingero-demo", "incident", "--duration", "3s", "-o", "run.ige"], cwd=tmp, env=env, check=True)
    for line in lines:
        if "jq" in line and not shutil.which("jq"):
            tap.skip(line, "optional: no jq here")
            continue
        p = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=tmp, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        file = re.search(r"-o (\S+)", line)
        size = os.path.getsize(os.path.join(tmp, file[1])) if file and os.path.exists(os.path.join(tmp, file[1])) else len(p.stdout)
        tap.ok(p.returncode == 0 and size > 20, line, f"status {p.returncode}, {size} bytes\n{p.stderr.decode()[:600]}")

# ---- its own program: what needs no rights is run beside a recording, the rest is looked at

section = re.search(r"## Your own program\n(.*?)\nWhat it costs", readme, re.S)[1]
lines = [re.sub(r"\s+# .*", "", line[4:]) for line in section.splitlines() if line.startswith("    ")]
tap.ok(len(lines) >= 12, f"{len(lines)} lines of one's own program")
tap.none([line for line in re.findall(r"(?m)^ {4}.*build/bin.*", readme)], "programs are called by their names throughout")
with tempfile.TemporaryDirectory() as tmp:
    for name, seed in (("run.ige", 1), ("node-1.ige", 2), ("node-2.ige", 3)):
        subprocess.run([os.path.join(tap.BIN, "ingero-demo"), "incident", "--duration", "1s", "--node", name, "--seed", str(seed), "-o", os.path.join(tmp, name)], check=True)
    os.environ["INGERO_DB"] = os.path.join(tmp, "run.ige")
    for line in lines:
        if re.match(r"ingero (?:explain|demo)|ingero-(?:explain|merge)", line):
            status, size, said = manual.answer(line, tmp)
            tap.ok(status == 0 and size > 200, line, f"status {status}, {size} bytes\n{said[:600]}")
        else:
            manual.looked_at(line, re.sub(r"^docker run .* ingero:\S+", "ingero", line))
image = re.search(r"ingero:(\S+) trace", section)[1]
with open("Makefile", encoding="utf-8") as f:
    tap.same(image, re.search(r"(?m)^VERSION := (\S+)", f.read())[1], "the image has this version")

# ---- the demo: both what stands there and what the program prints today have to have this form

TIME = r"[\d.]+ (?:ns|us|ms|s)"
VERDICT = rf"[^:]+ \(pid \d+\): ~?[\d,]+ steps of \S+ \([\w.]+:\d+(?:-\d+)?\), {TIME} each: ((?:{TIME} \([\d.]+%\) [^;]+(?:; |\.$))+)(?:{TIME} .*\.)?"
STEP = rf"A step of [^:]+ \(pid \d+\): ~?[\d,]+ of \S+ \([\w.]+:\d+(?:-\d+)?\) in {TIME}, median {TIME}, p99 {TIME}"
ROW = rf" +[\d.]+%  +{TIME}  \S.*| +{TIME}    \S.*|    (?:start|between|end) {TIME}: \S.*|    by line, in \S.*"
FINDING = r"\[1\] (?:HIGH|MEDIUM|LOW) [a-z-]+  .* \([0-9a-f]{16}\)"


def check_report(what, text):
    """text: what stands below "Whose fault it was"; long lines may be broken."""
    text = re.sub(r"^\d+ findings?: .*\n", "", text, count=1, flags=re.M)  # README leaves this line out
    verdict, steps, *others = text.strip("\n").split("\n\n")
    finding = next((o for o in others if o.startswith("[1]")), "")
    verdict, finding = " ".join(verdict.split("\n")), " ".join(finding.split("\n"))
    found = re.fullmatch(VERDICT, verdict)
    tap.ok(found, f"{what}: the verdict's form", verdict)
    shares = [float(x) for x in re.findall(rf"{TIME} \(([\d.]+)%\)", found[1] if found else "")]
    tap.ok(1 <= len(shares) <= 3 and shares[1:] == sorted(shares[1:], reverse=True), f"{what}: behind what leads, by size", str(shares))
    first, *rows = steps.split("\n")
    tap.ok(re.fullmatch(STEP, first), f"{what}: a step", first)
    tap.ok(len(rows) > 3, f"{what}: its lines", str(len(rows)))
    tap.none([r for r in rows if not re.fullmatch(ROW, r)], f"{what}: have their form")
    tap.ok(re.fullmatch(FINDING, finding.split("    When")[0].strip()), f"{what}: the first finding's form", finding)


block = re.search(r"(?m)^    == A training loop.*?(?=^\S)", readme, re.S)[0]
block = re.sub(r"(?m)^    ", "", block)
with open("tests/real/demo.sh", encoding="utf-8") as f:
    script = f.read()
headings = re.findall(r"(?m)^== (.*)$", block)
said = [re.sub(r"\$\w+", ".*", re.escape(h).replace(r"\$", "$")) for h in re.findall(r'(?m)^\s*say "(.*)"$', script)]
tap.none([h for h in headings if not any(re.fullmatch(s, h) for s in said)], "README's demo has the headings of tests/real/demo.sh")
tap.same([h.split(",")[0] for h in headings], ["A training loop of 160 steps", "Whose fault it was", "The truth"], "in its order")
check_report("README", re.search(r"\$ ingero-correlate \S+ \| ingero-explain\n(.*?)\n\n== The truth", block, re.S)[1])
for scenario in ("disk", "incident"):
    made = subprocess.run([os.path.join(tap.BIN, "ingero-demo"), scenario, "--duration", "3s"], capture_output=True, check=True).stdout
    check_report(scenario, subprocess.run([os.path.join(tap.BIN, "ingero-explain")], input=made, capture_output=True, check=True).stdout.decode())
tap.done_testing()
