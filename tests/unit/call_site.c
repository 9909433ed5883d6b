/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites of real stacks: what programs of the field look like from outside, and the line that a
 * person who knows them names, with the functions further out that belong to the same chain.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/account/names.h"
#include "lib/world/call_site.h"
#include "lib/world/python_code.h"
#include "lib/world/site_frames.h"
#include "tests/tap.h"

#define SITE  "/home/u/venv/lib/python3.12/site-packages/"
#define STD   "/home/u/.local/share/uv/python/cpython-3.12.8-linux-x86_64-gnu/lib/python3.12/"
#define LIBC  "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define FRAME 16

/* Outermost first, as a traceback prints them: "function file:line"; "!name module" is a native
 * frame, of libtorch where there is no module. The name may be empty: a program that was stripped. */
static const struct {
	const char *what;
	const char *frames[FRAME];
	const char *site;
} stacks[] = {
	{ "a script",
	  { "<module> /home/u/train.py:60", "main /home/u/train.py:52",
	    "step /home/u/train.py:41" },
	  "step (train.py:41) < main" },
	{ "a script that calls torch",
	  { "<module> /home/u/train.py:60", "step /home/u/train.py:41",
	    "Module._call_impl " SITE "torch/nn/modules/module.py:1790",
	    "Net.forward /home/u/net.py:12",
	    "Module._call_impl " SITE "torch/nn/modules/module.py:1790",
	    "Linear.forward " SITE "torch/nn/modules/linear.py:125", "!at::native::linear" },
	  "Net.forward (net.py:12) < step" },
	{ "torch's own modules between two lines of the script are no callers",
	  { "<module> /home/u/train.py:60",
	    "decorate_context " SITE "torch/utils/_contextlib.py:120",
	    "evaluate /home/u/train.py:33", "Tensor.item " SITE "torch/_tensor.py:9" },
	  "evaluate (train.py:33) < <module>" },
	{ "a worker of vLLM that was spawned",
	  { "<module> <string>:1", "spawn_main " STD "multiprocessing/spawn.py:122",
	    "_main " STD "multiprocessing/spawn.py:135",
	    "BaseProcess._bootstrap " STD "multiprocessing/process.py:314",
	    "BaseProcess.run " STD "multiprocessing/process.py:108",
	    "EngineCoreProc.run_engine_core " SITE "vllm/v1/engine/core.py:1080",
	    "EngineCoreProc.run_busy_loop " SITE "vllm/v1/engine/core.py:1110",
	    "EngineCore.step " SITE "vllm/v1/engine/core.py:407",
	    "WorkerBase.execute_model " SITE "vllm/v1/worker/worker_base.py:345",
	    "decorate_context " SITE "torch/utils/_contextlib.py:120",
	    "GPUModelRunner.execute_model " SITE "vllm/v1/worker/gpu_model_runner.py:3940",
	    "CUDAGraph.replay " SITE "torch/cuda/graphs.py:132", "!at::cuda::CUDAGraph::replay" },
	  "GPUModelRunner.execute_model (gpu_model_runner.py:3940) < WorkerBase.execute_model" },
	{ "a worker that was forked: what lies further out was its parent's",
	  { "<module> /home/u/pool.py:40", "main /home/u/pool.py:16",
	    "ProcessPoolExecutor.submit " STD "concurrent/futures/process.py:831",
	    "BaseProcess.start " STD "multiprocessing/process.py:121",
	    "Popen._launch " STD "multiprocessing/popen_fork.py:74",
	    "BaseProcess._bootstrap " STD "multiprocessing/process.py:314",
	    "BaseProcess.run " STD "multiprocessing/process.py:108",
	    "_process_worker " STD "concurrent/futures/process.py:263",
	    "ForkingPickler.dumps " STD "multiprocessing/reduction.py:51" },
	  "ForkingPickler.dumps (reduction.py:51) < _process_worker" },
	{ "a function of one's own in one",
	  { "<module> /home/u/pool.py:40", "main /home/u/pool.py:16",
	    "Popen._launch " STD "multiprocessing/popen_fork.py:66",
	    "BaseProcess._bootstrap " STD "multiprocessing/process.py:314",
	    "BaseProcess.run " STD "multiprocessing/process.py:108", "produce /home/u/data.py:12",
	    "loads " STD "json/__init__.py:346" },
	  "produce (data.py:12)" },
	{ "vllm serve: a console script is not where a server's calls are",
	  { "<module> /home/u/venv/bin/vllm:8", "main " SITE "vllm/entrypoints/cli/main.py:75",
	    "run_server " SITE "uvloop/__init__.py:96", "wrapper " SITE "uvloop/__init__.py:48",
	    "run_server_worker " SITE "vllm/entrypoints/openai/api_server.py:1800",
	    "Device.synchronize " SITE "torch/cuda/__init__.py:1083" },
	  "run_server_worker (api_server.py:1800) < main" },
	{ "python -m of a package",
	  { "_run_module_as_main <frozen runpy>:198", "_run_code <frozen runpy>:88",
	    "<module> " SITE "vllm/entrypoints/openai/api_server.py:2001",
	    "run " SITE "vllm/entrypoints/openai/api_server.py:1990",
	    "synchronize " SITE "torch/cuda/__init__.py:1083" },
	  "run (api_server.py:1990) < <module>" },
	{ "a framework's trainer that a script calls: the script's line is a person's own",
	  { "<module> /home/u/finetune.py:88", "main /home/u/finetune.py:80",
	    "Trainer.train " SITE "transformers/trainer.py:2325",
	    "Trainer._inner_training_loop " SITE "transformers/trainer.py:2674",
	    "Trainer.training_step " SITE "transformers/trainer.py:4020",
	    "Accelerator.backward " SITE "accelerate/accelerator.py:2734",
	    "Tensor.backward " SITE "torch/_tensor.py:625" },
	  "main (finetune.py:80) < <module>" },
	{ "a dataset of one's own below such a trainer",
	  { "<module> /home/u/finetune.py:88", "Trainer.train " SITE "transformers/trainer.py:2325",
	    "_BaseDataLoaderIter.__next__ " SITE "torch/utils/data/dataloader.py:733",
	    "fetch " SITE "torch/utils/data/_utils/fetch.py:54",
	    "Words.__getitem__ /home/u/data.py:17", "load " STD "json/__init__.py:293" },
	  "Words.__getitem__ (data.py:17) < <module>" },
	{ "a trainer's console script",
	  { "<module> /opt/conda/bin/llamafactory-cli:7",
	    "main /opt/conda/lib/python3.11/site-packages/llamafactory/cli.py:24",
	    "train /opt/conda/lib/python3.11/site-packages/transformers/trainer.py:2325",
	    "run_sft /opt/conda/lib/python3.11/site-packages/llamafactory/train/sft/workflow.py:96",
	    "backward /opt/conda/lib/python3.11/site-packages/torch/_tensor.py:625" },
	  "run_sft (workflow.py:96) < main" },
	{ "pytest",
	  { "<module> /home/u/venv/bin/pytest:8",
	    "console_main " SITE "_pytest/config/__init__.py:201",
	    "HookCaller.__call__ " SITE "pluggy/_hooks.py:512",
	    "pytest_pyfunc_call " SITE "_pytest/python.py:166",
	    "test_forward /home/u/tests/test_net.py:20",
	    "Tensor.cuda " SITE "torch/_tensor.py:80" },
	  "test_forward (test_net.py:20)" },
	{ "pytest while it runs nobody's code",
	  { "<module> /home/u/venv/bin/pytest:8",
	    "console_main " SITE "_pytest/config/__init__.py:201",
	    "HookCaller.__call__ " SITE "pluggy/_hooks.py:512" },
	  "HookCaller.__call__ (_hooks.py:512) < console_main" },
	{ "a cell of a notebook",
	  { "_run_module_as_main <frozen runpy>:198", "<module> " SITE "ipykernel_launcher.py:18",
	    "start " SITE "ipykernel/kernelapp.py:739",
	    "run_forever " STD "asyncio/base_events.py:645",
	    "run_code " SITE "IPython/core/interactiveshell.py:3577",
	    "<module> /tmp/ipykernel_7711/4190226302.py:3", "fit /tmp/ipykernel_7711/91.py:12",
	    "synchronize " SITE "torch/cuda/__init__.py:1083" },
	  "fit (91.py:12) < <module>" },
	{ "a line typed into IPython",
	  { "<module> /usr/bin/ipython3:8",
	    "start_ipython /usr/lib/python3/dist-packages/IPython/__init__.py:128",
	    "<module> <ipython-input-3-5c9c3f7a6e5d>:1",
	    "synchronize /usr/lib/python3/dist-packages/torch/cuda/__init__.py:1083" },
	  "<module> (<ipython-input-3-5c9c3f7a6e5d>:1)" },
	{ "a line typed into Python",
	  { "<module> <python-input-4>:1", "synchronize " SITE "torch/cuda/__init__.py:1083" },
	  "<module> (<python-input-4>:1)" },
	{ "python -c with code of its own",
	  { "<module> <string>:9", "train <string>:4", "relu " SITE "torch/nn/functional.py:1697" },
	  "train (<string>:4) < <module>" },
	{ "python -c that calls torch",
	  { "<module> <string>:3", "relu " SITE "torch/nn/functional.py:1697" },
	  "<module> (<string>:3)" },
	{ "python -c that enters a package",
	  { "<module> <string>:1", "main " SITE "vllm/entrypoints/cli/main.py:75",
	    "LLM.generate " SITE "vllm/entrypoints/llm.py:501",
	    "synchronize " SITE "torch/cuda/__init__.py:1083" },
	  "LLM.generate (llm.py:501) < main" },
	{ "a thread of python -c",
	  { "Thread._bootstrap " STD "threading.py:1032",
	    "Thread._bootstrap_inner " STD "threading.py:1075",
	    "Thread.run " STD "threading.py:1012", "work <string>:6" },
	  "work (<string>:6)" },
	{ "a script on standard input",
	  { "<module> <stdin>:20", "step <stdin>:12", "relu " SITE "torch/nn/functional.py:1697" },
	  "step (<stdin>:12) < <module>" },
	{ "text compiled in a program is nobody's line",
	  { "<module> /home/u/train.py:60", "Config.__init__ <string>:5",
	    "<lambda> " STD "dataclasses.py:100" },
	  "<module> (train.py:60)" },
	{ "text compiled in a package",
	  { "main " SITE "vllm/entrypoints/cli/main.py:75", "Config.__init__ <string>:5" },
	  "main (main.py:75)" },
	{ "torchrun: the launcher",
	  { "<module> /home/u/venv/bin/torchrun:8", "main " SITE "torch/distributed/run.py:936",
	    "run " SITE "torch/distributed/run.py:927",
	    "launch_agent " SITE "torch/distributed/launcher/api.py:280",
	    "SimpleElasticAgent.run " SITE "torch/distributed/elastic/agent/server/api.py:711" },
	  "SimpleElasticAgent.run (api.py:711) < launch_agent" },
	{ "torchrun: the script it started",
	  { "<module> /home/u/train.py:60", "main /home/u/train.py:52",
	    "DistributedDataParallel.forward " SITE "torch/nn/parallel/distributed.py:1661" },
	  "main (train.py:52) < <module>" },
	{ "torch.multiprocessing.spawn of a package's function",
	  { "<module> <string>:1", "spawn_main " STD "multiprocessing/spawn.py:122",
	    "_wrap " SITE "torch/multiprocessing/spawn.py:87",
	    "worker " SITE "nanotron/worker.py:31",
	    "all_reduce " SITE "torch/distributed/distributed_c10d.py:2900" },
	  "worker (worker.py:31)" },
	{ "uvicorn serving an installed app",
	  { "<module> /srv/app/.venv/bin/uvicorn:8",
	    "main /srv/app/.venv/lib/python3.13t/site-packages/click/core.py:1161",
	    "run /srv/app/.venv/lib/python3.13t/site-packages/uvicorn/server.py:66",
	    "run_asgi "
	    "/srv/app/.venv/lib/python3.13t/site-packages/uvicorn/protocols/http/"
	    "httptools_impl.py:409",
	    "app /srv/app/.venv/lib/python3.13t/site-packages/starlette/routing.py:73",
	    "predict /srv/app/.venv/lib/python3.13t/site-packages/shop_ranking/api.py:55",
	    "Ranker.score /srv/app/.venv/lib/python3.13t/site-packages/shop_ranking/model.py:20",
	    "synchronize "
	    "/srv/app/.venv/lib/python3.13t/site-packages/torch/cuda/__init__.py:1083" },
	  "Ranker.score (model.py:20) < predict" },
	{ "gunicorn with an app of one's own",
	  { "<module> /srv/venv/bin/gunicorn:8", "run " SITE "gunicorn/app/base.py:71",
	    "dispatch_request " SITE "flask/app.py:1799", "predict /srv/app/views.py:31",
	    "synchronize " SITE "torch/cuda/__init__.py:1083" },
	  "predict (views.py:31)" },
	{ "an editable install is own code",
	  { "<module> /home/u/venv/bin/vllm:8",
	    "main /workspace/vllm/vllm/entrypoints/cli/main.py:75",
	    "execute_model /workspace/vllm/vllm/v1/worker/gpu_model_runner.py:3940",
	    "replay " SITE "torch/cuda/graphs.py:132" },
	  "execute_model (gpu_model_runner.py:3940) < main" },
	{ "a program without a suffix in a folder bin",
	  { "<module> /home/u/bin/train:30", "main /home/u/bin/train:20",
	    "Tensor.cuda " SITE "torch/_tensor.py:80" },
	  "main (train:20) < <module>" },
	{ "such a program that has no functions",
	  { "<module> /home/u/bin/train:30", "Tensor.cuda " SITE "torch/_tensor.py:80" },
	  "<module> (train:30)" },
	{ "a graph compiled by torch",
	  { "<module> /home/u/train.py:60", "step /home/u/train.py:41",
	    "compile_wrapper " SITE "torch/_dynamo/eval_frame.py:749",
	    "call "
	    "/tmp/torchinductor_u/lp/clpzhykqlkvq5zqvjhv4zkzd5vsqhkf5hzqvn6kz2zqy6vfs3j7a.py:88" },
	  "step (train.py:41) < <module>" },
	{ "one in a folder that a person chose",
	  { "<module> /home/u/train.py:60",
	    "call /scratch/cache/lp/clpzhykqlkvq5zqvjhv4zkzd5vsqhkf5hzqvn6kz2zqy6vfs3j7a.py:88" },
	  "<module> (train.py:60)" },
	{ "a worker of a data loader that reads an installed data set",
	  { "<module> <string>:1", "spawn_main " STD "multiprocessing/spawn.py:122",
	    "_worker_loop " SITE "torch/utils/data/_utils/worker.py:349",
	    "Dataset.__getitem__ " SITE "datasets/arrow_dataset.py:2860",
	    "_format " SITE "datasets/formatting/formatting.py:420" },
	  "_format (formatting.py:420) < Dataset.__getitem__" },
	{ "torch alone",
	  { "Thread._bootstrap " STD "threading.py:1032",
	    "_pin_memory_loop " SITE "torch/utils/data/_utils/pin_memory.py:53",
	    "Tensor.pin_memory " SITE "torch/_tensor.py:80" },
	  "Tensor.pin_memory (_tensor.py:80) < _pin_memory_loop" },
	{ "multiprocessing's tracker",
	  { "<module> <string>:1", "main " STD "multiprocessing/resource_tracker.py:247" },
	  "main (resource_tracker.py:247) < <module>" },
	{ "a folder whose name begins as Python's library does is a person's",
	  { "<module> /home/u/lib/python3-tries/train.py:3",
	    "Tensor.cuda " SITE "torch/_tensor.py:80" },
	  "<module> (train.py:3)" },
	{ "Python's library in a zip file",
	  { "<module> /home/u/train.py:3", "sleep /usr/lib/python312.zip/sched.py:9" },
	  "<module> (train.py:3)" },
	{ "native code alone",
	  { "!main", "!at::native::add" },
	  "at::native::add+0x0 (libtorch.so) < main" },
	{ "a stripped program's own frame comes before those of the libraries around it",
	  { "!__libc_start_main " LIBC, "! /srv/app/trainer", "! /srv/app/libmine.so" },
	  "libmine.so+0x0" },
	{ "a stripped program that calls the C library",
	  { "!__libc_start_main " LIBC, "! /srv/app/trainer", "!read " LIBC },
	  "trainer+0x0" },
	{ "a stripped program whose library has names",
	  { "!__libc_start_main " LIBC, "! /srv/app/trainer", "!at::native::add" },
	  "at::native::add+0x0 (libtorch.so)" },
	{ "a library of the machine without names is nobody's own",
	  { "!__libc_start_main " LIBC, "! /usr/lib/libfoo.so.1", "!read " LIBC },
	  "read+0x0 (libc.so.6)" },
};

