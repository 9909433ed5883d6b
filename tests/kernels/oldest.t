#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The oldest kernel that this is for, Ubuntu 22.04's own: it takes the programs, and calls are counted. All else: kernels/ubuntu-5.15.t.
import sys

sys.path.insert(0, "tests/kernels")
import booted  # noqa: E402

booted.main("linux-image-5.15.0-25-generic", {"perf"}, light=True)
