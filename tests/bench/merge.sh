#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Eight recordings as one: make bench NAMES='ige.merge*'
exec "${BUILD:-build}/tests/bench/merge"
