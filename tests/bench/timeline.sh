#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A recording as a timeline for Perfetto: make bench NAMES='timeline.*'
exec "${BUILD:-build}/tests/bench/timeline"
