#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A backported kernel with multi links; it has the session symbol and refuses the program all the same.
#
# Heavy: a kernel takes minutes to boot and to check each program; kernels/oldest.t tries the oldest.
import sys

sys.path.insert(0, "tests/kernels")
import booted  # noqa: E402

booted.main("linux-image-6.12-cloud-amd64", {"multi", "perf"})