static uint32_t native_frame(struct world *w, const char *text)
{
	const char *module = strchr(text, ' ');
	struct bytes name = { text, module ? (size_t)(module - text) : strlen(text) };
	struct world_module m = {
		.path = world_string(w, bytes_of(module ? module + 1 : "/x/libtorch.so")),
	};
	struct world_frame f = { .kind = FRAME_NATIVE, .module = world_module(w, &m) };
	uint32_t id;

	if (name.n)
		f.offset = (uint64_t)(uintptr_t)text; /* one for each */
	id = world_frame(w, &f);
	if (name.n)
		world_symbol(w, id, &(struct world_symbol){ .name = world_string(w, name) });
	return id;
}

static uint32_t frame_of(struct world *w, const char *text)
{
	const char *file = strchr(text, ' '), *line = strrchr(text, ':');
	struct world_frame f = { .kind = FRAME_PYTHON };

	if (*text == '!')
		return native_frame(w, text + 1);
	f.name = world_string(w, (struct bytes){ text, (size_t)(file - text) });
	f.file = world_string(w, (struct bytes){ file + 1, (size_t)(line - file - 1) });
	f.offset = strtoull(line + 1, NULL, 10);
	return world_frame(w, &f);
}

int main(void)
{
	struct world *w = world_new();
	struct site_frames known = { 0 };
	struct buf text = { 0 };

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		uint32_t frames[FRAME], stack;
		unsigned n = 0;

		while (n < FRAME && stacks[i].frames[n])
			n++;
		for (unsigned k = 0; k < n; k++)
			frames[n - 1 - k] = frame_of(w, stacks[i].frames[k]);
		stack = world_stack(w, frames, n);
		buf_reset(&text);
		name_frame(&text, w, name_site_frame(w, stack));
		name_site_caller(&text, w, stack);
		is_str(buf_text(&text), stacks[i].site, "%s", stacks[i].what);
		is_u64(site_frames_get(&known, w, stack), call_site_frame(w, stack),
		       "the same where it is remembered");
		is_u64(site_frames_get(&known, w, stack), call_site_frame(w, stack), "twice");
	}
	is_u64(call_site_frame(w, 0), 0, "without a stack there is none");
	map_free(&known.by);
	buf_free(&text);
	world_free(w);
	return tap_done();
}
