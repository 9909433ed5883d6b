#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ingero trace at a terminal, as a stranger types it: beside a loop that runs, and with a command of its own.
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
import recording as rec
import terminal
from recording import tap

rec.need_bpf()
terminal.need()
INGERO = os.path.join(rec.BUILD, "bin", "ingero")
FOLDER = rec.path("runs")
os.makedirs(FOLDER)


def is_page(s):
    return "? help  q quit" in s[-1] and any(line.startswith("Runtime API (") for line in s)


def whole(folder):
    """The recording in that folder ended well."""
    runs = glob.glob(os.path.join(folder, "*.ige"))
    stat = subprocess.run([os.path.join(rec.BUILD, "bin", "ingero-stat"), "--json", *runs], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return len(runs) == 1 and stat.returncode == 0 and '"complete":true' in stat.stdout.replace(" ", "")


# ---- beside a loop, on the smallest screen, with a hog on its CPU
cpu = min(os.sched_getaffinity(0))
env = rec.environment(DOUBLE_LAUNCH_NS=3000)
loop = subprocess.Popen(["taskset", "-c", str(cpu), rec.work("load"), "--progress", rec.path("progress"), "--launches", "50", "--work-us", "3000"],
                        env=env, stdout=subprocess.PIPE, text=True)
loop.stdout.readline()
hog = subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"])
t = terminal.Terminal(rec.path(""), 80, 24)
t.run(f"{INGERO} trace -p {loop.pid} --db {FOLDER}/one")
s = t.until(lambda s: is_page(s) and terminal.found_of(s), "a page with a finding")
text = "\n".join(s)
tap.ok(len(s) == 24 and is_page(s), "80x24: a page", text)
tap.ok(s[1].startswith("CPU ["), "what the machine does", text)
tap.ok(re.search(rf"^load +{loop.pid} ", text, re.M), "the process by name and pid", text)
tap.ok(re.search(r"^cudaLaunchKernel +\W*[\d,]+ .*[\d.]+ us", text, re.M), "its operations, a line each", text)
tap.ok(re.search(r"^Host \(", text, re.M), "what the host did", text)
tap.ok(re.match(rf"HIGH .* took the CPU from load \(pid {loop.pid}\) ", terminal.found_of(s)), "and who took the CPU, all of them at once", terminal.found_of(s))
t.keys("m")
s = t.until(lambda s: any("process " in line for line in s), "messages")
text = "\n".join(s)
tap.ok(re.search(rf"^  process  {loop.pid} load \(\w+\)$", text, re.M), "messages name the process found and its user", text)
tap.ok(re.search(r"^  runtime  .*libcudart.*: \d+ functions", text, re.M) and re.search(r"^  driver   .*libcuda\.so.*: \d+ functions", text, re.M),
       "and what was attached to, layer by layer", text)
t.keys("q")
tap.ok({"icanon", "echo"} <= set(t.modes()), "q ends it, and the terminal is as it was")
text = t.all()
tap.ok("status 0" in text and re.search(r"^recorded [\d,]+ events", text, re.M) and "Runtime API" in text, "the recorder's last words and the whole summary stay", text)
tap.ok(loop.poll() is None, "the loop goes on")
tap.ok(whole(f"{FOLDER}/one"), "the recording is whole")
t.end()
for p in (loop, hog):
    p.kill()
    p.wait()

# ---- with a command: its output is kept, and q leaves the page alone
script = rec.path("command.sh")
with open(script, "w") as f:
    f.write(f"echo first words; tty -s <&1 && echo at a terminal\n{rec.work('load')} --progress {rec.path('progress')} --launches 50 --work-us 3000 &\n"
            f"while [ ! -e {rec.path('go')} ]; do sleep 0.05; done; kill $!; echo last words\n")
t = terminal.Terminal(rec.path(""), 100, 30)
t.type(f"export LD_LIBRARY_PATH={rec.DOUBLE} DOUBLE_LAUNCH_NS=3000")
t.run(f"{INGERO} trace --db {FOLDER}/two -- bash {script}")
t.until(is_page, "a page")
t.keys("m")
s = t.until(lambda s: "first words" in s, "what the command writes")
tap.ok("first words" in s and "at a terminal" in s, "what a command writes is behind a key, and it finds a terminal", "\n".join(s))
t.keys("q")
s = t.until(lambda s: not any("q quit" in line for line in s), "the page left")
tap.ok(t.child() > 0, "q leaves the page, and the command goes on")
open(rec.path("go"), "w").close()
tap.ok({"icanon", "echo"} <= set(t.modes()), "it ends as it would")
text = t.all()
tap.ok("first words" in text and "last words" in text and "status 0" in text and "Runtime API" in text, "its output and the summary stand there", text)
tap.ok(whole(f"{FOLDER}/two"), "the recording is whole, to the command's end")
t.end()
tap.done_testing()
