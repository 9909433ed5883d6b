#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# What real programs ask of the device: memory with contents, mapped memory, captures and graphs, properties and attributes.
import ctypes
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support import DOUBLE, done, ok, run_with_libraries, same

LAUNCH_NS = 2_000_000
run_with_libraries(DOUBLE, DOUBLE_CONTENTS=1, DOUBLE_DEVICE_MB=1024, DOUBLE_LAUNCH_NS=LAUNCH_NS)
cuda, driver, nccl = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnccl.so.2")
INVALID, ILLEGAL_STATE, UNSUPPORTED = 1, 401, 900
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
MB = 1 << 20
pointer, size = ctypes.c_void_p, ctypes.c_size_t


class Dim3(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint) for n in "xyz"]


cuda.cudaLaunchKernel.argtypes = [pointer, Dim3, Dim3, pointer, size, pointer]
ONE = Dim3(1, 1, 1)
KERNEL = ctypes.create_string_buffer(1)


def launch(stream=None):
    return cuda.cudaLaunchKernel(ctypes.addressof(KERNEL), ONE, ONE, None, 0, stream)


def made(call, *args):
    out = pointer()
    rc = call(ctypes.byref(out), *args)
    assert rc == 0, f"{call.__name__}: {rc}"
    return out


def malloc(n):
    return made(cuda.cudaMalloc, size(n))


def at(p, offset):
    return pointer(p.value + offset)


def read(p, n, kind=TO_HOST):
    out = ctypes.create_string_buffer(n)
    rc = cuda.cudaMemcpy(out, p, size(n), kind)
    return out.raw if not rc else rc


def free_bytes():
    left, total = size(), size()
    cuda.cudaMemGetInfo(ctypes.byref(left), ctypes.byref(total))
    return left.value


# Contents
text = bytes(range(256)) * 16
a, b = malloc(4096), malloc(4096)
same(cuda.cudaMemcpy(a, text, size(4096), TO_DEVICE), 0, "a copy to the device")
same(read(a, 4096), text, "what was copied there is there")
same((cuda.cudaMemcpy(b, a, size(4096), ON_DEVICE), read(b, 4096)), (0, text), "a copy on the device")
same((cuda.cudaMemset(at(b, 16), 7, size(32)), read(b, 64)), (0, text[:16] + b"\7" * 32 + text[48:64]), "a set inside of an allocation")
same((driver.cuMemsetD32_v2(b, ctypes.c_uint(0x01020304), size(3)), read(b, 12)), (0, bytes([4, 3, 2, 1] * 3)), "a set of 32-bit values")
rows = ctypes.create_string_buffer(b"aabbcc", 6)
same((cuda.cudaMemcpy2D(b, size(4), rows, size(2), size(2), size(3), TO_DEVICE), read(b, 2), read(at(b, 4), 2), read(at(b, 8), 2)),
     (0, b"aa", b"bb", b"cc"), "a copy of rows")
same(cuda.cudaMemcpy(at(a, 4000), text, size(97), TO_DEVICE), INVALID, "a copy over the end of an allocation is refused")
same(cuda.cudaFree(at(a, 512)), INVALID, "as is freeing what is no allocation's begin")
same((cuda.cudaFree(a), cuda.cudaFree(a), read(a, 1)), (0, INVALID, INVALID), "freed memory is not allocated any more")
before = free_bytes()
big = malloc(300 * MB)
same(before - free_bytes(), 300 * MB, "the device knows what is left of its memory")
same(cuda.cudaMalloc(ctypes.byref(pointer()), size(800 * MB)), 2, "and refuses more")
cuda.cudaMemset(at(big, 200 * MB), 9, size(MB))
same((read(at(big, 200 * MB), 4), cuda.cudaFree(big), free_bytes()), (b"\t" * 4, 0, before), "large allocations have contents, too")
ok(all(p.value % 512 == 0 for p in (a, b, big)), "addresses are aligned as on a device", (a, b, big))


# What an address is
class Attributes(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("device", ctypes.c_int), ("device_pointer", pointer), ("host_pointer", pointer),
                ("reserved", ctypes.c_long * 8)]


def kind(p):
    attributes = Attributes()
    cuda.cudaPointerGetAttributes(ctypes.byref(attributes), p)
    return attributes.type


