#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is new, version by version, the newest first. There is no file of it: of a release it is the text of its annotated tag
# vVERSION, of what no tag has yet the subjects of its commits.
#
#   changelog.sh VERSION [PACKAGE MAINTAINER]
#
# VERSION is that of what has no tag. With a package and who answers for it in the form of Debian's changelog.
set -eu
version=$1 package=${2-} maintainer=${3-}
git rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "ingero: no history here: what is new is told from git" >&2; exit 1; }

# entry VERSION REVISION WORD: its points come from standard input, one a line
entry() {
	if [ -n "$package" ]; then
		printf '%s (%s) unstable; urgency=medium\n\n' "$package" "$1"
	else
		printf '%s, %s%s\n\n' "$1" "$(git log -1 --format=%cs "$2")" "$3"
	fi
	while IFS= read -r point; do
		printf '%s\n' "${point#- }" | fold -s -w 74 | sed -e '1s/^/  * /' -e '2,$s/^/    /' -e 's/ *$//'
	done
	[ -z "$package" ] || printf '\n -- %s  %s\n' "$maintainer" "$(git log -1 --format=%cD "$2")"
	echo
}

# Annotated ones: others mark a place for their maker only.
tags=$(git for-each-ref --merged HEAD --sort=-version:refname --format='%(objecttype) %(refname:short)' 'refs/tags/v[0-9]*' | sed -n 's/^tag //p')
newest=${tags%%$'\n'*}
if [ -z "$newest" ] || [ "$(git rev-list -n 1 "$newest")" != "$(git rev-parse HEAD)" ]; then
	git log --no-merges --format=%s "${newest:+$newest..}HEAD" | entry "$version" HEAD ", not released"
fi
for tag in $tags; do
	git for-each-ref --format='%(contents:subject)%0a%(contents:body)' "refs/tags/$tag" | sed '/^ *$/d' | entry "${tag#v}" "$tag" ""
done
