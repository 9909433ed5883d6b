#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A recording as an SQLite archive: make bench NAMES='archive*'
exec "${BUILD:-build}/tests/bench/archive"
