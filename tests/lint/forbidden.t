#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Calls that have no place here: the ones that overrun, guess or split words, anywhere; and in lib/
# everything that would let a library end the program, print, or read the environment. ALLOWED names
# each exception with its reason; an exception nobody uses any more fails too.

import glob
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

NEVER = {
    "gets", "strcpy", "strcat", "sprintf", "vsprintf", "stpcpy", "strncpy", "strncat", "strtok",
    "system", "popen", "atoi", "atol", "atoll", "atof", "alloca", "mktemp", "tmpnam", "tempnam",
    "asctime", "ctime", "gmtime", "localtime", "setlocale", "bzero", "bcopy",
    "gethostbyname", "usleep", "ftime",
}
NOT_IN_LIB = {
    "exit", "_exit", "_Exit", "quick_exit", "abort", "assert", "err", "errx", "warn", "warnx", "perror",
    "printf", "vprintf", "puts", "putchar", "getenv", "secure_getenv", "setenv", "getopt", "getopt_long",
}
# Words that name the streams of the process.
STREAMS = {"stdout", "stderr", "stdin"}

# (file, word): why
ALLOWED = {
    ("lib/record/command_launch.c", "setenv"): "the launched command gets its user's environment",
    ("lib/record/command_launch.c", "_exit"): "the forked child, before exec",
    ("lib/attach/link_close.c", "_exit"): "the forked child that closes descriptors",
    ("lib/record/cost.c", "_exit"): "the forked child that is measured",
    ("lib/host/gpus.c", "_exit"): "the forked child that reads GPU health",
    ("lib/host/helper.c", "_exit"): "forked children beside the recorder",
    ("lib/cli/options.c", "stdout"): "--help and --version",
    ("lib/cli/output.c", "stdout"): "the owner of standard output",
    ("lib/cli/config.c", "getenv"): "which configuration",
    ("lib/cli/defaults.c", "getenv"): "whose home, and where the default recording is",
    ("lib/cli/server_options.c", "getenv"): "a token, which no option may hold",
    ("lib/cli/term.c", "getenv"): "NO_COLOR and TERM decide about colour",
    ("lib/cli/sibling.c", "getenv"): "PATH",
    ("lib/cli/otel.c", "getenv"): "OTEL_EXPORTER_OTLP_*, where a push goes",
    ("lib/cli/sibling.c", "_exit"): "the forked child that could not become another program",
    ("lib/cli/tee.c", "_exit"): "the forked child that copies a stream",
    ("lib/cli/signals.c", "_exit"): "the second interrupt ends at once",
    ("lib/cli/output.c", "_exit"): "a library of others is without memory, and would abort",
    ("lib/filter/confined.c", "_exit"): "the forked child that evaluates what others wrote",
    ("lib/demo/real_stall.c", "_exit"): "the forked hog",
    ("lib/store/source_child.c", "_exit"): "the forked child that ends an analysis",
    ("lib/mcp/checker.c", "_exit"): "the forked child that could not become ingero-check",
}


def code_of(text):
    """The text with comments, strings and character constants blanked out, line numbers kept."""

    def blank(m):
        return re.sub(r"[^\n]", " ", m.group(0))

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def lines_with(code, words, call):
    pattern = r"(?<![\w.>])(" + "|".join(map(re.escape, sorted(words))) + r")\b" + (r"\s*\(" if call else "")
    for m in re.finditer(pattern, code):
        yield code.count("\n", 0, m.start()) + 1, m.group(1)


never, inside, used = [], [], set()
files = [f for p in ("lib", "cmd", "tests") for e in ("c", "h") for f in glob.glob(f"{p}/**/*.{e}", recursive=True)]
for path in sorted(files):
    code = code_of(open(path, encoding="utf-8").read())
    found = [(n, w, never) for n, w in lines_with(code, NEVER, True)]
    if path.startswith("lib/"):
        found += [(n, w, inside) for n, w in lines_with(code, NOT_IN_LIB, True)]
        found += [(n, w, inside) for n, w in lines_with(code, STREAMS, False)]
    for number, word, to in found:
        if (path, word) in ALLOWED:
            used.add((path, word))
        else:
            to.append(f"{path}:{number}: {word}")
tap.none(never, f"no dangerous calls ({len(files)} files)")
tap.none(inside, "lib/ does not print, exit or read the environment")
tap.none((f"{p}: {w}" for p, w in sorted(set(ALLOWED) - used)), "every exception is still needed")
tap.done_testing()
