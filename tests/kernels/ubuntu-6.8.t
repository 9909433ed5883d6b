#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Ubuntu 24.04's own kernel, uprobe multi links, no sessions.
#
# Heavy: a kernel takes minutes to boot and to check each program; kernels/oldest.t tries the oldest.
import sys

sys.path.insert(0, "tests/kernels")
import booted  # noqa: E402

booted.main("linux-image-6.8.0-31-generic", {"multi", "perf"})
