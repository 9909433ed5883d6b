#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Time and bytes of the unwind tables of libraries: make bench NAMES='unwind.*'; others by MODULES='a.so b.so'
exec "${BUILD:-build}/tests/bench/unwind" $MODULES
