# SPDX-License-Identifier: Apache-2.0
"""The programs that recording is measured on, running without an end: the double's load, and real ones on the double's libraries.

A program has pids (what to record), callers() (those of its processes that call the libraries), progress, ended() and stop().
"""
import os
import signal
import subprocess
import sys
import time

import alternate
import tools

sys.path.insert(0, os.path.join(tools.ROOT, "tests", "real"))
import programs as real  # noqa: E402

PATIENCE = 300  # seconds until a program that does not begin is given up


class Missing(Exception):
    """The program is not installed, or does not run here; why, in a line."""


class Program:
    """Runs a command, which gets the path of its progress file in place of PROGRESS, and prints "ready PID..." once it is at work."""

    def __init__(self, name, command, environment):
        self.counts, path = tools.scratch(f"{name}.counts"), tools.scratch(f"{name}.progress")
        os.makedirs(self.counts, exist_ok=True)
        self.progress, self.pids = alternate.Progress(path), []
        with open(tools.scratch(f"{name}.err"), "w+", encoding="utf-8") as err:
            self.process = subprocess.Popen([path if word == "PROGRESS" else word for word in command],
                                            env={**environment, "DOUBLE_COUNTS": self.counts}, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True,
                                            preexec_fn=tools.die_with_us(signal.SIGKILL))
            self.wait_for_begin(name, err)

    def wait_for_begin(self, name, err):
        words = self.process.stdout.readline().split()
        self.pids = [int(word) for word in words[1:]]
        end = time.monotonic() + PATIENCE
        while len(self.progress.read()) < 3 and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        if not self.pids or len(self.progress.units) < 3:
            self.stop()
            err.seek(0)
            raise Missing((err.read().strip().splitlines() or [f"{name} ended with status {self.process.returncode}"])[-1])

    def callers(self):
        return [process["pid"] for process in tools.support.counts(self.counts)
                if os.path.exists(f"/proc/{process['pid']}") and sum(op["count"] for op in process["ops"].values()) > 1000]

    def ended(self):
        """Its status, negative for a signal, or None while it runs."""
        return self.process.poll()

    def stop(self):
        """Ends it and what it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()


def need(*names):
    for name in names:
        if not os.path.exists(os.path.join(real.REAL, f"{name}.installed")):
            raise Missing(f"{name} is not installed in {real.REAL} (make check-real-all installs it; REAL=FOLDER names another place)")
    if not os.path.isdir(real.LIBRARIES):
        raise Missing("the double's libraries for real programs are not built (make double-real)")


def start_load(options):
    double = os.path.join(tools.BUILD, "double")
    return Program("load", [os.path.join(double, "load"), "--progress", "PROGRESS", *options.split()],
                   tools.environment(LD_LIBRARY_PATH=double))


def start_torch(launch_ns, *options):
    need(*(("torch", "triton") if "--compile" in options else ("torch",)))
    return Program("torch", [real.PYTHON, os.path.join(tools.HERE, "torch_loop.py"), "PROGRESS", *options],
                   real.environment(DOUBLE_LAUNCH_NS=launch_ns, TRITON_CACHE_DIR=tools.scratch("triton"),
                                    TORCHINDUCTOR_CACHE_DIR=tools.scratch("inductor")))


def start_llama(launch_ns, **settings):
    need("llama")
    return Program("llama", ["node", os.path.join(tools.HERE, "llama_loop.mjs"), "PROGRESS", os.path.join(real.REAL, "llama"),
                             real.model(), str(LLAMA_STRIDE)], real.environment(DOUBLE_LAUNCH_NS=launch_ns, **settings))


LLAMA_STRIDE = 8  # tokens in a unit


def start_vllm(launch_ns):
    need("torch", "triton", "vllm")
    model = tools.scratch("vllm")
    real.run_plain([real.PYTHON, os.path.join(real.WORK, "vllm_model.py"), model])
    # As tests/real/vllm.t says.
    settings = {"VLLM_USE_V2_MODEL_RUNNER": 0, "VLLM_USE_FLASHINFER_SAMPLER": 0, "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
                "VLLM_NO_USAGE_STATS": 1, "VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": 1, "PYTORCH_NO_CUDA_MEMORY_CACHING": 1,
                "TRITON_CACHE_DIR": tools.scratch("triton"), "VLLM_CACHE_ROOT": tools.scratch("vllm-cache")}
    port = 20000 + os.getpid() % 10000
    return Program("vllm", [real.PYTHON, os.path.join(tools.HERE, "vllm_serving.py"), "PROGRESS", model, str(port)],
                   real.environment(DOUBLE_LAUNCH_NS=launch_ns, **settings))
