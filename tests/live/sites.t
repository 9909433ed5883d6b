#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A program whose whole code is an installed package, in a process that multiprocessing spawned: every face names the line of the
# package that runs the loop, neither the spawner's text nor the library that computes.
import csv
import io
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

rec.need_bpf()
ige, BIN, CALLS, OP = rec.path("sites.ige"), os.path.dirname(rec.RECORD), 40, "cudaDeviceSynchronize"
packages = rec.path("venv/lib/python3.12/site-packages")
FILES = {
    "torch/__init__.py": "def synchronize(c):\n    c.cudaDeviceSynchronize()\n",
    "engine/__init__.py": "",
    "engine/core.py": f"""import sys
sys.path.insert(0, {rec.WORK!r})
import cuda, torch
class Runner:
    def execute_model(self, c):
        torch.synchronize(c)
def run_busy_loop():
    c = cuda.Cuda("libcudart.so.13")
    for _ in range({CALLS}):
        Runner().execute_model(c)
""",
    "engine/main.py": """import multiprocessing
def main():
    from engine.core import run_busy_loop
    p = multiprocessing.get_context("spawn").Process(target=run_busy_loop)
    p.start()
    p.join()
""",
    "../../../bin/engine": "import sys\nfrom engine.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n",
}
for name, text in FILES.items():
    path = os.path.normpath(os.path.join(packages, name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
os.environ["PYTHONPATH"] = packages
p = rec.run("-q", "-o", ige, "--", sys.executable, rec.path("venv/bin/engine"))
tap.ok(p.returncode == 0, "recorded", p.stderr)
NAME = "Runner.execute_model" if sys.version_info >= (3, 11) else "execute_model"
LINE = f"{NAME} (core.py:6)"


def out(program, *args):
    p = subprocess.run([os.path.join(BIN, program), *args, ige], capture_output=True, text=True, timeout=rec.PATIENCE)
    tap.ok(p.returncode == 0, f"{program} {' '.join(args)}", p.stderr)
    return p.stdout


if not any("core.py" in str(e.get("stack")) for e in map(json.loads, out("ingero-export", "-f", "json", "-e", OP).splitlines())):
    tap.skip_all("no frames of this Python")
rows = json.loads(out("ingero-stat", "--by", "line", "-e", OP, "--json"))["by"]["rows"]
tap.same({r["key"]: r["count"] for r in rows}, {LINE: CALLS}, "ingero-stat --by line")
rows = json.loads(out("ingero-stat", "--by", "stack", "-e", OP, "--json"))["by"]["rows"]
outer = "run_busy_loop"
tap.ok(rows and all(r["name"].endswith(f" < {LINE} < {outer}") for r in rows), "--by stack: from the site on the lines of its package", rows)
table = out("ingero-stat", "--by", "stack", "-e", OP)
tap.ok(re.search(rf"synchronize < (\(\d+ frames?\) < )?{re.escape(LINE)} < {outer}", table), "and in its table", table)
tap.ok("+0x" not in table, "no frame without a name stands for where it ends", table)
rows = list(csv.DictReader(io.StringIO(out("ingero-export", "-f", "csv", "-e", OP))))
tap.same({(r["function"], os.path.basename(r["file"]), r["line"]) for r in rows}, {(NAME, "core.py", "6")}, "csv")
found = {e["args"].get("site") for e in json.loads(out("ingero-export", "-f", "chrome", "-e", OP))["traceEvents"] if e.get("name") == OP and e.get("args")}
tap.ok(found and all(s.startswith(NAME) and s.endswith("core.py:6)") for s in found if s), "a timeline", found)
found = {(r.get("function"), r.get("line")) for r in map(json.loads, out("ingero-export", "-f", "clickhouse", "-e", OP).splitlines()) if r.get("op") == OP}
tap.same(found, {(NAME, 6)}, "clickhouse")
tap.done_testing()
