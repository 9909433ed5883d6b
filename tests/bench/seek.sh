#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Stretches of a big file: make bench NAMES='ige.seek* ige.open*'
exec "${BUILD:-build}/tests/bench/seek"
