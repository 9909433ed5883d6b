#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What recording costs running programs, attached and detached by turns: PyTorch, llama.cpp and vLLM beside bpftrace, and a load
# that tells whether --budget holds.
#
#	make bench NAMES='real.*'			all, in half an hour: 20 minutes of programs, 10 of budgets
#	make bench NAMES='real.torch.eager.10us.default' QUICK=1	one row, in half a minute
#	make bench NAMES='real.*.noprobes'		what the figures are worth on this machine
#	make bench NAMES='real.budget.*' SECONDS=10	budgets only, in windows of that length
#
# TURNS: how often each tool is attached; SECONDS: the length of a window, of which it has two each time. QUICK=1: once, in short
# windows; so it is without NAMES, too.
exec python3 "$(dirname "$0")/real/main.py"
