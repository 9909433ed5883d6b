#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ingero.yaml: where it is looked for, that the command line wins, and who may tell root what to do.
. tests/tap.sh
bin=$(cd "${BUILD:-build}/bin" && pwd)
scratch=$TMP
unset INGERO_CONFIG
export HOME=$scratch/home
mkdir -p "$HOME/.config/ingero" "$scratch/work"
cd "$scratch/work" || exit 1
"$bin/ingero-demo" --seed 1 incident -o run.ige >/dev/null 2>&1

schema() { "$bin/ingero-stat" "$@" run.ige 2>"$scratch/said" | head -c 20 | tr -d ' \n'; }
is "$(schema | head -c 4)" "gpu-" "without a configuration a table"
printf 'json: true\n' >"$HOME/.config/ingero/ingero.yaml"
is "$(schema)" '{"schema":"inger' "the one in the home folder is read"
printf 'stat:\n  json: false\n' >ingero.yaml
is "$(schema | head -c 4)" "gpu-" "the one here comes first, and is the only one"
printf 'stat:\n  json: true\n' >named
is "$(INGERO_CONFIG=named schema)" '{"schema":"inger' "INGERO_CONFIG comes before both"
is "$(INGERO_CONFIG='' schema | head -c 4)" "gpu-" "an empty one turns all off"
printf 'explain:\n  json: true\n  no-such: 1\n' >ingero.yaml
is "$(schema | head -c 4)" "gpu-" "other programs' sections are theirs"
printf 'agent:\n  node: x\n  log_level: info\nprobes:\n  cuda: x\nsomething: else\n' >ingero.yaml
is "$(schema | head -c 4)" "gpu-" "the older agent's keys do no harm"

INGERO_CONFIG=missing "$bin/ingero-stat" run.ige >/dev/null 2>said
is $? 3 "a named configuration that is not there"
like "$(cat said)" "cannot read missing, which INGERO_CONFIG names" "says so"
printf 'stat:\n  jsn: true\n' >ingero.yaml
"$bin/ingero-stat" run.ige >/dev/null 2>said
is $? 2 "an option that does not exist"
is "$(cat said)" "ingero-stat: ingero.yaml: line 2: ingero-stat has no option 'jsn'" "is named with its line"
printf 'stat:\n  json: perhaps\n' >ingero.yaml
"$bin/ingero-stat" run.ige >/dev/null 2>said
is "$? $(cat said)" "2 ingero-stat: ingero.yaml: line 2: json: 'perhaps' is not true or false" "a value that is none"
printf 'color: sometimes\n' >ingero.yaml
"$bin/ingero-stat" --color=never run.ige >/dev/null 2>said
is $? 0 "what the command line says is not asked of the file"
"$bin/ingero-stat" run.ige >/dev/null 2>said
is $? 2 "what it does not say is"

if [ "$(id -u)" = 0 ]; then
	rm "$HOME/.config/ingero/ingero.yaml"
	printf 'json: true\n' >ingero.yaml
	chmod 666 ingero.yaml
	is "$(SUDO_UID=1 schema | head -c 4)" "gpu-" "root does not follow a file that anybody may write"
	chmod 600 ingero.yaml
	chown 12345 ingero.yaml
	is "$(schema | head -c 4)" "gpu-" "nor one that somebody else owns"
	is "$(SUDO_UID=12345 HOME=/nonexistent schema)" '{"schema":"inger' "but one of the user behind sudo"
else
	skip "whom root follows" "not root"
fi
done_testing
