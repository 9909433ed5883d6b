#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Analyzing a recording with all detectors, and the verdict of a large one: make bench NAMES='correlate.* verdict.*'
exec "${BUILD:-build}/tests/bench/correlate"
