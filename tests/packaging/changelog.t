#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is new is told from tags and commits, in both forms, on a history made for it.
. tests/tap.sh

command -v git >/dev/null || skip_all "optional: no git here"
tool=$PWD/formats/packaging/changelog.sh
mkdir "$TMP/repository"
cd "$TMP/repository" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
commit() { GIT_AUTHOR_DATE=$1 GIT_COMMITTER_DATE=$1 git commit -q --allow-empty -m "$2"; }
git init -q
ok "without a history nothing is told" sh -c "! '$tool' 0.1.0 2>/dev/null"
commit "2026-01-02T03:04:05+0000" "first"
is "$("$tool" 0.1.0)" "0.1.0, 2026-01-02, not released

  * first" "commits, where there is no tag"
git tag light
git tag v0.0.9
is "$("$tool" 0.1.0 | head -n 1)" "0.1.0, 2026-01-02, not released" "a tag without a text is no release"
git tag -a v0.1.0 -m "Records" -m "- explains
- and more"
is "$("$tool" 0.2.0)" "0.1.0, 2026-01-02

  * Records
  * explains
  * and more" "a tag's text"
commit "2026-02-03T04:05:06+0000" "second"
git tag -a v0.10.0 -m "Ten"
commit "2026-03-04T05:06:07+0000" "third, with a subject that is so long that it does not stand in one line of eighty letters"
is "$("$tool" 0.11.0 | sed -n 's/, .*//p' | grep -c '^0')" 3 "each once"
is "$("$tool" 0.11.0 | sed -n 's/^\([0-9.]*\), .*/\1/p' | tr '\n' ' ')" "0.11.0 0.10.0 0.1.0 " "the newest first, by number"
is "$("$tool" 0.11.0 ingero 'A Person <a@example.org>' | head -n 6)" "ingero (0.11.0) unstable; urgency=medium

  * third, with a subject that is so long that it does not stand in one line
    of eighty letters

 -- A Person <a@example.org>  Wed, 4 Mar 2026 05:06:07 +0000" "as Debian has it"
if command -v dpkg-parsechangelog >/dev/null; then
	"$tool" 0.11.0 ingero 'A Person <a@example.org>' >"$TMP/changelog"
	is "$(dpkg-parsechangelog -l "$TMP/changelog" --all -S Version 2>&1)" "0.11.0" "which Debian's own reader takes"
else
	skip "Debian's own reader" "optional: no dpkg-parsechangelog here"
fi
done_testing
