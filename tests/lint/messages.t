#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The messages that ingero-troubleshooting(7) explains are ones that the programs print: each is a string of the sources, or
# what such a format makes.

import glob
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

ANY = "..."
MACROS = {"SYS_BTF": '"/sys/kernel/btf/vmlinux"'}


def strings(path):
    """Literals of a file, those side by side joined, with what is put in for conversions as ANY."""
    with open(path, encoding="utf-8") as f:
        code = re.sub(r"\bPRI[a-zA-Z]\d*\b", '"u"', f.read())
    for name, text in MACROS.items():
        code = re.sub(rf"\b{name}\b", text, code)
    for m in re.finditer(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*', code):
        text = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', m[0])).replace("\\n", "").replace('\\"', '"')
        yield re.sub(r"%[-+ #0]*[\d.*]*(?:hh|h|ll|l|z|j)?[a-zA-Z]", ANY, text)


def pattern(text):
    return "".join(".*" if part == ANY else re.escape(part) for part in re.split(r"(\.\.\.)", text))


known = {s for path in glob.glob("lib/**/*.c", recursive=True) + glob.glob("cmd/*.c") for s in strings(path) if len(s) > 7}
# A format, and the reason of the system behind it; of conversions alone anything would follow.
formats = [re.compile(pattern(s) + r"(: [A-Z][\w ]+)?") for s in known if len(s.replace(ANY, "").strip(" :,;()")) > 7]
with open("man/ingero-troubleshooting.7", encoding="utf-8") as f:
    messages = re.findall(r'^\.It Li "(.*)"$', f.read(), re.M)
tap.ok(len(messages) > 30, f"{len(messages)} messages")
tap.ok(not any(f.fullmatch("a message that nobody prints") for f in formats), "not everything is a message")
for message in messages:
    tap.ok(any(message in s for s in known) or any(f.fullmatch(message) for f in formats), message)
tap.done_testing()
