/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines the processes, threads and call sites of generated recordings. Names and ids are the same
 * in every one, so that two runs of a scenario give the same bytes.
 */
#include "lib/sim/cast.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/sim/play.h"
#include "lib/sim/random.h"
#include "lib/sim/stream.h"

#define BOOT_NS 1000000000000 /* when the victim started, on the boot clock */

static uint32_t intern_text(struct world *w, const char *s)
{
	return world_string(w, bytes_of(s));
}

static uint32_t add_process_at(struct sim_cast *c, struct world *w, uint64_t start_ns, uint32_t pid,
			       uint32_t parent, uint32_t uid, const char *exe, const char *cmdline,
			       const char *comm, uint32_t *image)
{
	struct world_process p = {
		.node = c->node, .tgid = pid, .start_ns = start_ns, .parent = parent, .uid = uid
	};
	uint32_t id = world_process(w, &p);
	struct world_image im = { .process = id,
				  .exe = intern_text(w, exe),
				  .cmdline = intern_text(w, cmdline),
				  .comm = intern_text(w, comm) };

	*image = world_image(w, &im);
	return id;
}

static uint32_t add_process(struct sim_cast *c, struct world *w, uint32_t pid, uint32_t parent,
			    uint32_t uid, const char *exe, const char *cmdline, const char *comm,
			    uint32_t *image)
{
	return add_process_at(c, w, pid ? BOOT_NS + pid * 1000u : 0, pid, parent, uid, exe, cmdline,
			      comm, image);
}

static uint32_t add_thread_at(struct world *w, uint32_t proc, uint32_t tid, const char *comm,
			      uint64_t start_ns)
{
	struct world_thread t = {
		.process = proc, .tid = tid, .start_ns = start_ns, .comm = intern_text(w, comm)
	};

	return world_thread(w, &t);
}

static uint32_t add_thread(struct world *w, uint32_t proc, uint32_t tid, const char *comm)
{
	return add_thread_at(w, proc, tid, comm, tid ? BOOT_NS + tid * 1000u : 0);
}

static uint32_t add_frame(struct world *w, uint32_t module, uint64_t offset, const char *name,
			  const char *file, uint32_t line)
{
	struct world_frame f = { .kind = FRAME_NATIVE, .module = module, .offset = offset };
	struct world_symbol s = { .name = intern_text(w, name),
				  .file = file ? intern_text(w, file) : 0,
				  .line = line,
				  .delta = offset & 0xff };
	uint32_t id = world_frame(w, &f);

	world_symbol(w, id, &s);
	return id;
}

/* A function of a library at an address derived from its name, so that it is the same in every
 * recording. */
static uint32_t add_function(struct world *w, uint32_t module, uint64_t base, const char *name)
{
	uint64_t at = name ? hash_bytes(name, strlen(name), 0) % 0x10000 : 0;

	return add_frame(w, module, base + at * 0x400 + 0x41, name, NULL, 0);
}

/* The executable, with another build id for each play. */
static uint32_t add_program(struct world *w, const struct sim_options *o)
{
	uint64_t salt = o->play ? hash_bytes(o->play->name, strlen(o->play->name), 0) : 0;
	char build_id[41];

	snprintf(build_id, sizeof(build_id), "5d1f0c7be2a94d4f9d0c1a6b%016" PRIx64,
		 UINT64_C(0x7e8f9a0b1c2d3e4f) ^ salt);
	return world_module(w, &(struct world_module){ intern_text(w, "/opt/train/bin/train"),
						       intern_text(w, build_id) });
}