pinned, managed = made(cuda.cudaMallocHost, size(8192)), made(cuda.cudaMallocManaged, size(64), 1)
plain = ctypes.create_string_buffer(4096)
same([kind(p) for p in (at(b, 100), at(pinned, 5000), managed, plain)], [2, 1, 3, 0], "device, pinned, managed and plain memory, from inside")
ctypes.memset(pinned, 1, 8192)
cuda.cudaHostRegister(plain, size(4096), 0)
registered = kind(plain)
cuda.cudaHostUnregister(plain)
same((registered, kind(plain)), (1, 0), "registered memory is pinned until it is unregistered")

# Mapped memory
start, handle, other = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint64()
before = free_bytes()
same([driver.cuMemAddressReserve(ctypes.byref(start), size(64 * MB), size(0), ctypes.c_uint64(0), ctypes.c_uint64(0)),
      driver.cuMemCreate(ctypes.byref(handle), size(4 * MB), None, ctypes.c_uint64(0)),
      driver.cuMemMap(start, size(4 * MB), size(0), handle, ctypes.c_uint64(0)),
      driver.cuMemMap(ctypes.c_uint64(start.value + 8 * MB), size(4 * MB), size(0), handle, ctypes.c_uint64(0)),
      driver.cuMemSetAccess(start, size(4 * MB), None, size(1)),
      driver.cuMemSetAccess(ctypes.c_uint64(start.value + 8 * MB), size(4 * MB), None, size(1))], [0] * 6, "one handle is mapped twice")
p = pointer(start.value + 4096)
same((cuda.cudaMemcpy(p, text, size(4096), TO_DEVICE), read(at(p, 8 * MB), 4096)), (0, text), "and shows the same contents at both places")
same(driver.cuMemMap(start, size(8 * MB), size(0), handle, ctypes.c_uint64(0)), INVALID, "more than there is of it is refused")
driver.cuMemRelease(handle)
same(before - free_bytes(), 4 * MB, "a handle that is still mapped keeps its memory")
same((driver.cuMemUnmap(start, size(4 * MB)), driver.cuMemUnmap(ctypes.c_uint64(start.value + 8 * MB), size(4 * MB)), free_bytes()),
     (0, 0, before), "which the last mapping gives back")
same(driver.cuMemAddressFree(start, size(64 * MB)), 0, "the addresses are given back")

# Captures and graphs
stream, side, event = made(cuda.cudaStreamCreate), made(cuda.cudaStreamCreate), made(cuda.cudaEventCreate)


def capturing(s):
    active = ctypes.c_int(-1)
    cuda.cudaStreamIsCapturing(s, ctypes.byref(active))
    return active.value


def nodes(g):
    n = size()
    cuda.cudaGraphGetNodes(g, None, ctypes.byref(n))
    return n.value


same((capturing(stream), cuda.cudaStreamBeginCapture(stream, 0), capturing(stream), capturing(side)), (0, 0, 1, 0), "a stream is captured")
same(cuda.cudaStreamSynchronize(stream), UNSUPPORTED, "and cannot be waited for")
cuda.cudaMemcpy(b, b"old", size(3), TO_DEVICE)
for _ in range(4):
    launch(stream)
cuda.cudaEventRecord(event, stream)
cuda.cudaStreamWaitEvent(side, event, 0)
same(capturing(side), 1, "another stream joins by an event")
launch(side)
cuda.cudaMemcpyAsync(b, b"new", size(3), TO_DEVICE, side)
calls = []
called = ctypes.CFUNCTYPE(None, pointer)(calls.append)
cuda.cudaLaunchHostFunc(stream, called, pointer(5))
identity, graph = ctypes.c_uint64(), pointer()
active = ctypes.c_int()
cuda.cudaStreamGetCaptureInfo(side, ctypes.byref(active), ctypes.byref(identity), ctypes.byref(graph), None, None, None)
ok(active.value == 1 and identity.value and graph.value, "a capture has an id and a graph", (active, identity, graph))
graph = pointer()
same((cuda.cudaStreamEndCapture(stream, ctypes.byref(graph)), capturing(side), nodes(graph)), (0, 0, 7), "seven nodes were captured")
same((read(b, 3), calls), (b"old", []), "nothing was done meanwhile")
same(cuda.cudaStreamEndCapture(stream, ctypes.byref(pointer())), ILLEGAL_STATE, "no capture ends twice")
executable = made(cuda.cudaGraphInstantiate, graph, ctypes.c_uint64(0))
begin = time.monotonic_ns()
cuda.cudaGraphLaunch(executable, stream)
cuda.cudaStreamSynchronize(stream)
ok(time.monotonic_ns() - begin >= 5 * LAUNCH_NS, "a launch takes the time of its five kernels", time.monotonic_ns() - begin)
same((read(b, 3), calls), (b"new", [5]), "and copies and calls as captured")
empty = made(cuda.cudaGraphCreate, 0)
same((cuda.cudaGraphExecUpdate(executable, empty, None), cuda.cudaGraphLaunch(executable, stream), calls), (0, 0, [5]),
     "an update replaces what it does")
