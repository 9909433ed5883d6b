#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The sources look as .clang-format says. Versions of clang-format disagree in details, so only the
# one that Debian 12 and Ubuntu 22.04 ship is asked.
. tests/tap.sh

want=14
tool=
for t in clang-format-$want clang-format; do
	command -v $t >/dev/null && $t --version | grep -q "version $want\." && { tool=$t; break; }
done
[ -n "$tool" ] || skip_all "no clang-format $want here"

shopt -s globstar nullglob
files=(lib/**/*.[ch] cmd/*.[ch] bpf/*.[ch] tests/*.h tests/**/*.[ch])
check() { "$@" 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: warning: .*/\1/p' | sort -u; }
export -f check
bad=$(printf '%s\n' "${files[@]}" | sort -u | xargs -P "$(nproc)" -n 16 bash -c 'check "$@"' - $tool --dry-run | sort -u)
is "$bad" "" "${#files[@]} files are formatted (make format)"
done_testing
