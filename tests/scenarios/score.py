#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scorecard: each scenario of scenarios.txt happens for real on this machine, is recorded and analyzed, and the verdict is held
against what the kernel's accounting and the workload's own clock say of it.

A chain that no scenario asked for is a false one, unless the kernel's own accounting of the victim shows the same loss: this
machine may have work of its own. A run in which others took the scenario's CPU is made again, at most six times in all; of the
quick ones, beside which other tests run, one that is right is made twice at most."""
import argparse
import contextlib
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import accounts
import generated
import plants

BIN = os.path.join(plants.BUILD, "bin")
TRIES, QUICK_TRIES = 6, 2
DISTURBED = 0.03  # of the true loss: more than this taken by others, and it is done again
CPU_KINDS = ("cpu-preempted", "cpu-contended")
PATIENCE = 270  # s: far more than anything takes, if a busy machine is slow
MISSING = 125  # the recorder's status where BPF is not permitted


@dataclass
class Row:
    name: str
    plant: str
    kinds: tuple
    culprit: str
    line: str
    account: str
    doses: list
    seeds: list
    loaded: bool
    quick: list

    def runs(self, quick):
        for dose in self.doses:
            for seed in self.seeds:
                if not quick or (dose, seed) in self.quick:
                    yield dose, seed


def numbers(text):
    return [int(v) for v in text.split(",")]


def rows(path=os.path.join(HERE, "scenarios.txt")):
    with open(path) as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            name, plant, kinds, culprit, at, account, doses, seeds, machine, quick = line.split()
            yield Row(name, plant, () if kinds == "-" else tuple(kinds.split(",")), culprit, at, account, numbers(doses), numbers(seeds),
                      machine == "loaded", [] if quick == "-" else [tuple(map(int, q.split("/"))) for q in quick.split(",")])


# ---- one run --------------------------------------------------------------------------------------------------------------------

def standing(group):
    """Where the threads of a process group are, and what the kernel does for them."""
    told = []
    for path in glob.glob("/proc/[0-9]*/task/[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            with open(f"{path}/stat") as f:
                comm, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            if rest.split()[2] != str(group):
                continue
            with open(f"{path}/stack") as f:
                told.append(f"{path.rsplit('/', 1)[1]} {comm} {rest.split()[0]}: " + ", ".join(line.split()[1] for line in f))
    return "\n".join(told)


def record(run):
    """The recording of what the plant set up; ends with run.truths, run.others_ns and run.wall_ns."""
    run.switches = accounts.switches(run.cpu) if run.row.account == "cpu" and run.dose else None
    if run.switches:
        run.stack.callback(run.switches.close)
    before, no_task, begin = accounts.cpu_busy(), accounts.cpu_of_no_task(), time.monotonic_ns()
    # Files, not pipes: a command that hangs outlives its recorder, and holds them.
    with open(run.path("out"), "w+") as out, open(run.path("err"), "w+") as err:
        p = subprocess.Popen([os.path.join(BIN, "ingero-record"), "-o", run.ige, *run.options,
                              *(["--duration", f"{run.duration}s"] if run.duration else []), "--", *map(str, run.command)],
                             env=run.environment(), stdout=out, stderr=err, preexec_fn=os.setpgrp)
        try:
            if run.duration:
                end_hung(run, p)
            p.wait(timeout=run.seconds * 10 + PATIENCE)
        except subprocess.TimeoutExpired as late:
            err.seek(0)
            raise RuntimeError(f"the recorder has not ended:\n{err.read()[-500:]}\n{standing(p.pid)}") from late
        finally:
            if p.poll() is None:  # with what it started: nothing of this goes on beside the next
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(p.pid, signal.SIGKILL)
        out.seek(0)
        err.seek(0)
        out, err = out.read(), err.read()
    run.wall_ns = time.monotonic_ns() - begin
    with contextlib.suppress(OSError), open(run.truth_file) as f:
        out += f.read()
    run.truths = [json.loads(line) for line in out.splitlines() if line.startswith('{"workload')]
    if p.returncode == MISSING:
        raise plants.Cannot("recording: " + (err.strip().splitlines() or ["?"])[-1])
    if (p.returncode and not run.duration) or not run.truths:
        raise RuntimeError(f"the recorder ended with {p.returncode}: {err.strip()[-500:]}")
    run.truth = next((t for t in run.truths if t.get("rank") == run.facts.get("rank")), run.truths[0])
    run.victim_pid = run.truth["pid"]
    run.used = [b - a for a, b in zip(before, accounts.cpu_busy())]
    run.no_task_ns = accounts.cpu_of_no_task()[run.cpu] - no_task[run.cpu]
    if run.switches:
        run.switches.stop()
        run.taken = run.switches.waits(run.truth["tid"])
    if run.before_end:
        run.before_end()


def end_hung(run, recorder):
    """The recorder waits for its command; ends that one when it says so."""
    deadline = time.monotonic() + run.duration + 60
    while time.monotonic() < deadline and recorder.poll() is None:
        time.sleep(0.05)
        with open(run.path("err")) as f:
            if "the command goes on" not in f.read():
                continue
        with contextlib.suppress(OSError, IndexError), open(run.truth_file) as f:
            os.kill(json.loads(f.read().splitlines()[0])["pid"], signal.SIGKILL)
        return
    recorder.kill()


def analyze(ige):
    """correlate | explain, as a person does it."""
    first = subprocess.Popen([os.path.join(BIN, "ingero-correlate"), ige], stdout=subprocess.PIPE)
    p = subprocess.run([os.path.join(BIN, "ingero-explain"), "--json", "-"], stdin=first.stdout, capture_output=True, text=True)
    first.stdout.close()
    if first.wait() or p.returncode:
        raise RuntimeError(f"not analyzed: {p.stderr.strip()[-500:]}")
    return json.loads(p.stdout)


def logged_ns(run, names):
    """Time in those functions by the libraries' own clock."""
    total = 0
    with contextlib.suppress(OSError), open(run.log) as f:
        for line in f:
            said = json.loads(line)
            if said["pid"] == run.victim_pid:
                total += sum(said["ops"].get(n, {}).get("total_ns", 0) for n in names)
    return total


