#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Which containers were given GPUs is asked of the kubelet, here a real gRPC server in a namespace where its socket is:
# processes of such a container are targets before they load CUDA, pods that no folder names have their names from there,
# and a kubelet that refuses, talks nonsense or says nothing costs the names and nothing else.
import atexit
import os
import shutil
import socket
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording as rec
from recording import tap

FOLDER = "/var/lib/kubelet/pod-resources"
SOCKET = FOLDER + "/kubelet.sock"
UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
ONE, TWO = "GPU-11111111-2222-3333-4444-555555555555", "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa"
CHECK = os.path.join(rec.BUILD, "bin", "ingero-check")
SERVER = os.path.join(rec.HERE, "kubelet_server.py")

if len(sys.argv) < 2:
    if os.path.exists("/var/lib/kubelet"):
        tap.skip_all("optional: this machine has a kubelet")
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        tap.skip_all("optional: a namespace of our own takes root")
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, __file__, "inside"])

rec.need_bpf()
if subprocess.run(["mount", "-t", "tmpfs", "none", "/var/lib"], capture_output=True).returncode:
    tap.skip_all("optional: nothing can be mounted here")
os.makedirs(FOLDER)
ANSWER = os.path.join(FOLDER, "answer.json")


def say(**what):
    with open(ANSWER + ".new", "w", encoding="utf-8") as f:
        rec.json.dump(what, f)
    os.rename(ANSWER + ".new", ANSWER)


