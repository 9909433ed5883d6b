# SPDX-License-Identifier: Apache-2.0
"""The comparison as rows of a manual's table (mdoc), and all pairs as JSON: $BUILD/bench-real.mdoc and bench-real.json."""
import datetime
import json
import os
import platform
import subprocess

import pairs
import tools

WIDTHS = '.Bl -column "llama.cpp CUDA graph, 10 us" "10000 tokens/s" "-00.0 (00.0)" "-00.0 (00.0)" "-00.0 (00.0)" "-00.0"'
HEADS = {"default": "Em default", "budget5": "Fl -budget 5", "none": "Em all calls", "bpftrace": "Xr bpftrace 8"}


def version():
    said = subprocess.run([os.path.join(tools.BIN, "ingero-record"), "--version"], capture_output=True, text=True).stdout.split()
    return said[-1] if said else "of unknown version"


def where():
    return (f"ingero {version()}, {datetime.date.today().isoformat()}, Linux {platform.release().split('-')[0]}, {platform.machine()}, "
            f"{os.cpu_count()} CPUs")


def percent(values):
    """Of progress: what was lost has a minus."""
    figure = pairs.Figure(values, -100)
    return f"{figure.median + 0:.1f}".replace("-0.0", "0.0").replace("-", "\\-") if figure else "?"


def cell(result, lost, said):
    """What was lost, and in parentheses what the recorder said of itself."""
    if result is None:
        return "\\-"
    if isinstance(result, tools.Refused):
        return "refused"
    own = pairs.Figure(getattr(result, said), 100) if said else None
    return percent(getattr(result, lost)) + (f" ({own.median:.1f})" if own else "")


def mdoc(measured, lost, said):
    """Lines of one table: lost is the Result's list to show, said the one in parentheses."""
    shown = [tool for tool in HEADS if any(tool in results for results in measured.values())]
    lines = [WIDTHS, ".It Em program Ta Em without" + "".join(f" Ta {HEADS[tool]}" for tool in shown)]
    for row, results in measured.items():
        usable = [r for r in results.values() if not isinstance(r, tools.Refused)]
        if not usable:
            continue
        without = pairs.Figure([rate * row.stride for r in usable for rate in r.rate_without])
        cells = [cell(results.get(tool), lost, said if tool != "bpftrace" else None) for tool in shown]
        lines.append(f".It {row.title} Ta {without.median:.0f} {row.unit}" + "".join(f" Ta {text}" for text in cells))
    return lines + [".El"]


def write(measured):
    """Prints the tables where anything was measured."""
    if not any(measured.values()):
        return
    text = "\n".join([f'.\\" {where()}: progress lost in percent, and in parentheses what the recorder said',
                      *mdoc(measured, "lost_wall", "said"),
                      '.\\" the same of CPU time of the program, and in parentheses CPU time of the tool, of one CPU',
                      *mdoc(measured, "lost_cpu", "tool_cpu"),
                      '.\\" the same of CPU time lost to the kernel alone, whatever the speed of the machine',
                      *mdoc(measured, "kernel", None)])
    path = os.path.join(tools.BUILD, "bench-real")
    with open(path + ".mdoc", "w", encoding="utf-8") as f:
        f.write(text + "\n")
    with open(path + ".json", "w", encoding="utf-8") as f:
        rows = {f"{row.name}.{tool}": str(r) if isinstance(r, tools.Refused) else vars(r)
                for row, results in measured.items() for tool, r in results.items()}
        json.dump({"where": where(), "rows": rows}, f, indent=1)
        f.write("\n")
    print(f"{text}\nbench: these rows are in {path}.mdoc, every pair in {path}.json", flush=True)
