#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Counting a recording from a pipe: make bench NAMES='stat.*'
exec "${BUILD:-build}/tests/bench/stat"
