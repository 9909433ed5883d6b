#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The servers under a mixed load for so long: tests/soak/serve.sh [SECONDS, 600], or make soak-serve SOAK_SECONDS=60
exec python3 tests/soak/serve.py "${1:-600}"
