#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Metrics of ingero-export: Prometheus' text and OTLP say the same, and it is what the recording's own events and
# samples add up to.

import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests")
import dashboard  # noqa: E402
import tap  # noqa: E402

EXPORT, DEMO, CORRELATE = (os.path.join(tap.BIN, "ingero-" + n) for n in ("export", "demo", "correlate"))
HOW = {"timeout": 300, "capture_output": True}
TMP = tempfile.TemporaryDirectory()
LINE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)( \d+)?$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
BOUND = [b * d for d in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1) for b in (1, 2.5, 5)]


def export(*args):
    p = subprocess.run([EXPORT, *args], stdin=subprocess.DEVNULL, **HOW)
    tap.ok(p.returncode == 0, f"{' '.join(args[:2])}: done", p.stderr.decode())
    return p.stdout.decode()


def labels(text):
    found = {k: v.encode().decode("unicode_escape") if "\\" in v else v for k, v in LABEL.findall(text or "")}
    return frozenset(found.items())


def prometheus(text):
    """name -> type, and (name, labels) -> (value, ms)."""
    types, values, bad = {}, {}, []
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            bad += [f"{name} twice"] if name in types else []
            types[name] = kind
        elif not line.startswith("#"):
            m = LINE.match(line)
            key = (m[1], labels(m[2])) if m else line
            bad += [line] if not m or key in values else []
            if m:
                values[key] = (float(m[3]), int(m[4] or 0))
    tap.none(bad, "each line is sound and there once")
    return types, values


def attributes(list_of):
    return {a["key"]: a["value"]["stringValue"] for a in list_of}


def otlp(text):
    """(dotted name, labels with node) -> point, with its kind."""
    out = {}
    for r in json.loads(text)["resourceMetrics"]:
        node = attributes(r["resource"]["attributes"]).get("host.name")
        for metric in r["scopeMetrics"][0]["metrics"]:
            kind = next(k for k in ("gauge", "sum", "histogram") if k in metric)
            for p in metric[kind]["dataPoints"]:
                who = attributes(p["attributes"]) | ({"node": node} if node else {})
                out[(metric["name"], frozenset(who.items()))] = (kind, p)
    return out


demo = subprocess.run([DEMO, "errors", "--duration", "2s"], **HOW)
if demo.returncode:
    demo = subprocess.run([DEMO, "incident", "--duration", "2s"], **HOW)
recording = os.path.join(TMP.name, "run.ige")
with open(recording, "wb") as f:
    f.write(subprocess.run([CORRELATE], input=demo.stdout, **HOW).stdout)
lines = [json.loads(x) for x in export("--records", "--no-stacks", recording).splitlines()]
events = [x for x in lines if "record" not in x]
types, values = prometheus(export("-f", "prometheus", recording))
points = otlp(export("-f", "otlp", recording))


def value(name, **want):
    return next((v[0] for (n, who), v in values.items() if n == name and want.items() <= dict(who).items()), None)


calls, times, errors, copied = {}, {}, {}, {}
for e in events:
    key = (e["source"], e["op"])
    if "return_code" not in e:
        continue
    calls[key] = calls.get(key, 0) + 1
    times.setdefault(key, []).append(e["duration_ns"])
    if e["return_code"]:
        errors[(*key, e["error"])] = errors.get((*key, e["error"]), 0) + 1
    elif "direction" in e and "bytes" in e and not e.get("depth"):
        copied[e["direction"]] = copied.get(e["direction"], 0) + e["bytes"]
tap.same({(dict(w)["source"], dict(w)["operation"]): v[0] for (n, w), v in values.items() if n == "gpu_cuda_operations_total"},
         calls, "calls, by operation")
tap.same({(dict(w)["source"], dict(w)["operation"], dict(w)["error"]): v[0]
          for (n, w), v in values.items() if n == "gpu_cuda_operation_errors_total"}, errors, "errors, by their name")
tap.same({dict(w)["direction"]: v[0] for (n, w), v in values.items() if n == "gpu_memcpy_bytes_total"}, copied,
         "bytes copied, by direction")
wrong = []
for (source, op), ns in times.items():
    for bound in BOUND + [math.inf]:
        text = "+Inf" if bound == math.inf else f"{bound:g}"
        got = value("gpu_cuda_operation_duration_seconds_bucket", source=source, operation=op, le=text)
        want = sum(n <= round(bound * 1e9) if bound != math.inf else 1 for n in ns)
        if got != want:
            wrong.append(f"{op} le {text}: {got}, not {want}")
    total = value("gpu_cuda_operation_duration_seconds_sum", source=source, operation=op)
    if abs(total - sum(ns) / 1e9) > 1e-9 * len(ns):
        wrong.append(f"{op} sum: {total}, not {sum(ns) / 1e9}")
tap.none(wrong, "durations: every bucket and sum")

newest = {}
for s in (x for x in lines if x.get("record") == "sample"):
    newest[s["metric"]] = s
for metric, name, scale in (("cpu.busy", "system_cpu_utilization", 0.01), ("load.1m", "system_cpu_load_average_1m", 1),
                            ("mem.used", "system_memory_usage_bytes", 1)):
    if metric in newest:
        tap.ok(math.isclose(value(name), newest[metric]["value"] * scale), f"{name}: the newest sample")
