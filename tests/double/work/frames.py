#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""frames: calls the CUDA runtime out of every kind of Python code, and writes down the stack of each call, as Python
itself tells it. Each call is a cudaMalloc of as many bytes as its number. For CPython 3.8 and later."""
import asyncio
import contextlib
import ctypes
import functools
import gc
import itertools
import json
import os
import signal
import sys
import threading

LOG = sys.argv[1]
PARTS = set(sys.argv[2].split(",")) if len(sys.argv) > 2 else None
P = ctypes.c_void_p()
BY = ctypes.byref(P)
malloc = ctypes.CDLL("libcudart.so.13").cudaMalloc
malloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
malloc_locked = ctypes.PyDLL("libcudart.so.13").cudaMalloc  # does not release the interpreter's lock
malloc_locked.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
numbers = itertools.count(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
log = open(LOG, "a", buffering=1)


def stack_of(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return stack


def note(number, part, frame):
    log.write(json.dumps({"n": number, "pid": os.getpid(), "part": part, "stack": stack_of(frame)}) + "\n")


def hit(part):
    n = next(numbers)
    return (note(n, part, sys._getframe()), malloc(BY, n))


def hit_locked(part):
    n = next(numbers)
    return (note(n, part, sys._getframe()), malloc_locked(BY, n))


def direct(part, body):
    """body calls what it is given: first what writes the stack down, then the library, from the same instruction."""
    n = next(numbers)
    for f in (lambda *ignored: note(n, part, sys._getframe(1)), malloc):
        body(f, n)


def nested():
    def inner():
        def innermost():
            return hit("nested")
        return innermost()
    return inner()


def recursive(n, part):
    if n == 0:
        return hit(part)
    return recursive(n - 1, part)


def multi_line():
    def body(f, n):
        x = 1
        y = f(
            BY,
            n,
        )
        return x, y
    direct("multi-line", body)
    hit(
        "multi-line "
        "argument"
    )


def statements():
    def body(f, n):
        for i in range(2):
            if i == 1:
                try:
                    f(BY, n)
                finally:
                    i = 2
            else:
                pass
        while True:
            break
    direct("in a try", body)

    def after(f, n):
        with contextlib.suppress(ValueError):
            raise ValueError
        try:
            raise KeyError
        except KeyError:
            f(BY, n)
    direct("in an except", after)

    def one_line(f, n): a = 1; f(BY, n); return a
    direct("on one line", one_line)


def generator():
    def numbers_of():
        yield 1
        hit("generator")
        yield 2

    def delegating():
        yield from numbers_of()
    for _ in delegating():
        pass
    list(hit("generator expression") for _ in range(1))


def coroutines():
    async def leaf(part):
        await asyncio.sleep(0)
        hit(part)

    async def middle():
        await asyncio.gather(leaf("gathered coroutine"), leaf("gathered coroutine"))
        await leaf("coroutine")

    async def numbers_of():
        yield hit("async generator")

    async def main():
        await middle()
        async for _ in numbers_of():
            pass
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()


def through_c():
    sorted([3, 1], key=lambda x: hit("sorted key") and 0)
    list(map(lambda x: hit("map"), [1]))
    functools.reduce(lambda a, b: hit("reduce"), [1, 2])
    functools.partial(hit, "partial")()
    functools.lru_cache()(lambda: hit("lru_cache"))()
    max([1, 2], key=lambda v: [hit("max"), v][1])
    sorted([2, 1], key=lambda v: sorted([2, 1], key=lambda w: [hit("C in C"), w][1]))
    ctypes.CFUNCTYPE(ctypes.c_int)(lambda: [hit("ctypes callback"), 0][1])()


def comprehensions():
    [hit("list comprehension") for _ in range(1)]
    {1: hit("dict comprehension") for _ in range(1)}
    {hit("set comprehension") for _ in range(1)}
    [[hit("nested comprehension") for _ in range(1)] for _ in range(1)]


def decorated():
    def twice(f):
        @functools.wraps(f)
        def wrapper(*args):
            return f(*args)
        return wrapper

    @twice
    @twice
    def function():
        return hit("decorator")
    function()


class Things:
    def method(self):
        return hit("method")

    @property
    def value(self):
        return hit("property")

    @classmethod
    def of_class(cls):
        return hit("class method")

    def __getattr__(self, name):
        return hit("__getattr__")

    def __enter__(self):
        hit("__enter__")
        return self

    def __exit__(self, *ignored):
        hit("__exit__")

    def __del__(self):
        hit("__del__")

    def __lt__(self, other):
        return bool(hit("__lt__"))


def classes():
    thing = Things()
    thing.method()
    thing.value
    thing.of_class()
    thing.missing
    with thing:
        hit("with")
    thing < thing
    del thing

    class Body:
        made = hit("class body")


def made():
    exec(compile("\n\n\ndef gen():\n    hit('exec')\n\ngen()\n", "<made>", "exec"), globals())
    eval("hit('eval')")
    exec(compile("def \u0444\u0443\u043d\u043a\u0446\u0438\u044f():\n    hit('names')\n\n\u0444\u0443\u043d\u043a\u0446\u0438\u044f()\n",
                 "/tmp/\u6587\u4ef6/na\u00efve.py", "exec"), globals())
    exec(compile("def caf\u00e9():\n    hit('names')\n\ncaf\u00e9()\n", "/tmp/\U0001f40d.py", "exec"), globals())
    # A line table of several pieces, and lines far apart.
    body = "".join("    x = [x, %d]\n%s" % (i, "\n" * (i % 300)) + "    if x is None:\n        hit(0)\n    x = 0\n" for i in range(1500))
    exec(compile("def long():\n    x = 0\n" + body + "    hit('long function')\n\nlong()\n", "<long>", "exec"), globals())


def reused():
    """Code objects that are freed, by each way they can be: others soon stand at their addresses, alike but for their names
    and lines."""
    def make(i, part, drop="pass"):
        scope = {"hit": hit}
        exec(compile("%s\ndef gen%d():\n    %s\n    return hit(%r)\ngen%d()\n" % ("\n" * (i % 7), i, drop % {"i": i}, part, i),
                     "<gen>", "exec"), scope)
        return scope
    for i in range(120):
        make(i, "reused").clear()
    for i in range(40):
        make(i, "reused, held by its frame only", "del globals()['gen%(i)d']")
    for i in range(40):
        scope = make(i, "reused, collected")
        scope["scope"] = scope
        del scope
        gc.collect()
    for i in range(40):
        t = threading.Thread(target=lambda: make(i, "reused, by threads").clear())
        t.start()
        t.join()


def threads():
    def work(n):
        recursive(n, "thread")
    all_of_them = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for t in all_of_them:
        t.start()
    hit("beside threads")
    for t in all_of_them:
        t.join()


def locked():
    hit_locked("lock held")
    list(map(lambda x: hit_locked("lock held in map"), [1]))


def signals():
    signal.signal(signal.SIGUSR1, lambda number, frame: hit("signal"))
    os.kill(os.getpid(), signal.SIGUSR1)
    hit("after a signal")


def deep():
    for depth in (40, 100, 120):
        recursive(depth, "deep")


def too_deep():
    recursive(300, "too deep")


def forked():
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        global numbers
        numbers = itertools.count(100001)
        hit("fork")
        recursive(2, "fork")
        t = threading.Thread(target=lambda: hit("thread of a fork"))
        t.start()
        t.join()
        os._exit(0)
    os.waitpid(pid, 0)
    hit("after a fork")


def hot():
    """Often enough for machine code to be made of it, where the interpreter does that."""
    def each(n):
        return (note(n, "machine code" if active() else "hot", sys._getframe()), malloc(BY, n))
    active = getattr(getattr(sys, "_jit", None), "is_active", lambda: False)
    for _ in range(9000):
        each(next(numbers))


def interpreters():
    source = open(__file__).read().split("def nested")[0]
    text = ("import sys\nsys.argv = ['frames', %r, '', '200001']\n" % LOG) + source + "\n\ndef sub():\n    hit('interpreter')\n\nsub()\n"
    try:
        import _interpreters as them
    except ImportError:
        import _xxsubinterpreters as them
    for kind in ({"isolated": False}, {}, None):
        try:
            it = them.create(**kind) if kind is not None else them.create("legacy")
            break
        except (TypeError, ValueError):
            continue
    hit("before an interpreter")
    failed = them.run_string(it, text)
    if failed:
        raise RuntimeError(failed)
    hit("after an interpreter")
    them.destroy(it)


def executed():
    if "--again" not in sys.argv:
        os.execv(sys.executable, [sys.executable, __file__, LOG, ",".join(PARTS or []) or "executed", "300001", "--again"])
    hit("exec")


if __name__ == "__main__":
    every = [nested, multi_line, statements, generator, coroutines, through_c, comprehensions, decorated, classes, made, reused,
             threads, locked, signals, deep, too_deep, forked]
    for part in every + [hot, interpreters, executed]:
        if part.__name__ in PARTS if PARTS else part in every:
            part()
    hit("module")
