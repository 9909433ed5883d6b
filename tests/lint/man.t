#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Manual pages are sound mdoc, there is one for every program and format, and each fits a terminal of 80 columns whichever of mandoc
# and groff shows it.
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

# What does not fit, and what the formatter says of it.
wide() {
	LC_ALL=C.UTF-8 "$@" 2>&1 | LC_ALL=C.UTF-8 grep -E '.{81}|^troff|^grotty' | head -5
}
plain() {
	mandoc -Tascii -O width=78 "$1" | sed 's/.\x08//g'
}
for page in man/*.[1-8]; do
	if command -v mandoc >/dev/null; then
		is "$(wide plain "$page")" "" "$page: mandoc shows it in 80 columns"
	else
		skip "$page: mandoc shows it in 80 columns" "no mandoc here"
	fi
	if command -v groff >/dev/null; then
		is "$(wide groff -Tascii -mandoc -t -rLL=78n -P-c -P-b -P-u "$page")" "" "$page: groff shows it in 80 columns"
	else
		skip "$page: groff shows it in 80 columns" "no groff here"
	fi
done
done_testing
