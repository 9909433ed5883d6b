#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What recording costs running programs, with the recorder and without by turns: make bench NAMES='real.*'
exec python3 "$(dirname "$0")/real/main.py"
