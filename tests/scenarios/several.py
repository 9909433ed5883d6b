#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs several commands at once, as a launcher of ranks does: several.py FILE TRUTH; FILE holds a list of {"command", "env", "beside"}.
Ends with those that are not beside, and ends those that are, of which the kernel's account is added to TRUTH."""
import json
import os
import signal
import subprocess
import sys

with open(sys.argv[1]) as f:
    made = [(c.get("beside"), subprocess.Popen(c["command"], env={**os.environ, **c.get("env", {})})) for c in json.load(f)]
status = max(p.wait() for beside, p in made if not beside)
for beside, p in made:
    if beside:
        p.send_signal(signal.SIGSTOP)
        with open(f"/proc/{p.pid}/schedstat") as f, open(sys.argv[2], "a") as truth:
            print(json.dumps({"workload": "beside", "pid": p.pid, "life_run_delay_ns": int(f.read().split()[1])}, separators=(",", ":")),
                  file=truth)
        p.kill()
        p.wait()
sys.exit(status)
