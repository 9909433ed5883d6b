#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The committed completions are what the programs' option tables make of them, and each shell that
# is here accepts its file. With CHECKERS (a folder of third-party checkers, optional) the shells are
# also asked what TAB would offer.
. tests/tap.sh

programs=("$BIN"/ingero "$BIN"/ingero-*)
[ -x "${programs[0]}" ] || { fail "programs are built"; done_testing; }
ok "completions are generated" completions/generate "$TMP" "${programs[@]}"
for f in ingero.bash _ingero ingero.fish; do
	ok "$f is what 'make completions' writes" diff -u "completions/$f" "$TMP/$f"
done
ok "bash reads its file" bash -n "$TMP/ingero.bash"
if command -v zsh >/dev/null; then ok "zsh reads its file" zsh -n "$TMP/_ingero"; else skip "zsh reads its file" "no zsh here"; fi
if command -v fish >/dev/null; then ok "fish reads its file" fish -n "$TMP/ingero.fish"; else skip "fish reads its file" "no fish here"; fi

# Bash is always here: ask it.
offers() { # WORDS...: what TAB behind the last word offers
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	compopt() { :; }
	. "$TMP/ingero.bash"
	"$(complete -p "$1" | sed 's/.*-F \([^ ]*\).*/\1/')" "$1" "${!#}" "${@: -2:1}"
	printf '%s\n' "${COMPREPLY[@]}"
}
for p in "${programs[@]}"; do
	p=${p##*/}
	like "$(offers "$p" --he)" '^--help$' "bash offers --help for $p"
	is "$(offers "$p" --color = al)" "always" "bash offers the choices of --color for $p"
done
like "$(offers ingero ex)" '^explain$' "bash offers the commands of the front door"
like "$(offers ingero explain --per)" '^--per-process$' "with the options of the older agent"
is "$(offers ingero explain --fail-on h)" high "and those of the program behind them"
if [ -n "${CHECKERS-}" ] && [ -x "$CHECKERS/completion-check" ]; then
	for pair in bash:ingero.bash zsh:_ingero fish:ingero.fish; do
		like "$("$CHECKERS/completion-check" "${pair%%:*}" "completions/${pair#*:}" "${programs[0]##*/} --vers" 2>&1)" \
			'--version' "${pair%%:*} offers --version"
	done
fi
done_testing
