#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How fast the machine is just now; said with every run, as calibration_ns.
exec "${BUILD:-build}/tests/bench/calibration"
