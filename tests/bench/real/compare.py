# SPDX-License-Identifier: Apache-2.0
"""What recording costs PyTorch, llama.cpp and vLLM, with several options of the recorder and beside bpftrace.

Rows are real.PROGRAM.MODE.DEVICE.TOOL, DEVICE being the device time of a kernel. Progress is steps or tokens.
"""
import functools

import alternate
import figures
import pairs
import tools
import workloads

TOOLS = {"default": tools.Recorder(), "budget5": tools.Recorder("--budget", "5"), "none": tools.Recorder("--budget", "none"),
         "bpftrace": tools.Bpftrace()}
# Asked for by name only: a recorder without probes, which shows what the figures are worth on this machine.
NOISE = {"noprobes": tools.Recorder("--no-probes")}
FIGURES = ("wall", "cpu", "wall_q1", "cpu_q1", "kernel", "of_wall", "said", "said_x", "recorder", "without", "with", "cpu_without", "cpu_with",
           "attach_ms", "detach_ms")


class Row:
    """A program that can be started: its name in figures and in the manual, and what its units are."""

    def __init__(self, name, title, start, unit, stride=1):
        self.name, self.title, self.start, self.unit, self.stride = f"real.{name}", title, start, unit, stride

    def tools(self):
        """Those that figures are wanted of."""
        known = {**TOOLS, **(NOISE if any("noprobes" in glob for glob in figures.NAMES) else {})}
        return {name: tool for name, tool in known.items() if figures.is_row_wanted(f"{self.name}.{name}", FIGURES)}


def rows():
    torch, llama = workloads.start_torch, workloads.start_llama
    for us in 0, 2, 10, 50:
        yield Row(f"torch.eager.{us}us", f"PyTorch eager, {us} us", functools.partial(torch, us * 1000), "steps/s")
        yield Row(f"torch.graph.{us}us", f"PyTorch CUDA graph, {us} us", functools.partial(torch, us * 1000, "--graph"), "steps/s")
    yield Row("torch.compile.10us", "torch.compile, 10 us", functools.partial(torch, 10000, "--compile"), "steps/s")
    for us in 0, 10:
        for mode, title, settings in ("graph", "llama.cpp CUDA graph", {}), ("nograph", "llama.cpp", {"GGML_CUDA_DISABLE_GRAPHS": 1}):
            yield Row(f"llama.{mode}.{us}us", f"{title}, {us} us", functools.partial(llama, us * 1000, **settings), "tokens/s",
                      workloads.LLAMA_STRIDE)
    yield Row("vllm.serve.10us", "vLLM, 4 clients, 10 us", functools.partial(workloads.start_vllm, 10000), "tokens/s")


def print_result(row, tool, r):
    name = f"{row.name}.{tool}"
    if isinstance(r, tools.Refused):
        figures.print_skip(name, r)
        return
    for figure, values in r.shares().items():
        figures.print_figure(name, figure, pairs.Figure(values, 100), "%")
    figures.print_figure(name, "said_x", pairs.Figure(r.said_ratio()), "x of of_wall")
    for figure, rates, cpu in ("without", r.rate_without, r.cpu_without), ("with", r.rate_with, r.cpu_with):
        figures.print_figure(name, figure, pairs.Figure(rates, row.stride), row.unit)
        figures.print_figure(name, f"cpu_{figure}", pairs.Figure(cpu, 1e-3 / row.stride), f"us of CPU time a {row.unit[:-len('s/s')]}")
    usual = pairs.Figure(r.unit_worst_ns, 1e-6).median
    for figure, values in ("attach_ms", r.attach_worst_ns), ("detach_ms", r.detach_worst_ns):
        figures.print_figure(name, figure, pairs.Figure(values, 1e-6), "ms", f" longest unit; {usual:.3g} without")


def measure_row(row, turns, seconds):
    """Tool -> Result or why there is none; {} where the program does not run here."""
    try:
        program = row.start()
    except workloads.Missing as why:
        figures.print_skip(f"{row.name}.*", why)
        return {}
    try:
        results = alternate.alternate(program, row.tools(), turns, seconds)
    finally:
        program.stop()
    for tool, result in results.items():
        print_result(row, tool, result)
    return results


def measure():
    turns = int(figures.setting("TURNS", 1 if figures.QUICK else 2))
    seconds = figures.setting("SECONDS", 2)
    return {row: measure_row(row, turns, seconds) for row in rows() if row.tools()}
