#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# vLLM, generating for several prompts and serving its OpenAI API to four clients: every call of the engine's process once, every
# kernel named, and what it calls is called from vLLM's own code, though all of that is an installed package.
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs as real
from programs import rec, tap

real.need("torch", "triton", "vllm")
TOKENS, CLIENTS, REQUESTS = 64, 4, 3
model = rec.path("model")
# The newer runner lets the device decide how many tokens there are; flashinfer compiles for a device that is none. Without
# torch's cache of device memory tokens stay what was written there last.
settings = {"VLLM_USE_V2_MODEL_RUNNER": 0, "VLLM_USE_FLASHINFER_SAMPLER": 0, "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
            "VLLM_NO_USAGE_STATS": 1, "VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": 1, "PYTORCH_NO_CUDA_MEMORY_CACHING": 1,
            "TRITON_CACHE_DIR": rec.path("triton"), "VLLM_CACHE_ROOT": rec.path("cache")}
real.run_plain([real.PYTHON, os.path.join(real.WORK, "vllm_model.py"), model])


def check_engine(name, archive):
    """The process that calls is called what it calls itself, and its calls come from the model runner."""
    engines = [pid for pid, calls in archive.truth.items() if calls.get(("cuda", "cudaLaunchKernel"), 0) > 100]
    if not tap.same(len(engines), 1, f"{name}: one process is the engine"):
        return
    p = subprocess.run([rec.STAT, "--json", archive.recording], capture_output=True, text=True)
    names = {p["pid"]: p["comm"] for p in json.loads(p.stdout)["processes"]}
    tap.ok("EngineCore" in names.get(engines[0], ""), f"{name}: the engine is called what it calls itself", names)
    p = subprocess.run([rec.STAT, "--json", "--by", "line", "--top", "0", "-e", "cudaLaunchKernel", archive.recording], capture_output=True,
                       text=True)
    rows = [row["key"] or "" for row in json.loads(p.stdout)["by"]["rows"]]
    tap.none([row for row in rows if re.sub(r".*\((.*):\d+\)$", r"\1", row) not in own_files()], f"{name}: each launch is from a file of vLLM's")
    tap.ok([row for row in rows if row.startswith("GPUModelRunner.execute_model (gpu_model_runner.py:")],
           f"{name}: some are from the step of the model runner itself", rows)


def own_files():
    """Names of vLLM's source files."""
    package = glob.glob(os.path.join(real.REAL, "python", "lib", "python3*", "site-packages", "vllm"))[0]
    return {file for _, _, files in os.walk(package) for file in files if file.endswith(".py")}


archive = real.launch("generating", [real.PYTHON, os.path.join(real.WORK, "vllm_generate.py"), model, str(TOKENS)], **settings)
tap.same(archive.out, "tokens" + f" {TOKENS}" * 8 + "\n", "generating: as many tokens as asked for")
check_engine("generating", archive)

counts, ige = real.new_run("serving")
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
serve = [real.PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--served-model-name", "m", "--load-format", "dummy",
         "--dtype", "bfloat16", "--max-model-len", "512", "--num-gpu-blocks-override", "256", "--enforce-eager",
         "--gpu-memory-utilization", "0.3", "--host", "127.0.0.1", "--port", str(port)]
with open(rec.path("server.log"), "w", encoding="utf-8") as log:
    recorder = subprocess.Popen([rec.RECORD, "-o", ige, "--", *serve], env=real.environment(counts, **settings), stdin=subprocess.DEVNULL,
                                stdout=log, stderr=log)


def answers(request, timeout):
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer) if isinstance(request, urllib.request.Request) else answer.status == 200
    except OSError:
        return None


def ask():
    """One client: requests one after the other."""
    for _ in range(REQUESTS):
        body = {"model": "m", "prompt": "hello", "max_tokens": 16, "ignore_eos": True, "seed": 1}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(),
                                         {"content-type": "application/json"})
        answered.append(answers(request, 60))


answered = []
up = rec.until(lambda: recorder.poll() is not None or answers(f"http://127.0.0.1:{port}/health", 5))
if tap.ok(up and recorder.poll() is None, "serving: the server is up"):
    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
tap.same([answer["usage"]["completion_tokens"] for answer in answered if answer], [16] * (CLIENTS * REQUESTS),
         "serving: each request is answered in full")
for child in rec.children(recorder.pid):
    os.kill(child, signal.SIGINT)
recorder.wait(rec.PATIENCE)
archive = real.Archive(ige)
real.check_whole("serving", archive, real.counted(counts))
check_engine("serving", archive)
if not answered:
    with open(rec.path("server.log"), encoding="utf-8") as log:
        tap.diag(log.read()[-3000:])
tap.done_testing()
