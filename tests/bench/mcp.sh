#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What an assistant's questions cost, in tokens and in time: make bench NAMES='mcp.*'
exec python3 tests/bench/mcp.py
