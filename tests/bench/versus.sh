#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The same questions asked of SQLite and of jq: make bench NAMES='*.vs_*'
exec "${BUILD:-build}/tests/bench/versus"
