/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is called what, and when: programs behind interpreters, names given later than the start,
 * threads beside their process, and one identity through all of it.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/world/program_name.h"
#include "lib/world/renames.h"
#include "lib/world/who.h"
#include "lib/world/world.h"
#include "tests/tap.h"

static const struct {
	const char *comm, *cmdline, *name;
} programs[] = {
	{ "train", "./train --lr 1", "train" },
	{ "python", "python train.py --lr 1e-4", "python train.py" },
	{ "python3.12", "/home/u/.venv/bin/python3.12 -u -X dev /home/u/train.py",
	  "python3.12 train.py" },
	{ "python3",
	  "/usr/bin/python3 -W ignore -OO -m vllm.entrypoints.openai.api_server --model m",
	  "python3 -m vllm.entrypoints.openai.api_server" },
	{ "python", "python -c import torch; print(torch)", "python -c" },
	{ "python",
	  "/v/bin/python -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, "
	  "pipe_handle=7) --multiprocessing-fork",
	  "python (multiprocessing.spawn)" },
	{ "python", "/v/bin/python -c from multiprocessing.resource_tracker import main;main(5)",
	  "python (multiprocessing.resource_tracker)" },
	{ "python", "python /srv/app/__main__.py", "python app" },
	{ "python", "python -", "python" },
	{ "python", "python", "python" },
	{ "python", "", "python" },
	{ "pt_main_thread", "/v/bin/python3 -u train.py", "python3 train.py" },
	{ "pt_main_thread", "./launcher", "pt_main_thread" },
	{ "vllm", "/v/bin/python /v/bin/vllm serve m", "vllm" },
	{ "python", "worker: idle", "python" },
	{ "pythonista", "pythonista x.py", "pythonista" },
	{ "node", "node --require ./a.js generate.js", "node generate.js" },
	{ "node", "/usr/bin/node --max-old-space-size=4096 /app/server.mjs", "node server.mjs" },
	{ "java", "java -Xmx4g -cp a.jar:b.jar com.example.Main", "java com.example.Main" },
	{ "java", "java -jar /opt/app.jar", "java app.jar" },
	{ "bash", "bash -c sleep 1", "bash -c" },
	{ "sh", "/bin/sh ./run.sh", "sh run.sh" },
	{ "VLLM::EngineCore", "VLLM::EngineCore", "VLLM::EngineCore" },
};

static void programs_by_their_names(void)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		buf_reset(&text);
		program_name(&text, bytes_of(programs[i].comm), bytes_of(programs[i].cmdline));
		is_str(buf_text(&text), programs[i].name, "%s of \"%s\"", programs[i].comm,
		       programs[i].cmdline);
	}
	buf_free(&text);
}

static void names_by_time(void)
{
	struct renames r = { 0 };

	is_u64(renames_at(&r, 7, 10), 0, "a thread that gave itself no name");
	ok(renames_add(&r, 7, 100, 1) && renames_add(&r, 7, 300, 3), "two names");
	ok(renames_add(&r, 7, 200, 2), "and one between them, which is met later");
	ok(renames_add(&r, 7, 200, 2), "which is said again in the next file");
	is_u64(renames_at(&r, 7, 99), 0, "before the first");
	is_u64(renames_at(&r, 7, 100), 1, "the first");
	is_u64(renames_at(&r, 7, 250), 2, "the one between");
	is_u64(renames_at(&r, 7, INT64_MAX), 3, "the last");
	is_u64(renames_at(&r, 8, INT64_MAX), 0, "of another thread nothing");
	for (uint32_t i = 0; i < 100; i++)
		renames_add(&r, 9, i, i + 1);
	is_u64(renames_at(&r, 9, INT64_MAX), 100, "of a hundred the last");
	is_u64(renames_at(&r, 9, 100 - RENAMES_MAX), 100 - RENAMES_MAX + 1, "and %d before",
	       RENAMES_MAX - 1);
	is_u64(renames_at(&r, 9, 10), 0, "older ones are not known");
	renames_free(&r);
}

static struct world *w;

static uint32_t string(const char *text)
{
	return world_string(w, bytes_of(text));
}

