#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Ubuntu 22.04's own kernel, the oldest kernel that this is for: no uprobe links of any kind but perf events.
#
# Heavy: a kernel takes minutes to boot and to check each program; kernels/oldest.t tries the oldest.
import sys

sys.path.insert(0, "tests/kernels")
import booted  # noqa: E402

booted.main("linux-image-5.15.0-25-generic", {"perf"})
