#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/real/install: what cannot be installed here is no error, and the reason is left for the tests that skip.
. tests/tap.sh

install=tests/real/install
mkdir "$TMP/bin" "$TMP/none"
for tool in bash cat cd cmp cp cut date df dirname flock grep mkdir printf rm sed tail timeout tr awk; do
	path=$(command -v "$tool") && [ "${path#/}" != "$path" ] && ln -s "$path" "$TMP/bin/$tool"
done

printf '#!/bin/sh\necho x86_64\n' >"$TMP/bin/uname"
chmod +x "$TMP/bin/uname"

run env INSTALL=no "$install" "$TMP/to" torch llama
is "$status" 0 "INSTALL=no is no error"
is "$(cat "$TMP/to/torch.missing")" "INSTALL=no installs nothing" "and the reason"
ok "nothing is installed" test ! -e "$TMP/to/torch.installed"

run env INSTALL= PATH="$TMP/bin" "$install" "$TMP/to" llama
is "$status" 0 "without npm"
is "$(cat "$TMP/to/llama.missing")" "no npm here (package npm)" "the reason is that"
run env INSTALL= PATH="$TMP/bin" "$install" "$TMP/to" torch
like "$(cat "$TMP/to/torch.missing")" '^no CPython of' "without a python3"

printf '#!/bin/sh\nexit 0\n' | tee "$TMP/bin/npm" "$TMP/bin/node" >"$TMP/bin/python3"
printf '#!/bin/sh\nprintf "a b c left\\n1 2 3 7\\n"\n' >"$TMP/none/df"
chmod +x "$TMP/bin/npm" "$TMP/bin/node" "$TMP/bin/python3" "$TMP/none/df"
for program in llama torch; do
	run env INSTALL= PATH="$TMP/none:$TMP/bin" "$install" "$TMP/to" "$program"
	like "$(cat "$TMP/to/$program.missing")" '^7 MiB are left on the disk of .*, [0-9]+ are needed$' "$program without space"
done

# A registry that answers nothing; what npm says of it is handed on.
printf '#!/bin/sh\necho "npm error network unreachable"\nexit 1\n' >"$TMP/bin/npm"
run env INSTALL= PATH="$TMP/bin" "$install" "$TMP/to" llama
is "$status,$(cat "$TMP/to/llama.missing")" "0,npm: npm error network unreachable" "without a registry"

# Installed once, and again when a pin changes.
printf '#!/bin/sh\necho run >>"%s"\n' "$TMP/runs" >"$TMP/bin/npm"
for round in 1 2; do run env INSTALL= PATH="$TMP/bin" "$install" "$TMP/to" llama; done
is "$(cat "$TMP/runs")" run "what is installed is not installed again"
ok "and its reason is gone" test ! -e "$TMP/to/llama.missing"
echo older >"$TMP/to/llama.installed"
run env INSTALL= PATH="$TMP/bin" "$install" "$TMP/to" llama
is "$(grep -c run "$TMP/runs")" 2 "another version is"
run "$install" "$TMP/to" emacs
is "$status" 1 "what is not known is an error"
done_testing
