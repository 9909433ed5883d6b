# SPDX-License-Identifier: Apache-2.0
"""What the tests of the double ask of an ELF64 file: its soname, its exported functions and their first bytes."""
import struct


class Elf:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        assert self.data[:5] == b"\x7fELF\x02", path
        (shoff,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        # name, type, flags, addr, offset, size, link, info, align, entsize
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * size) for i in range(count)]

    def _section(self, kind):
        return next(s for s in self.sections if s[1] == kind)

    def _text(self, strings, at):
        start = self.sections[strings][4] + at
        return self.data[start:self.data.index(b"\0", start)].decode()

    def _bytes(self, address, n):
        for s in self.sections:
            if s[1] == 1 and s[3] <= address < s[3] + s[5]:
                return self.data[s[4] + address - s[3]:][:n]
        return b""

    def exported(self):
        """name -> (address, first 32 bytes) of every defined global function."""
        table = self._section(11)  # SHT_DYNSYM
        found = {}
        for at in range(table[4], table[4] + table[5], 24):
            name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
            if info & 15 == 2 and info >> 4 == 1 and section:
                found[self._text(table[6], name)] = (value, self._bytes(value, 32))
        return found

    def versions(self):
        """The versions of all defined global functions; None: without one."""
        table, strings = self._section(11), {}
        for s in self.sections:
            if s[1] == 0x6FFFFFFD:  # SHT_GNU_verdef: version, flags, index, count, hash, aux, next; the aux: name, next
                at = s[4]
                while True:
                    _, _, index, _, _, aux, after = struct.unpack_from("<HHHHIII", self.data, at)
                    (name,) = struct.unpack_from("<I", self.data, at + aux)
                    strings[index] = self._text(s[6], name)
                    if not after:
                        break
                    at += after
        numbers = next((s[4] for s in self.sections if s[1] == 0x6FFFFFFF), None)  # SHT_GNU_versym
        found = set()
        for i in range(table[5] // 24):
            _, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", self.data, table[4] + i * 24)
            if info & 15 == 2 and info >> 4 == 1 and section:
                number = struct.unpack_from("<H", self.data, numbers + 2 * i)[0] & 0x7FFF if numbers else 1
                found.add(strings.get(number) if number > 1 else None)
        return found

    def soname(self):
        table = self._section(6)  # SHT_DYNAMIC
        for at in range(table[4], table[4] + table[5], 16):
            tag, value = struct.unpack_from("<QQ", self.data, at)
            if tag == 14:
                return self._text(table[6], value)
        return None
