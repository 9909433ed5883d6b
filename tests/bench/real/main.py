# SPDX-License-Identifier: Apache-2.0
"""What recording costs running programs; see real.sh."""
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import budget
import compare
import figures
import table
import tools


def missing():
    """Why nothing can be measured here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if not os.path.exists(os.path.join(tools.BIN, "ingero-record")):
        return "built without BPF"
    return None


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and leave nothing behind
if missing():
    if not figures.NAMES or any("real" in name for name in figures.NAMES):
        figures.print_skip("real.*", missing())
    sys.exit(0)
table.write(compare.measure())
budget.measure()