def true_ns(run):
    """(least, most) that was really lost to what was planted: equal where the account knows nothing else."""
    t, what = run.truth, run.row.account
    name, _, words = what.partition(":")
    if name == "cpu":
        # Who ran while the thread waited, by the kernel's trace.
        if run.switches:
            return (run.taken.get(run.facts["hog"], 0),) * 2
        # Else the thread's delay, less what all others can have taken of its CPU, and no more than the hog ran.
        hog = run.hog_process.truth["thread_cpu_ns"]
        delay = t.get("life_run_delay_ns", t["run_delay_ns"])
        return max(0, min(delay, hog) - run.others_ns), min(delay, hog)
    if name == "throttled":
        # Two accounts of the kernel: of the cgroup, and of its only thread.
        return (min(run.facts["throttled_ns"], t["life_run_delay_ns"]),) * 2
    if name == "blocked":
        return (t["planted_blocked_ns"],) * 2
    if name == "gap":
        return (t["gap_cpu_ns"],) * 2
    if name == "gil":
        return max(0, t["blocked_ns"] - (t["process_run_delay_ns"] - t["life_run_delay_ns"])), t["blocked_ns"]
    if name == "holder":
        # What kept the holder itself from running is not the holder's.
        return max(0, t["planted_blocked_ns"] - (t["process_run_delay_ns"] - t["life_run_delay_ns"])), t["planted_blocked_ns"]
    if name == "calls":
        ns = logged_ns(run, words.split(","))
        return max(0, ns - t["run_delay_ns"]), ns
    if name == "beside":
        return (t["beside_ns"],) * 2
    if name == "late":
        return (lateness(run, t),) * 2
    if name == "stopped":
        return (t["stopped_ns"],) * 2
    if name == "answers":
        # Thousands of waits that are as short as what it takes to go to sleep and to be woken: the kernel counts that as
        # running, the program's own clock as waiting. What is neither running nor delay may be a packet's way through the
        # kernel, or the hypervisor's, instead of a wait.
        return max(0, t["planted_blocked_ns"] - run.no_task_ns), t["in_recv_ns"]
    if name == "lossy":
        return (t["lossy_ns"],) * 2
    if name == "freepages":
        return (t["delays_ns"]["freepages"] + t["delays_ns"]["compact"],) * 2
    return None