mode = ctypes.c_int(2)
same((cuda.cudaThreadExchangeStreamCaptureMode(ctypes.byref(mode)), mode.value,
      cuda.cudaThreadExchangeStreamCaptureMode(ctypes.byref(mode)), mode.value), (0, 0, 0, 2), "capture modes are exchanged")


# The device
def properties(library, call, bytes_of):
    out = ctypes.create_string_buffer(bytes_of + 64)
    ctypes.memset(out, 0x5A, bytes_of + 64)
    rc = getattr(ctypes.CDLL(library), call)(out, 0)
    data = out.raw
    number = lambda offset, n=4: int.from_bytes(data[offset:offset + n], "little")
    return rc, data[:11], number(288, 8), (number(360), number(364)), number(336), number, data[bytes_of:] == b"\x5A" * 64


for library, call, bytes_of, places in (("libcudart.so.13", "cudaGetDeviceProperties", 1008, (384, 604, 672)),
                                        ("libcudart.so.12", "cudaGetDeviceProperties_v2", 1032, (388, 624, 696))):
    *common, number, kept = properties(library, call, bytes_of)
    same((*common, [number(p) for p in places], kept), (0, b"CUDA double", 1024 * MB, (8, 9), 2**31 - 1, [76, 1536, 101376], True),
         f"{call}: the device's properties, and nothing beyond them")
    version = ctypes.c_int()
    ctypes.CDLL(library).cudaRuntimeGetVersion(ctypes.byref(version))
    same(version.value // 1000, int(library[-2:]), f"{library} is of that version")


def attribute(n):
    value = ctypes.c_int(-1)
    cuda.cudaDeviceGetAttribute(ctypes.byref(value), n, 0)
    return value.value


same([attribute(n) for n in (75, 76, 5, 6, 2, 4, 10, 102, 9999)], [8, 9, 2**31 - 1, 65535, 1024, 64, 32, 1, 0], "device attributes")
found = (ctypes.c_char * 144)()
cuda.cudaFuncGetAttributes(found, ctypes.addressof(KERNEL))
same([int.from_bytes(found.raw[n:n + 4], "little") for n in (24, 32)], [1024, 86], "a kernel's threads and PTX version")
cuda.cudaGetErrorName.restype = cuda.cudaGetErrorString.restype = ctypes.c_char_p
same((cuda.cudaGetErrorName(2), cuda.cudaGetErrorString(2)), (b"cudaErrorMemoryAllocation", b"out of memory"), "errors have names")

# Registered kernels: the driver loads one when it is launched first, and the handle is its name's.
register, unregister, add = (cuda["__cuda" + n] for n in ("RegisterFatBinary", "UnregisterFatBinary", "RegisterFunction"))
register.restype = pointer
image, stub = ctypes.create_string_buffer(64), ctypes.create_string_buffer(2)
binary = pointer(register(image))
add(binary, pointer(ctypes.addressof(stub)), b"_Z3addPf", b"_Z3addPf", -1, None, None, None, None, None)
kernel, same_kernel = pointer(), pointer()
cuda.cudaGetKernel(ctypes.byref(kernel), pointer(ctypes.addressof(stub)))
driver.cuLibraryGetKernel(ctypes.byref(same_kernel), None, b"_Z3addPf")
ok(kernel.value == same_kernel.value != ctypes.addressof(stub), "a registered stub becomes the driver's kernel", (kernel, same_kernel))
unregister(binary)
cuda.cudaGetKernel(ctypes.byref(kernel), pointer(ctypes.addressof(stub)))
same(kernel.value, ctypes.addressof(stub), "until its binary is unregistered")

# Collectives move what this process has.
class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


comm = pointer()
nccl.ncclCommInitRank(ctypes.byref(comm), 3, Id(), 1)
ranks, rank = ctypes.c_int(), ctypes.c_int()
nccl.ncclCommCount(comm, ctypes.byref(ranks))
nccl.ncclCommUserRank(comm, ctypes.byref(rank))
same((ranks.value, rank.value), (3, 1), "a communicator knows its size and rank")
cuda.cudaMemcpy(b, b"12345678", size(8), TO_DEVICE)
same((nccl.ncclAllGather(b, at(b, 64), size(2), 2, comm, stream), read(at(b, 64), 24)), (0, b"12345678" * 3), "a gather gathers")
done()
