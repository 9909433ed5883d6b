#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Debian 12's own kernel: no uprobe links of any kind but perf events.
import sys

sys.path.insert(0, "tests/kernels")
import booted  # noqa: E402

booted.main("linux-image-cloud-amd64", {"perf"})
