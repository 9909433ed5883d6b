#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Size and speed of the event file: make bench NAMES='ige.*'
exec "${BUILD:-build}/tests/bench/ige"
