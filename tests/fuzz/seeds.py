# SPDX-License-Identifier: Apache-2.0
"""Seeds for fuzz targets, from formats/samples: tests/fuzz/seeds.py TARGET FOLDER INGERO-EXPORT"""
import pathlib
import sqlite3
import struct
import subprocess
import sys

SAMPLES = pathlib.Path("formats/samples/v1")


def archive(folder, export):
    """Archives of the samples, in pages so small that many tables fit into an input."""
    for sample in sorted(SAMPLES.glob("good/*.ige")):
        path = folder / sample.stem
        path.unlink(missing_ok=True)
        subprocess.run([export, "--format", "sqlite", "-o", path, sample], check=True)
        with sqlite3.connect(path) as db:
            db.executescript("PRAGMA page_size=512; VACUUM")
        db.close()


def merge(folder, _export):
    """Each sample with the one behind it: how many bytes the first one has, and both."""
    samples = sorted(SAMPLES.glob("good/*.ige")) + sorted(SAMPLES.glob("truncated/*.ige"))
    for one, other in zip(samples, samples[1:] + samples[:1]):
        a, b = one.read_bytes(), other.read_bytes()
        (folder / f"{one.parent.name}-{one.stem}").write_bytes(struct.pack("<I", len(a)) + a + b)


target, out, exporter = sys.argv[1:]
pathlib.Path(out).mkdir(parents=True, exist_ok=True)
globals()[target](pathlib.Path(out), exporter)
