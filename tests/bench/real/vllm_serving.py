# SPDX-License-Identifier: Apache-2.0
"""vLLM serving its OpenAI API to four clients without an end; a line for each token that a client is sent, as of the double's
load: the time since the token before it, whoever's it was, and the CPU time of the server's processes in it.

    vllm_serving.py PROGRESS MODEL PORT
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request

CLIENTS, TOKENS = 4, 32
progress_path, model, port = sys.argv[1:]


def children(pid):
    """That process and those it started."""
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                for child in f.read().split():
                    found += children(int(child))
    except OSError:
        pass
    return found


def cpu_ns(pids):
    total = 0
    for pid in pids:
        try:
            total += time.clock_gettime_ns((~pid << 3) | 2)  # as clock_getcpuclockid() numbers them
        except OSError:
            pass
    return total


def die_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Log:
    """Lines for the tokens of all clients, one after the other."""

    def __init__(self, path, server):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.lock, self.last, self.pids = threading.Lock(), None, children(server)

    def add_token(self):
        with self.lock:
            now, cpu = time.monotonic_ns(), cpu_ns(self.pids)
            if self.last:
                os.write(self.file, b"%d %d %d 0 0\n" % (now, now - self.last[0], cpu - self.last[1]))
            self.last = now, cpu


def ask(on_token):
    """One request, whose tokens come one by one."""
    body = {"model": "m", "prompt": "hello", "max_tokens": TOKENS, "ignore_eos": True, "seed": 1, "stream": True}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", json.dumps(body).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                on_token()


def is_up():
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def client(log):
    while True:
        ask(log.add_token)


def main():
    server = subprocess.Popen([sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--served-model-name", "m",
                               "--load-format", "dummy", "--dtype", "bfloat16", "--max-model-len", "512", "--enforce-eager",
                               "--num-gpu-blocks-override", "256", "--gpu-memory-utilization", "0.3", "--host", "127.0.0.1",
                               "--port", port], stdin=subprocess.DEVNULL, stdout=2, preexec_fn=die_with_us)
    while not is_up():
        if server.poll() is not None:
            sys.exit("the server ended")
        time.sleep(0.5)
    for _ in range(CLIENTS):
        ask(lambda: None)
    log = Log(progress_path, server.pid)
    print("ready", server.pid, flush=True)
    for _ in range(CLIENTS):
        threading.Thread(target=client, args=(log,)).start()


main()