chains = {c["id"]: c for c in lines if c.get("record") == "chain"}
lost = {}
for c in chains.values():
    lost[c["kind"]] = lost.get(c["kind"], 0) + c["lost_ns"] / 1e9
tap.ok(lost, f"{len(chains)} chains")
for kind, seconds in lost.items():
    got = sum(v[0] for (n, w), v in values.items() if n == "ingero_lost_time_seconds" and dict(w)["kind"] == kind)
    tap.ok(math.isclose(got, seconds), f"time lost to {kind}: what its chains say")

tap.none((f"{n} {dict(w)}" for n, w in values if "node" not in dict(w)), "all of them are of the machine")

# Of two machines, each has its own.
both = []
for host, seed in (("gpu-a", "1"), ("gpu-b", "2")):
    both.append(f"{TMP.name}/{host}.ige")
    subprocess.run([f"{tap.BIN}/ingero-demo", "incident", "--duration", "2s", "--seed", seed, "-n", host, "-o", both[-1]], check=True)
with open(f"{TMP.name}/both.ige", "wb") as f:
    merged = subprocess.run([f"{tap.BIN}/ingero-merge", *both], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    f.write(subprocess.run([f"{tap.BIN}/ingero-correlate"], input=merged, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
found = prometheus(export("-f", "prometheus", f"{TMP.name}/both.ige"))[1]
tap.same({dict(w).get("node") for n, w in found if n in ("ingero_chains", "ingero_lost_time_seconds")}, {"gpu-a", "gpu-b"},
         "chains of several machines: which machine each is of")

# The two forms.
mapped = {}
for (name, who), (kind, p) in points.items():
    if kind == "histogram":
        tap.ok(int(p["count"]) == sum(map(int, p["bucketCounts"])) and
               len(p["bucketCounts"]) == len(p["explicitBounds"]) + 1, f"{name}: buckets are all of it") \
            if int(p["count"]) != sum(map(int, p["bucketCounts"])) else None
        mapped[(kind, who, round(p["sum"], 9))] = int(p["count"])
    else:
        mapped[(kind, who, p["asDouble"])] = 1
sums = {w: v[0] for (n, w), v in values.items() if n.endswith("_sum")}
counts = {w: v[0] for (n, w), v in values.items() if n.endswith("_count") and types.get(n) != "counter"}
plain = {({"gauge": "gauge", "counter": "sum"}[types[n]], w, v[0]) for (n, w), v in values.items() if n in types and types[n] != "histogram"}
tap.same({k for k in mapped if k[0] != "histogram"}, plain, "OTLP has the same gauges and counters")
tap.same({k[1]: v for k, v in mapped.items() if k[0] == "histogram"}, counts, "and the same histograms")
clock = next(x for x in lines if x.get("record") == "clock")
begin = int(clock["real_ns"]) - clock["mono_ns"]
ends = max(e["start_ns"] + e["duration_ns"] for e in events)
tap.none((f"{k[0]}: {p['timeUnixNano']}" for k, (kind, p) in points.items()
          if not begin <= int(p["timeUnixNano"]) <= begin + ends + 10**9 or
          (kind != "gauge" and int(p["startTimeUnixNano"]) > int(p["timeUnixNano"]))),
         "times are the recording's, not today's")
tap.none((n for n, kind in types.items() if (kind == "counter") != n.endswith("_total") and n != "ingero_anomaly_count"), "counters, and only they, end in _total, but for one name of the older agent's")


# Calls that took more than three times the median, worked out each second from those before: those alone, on every face.
def slow_calls(times):
    """Between how many and how many of the calls, for a median that is known to 1/256."""
    least, most = 0, 0
    before, median, since = {}, {}, {}
    for e in (e for e in events if "return_code" in e):
        op, ends = (e["source"], e["op"]), e["start_ns"] + e["duration_ns"]
        seen = before.setdefault(op, [])
        if ends - since.setdefault(op, ends) >= 10**9:
            since[op] = ends
            median[op] = sorted(seen)[(len(seen) - 1) // 2] if len(seen) > 10 else median.get(op, 0)
        seen.append(e["duration_ns"])
        if median.get(op):
            least += e["duration_ns"] > times * median[op] * (1 + 1 / 128)
            most += e["duration_ns"] > times * median[op] * (1 - 1 / 128)
    return least, most


with open(recording, "wb") as f:
    f.write(subprocess.run([DEMO, "incident", "--duration", "4s"], **HOW).stdout)
events = [x for x in (json.loads(x) for x in export("--no-stacks", recording).splitlines()) if "record" not in x]
least, most = slow_calls(3)
values = prometheus(export("-f", "prometheus", recording))[1]
counted = value("ingero_anomaly_count")
tap.ok(0 < least <= counted <= most, f"{counted:.0f} calls took more than three times the median of their operation", f"{least} to {most}")
tap.same([p["asDouble"] for (n, _), (_, p) in otlp(export("-f", "otlp", recording)).items() if n == "ingero.anomaly.count"], [counted], "in OTLP, too")
try:
    with dashboard.Dashboard(recording) as b:
        seen = prometheus(b.ask("/metrics")[2].decode())[1]
    tap.same([v[0] for (n, _), v in seen.items() if n == "ingero_anomaly_count"], [counted], "and on the dashboard's /metrics")
except FileNotFoundError:
    tap.skip("optional: the dashboard's /metrics", "built without it")
tap.done_testing()