static const char *text(uint32_t id)
{
	return id ? world_text(w, id).p : "";
}

static uint32_t thread_of(uint32_t process, uint32_t tid, const char *comm)
{
	return world_thread(
		w, &(struct world_thread){
			   .process = process, .tid = tid, .start_ns = tid, .comm = string(comm) });
}

/* A spawned worker that calls itself something else, and is executed anew in the end. */
static void one_process(void)
{
	uint32_t node = world_node(w, &(struct world_node){ .boot = 1 });
	uint32_t p = world_process(
		w, &(struct world_process){ .node = node, .tgid = 4711, .start_ns = 5 });
	uint32_t image =
		world_image(w, &(struct world_image){ .process = p,
						      .comm = string("python"),
						      .cmdline = string("python serve.py") });
	uint32_t after = world_image(w, &(struct world_image){ .process = p,
							       .exec = 1,
							       .comm = string("sleep"),
							       .cmdline = string("sleep 9") });
	uint32_t first = thread_of(p, 4711, "python"), loader = thread_of(p, 4712, "python");
	uint32_t ctx =
		world_ctx(w, &(struct world_ctx){ .node = node, .image = image, .thread = loader });
	struct buf out = { 0 };

	is_str(text(world_process_name(w, p, image, 50)), "python serve.py", "at first");
	world_rename(w, loader, 60, string("loader"));
	is_str(text(world_process_name(w, p, image, 70)), "python serve.py",
	       "a thread's name is not its process's");
	is_str(text(world_thread_name(w, loader, 70)), "loader", "but the thread's");
	is_str(text(world_thread_name(w, loader, 50)), "python", "from then on");
	world_rename(w, first, 100, string("VLLM::EngineCore"));
	is_str(text(world_process_name(w, p, image, 150)), "VLLM::EngineCore",
	       "the name it gave itself");
	is_str(text(world_process_name(w, p, image, 99)), "python serve.py",
	       "which does not change what was before");
	is_str(text(who_of(w, ctx, 99).process_name), "python serve.py", "an event before");
	is_str(text(who_of(w, ctx, 100).process_name), "VLLM::EngineCore", "one after");
	is_str(text(who_of(w, ctx, 100).thread_name), "loader", "whose thread is another");
	who_print_thread(&out, w, loader, 150);
	is_str(buf_text(&out), "loader (tid 4712 of pid 4711)", "a thread has its own number");
	buf_reset(&out);
	who_print_thread(&out, w, first, 150);
	is_str(buf_text(&out), "VLLM::EngineCore (pid 4711)", "the first one the process's");
	world_rename(w, first, 200, string("sleep"));
	is_str(text(world_process_name(w, p, after, 250)), "sleep", "after an exec");
	is_str(text(world_process_name(w, p, 0, INT64_MAX)), "sleep",
	       "and where nothing says which program");
	is_u64(world_process(w,
			     &(struct world_process){ .node = node, .tgid = 4711, .start_ns = 5 }),
	       p, "it is the same process all along");
	buf_free(&out);
}

static void silent_ones(void)
{
	uint32_t p = world_process(w, &(struct world_process){ .tgid = 12, .start_ns = 5 });

	is_u64(world_process_name(w, p, 0, 1), 0, "nothing is known of it");
	thread_of(p, 13, "kworker");
	is_str(text(world_process_name(w, p, 0, 1)), "kworker", "a thread of it");
	thread_of(p, 12, "timeout");
	is_str(text(world_process_name(w, p, 0, 1)), "timeout", "its main thread");
	world_thread(w,
		     &(struct world_thread){
			     .process = p, .tid = 12, .start_ns = 13, .comm = string("burner") });
	is_str(text(world_process_name(w, p, 0, 1)), "burner", "which executed another program");
	world_rename(w, 999, 1, string("x"));
	world_rename(w, 1, 1, 0);
	ok(!world_failed(w), "what names nobody, or nothing, is passed over");
}

int main(void)
{
	w = world_new();
	programs_by_their_names();
	names_by_time();
	one_process();
	silent_ones();
	world_free(w);
	return tap_done();
}
