#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Manual pages are sound mdoc, and there is one for every program and format.
. tests/tap.sh

shopt -s nullglob
for p in "$BIN"/ingero "$BIN"/ingero-*; do
	ok "${p##*/} has a page" test -s "man/${p##*/}.1"
done
for page in ingero.7 ige.5; do
	ok "$page is there" test -s "man/$page"
done
for page in man/*.[1-8]; do
	if ! command -v mandoc >/dev/null; then
		skip "$page is sound" "no mandoc here"
		continue
	fi
	is "$(mandoc -Tlint -W warning "$page" 2>&1 | grep -v 'referenced manual not found' | head -20)" "" "$page is sound"
done
done_testing
