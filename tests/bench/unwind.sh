#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Time and bytes of the unwind tables of libraries, and what a stack costs a call: make bench NAMES='unwind.*'; other libraries by
# MODULES='a.so b.so', or those that REAL has.
b=${BUILD:-build}/tests/bench
if [ -n "$REAL" ] && [ -z "$MODULES" ]; then
	MODULES=$(find "$REAL/" -name 'libtorch_*.so' -o -name 'libggml*cuda*.so' -o -name 'libcublasLt.so*' | sort -u)
fi
"$b/unwind" $MODULES || exit 1
if [ -x "$b/cost_unwind" ]; then
	"$b/cost_unwind"
else
	echo "bench: SKIP unwind.frames*: built without BPF"
fi
