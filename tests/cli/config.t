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
	like "$(cat "$scratch/said")" "ingero.yaml is not followed: it is not root's or yours alone" "which is told"
	is "$(SUDO_UID=12345 HOME=/nonexistent schema)" '{"schema":"inger' "but one of the user behind sudo"
	# In a folder that anybody may write, such as /tmp, a file may be anybody's.
	chmod 755 "$scratch" "$scratch/work"
	chmod 644 run.ige
	chmod 644 ingero.yaml
	as() { schema_of "$@" 2>"$scratch/said" | head -c 20 | tr -d ' \n'; }
	schema_of() { setpriv --reuid "$1" --regid "$1" --clear-groups env -u SUDO_UID HOME=/nonexistent "$bin/ingero-stat" run.ige; }
	if [ "$(as 23456)" ]; then
		is "$(as 12345)" '{"schema":"inger' "whose file it is follows it"
		is "$(as 23456 | head -c 4)" "gpu-" "somebody else does not"
		like "$(cat "$scratch/said")" "ingero.yaml is not followed: it is not root's or yours alone" "and is told"
		chmod 666 ingero.yaml
		is "$(as 12345 | head -c 4)" "gpu-" "nor does anybody where everybody may write it"
		chown 0:0 ingero.yaml
		chmod 644 ingero.yaml
		is "$(as 23456)" '{"schema":"inger' "root's is for all"
	else
		skip "whom others follow" "the build is not for others to run"
	fi
else
	skip "whom root follows" "not root"
fi
done_testing