def lateness(run, t):
    """How much later than the others this rank entered collectives, and they waited meanwhile, by the clocks of them all."""
    ns, rest = 0, [o for o in run.truths if o is not t]
    for i, at in enumerate(t["entered_ns"]):
        late = at - max(o["entered_ns"][i] for o in rest)
        ns += max(0, min(late, sum(o["waited_ns"][i] for o in rest) // len(rest) - t["waited_ns"][i]))
    return ns


def others(run):
    """What of the victim's CPU neither the victim nor the planted hog used, ns."""
    mine = run.truth.get("cpu_ns", 0)
    hog = getattr(run, "hog_process", None)
    if hog:
        mine += hog.truth["thread_cpu_ns"]
    return max(0, run.used[run.cpu] - mine)


def one(row, dose, seed, seconds, keep):
    with tempfile.TemporaryDirectory(prefix="ingero-score-", dir=plants.BUILD) as folder:
        run = plants.Run(row, dose, seed, seconds, folder)
        name, _, words = row.plant.partition(":")
        with run.stack:
            plants.TABLE[name](run, *(words.split(",") if words else ()))
            if row.loaded:
                plants.load(run)
            record(run)
        run.others_ns = others(run)
        report = analyze(run.ige)
        if keep:
            os.makedirs(keep, exist_ok=True)
            os.replace(run.ige, os.path.join(keep, f"{row.name}-{dose}-{seed}.ige"))
        return judge(run, report)


# ---- the verdict against the truth ------------------------------------------------------------------------------------------------

def kind_of(chain):
    """The same wait is gpu-idle where gaps of the device show most of it, and step-stall else."""
    return "gpu-idle" if chain["kind"] == "step-stall" else chain["kind"]


def same_culprit(chain, run):
    field, _, value = run.row.culprit.partition(":")
    who = chain["culprit"]
    if field == "-":
        return True
    if field == "code":
        return who["kind"] == "code"
    value = value.format(**known(run)).replace("_", " ")
    if field in ("text", "comm", "cgroup"):
        return value in (who[field] or "")
    if field in ("pid", "tids"):
        return int(value) in (who.get(field + "s" if field == "pid" else field) or []) or who.get("pid") == int(value)
    return str(who[field]) == value


def same_line(chain, run):
    """Whether it is placed where it was planted; None where no line is known."""
    want = line_of(run)
    if not want:
        return None
    places = [chain["summary"], chain["culprit"]["text"]] + [s["text"] for s in chain["sites"][:1]]
    places += [f"{os.path.basename(s['file'])}:{s['line']}" for s in chain["sites"][:1] if s["file"]]
    return any(re.search(re.escape(want) + r"\b", p) for p in places)


def line_of(run):
    n = run.truth.get("lines", {}).get(run.row.line)
    return f"loop.py:{n}" if n else None


def waited_for_cpus(truth):
    return max(truth.get(k, 0) for k in ("process_run_delay_ns", "life_run_delay_ns", "run_delay_ns"))


def confirmed(chain, run, cpu_left, told):
    """Whether the kernel's own accounting shows a loss that nobody planted."""
    known = [*run.truths, *run.truth.get("children", [])]
    truth = next((t for t in known if t["pid"] == chain["victim"]["pid"]), None)
    if truth is None:
        return False
    lost = chain["lost_ns"]
    if chain["kind"] == "collective-straggler":
        return lost <= lateness(run, truth) * 1.05 + 1e6
    # Who took a CPU from a process that it waits for took that time from it.
    if truth is not run.truth:
        cpu_left = sum(waited_for_cpus(t) for t in run.truths)
    else:
        cpu_left += sum(waited_for_cpus(t) for t in known if t is not truth)
    if chain["kind"] in CPU_KINDS:
        who = chain["culprit"]
        return who.get("pid") != run.facts.get("bystander", -1) and lost <= cpu_left * 1.02 + 2e6
    if chain["kind"] == "disk-stall":
        # What the planted disk took is nobody else's. What a program imports may have to be read from the disk before its first step.
        planted = told["lost_ns"] if told and told["kind"] == "disk-stall" else 0
        return lost <= max(0, truth.get("life_delays_ns", {}).get("blkio", 0) - planted) * 1.05 + 1e6
    return False


def besides(chain, run, told):
    """Whether the plant did this too, by the workload's own clock: its system calls are its own code while the device idles."""
    who = chain["victim"]
    if chain["kind"] == "step-stall" and who["pid"] == run.victim_pid and set(chain["lost"]) == {"self"} and not run.row.kinds == ("step-stall",):
        # Most of a step is code of its own, planted or not: it had the CPU for that, and for most of its time.
        return chain["lost_ns"] <= run.truth["cpu_ns"] * 1.05 + 1e6 and 2 * run.truth["cpu_ns"] >= run.truth["wall_ns"]
    if run.dose > 0 and kind_of(chain) == "gpu-idle" and who["pid"] == run.victim_pid and "asked_ns" in run.truth:
        return chain["lost_ns"] <= run.truth["asked_ns"] * 1.05 + 1e6  # until who stops it, or takes the lock, has come to it and has answered
    if run.dose > 0 and kind_of(chain) == "gpu-idle" and who["pid"] == run.victim_pid and "lossy_ns" in run.truth and set(chain["lost"]) == {"socket"}:
        # Answers of which nothing was lost, and what is left of those of which something was.
        return chain["lost_ns"] + (told["lost_ns"] if told else 0) <= run.truth["in_recv_ns"] * 1.05 + 1e6
    if run.dose > 0 and kind_of(chain) == "gpu-idle" and who["comm"] == run.facts.get("asleep"):
        return True  # it gives the device nothing to do for the rest of the time
    if run.dose > 0 and kind_of(chain) == "gpu-idle" and "rank" in run.facts and who["pid"] == run.victim_pid:
        return chain["lost_ns"] <= run.truth["gap_ns"] * 1.05 + 1e6  # the device of a rank that is late idles
    # Without a dose, too: a launch of a microsecond that takes a hundred times as long, by the thread's CPU clock, was slow on this machine.
    return (kind_of(chain) == "gpu-idle" and chain["victim"]["pid"] == run.victim_pid and set(chain["lost"]) == {"self"} and
            chain["lost_ns"] <= run.truth.get("gap_cpu_ns", 0) * 1.05 + 1e6)


def judge(run, report):
    row, chains = run.row, report["chains"]
    planted = bool(row.kinds) and run.dose > 0
    truth = true_ns(run) if planted and row.account != "-" else None
    told, rank = None, 0
    for n, chain in enumerate(chains, 1):
        if planted and kind_of(chain) in row.kinds and same_culprit(chain, run):
            told, rank = chain, n
            break
    delay = waited_for_cpus(run.truth)
    cpu_left = delay - (told["lost_ns"] if told and told["kind"] in (*CPU_KINDS, "cpu-throttled") else 0)
    strange, disturbed = [], []
    for chain in chains:
        if chain is not told and not besides(chain, run, told):
            (disturbed if confirmed(chain, run, cpu_left, told) else strange).append(chain)
    result = {
        "name": row.name, "dose": run.dose, "seed": run.seed, "machine": "loaded" if row.loaded else "idle", "made": "real",
        "expected": {"kinds": list(row.kinds) if planted else [], "culprit": row.culprit.format(**known(run)) if planted else None,
                     "line": line_of(run) if planted else None},
        "found": told is not None, "rank": rank, "false": [brief(c) for c in strange], "disturbances": [brief(c) for c in disturbed],
        "chain": brief(told) if told else None, "line_right": same_line(told, run) if told else None,
        "lost": report["coverage"]["lost"], "others_ns": run.others_ns, "run_delay_ns": delay, "wall_ns": run.wall_ns,
    }
    if run.truth.get("steps"):
        result["step_ns"] = run.truth["wall_ns"] / run.truth["steps"]
    if told:
        result["without"] = next((w for w in told["counterfactual"] if w["what"] == "step"), None)
    if truth:
        result["exact"] = row.account != "answers"  # else no try is better than another
    if truth and told and told.get("at_least"):
        truth = truth[0] * told["covered"], truth[1]  # of the part of the time in which its calls were recorded
    if truth and told:
        result.update(attributed_ns=told["lost_ns"], true_ns=list(truth), error=error(told["lost_ns"], truth))
    elif truth:
        result.update(true_ns=list(truth))
    return result


def known(run):
    """What the culprit column may name: of the plant, and of the workload's truth; a thread by its number."""
    said = {k: v.get("tid", 0) if isinstance(v, dict) else v for k, v in run.truth.items()}
    return {"hog": 0, "holder": 0, "group": "", "device": "", **said, **run.facts}


def brief(chain):
    return {"kind": chain["kind"], "severity": chain["severity"], "lost_ns": chain["lost_ns"], "culprit": chain["culprit"]["text"],
            "summary": chain["summary"]}


def error(got, truth):
    """Distance from the truth, as a share of it."""
    least, most = truth
    if least <= got <= most:
        return 0.0
    return (got - most) / most if got > most and most else (got - least) / least if least else 0.0


def disturbed(r):
    """Whether others took so much that nobody can say what the plant took, or so much that it is told."""
    if r.get("exact") and r["true_ns"][1] - r["true_ns"][0] > DISTURBED * r["true_ns"][1]:
        return True
    return bool(r["disturbances"])


def scored(row, dose, seed, seconds, keep, quick=False):
    """The result, after as many tries as it takes to be left alone."""
    begin, tries, best = time.monotonic(), 0, None
    while tries < TRIES:
        tries += 1
        try:
            r = one(row, dose, seed, seconds, keep)
        except plants.Cannot as e:
            return {"name": row.name, "dose": dose, "seed": seed, "machine": "loaded" if row.loaded else "idle", "skipped": str(e)}
        except (RuntimeError, subprocess.TimeoutExpired, OSError) as e:
            r = {"name": row.name, "dose": dose, "seed": seed, "machine": "loaded" if row.loaded else "idle", "failed": str(e)}
        r["tries"] = tries
        if best is None or "failed" in best or ("failed" not in r and width(r) < width(best)):
            best = r
        if "failed" not in r and (not disturbed(r) or (quick and tries >= QUICK_TRIES and right(best))):
            break
    best["seconds"] = round(time.monotonic() - begin, 1)
    return best


def right(r):
    return (r["found"] or not r["expected"]["kinds"]) and not r["false"] and abs(r.get("error", 0)) <= 0.05


def width(r):
    t = r.get("true_ns", [0, 0])
    return ((t[1] - t[0]) / t[1] if t[1] else 0) + len(r["disturbances"])


# ---- what is printed --------------------------------------------------------------------------------------------------------------

def ms(ns):
    return f"{ns / 1e6:.1f} ms"


def told_of(r):
    head = f"{r['name']:<17} {r['dose']:>3} % seed {r['seed']} {r['machine']:<6} "
    if "skipped" in r or "failed" in r:
        return head + ("not here: " + r["skipped"] if "skipped" in r else "FAILED: " + r["failed"])
    if not r["expected"]["kinds"]:
        text = "silence expected: " + ("silent" if not r["false"] else "FALSE")
    else:
        text = f"{'|'.join(r['expected']['kinds'])} {r['expected']['culprit'] if r['expected']['culprit'] != '-' else ''}"
        if r["expected"]["line"]:
            text += f" at {r['expected']['line']}"
        text += f": found, rank {r['rank']}" if r["found"] else ": MISSED"
        if r["line_right"] is not None:
            text += ", line right" if r["line_right"] else ", LINE WRONG"
        if "error" in r:
            text += f", {ms(r['attributed_ns'])} of {truth_text(r['true_ns'])} ({r['error'] * 100:+.1f} %)"
        elif "true_ns" in r:
            text += f", truth {truth_text(r['true_ns'])}"
        if r["false"]:
            text += ", and FALSE"
    for c in r["false"]:
        text += f"\n{'':<20}{c['kind']}: {c['summary']}"
    if r["found"] and r["line_right"] is False:
        text += f"\n{'':<20}told: {r['chain']['summary']}"
    for c in r["disturbances"]:
        text += f"\n{'':<20}(real, by the kernel's account: {c['kind']}: {c['summary']})"
    if r["lost"]:
        text += f"\n{'':<20}({r['lost']} events lost)"
    return head + text


def truth_text(t):
    return ms(t[1]) if t[1] - t[0] < 0.01 * t[1] else f"{t[0] / 1e6:.1f} to {ms(t[1])}"


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


def summary(results):
    made = [r for r in results if "skipped" not in r and "failed" not in r]
    planted = [r for r in made if r["expected"]["kinds"]]
    silent = [r for r in made if not r["expected"]["kinds"]]
    found = [r for r in planted if r["found"]]
    false = sum(len(r["false"]) for r in made)
    errors = [abs(r["error"]) for r in found if "error" in r]
    lines = [r["line_right"] for r in found if r["line_right"] is not None]
    promised = what_ifs(results)
    kept = [r["without"]["low_ns"] <= true <= r["without"]["high_ns"] for r, true in promised]
    widths = [(r["without"]["high_ns"] - r["without"]["low_ns"]) / true for r, true in promised]
    return {
        "scenarios": len(results), "real": sum(r["made"] == "real" for r in made), "generated": sum(r["made"] != "real" for r in made),
        "failed": sum("failed" in r for r in results), "skipped": sum("skipped" in r for r in results),
        "planted": len(planted), "found": len(found), "recall": len(found) / len(planted) if planted else None,
        "silent": sum(not r["false"] for r in silent), "controls": len(silent),
        "false": false, "precision": len(found) / (len(found) + false) if found or false else None,
        "top1": sum(r["rank"] == 1 for r in found) / len(found) if found else None,
        "measured": len(errors), "error_median": statistics.median(errors) if errors else None, "error_p90": percentile(errors, 0.9),
        "error_worst": max(errors, default=None), "lines": len(lines), "line_accuracy": sum(lines) / len(lines) if lines else None,
        "what_ifs": len(kept), "what_ifs_kept": sum(kept), "what_if_width": statistics.mean(widths) if widths else None,
    }


# With a dose these do what they do not do without: they read, launch and wait more besides what is called their cause.
MORE_WORK = ("memory-limit", "launch-storm", "sync-storm", "churn", "leak")


def what_ifs(results):
    """(result, true step time) of those that promise a step without the cause, where the same was run without it, and nothing else took
    time of either."""
    quiet = [r for r in results if r["name"] not in MORE_WORK and not r.get("disturbances")]
    clean = {(r["name"], r["seed"]): r["step_ns"] for r in quiet if r["dose"] == 0 and r.get("step_ns")}
    return [(r, clean[r["name"], r["seed"]]) for r in quiet if r.get("without") and (r["name"], r["seed"]) in clean]


def percent(v):
    return "-" if v is None else f"{v * 100:.1f} %"


def goal(s):
    """What the scorecard falls short of."""
    short = []
    if s["failed"]:
        short.append(f"{s['failed']} did not run")
    if s["recall"] is not None and s["recall"] < 1:
        short.append(f"recall {percent(s['recall'])}")
    if s["false"]:
        short.append(f"{s['false']} false chains")
    if s["error_median"] is not None and s["error_median"] > 0.05:
        short.append(f"median error {percent(s['error_median'])}")
    if s["error_p90"] is not None and s["error_p90"] > 0.10:
        short.append(f"90th percentile of errors {percent(s['error_p90'])}")
    if s["line_accuracy"] is not None and s["line_accuracy"] < 1:
        short.append(f"lines right {percent(s['line_accuracy'])}")
    return short


def print_summary(s):
    print(f"\n{s['scenarios']} scenarios ({s['real']} real, {s['generated']} generated"
          + (f", {s['skipped']} not possible here" if s["skipped"] else "") + ")")
    print(f"recall         {percent(s['recall']):>8}   {s['found']} of {s['planted']} planted causes found")
    print(f"precision      {percent(s['precision']):>8}   {s['false']} false chains; {s['silent']} of {s['controls']} controls and doses of 0 silent")
    print(f"top 1          {percent(s['top1']):>8}   of those found told first")
    print(f"error, median  {percent(s['error_median']):>8}   of the lost time, {s['measured']} measured; p90 {percent(s['error_p90'])},"
          f" worst {percent(s['error_worst'])}")
    print(f"line           {percent(s['line_accuracy']):>8}   of {s['lines']}")
    print(f"what if        {s['what_ifs_kept']:>3} of {s['what_ifs']:<3} steps without the cause, in a second run, lie in the range that was told;"
          f" its mean width {percent(s['what_if_width'])} of a step")
    short = goal(s)
    print("goal           " + ("met" if not short else "missed: " + ", ".join(short)))


@contextlib.contextmanager
def delay_accounting():
    """The kernel accounts for delays of tasks that begin while this is set."""
    path, old = "/proc/sys/kernel/task_delayacct", None
    try:
        with open(path) as f:
            old = f.read().strip()
        plants.write(path, 1)
    except OSError:
        pass
    try:
        yield
    finally:
        if old is not None:
            with contextlib.suppress(OSError):
                plants.write(path, old)


class Shard:
    """Every n-th of what would be run, and of that what no piece before has run: (name, dose, seed) of done."""

    def __init__(self, text="1/1", done=()):
        self.at, self.of = map(int, text.split("/"))
        if not 1 <= self.at <= self.of:
            raise ValueError(text)
        self.met, self.done = 0, set(done)

    def has(self, name, dose, seed):
        self.met += 1
        return self.met % self.of == self.at % self.of and (name, dose, seed) not in self.done


def run_all(quick, only, seconds, keep=None, tell=print, with_generated=True, shard=None, results=None):
    """Adds to results as it goes; tell has them all."""
    results, shard = [] if results is None else results, shard or Shard()

    def add(r):
        results.append(r)
        tell(told_of(r))

    with delay_accounting():
        for row in rows():
            for dose, seed in row.runs(quick):
                if only and not re.search(only, f"{row.name}/{dose}/{seed}") or not shard.has(row.name, dose, seed):
                    continue
                r = scored(row, dose, seed, seconds, keep, quick)
                r.setdefault("made", "real")
                add(r)
    for r in generated.results(quick, only, shard.has) if with_generated else ():
        add(r)
    return results


def keep_card(path, results):
    """After each scenario: a score that is broken off can be gone on with."""
    if not path:
        return
    with open(path + ".new", "w") as f:
        json.dump({"schema": "ingero.scorecard/1", "summary": summary(results), "results": results}, f, indent=1)
        f.write("\n")
    os.replace(path + ".new", path)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--quick", action="store_true", help="the subset of make check")
    p.add_argument("--only", metavar="REGEX", help="those whose NAME/DOSE/SEED matches")
    p.add_argument("--seconds", type=float, default=4, help="length of a run [4]")
    p.add_argument("--json", metavar="FILE", help="write the scorecard there too")
    p.add_argument("--keep", metavar="DIR", help="keep the recordings there")
    p.add_argument("--no-generated", action="store_true", help="only what really happens")
    p.add_argument("--shard", metavar="K/N", default="1/1", help="the K-th of N pieces of it")
    p.add_argument("--resume", action="store_true", help="with --json: what FILE has already is not run again")
    p.add_argument("--list", action="store_true", help="list the scenarios and end")
    p.add_argument("--from", dest="merge", nargs="+", metavar="FILE", help="print one scorecard of these instead of running")
    args = p.parse_args()
    if args.list:
        for row in rows():
            for dose, seed in row.runs(args.quick):
                print(f"{row.name}/{dose}/{seed}")
        return 0
    if args.merge:
        results = [r for path in args.merge for r in json.load(open(path))["results"]]
        for r in results:
            print(told_of(r))
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        plants.first()
        results = []
        if args.resume and args.json and os.path.exists(args.json):
            with open(args.json) as f:
                results = [r for r in json.load(f)["results"] if "failed" not in r]
            for r in results:
                print(told_of(r))
        shard = Shard(args.shard, {(r["name"], r["dose"], r["seed"]) for r in results})

        def told(text):
            print(text, flush=True)
            keep_card(args.json, results)

        run_all(args.quick, args.only, args.seconds, args.keep, told, not args.no_generated, shard, results)
    if not results:
        p.error("no scenario matches")
    s = summary(results)
    print_summary(s)
    keep_card(args.json, results)
    return 1 if goal(s) else 0


if __name__ == "__main__":
    sys.exit(main())