/* Call sites of the training loop: which function calls what, through which layers. */
static const struct sim_site_def loop_sites[SITES] = {
	[SITE_LOAD] = { "load_batch", "read", NULL, 31 },
	[SITE_COPY_IN] = { "copy_batch", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", 42 },
	[SITE_FORWARD] = { "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[SITE_BACKWARD] = { "backward_pass", "cudaLaunchKernel", "cuLaunchKernel", 68 },
	[SITE_COPY_OUT] = { "read_loss", "cudaMemcpyAsync", "cuMemcpyDtoHAsync_v2", 79 },
	[SITE_SYNC] = { "read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	[SITE_ALLOC] = { "grow_workspace", "cudaMalloc", "cuMemAlloc_v2", 91 },
	[SITE_FREE] = { "grow_workspace", "cudaFree", "cuMemFree_v2", 95 },
	[SITE_INIT] = { "load_model", "cudaMalloc", "cuInit", 18 },
	[SITE_RETAIN] = { "load_model", "cudaMalloc", "cuDevicePrimaryCtxRetain", 18 },
	[SITE_MODEL] = { "load_model", "cudaMalloc", "cuMemAlloc_v2", 18 },
	[SITE_LOAD_FORWARD] = { "forward_pass", "cudaLaunchKernel", "cuKernelGetFunction", 57 },
	[SITE_LOAD_BACKWARD] = { "backward_pass", "cudaLaunchKernel", "cuKernelGetFunction", 68 },
	[SITE_STAGE] = { "stage_batch", "cudaMemcpy", "cuMemcpyHtoD_v2", 38 },
	[SITE_RESERVE] = { "reserve_block", "cudaMalloc", "cuMemAlloc_v2", 112 },
	[SITE_RELEASE] = { "release_block", "cudaFree", "cuMemFree_v2", 117 },
	[SITE_REQUEST] = { "next_request", "epoll_wait", NULL, 40 },
	[SITE_SERVE_IN] = { "embed", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", 52 },
	[SITE_SERVE] = { "embed", "cudaLaunchKernel", "cuLaunchKernel", 55 },
	[SITE_SERVE_OUT] = { "embed", "cudaMemcpyAsync", "cuMemcpyDtoHAsync_v2", 61 },
	[SITE_SERVE_SYNC] = { "embed", "cudaStreamSynchronize", "cuStreamSynchronize", 62 },
};

/* The play's sites end before the first without a function. */
static bool in_play(const struct sim_play *p, unsigned site)
{
	for (unsigned i = 0; i <= site && site < SIM_SITES; i++) {
		if (!p->sites[i].function)
			return false;
	}
	return site < SIM_SITES;
}

/* Whether a recording with these options uses the call site; other stacks are not in it. */
static bool has_site(const struct sim_options *o, unsigned site)
{
	return o->play		     ? in_play(o->play, site)
	       : site < SITE_INIT    ? true
	       : site < SITE_STAGE   ? o->cold_percent != 0
	       : site < SITE_RESERVE ? o->copy_percent != 0
	       : site < SITE_REQUEST ? o->spike_percent != 0
				     : o->share_percent != 0;
}

static void add_stacks(struct sim_cast *c, struct world *w, const struct sim_options *o)
{
	struct world_module m[] = {
		{ intern_text(w, "/usr/local/cuda/lib64/libcudart.so.12"),
		  intern_text(w, "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567") },
		{ intern_text(w, "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
		  intern_text(w, "76543210f0e1d2c3b4a5968778695a4b3c2d1e0f") },
		{ intern_text(w, "/usr/lib/x86_64-linux-gnu/libc.so.6"),
		  intern_text(w, "c0ffee00112233445566778899aabbccddeeff00") },
	};
	uint32_t app = add_program(w, o), runtime = world_module(w, &m[0]),
		 driver = world_module(w, &m[1]), libc = world_module(w, &m[2]);
	uint32_t step = add_frame(w, app, 0x2c40, "train_step", "train.cpp", 104);
	uint32_t top = add_frame(w, app, 0x2d58, "main", "train.cpp", 131);
	uint32_t start = add_frame(w, libc, 0x27249, "__libc_start_call_main", NULL, 0);
	const struct sim_site_def *sites = o->play ? o->play->sites : loop_sites;

	for (unsigned i = 0; i < SITES; i++) {
		bool bare_wait;
		uint32_t site, call, inner, wait;

		if (!has_site(o, i))
			continue;
		bare_wait = !sites[i].driver;
		if (!o->play && i == SITE_REQUEST) { /* from here on in the other process */
			struct world_module other = {
				intern_text(w, "/opt/embed/bin/embed-server"),
				intern_text(w, "91a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4")
			};

			app = world_module(w, &other);
			step = add_frame(w, app, 0x1c40, "serve", "embed.cpp", 71);
			top = add_frame(w, app, 0x1d58, "main", "embed.cpp", 93);
		}
		site = add_frame(w, app, 0x2100 + i * 0x110, sites[i].function,
				 o->play || i < SITE_REQUEST ? "train.cpp" : "embed.cpp",
				 sites[i].line);
		call = add_function(w, bare_wait ? libc : runtime, 0x40000, sites[i].runtime);
		inner = bare_wait ? 0 : add_function(w, driver, 0x100000, sites[i].driver);
		wait = add_function(w, libc, 0x100000, bare_wait ? sites[i].runtime : "poll");

		uint32_t f[] = { wait, inner, call, site, step, top, start };

		c->runtime_stack[i] = world_stack(w, f + 2, 5);
		c->driver_stack[i] = bare_wait ? 0 : world_stack(w, f + 1, 6);
		if (bare_wait) {
			uint32_t bare[] = { wait, site, step, top, start };

			c->wait_stack[i] = world_stack(w, bare, 5);
		} else {
			c->wait_stack[i] = world_stack(w, f, 7);
		}
	}
}

#define OWN_CGROUP "/kubepods/pod-train/main"

/* Whose cgroup lies above or below the victim's is no neighbour. */
static bool is_neighbour(const char *path)
{
	size_t n = strlen(path), own = strlen(OWN_CGROUP), least = n < own ? n : own;

	return strncmp(path, OWN_CGROUP, least) != 0;
}

/* The cgroup in which the hog runs, and what else runs there. */
static void hog_at(struct sim_cast *c, struct world *w, const char *path)
{
	struct world_cgroup cg = { .node = c->node, .id = 7402, .path = intern_text(w, path) };
	struct world_ctx ctx = { .node = c->node };
	uint32_t image, pid = c->hog_pid + 11;

	ctx.cgroup = world_cgroup(w, &cg);
	c->hog_ctx = world_ctx(w, &ctx);
	if (is_neighbour(path))
		c->other_thread = add_thread(w,
					     add_process(c, w, pid, 1, 0, "/usr/bin/zstd",
							 "zstd -19", "zstd", &image),
					     pid, "zstd");
}

/* The second machine and its kernel. */
static void other_node(struct sim_cast *c, struct world *w, const struct sim_options *o)
{
	uint32_t own = c->node, image;
	struct world_node node = { .boot = sim_at(o->seed, 90, 1),
				   .name = intern_text(w, "gpu-host-2") };
	struct world_ctx ctx = { 0 };

	memcpy(node.uuid, c->uuid, sizeof(node.uuid));
	node.uuid[15] ^= 0x55;
	c->node = c->other_node = ctx.node = world_node(w, &node);
	c->other_worker_thread = add_thread(
		w, add_process(c, w, 61, 2, 0, "", "", "kworker/0:1", &image), 61, "kworker/0:1");
	c->other_idle_thread = add_thread(
		w, add_process(c, w, 0, 0, 0, "", "", "swapper/0", &image), 0, "swapper/0");
	c->other_cpu_ctx = world_ctx(w, &ctx);
	c->node = own;
}

void sim_cast_fill(struct sim_cast *c, struct world *w, const struct sim_options *o)
{
	struct world_node node = { .boot = sim_at(o->seed, 90, 0),
				   .name = intern_text(w, o->node ? o->node : SIM_NODE) };
	uint64_t who = o->node ? hash_bytes(o->node, strlen(o->node), 0) : 0;
	struct world_cgroup cg;
	struct world_gpu gpu = { 0 };
	struct world_ctx ctx = { 0 };
	uint32_t victim_image, hog_image, kernel_image, idle_image, peer_image, kernel, idle;
	uint64_t started;

	for (unsigned i = 0; i < 16; i++)
		node.uuid[i] = (uint8_t)((sim_at(o->seed, 91, i / 8) ^ who) >> i % 8 * 8);
	memcpy(c->uuid, node.uuid, sizeof(c->uuid));
	c->boot = node.boot;
	c->node = world_node(w, &node);
	c->victim_pid = 4800 + (uint32_t)(o->seed % 89);
	c->holder_tid = c->victim_pid + 1 + o->threads;
	c->hog_pid = 5300 + (uint32_t)(o->seed % 97);

	started = BOOT_NS + c->victim_pid * 1000u;
	if (o->cold_percent)
		started = SIM_BEGIN_NS + SIM_BOOT_AHEAD_NS + SIM_COLD_START_NS;
	c->victim_process =
		add_process_at(c, w, started, c->victim_pid, 4700, 1000, "/opt/train/bin/train",
			       "/opt/train/bin/train --epochs 3", "train", &victim_image);
	c->hog_process = add_process(c, w, c->hog_pid, 1, 0, "/usr/sbin/log-compactor",
				     "/usr/sbin/log-compactor --all", o->hog_comm, &hog_image);
	kernel = add_process(c, w, 61, 2, 0, "", "", "kworker/0:1", &kernel_image);
	idle = add_process(c, w, 0, 0, 0, "", "", "swapper/0", &idle_image);
	c->hog_thread = add_thread(w, c->hog_process, c->hog_pid, o->hog_comm);
	c->worker_thread = add_thread(w, kernel, 61, "kworker/0:1");
	c->idle_thread = add_thread(w, idle, 0, "swapper/0");

	cg = (struct world_cgroup){ .node = c->node,
				    .id = 7301,
				    .path = intern_text(w, OWN_CGROUP) };
	c->cgroup = world_cgroup(w, &cg);
	gpu.node = c->node;
	gpu.uuid = intern_text(w, "GPU-00000000-0000-4000-8000-000000000001");
	gpu.name = intern_text(w, "generated");
	ctx = (struct world_ctx){ .node = c->node,
				  .image = victim_image,
				  .cgroup = c->cgroup,
				  .gpu = world_gpu(w, &gpu) };
	c->gpu = ctx.gpu;
	if (o->play && o->play->two_nodes)
		other_node(c, w, o);
	for (unsigned i = 0; i < o->threads; i++) {
		char comm[24];

		snprintf(comm, sizeof(comm), i ? "train-%u" : "train", i);
		if (i && o->play && o->play->processes) {
			uint32_t first = c->node, own;

			if (o->play->two_nodes && i % 2)
				c->node = ctx.node = c->other_node;
			own = add_process(c, w, c->victim_pid + i, 4700, 1000,
					  "/opt/train/bin/train", "train", comm, &ctx.image);

			ctx.thread = add_thread(w, own, c->victim_pid + i, comm);
			c->thread[i] = ctx.thread;
			c->thread_ctx[i] = world_ctx(w, &ctx);
			c->node = ctx.node = first;
			continue;
		}
		ctx.thread = add_thread_at(w, c->victim_process, c->victim_pid + i, comm,
					   o->cold_percent ? started : started + i * 1000u);
		c->thread[i] = ctx.thread;
		c->thread_ctx[i] = world_ctx(w, &ctx);
	}
	c->holder_thread = ctx.thread = add_thread_at(w, c->victim_process, c->holder_tid, "loader",
						      started + (o->threads + 1) * 1000u);
	ctx.gpu = 0;
	ctx.image = victim_image;
	c->holder_ctx = world_ctx(w, &ctx);
	if (o->share_percent) {
		c->peer_pid = 5600 + (uint32_t)(o->seed % 83);
		ctx.thread = add_thread(w,
					add_process(c, w, c->peer_pid, 1, 1001,
						    "/opt/embed/bin/embed-server",
						    "/opt/embed/bin/embed-server --port 7000",
						    "embed-server", &peer_image),
					c->peer_pid, "embed-server");
		ctx.image = peer_image;
		ctx.cgroup = 0;
		ctx.gpu = c->gpu;
		c->peer_ctx = world_ctx(w, &ctx);
	}
	ctx = (struct world_ctx){ .node = c->node };
	c->cpu_ctx = world_ctx(w, &ctx);
	c->hog_ctx = c->cpu_ctx;
	if (o->hog_cgroup)
		hog_at(c, w, o->hog_cgroup);
	add_stacks(c, w, o);
}
