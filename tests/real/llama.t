#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# llama.cpp under node, as built for CUDA 13 and for CUDA 12: every call once, every kernel named, started by the recorder and
# running before it.
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import tap

real.need("llama", "llama12")
TOKENS = 40

for name, command, cuda in (("CUDA 13", real.generate, 13), ("CUDA 12", real.generate12, 12)):
    archive = real.launch(name, command(TOKENS), cuda)
    # All layers are on the device, and each token is read back from it.
    copies = sum(calls.get(("driver", "cuMemcpyDtoHAsync"), 0) for calls in archive.truth.values())
    tap.ok(copies >= TOKENS, f"{name}: the device was asked for each token", archive.truth)
    real.attach(f"{name}, attached", command(TOKENS, "gate"), cuda)
tap.done_testing()
