#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The README's lines under "Where people look" run as they are printed, and each answers with something.

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import tap  # noqa: E402

with open("README.md", encoding="utf-8") as f:
    section = re.search(r"## Where people look\n(.*?)\n(?:## |Live, )", f.read(), re.S)[1]
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
tap.done_testing()