def serve():
    """The server, listening; None: it cannot be had here."""
    for python in (sys.executable, "/usr/bin/python3"):
        p = subprocess.Popen([python, SERVER, SOCKET, ANSWER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        atexit.register(p.kill)  # however this test ends
        if p.stdout.readline() == "listening\n":
            return p
        p.wait()
    return None


def pods():
    """What ingero-check says of them."""
    # Without the rights that loading probes takes: that is tried elsewhere.
    p = subprocess.run(["setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin", CHECK, "--json"],
                       capture_output=True, text=True)
    return [(c["status"], c["text"]) for c in rec.json.loads(p.stdout)["checks"] if c["id"] == "pods"]


tap.same(pods(), [], "where there is no kubelet there is nothing to say")


held = []


# ---- sockets that are none of a kubelet's ----

def odd(act):
    """ingero-check with a daemon that does this to who connects."""
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(SOCKET)
        s.listen(5)

        def run():
            try:
                while True:
                    act(s.accept()[0])
            except OSError:
                pass
        t = threading.Thread(target=run, daemon=True)
        t.start()
        said = pods()
        s.shutdown(socket.SHUT_RDWR)
        t.join()
    os.unlink(SOCKET)
    return said


def garbage(c):
    c.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 100)
    held.append(c)  # closing it would take back what was not read


said = odd(garbage)
tap.ok("no HTTP/2" in said[0][1], "a daemon that speaks something else", said)
tap.ok(odd(lambda c: c.close())[0][0] == "warn", "one that hangs up")
tap.ok("does not answer" in odd(held.append)[0][1], "one that never answers")
with socket.socket(socket.AF_UNIX) as s:
    s.bind(SOCKET)
tap.ok("refused" in pods()[0][1], "a socket that nobody listens at")
os.unlink(SOCKET)

# ---- libnghttp2 is loaded when it is needed ----

with socket.socket(socket.AF_UNIX) as s:
    s.bind(SOCKET)
    s.listen(5)
    library = next((line.split()[-1] for line in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout.splitlines()
                    if "libnghttp2.so.14" in line), None)
    hidden = library and subprocess.run(["mount", "--bind", "/dev/null", library]).returncode == 0
    if hidden or not library:
        said = pods()[0]
        tap.ok(said[0] == "warn" and "libnghttp2" in said[1], "without the library it is said what is missing", said)
        p = rec.run("-a", "-o", rec.path("none.ige"), "--duration", "100ms")
        tap.ok(p.returncode == 0 and "libnghttp2" in p.stderr, "and the recorder goes on without", p.stderr)
    if hidden:
        subprocess.run(["umount", library], check=True)
os.unlink(SOCKET)

say()
server = serve() if library else None
if not server:
    tap.skip("a kubelet's answers", "optional: no libnghttp2, or no Python with grpc (Debian: python3-grpcio)")
    tap.done_testing()
    sys.exit()

TRAINERS = [["ml", "trainer-0", [["train", {"nvidia.com/gpu": [ONE]}], ["log", {}]]],
            ["ml", "trainer-1", [["sidecar", {"nvidia.com/nic": ["nic0"]}], ["train", {"nvidia.com/gpu": [TWO + "::2"]}]]],
            ["web", "front", [["nginx", {}]]]]
tap.same(pods(), [("ok", "the kubelet gave GPUs to 0 containers")], "a node without GPU pods")
say(pods=TRAINERS)
tap.same(pods(), [("ok", "the kubelet gave GPUs to 2 containers: ml/trainer-0, ml/trainer-1")], "pods with GPUs")
say(pods=[["a", "b", [["c", {"claim": ["gpu-0"]}]]]])
tap.same(pods(), [("ok", "the kubelet gave GPUs to 1 container: a/b")], "a GPU that was claimed, not plugged in")
# More than the 64 KiB that HTTP/2 lets through before it is told that they were taken.
say(pods=TRAINERS, many=20000)
tap.same(pods(), [("ok", "the kubelet gave GPUs to 2 containers: ml/trainer-0, ml/trainer-1")], "among 20,000 pods")
say(refuse="rate limited")
tap.ok(pods()[0][0] == "warn" and "gRPC status 8, rate limited" in pods()[0][1], "a kubelet that refuses", pods())

# ---- recordings ----

say(pods=TRAINERS)
group = rec.cgroup(f"kubepods-pod{UID}")
if not group:
    tap.skip("processes of pods", "optional: no cgroup can be made here")
else:
    # Neither has a library of CUDA: what they were given is all that makes them targets.
    def process(where, gpu):
        p = subprocess.Popen(["sh", "-c", "while :; do sleep 0.1; done"], env={"NVIDIA_VISIBLE_DEVICES": gpu, "PATH": os.environ["PATH"]})
        if where:
            with open(os.path.join(where, "cgroup.procs"), "w") as f:
                f.write(str(p.pid))
        return p

    inside, outside = process(group, TWO), process(None, TWO)
    try:
        for name, options in (("all.ige", ["-a"]), ("one.ige", ["--pod", "ml/trainer-1"]), ("bare.ige", ["-a", "--no-probes"])):
            p = rec.run(*options, "-o", rec.path(name), "--duration", "1500ms")
            _, records, _ = rec.dump(rec.path(name))
            places = rec.places(name)
            what = " ".join(options)
            tap.same([places.get(inside.pid, {}).get(k) for k in ("namespace", "pod", "container_name", "gpus", "pod_uid")],
                     ["ml", "trainer-1", "train", TWO, UID], f"{what}: the process whose container was given a GPU, and its pod by that")
            tap.ok(outside.pid not in places, f"{what}: not one outside of any pod")
            tap.same([(r["path"], r["requested"], r["attached"], r["failed"], r["delivered"]) for r in records
                      if r["record"] == "coverage" and r["layer"] == "pods"], [(SOCKET, 1, 1, 0, 2)], f"{what}: who told is told")
            tap.ok("2 containers with GPUs" in p.stderr, f"{what}: a person is told too", p.stderr)
        # A pod that came later.
        say(pods=TRAINERS[:1])
        p = rec.start("-a", "-o", rec.path("later.ige"))
        while "containers" not in (line := p.stderr.readline()) and "container with" not in line and line:
            pass
        say(pods=TRAINERS, name="later")
        # It has taken the answer when it asks again.
        for _ in range(2):
            while server.stdout.readline() not in ("asked later\n", ""):
                pass
        p.send_signal(2)
        p.communicate()
        tap.same(rec.places("later.ige").get(inside.pid, {}).get("pod"), "trainer-1", "a pod that was given its GPU while recording")
    finally:
        for q in (inside, outside):
            q.kill()
            q.wait()
        # What they started ends by itself.
        while open(os.path.join(group, "cgroup.procs"), encoding="utf-8").read():
            pass
        os.rmdir(group)
server.kill()
server.wait()
tap.done_testing()
