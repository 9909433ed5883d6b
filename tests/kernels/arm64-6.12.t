#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The backported kernel on arm64, emulated: uprobes by multi links.
#
# Heavy: a kernel takes minutes to boot and to check each program; kernels/oldest.t tries the oldest.
import sys

sys.path.insert(0, "tests/kernels")
import booted  # noqa: E402

booted.main("linux-image-6.12-cloud-arm64", {"multi", "perf"}, arch="arm64")
