#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make demo-torch`: a small training loop of real PyTorch with a planted trouble, recorded, correlated and explained; what the
# loop's own clock says of the trouble stands beside the report. PyTorch is installed into $REAL on the first run (530 MB of
# downloads); its GPU is the double's, so kernels take their time and compute nothing.
# Where BPF is not permitted, or PyTorch cannot be installed, it says so and ends with status 1. The recording and the report
# stay in $BUILD/demo-torch. DEMO_TROUBLE is one of those of tests/real/work/troubles.py [checkpoint].
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
BIN=$BUILD/bin
REAL=${REAL:-$BUILD/real}
libraries=$(cd "$BUILD/double-real/cuda13" && pwd) || exit 1
to=$BUILD/demo-torch
trouble=${DEMO_TROUBLE:-checkpoint}
steps=${DEMO_STEPS:-160}
mkdir -p "$to"

say() { printf '\n== %s\n' "$*"; }
give_up() {
	echo "make demo-torch: $*" >&2
	exit 1
}

# Recording needs CAP_BPF and CAP_PERFMON, in practice root.
sudo=
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && echo "Recording needs root:" && sudo true; }; }; then
		sudo=sudo
	else
		give_up "this user may not use BPF (no root, no sudo); ingero-demo shows the analysis on a generated recording"
	fi
fi
why=$($sudo "$BIN/ingero-record" -q -o /dev/null -- true 2>&1) ||
	give_up "BPF does not work here: ${why:-ingero-record failed}; ingero-demo shows the analysis on a generated recording"

# What the trouble is, and the class whose lines take the time, as tests/real/work/troubles.py says.
IFS='|' read -r class what < <(python3 - "$trouble" <<'PY'
import ast, sys
with open("tests/real/work/troubles.py") as f:
    tree = ast.parse(f.read())
table = next(n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "TROUBLES")
classes = {k.value: v.id for k, v in zip(table.keys, table.values)}
texts = {n.name: (ast.get_docstring(n) or n.name).split("\n")[0] for n in tree.body if isinstance(n, ast.ClassDef)}
name = classes.get(sys.argv[1])
print(name or "", texts[name] if name else ", ".join(classes), sep="|")
PY
)
[ -n "$class" ] || give_up "DEMO_TROUBLE=$trouble: there are $what"

if [ ! -e "$REAL/torch.installed" ]; then
	say "Installing PyTorch into $REAL (once; 530 MB, without NVIDIA's libraries)"
fi
tests/real/install "$REAL" torch || exit 1
[ -e "$REAL/torch.installed" ] || give_up "PyTorch could not be installed (above)"
python=$(cd "$REAL" && pwd)/python/bin/python

say "A training loop of $steps steps, and a trouble: $what"
options=(--steps "$steps" --trouble "$trouble")
echo "\$ ingero-record -o $to/run.ige -- python train.py ${options[*]}"
rm -f "$to/run.ige" "$to/truth.json"
$sudo env LD_LIBRARY_PATH="$libraries" DOUBLE_LAUNCH_NS=10000 PYTHONDONTWRITEBYTECODE=1 "$BIN/ingero-record" -o "$to/run.ige" -- \
	"$python" tests/real/work/train.py "${options[@]}" --trouble-ms 20 --truth "$to/truth.json" >"$to/loop.txt" || give_up "ingero-record failed"
[ -z "$sudo" ] || $sudo chown "$(id -u):$(id -g)" "$to/run.ige"
rm -f "$to/truth.json.checkpoint" "$to/truth.json.log"

say "What happened, by operation"
echo "\$ ingero-stat --sections runtime $to/run.ige"
"$BIN/ingero-stat" --sections runtime "$to/run.ige" || exit
say "Whose fault it was"
echo "\$ ingero-correlate $to/run.ige | ingero-explain"
"$BIN/ingero-correlate" "$to/run.ige" >"$to/chains.ige" && "$BIN/ingero-explain" "$to/chains.ige" | tee "$to/report.txt"
[ "${PIPESTATUS[0]}" = 0 ] || exit 1

say "The truth"
"$python" - "$to/truth.json" "$what" <<'PY'
import json, sys
with open(sys.argv[1]) as f:
    truth = json.load(f)
print(f"By the loop's own clock, {truth['steps']} steps took {truth['loop_s']:.2f} s, of which {truth['planted_s']:.2f} s "
      f"({truth['planted_s'] / truth['loop_s']:.0%}) were planted: {sys.argv[2]}")
PY
"$python" - "$class." 3< <("$BIN/ingero-explain" --json "$to/chains.ige") <<'PY' || give_up "the report does not name its line"
import json, os, sys
steps = [p for track in json.load(os.fdopen(3))["paths"] for p in track["phases"] if p["name"] == "steps"]
largest = [row for phase in steps for row in phase["rows"][:2]]
sys.exit(not any(sys.argv[1] in text or "compute (troubles.py" in text
                 for row in largest for text in [row["site"] or ""] + [w["text"] for w in row["why"]]))
PY
