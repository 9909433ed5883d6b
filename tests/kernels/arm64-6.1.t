#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Debian 12's own kernel on arm64, emulated: the recorder is cross-built and linked statically.
#
# Heavy: a kernel takes minutes to boot and to check each program; kernels/oldest.t tries the oldest.
import sys

sys.path.insert(0, "tests/kernels")
import booted  # noqa: E402

booted.main("linux-image-cloud-arm64", {"perf"}, arch="arm64")
