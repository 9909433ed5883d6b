#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A file of Debian's or Ubuntu's archives whose bytes are known: from the archives this machine takes its packages from, else
# from theirs. No rights are needed.
#
#   fetch.sh PATH SHA256 FILE
#
# PATH: within an archive, pool/…
set -eu
helper=/usr/lib/apt/apt-helper
[ -x $helper ] || { echo "ingero: no $helper to fetch ${1##*/} with" >&2; exit 1; }
# shellcheck disable=SC2016
archives=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sort -u || true)
for from in $archives http://archive.ubuntu.com/ubuntu/ http://deb.debian.org/debian/; do
	said=$($helper -o Acquire::Retries=2 download-file "${from%/}/$1" "$3" "SHA256:$2" 2>&1) && exit 0
done
rm -f "$3"
echo "ingero: ${1##*/} cannot be had: $(echo "$said" | grep -m 1 '^E:')" >&2
exit 1
