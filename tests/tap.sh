# SPDX-License-Identifier: Apache-2.0
#
# Test Anything Protocol for shell tests: `. tests/tap.sh` (tests run in the repository root), checks,
# then done_testing as the last command. $BUILD is the build directory, $BIN its programs, $TMP a
# directory of this test's own that is removed at the end. A test without a single check fails.

BUILD=${BUILD:-build}
BIN=$BUILD/bin
TMP=$(mktemp -d "${TMPDIR:-/tmp}/ingero-test.XXXXXX") || exit 1
tap_count=0 tap_failed=0

# What programs read of a person's environment, default recording, options and cache is the same on every machine.
for name in ${!OTEL_*} ${!SUDO_*} INGERO_TOKEN INGERO_MCP_BEARER_TOKEN NO_COLOR; do
	unset "$name"
done
export INGERO_CONFIG= INGERO_DB=$TMP/runs LC_ALL=C TZ=UTC
[ -n "${INGERO_RESULTS-}" ] || export XDG_CACHE_HOME=$TMP/cache # else tests/run has chosen it
tap_cleanup() { :; } # tests may define their own
trap 'tap_cleanup; rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM HUP

# diag TEXT...: lines for the reader of a failure
diag() { printf '%s\n' "$*" | sed 's/^/# /' >&2; }

# pass NAME / fail NAME [WHY]
pass() { tap_count=$((tap_count + 1)); printf 'ok %d - %s\n' "$tap_count" "$1"; }
fail() {
	tap_count=$((tap_count + 1)) tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$1"
	[ -z "${2-}" ] || diag "$2"
	return 1
}

# ok NAME COMMAND...: the command succeeds
ok() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then pass "$name"; else fail "$name" "status $? from: $*
$out"; fi
}

# is GOT WANT NAME
is() { if [ "$1" = "$2" ]; then pass "$3"; else fail "$3" "got:  $1
want: $2"; fi; }

# like TEXT EXTENDED-REGEX NAME: some line of the text matches
like() { if printf '%s\n' "$1" | grep -Eq -- "$2"; then pass "$3"; else fail "$3" "no line matches /$2/ in:
$1"; fi; }

unlike() { if printf '%s\n' "$1" | grep -Eq -- "$2"; then fail "$3" "a line matches /$2/ in:
$1"; else pass "$3"; fi; }

# run COMMAND...: sets $status, $out (standard output) and $err (standard error)
run() {
	status=0
	"$@" >"$TMP/.out" 2>"$TMP/.err" </dev/null || status=$?
	out=$(tr -d '\000' <"$TMP/.out") err=$(tr -d '\000' <"$TMP/.err")
}

# skip NAME REASON: one check that cannot run here
skip() { tap_count=$((tap_count + 1)); printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"; }

# skip_all REASON: the whole test cannot run here
skip_all() { printf '1..0 # SKIP %s\n' "$1"; exit 0; }

done_testing() {
	printf '1..%d\n' "$tap_count"
	[ "$tap_count" -gt 0 ] || diag "no checks were made"
	[ "$tap_failed" = 0 ] && [ "$tap_count" -gt 0 ]
	exit
}
