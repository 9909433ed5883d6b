# SPDX-License-Identifier: Apache-2.0
"""A small training loop of PyTorch's, as people write them: a transformer, AdamW, a DataLoader. Tests record it.

Standard output depends on the options alone, so a recorded run must print what an unrecorded one does. --truth FILE gets
what the loop's own clocks say, as JSON: seconds of the loop and of the planted trouble, and of the CPU in both, without
the first steps; and of the planted trouble in all of them.
"""
import argparse
import json
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from troubles import TROUBLES, Clock

WIDTH, LENGTH, BATCH, WORDS, HEADS, LAYERS = 128, 64, 8, 512, 4, 2


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--workers", type=int, default=0, help="of the DataLoader")
    parser.add_argument("--amp", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--streams", action="store_true", help="a second stream beside each step")
    parser.add_argument("--empty-cache", action="store_true", help="after each step")
    parser.add_argument("--graph", action="store_true", help="the step is one CUDA graph")
    parser.add_argument("--compile", action="store_true", help="the model goes through torch.compile")
    parser.add_argument("--ddp", action="store_true", help="one of several processes (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT)")
    parser.add_argument("--trouble", choices=TROUBLES, default="none", help="what to plant in the loop")
    parser.add_argument("--trouble-ms", type=float, default=4, help="that each planted trouble takes, where it can be chosen")
    parser.add_argument("--gate", action="store_true", help="print \"ready\" after ten steps and go on at a line of standard input")
    parser.add_argument("--crash", action="store_true", help="die of a signal after the steps")
    parser.add_argument("--truth", metavar="FILE")
    return parser.parse_args()


class Text(Dataset):
    """Random words."""

    def __init__(self, trouble):
        self.trouble = trouble

    def __len__(self):
        return 1 << 40

    def __getitem__(self, index):
        self.trouble.item()
        return torch.arange(index, index + LENGTH + 1) % WORDS


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        weights = F.softmax(q @ k.transpose(-2, -1) / 8, -1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, x):
        x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Trainer:
    def __init__(self, options):
        self.options = options
        self.clock = Clock()
        self.trouble = TROUBLES[options.trouble](options, self.clock)
        self.device = torch.device("cuda")
        self.model = Model().to(self.device)
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-3, capturable=options.graph, foreach=True)
        if options.ddp:
            self.model = nn.parallel.DistributedDataParallel(self.model, device_ids=[0])
        if options.compile:
            self.model = torch.compile(self.model)
        self.batches = self.load()
        self.side = torch.cuda.Stream() if options.streams else None
        self.graph = None
        self.history = torch.ones(8 << 20)  # of metrics, as long runs collect them

    def load(self):
        workers = self.options.workers or self.trouble.workers
        return iter(DataLoader(Text(self.trouble), batch_size=BATCH, num_workers=workers, pin_memory=True))

    def compute(self, x, y):
        self.optimizer.zero_grad(set_to_none=not self.options.graph)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.options.amp):
            out = self.model(x)
            loss = F.cross_entropy(out.view(-1, WORDS), y.reshape(-1))
        loss.backward()
        self.optimizer.step()
        return loss

    def look_aside(self, x):
        """Work on a second stream, in order with the first."""
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            (x.float() * 2).sum()
        torch.cuda.current_stream().wait_stream(self.side)

    def capture(self, x, y):
        self.x, self.y = x.clone(), y.clone()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.compute(self.x, self.y)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.compute(self.x, self.y)

    def replay(self, x, y):
        if self.graph is None:
            self.capture(x, y)
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.loss

    def step(self, number):
        batch = self.trouble.batch(self.batches).to(self.device, non_blocking=True)
        x, y = batch[:, :-1], batch[:, 1:]
        if self.side:
            self.look_aside(x)
        loss = self.replay(x, y) if self.options.graph else self.compute(x, y)
        self.trouble.step(self, number)
        if self.options.empty_cache:
            torch.cuda.empty_cache()
        if number % 10 == 9:
            value = loss.item()
            self.say("step", number + 1, "loss", value)

    def say(self, *words):
        """One of several processes prints for all of them."""
        if os.environ.get("RANK", "0") == "0":
            print(*words, flush=True)

    def run(self, first, last):
        for number in range(first, last):
            self.step(number)
        torch.cuda.synchronize()


def main():
    options = parse_options()
    torch.manual_seed(1)
    if options.ddp:
        import torch.distributed as dist

        torch.cuda.set_device(0)
        dist.init_process_group("nccl")
    trainer = Trainer(options)
    warm = min(10, options.steps)
    trainer.run(0, warm)
    if options.gate:
        print("ready", flush=True)
        sys.stdin.readline()
    planted, planted_cpu = trainer.clock.planted, trainer.clock.planted_cpu
    began, began_cpu = time.perf_counter(), time.thread_time()
    trainer.run(warm, options.steps)
    seconds, cpu = time.perf_counter() - began, time.thread_time() - began_cpu
    trainer.trouble.stop()
    if options.truth:
        with open(options.truth, "w", encoding="utf-8") as f:
            json.dump({"pid": os.getpid(), "trouble": options.trouble, "steps": options.steps - warm, "loop_s": seconds,
                       "all_steps": options.steps, "all_planted_s": trainer.clock.planted,
                       "planted_s": trainer.clock.planted - planted, "loop_cpu_s": cpu,
                       "planted_cpu_s": trainer.clock.planted_cpu - planted_cpu}, f)
            f.write("\n")
    if options.ddp:
        dist.destroy_process_group()
    if options.crash:
        os.abort()


if __name__ == "__main__":
    main()
