#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The critical path of a recording: make bench NAMES='path.*'
exec "${BUILD:-build}/tests/bench/path"
