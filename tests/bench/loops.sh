#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Steps out of stacks: make bench NAMES='loops.*'
exec "${BUILD:-build}/tests/bench/loops"
