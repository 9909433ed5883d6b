# SPDX-License-Identifier: Apache-2.0
"""Printing figures as all benches do, "bench: NAME VALUE UNIT", with the interval behind it; NAMES chooses."""
import fnmatch
import os

NAMES = os.environ.get("NAMES", "").split()
QUICK = bool(os.environ.get("QUICK")) or not NAMES  # beside all other benches


def is_wanted(name):
    return not NAMES or any(fnmatch.fnmatch(name, glob) for glob in NAMES)


def is_row_wanted(row, figures):
    """Whether any figure of that row is wanted, or all of it is."""
    return any(is_wanted(name) for name in (row, *(f"{row}.{figure}" for figure in figures)))


def setting(name, otherwise):
    """A number from the environment."""
    return float(os.environ.get(name) or otherwise)


def print_figure(row, name, figure, unit, note=""):
    if figure and (is_wanted(row) or is_wanted(f"{row}.{name}")):
        print(f"bench: {row}.{name} {figure.median:.4g} {unit} ({figure.low:.4g} to {figure.high:.4g}){note}", flush=True)


def print_skip(name, why):
    print(f"bench: {name} SKIP {why}", flush=True)
