/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of processes, culprits and code, from the world's definitions as far as they have arrived.
 */
#include "lib/account/names.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/shell.h"
#include "lib/world/call_site.h"
#include "lib/world/frame_parts.h"

static uint32_t image_of(const struct tally *t, uint32_t process)
{
	return process < t->processes.n ? t->processes.v[process].image : 0;
}

struct bytes name_process(const struct world *w, const struct tally *t, uint32_t process)
{
	uint32_t name = world_process_name(w, process, image_of(t, process), INT64_MAX);

	return name ? world_text(w, name) : bytes_of("?");
}

struct bytes name_process_first(const struct world *w, const struct tally *t, uint32_t process)
{
	const struct tally_process *p = tally_process_known(t, process);
	const struct world_image *im = p && p->image ? world_get_image(w, p->image) : NULL;
	struct bytes name = { 0 };

	if (im)
		name = world_text(w, im->comm);
	if (!name.n && p && (p->gone || p->threads.n)) {
		const struct world_thread *th =
			world_get_thread(w, p->gone ? p->gone->thread : p->threads.v[0]);

		if (th)
			name = world_text(w, th->comm);
	}
	return name.n ? name : name_process(w, t, process);
}

void name_victim(struct buf *out, const struct world *w, const struct tally *t, uint32_t process)
{
	const struct world_process *p = world_get_process(w, process);
	struct bytes name = name_process(w, t, process);
	const struct world_node *node;

	if (!p) {
		buf_puts(out, "This machine");
		return;
	}
	buf_printf(out, "%.*s (pid %" PRIu32 ")", (int)name.n, name.p, p->tgid);
	node = world_count(w, WORLD_NODE) > 1 ? world_get_node(w, p->node) : NULL;
	name = node ? world_text(w, node->name) : (struct bytes){ 0 };
	if (name.n)
		buf_printf(out, " on %.*s", (int)name.n, name.p);
}

struct bytes name_cmdline(const struct world *w, const struct tally *t, uint32_t process)
{
	const struct tally_process *p = tally_process_known(t, process);
	const struct world_image *im = p && p->image ? world_get_image(w, p->image) : NULL;

	return im ? world_text(w, im->cmdline) : (struct bytes){ 0 };
}

struct bytes name_thread(const struct world *w, const struct tally *t, uint32_t thread)
{
	const struct world_thread *th = world_get_thread(w, thread);
	const struct world_process *p = th ? world_get_process(w, th->process) : NULL;
	uint32_t name = world_thread_name(w, thread, INT64_MAX);
	const struct world_image *im = p ? world_get_image(w, image_of(t, th->process)) : NULL;

	/* One that gave itself no name since is called as what its process executes now. */
	if (im && im->comm && p->tgid == th->tid && name == th->comm)
		name = im->comm;
	return world_text(w, name);
}

void name_thread_full(struct buf *out, const struct world *w, const struct tally *t,
		      uint32_t thread)
{
	const struct world_thread *th = world_get_thread(w, thread);
	const struct world_process *p = th ? world_get_process(w, th->process) : NULL;
	struct bytes name;

	if (!p)
		return;
	name = p->tgid == th->tid ? name_process(w, t, th->process) : name_thread(w, t, thread);
	buf_add(out, name.n ? name.p : "?", name.n ? name.n : 1);
	if (p->tgid == th->tid)
		buf_printf(out, " (pid %" PRIu32 ")", p->tgid);
	else
		buf_printf(out, " (tid %" PRIu32 " of pid %" PRIu32 ")", th->tid, p->tgid);
}

/* Whether to use the thread's own name: tasks of the process bear the name of a thread that is not
 * its first, and the name stands before the process's number. */
static bool is_thread_of_others(const struct world *w, const struct line_culprit *c)
{
	const struct world_thread *th = world_get_thread(w, c->thread);
	const struct world_process *p = world_get_process(w, c->process);

	struct bytes own = world_text(w, c->name), whole;

	if (c->kind != CULPRIT_TASK || c->related || !th || !p || th->tid == p->tgid || !own.n)
		return false;
	whole = world_text(w, world_process_name(w, c->process, 0, INT64_MAX));
	/* Threads have their process's name until they take one. */
	return whole.n < own.n || memcmp(whole.p, own.p, own.n) != 0;
}

void name_device(struct buf *out, uint64_t device)
{
	if (device == 0)
		buf_puts(out, "unknown");
	else
		buf_printf(out, "%" PRIu64 ":%" PRIu64, device >> 20, device & 0xfffff);
}

void name_culprit(struct buf *out, const struct world *w, const struct tally *t,
		  const struct line_culprit *c)
{
	const struct world_cgroup *g;
	struct bytes name;

	if (!c)
		return;
	switch (c->kind) {
	case CULPRIT_DEVICE:
		name_device(out, c->object);
		return;
	case CULPRIT_CGROUP:
	case CULPRIT_NEIGHBOUR:
		g = world_get_cgroup(w, (uint32_t)c->object);
		name = g ? world_text(w, g->path) : (struct bytes){ 0 };
		if (name.n && !(c->kind == CULPRIT_CGROUP && name_cgroup_is_root(name)))
			buf_add(out, name.p, name.n);
		else
			buf_puts(out, "its cgroup");
		return;
	case CULPRIT_OWN:
		name = c->named ? name_thread(w, t, c->thread) : name_process(w, t, c->process);
		break;
	case CULPRIT_HOLDER:
		name = name_thread(w, t, c->thread);
		break;
	default:
		/* Known by its first name, told by the one it has. */
		name = c->related ? name_process(w, t, c->process) : world_text(w, c->name);
		break;
	}
	if (name.n)
		buf_add(out, name.p, name.n);
	else
		buf_putc(out, '?');
}

/* "thread telemetry (tid 12)", "threads worker-1 (4 threads: tid 12, 13, 14, ...)" */
static void print_own_threads(struct buf *out, const struct world *w, const struct tally *t,
			      const struct line_culprit *c)
{
	uint32_t shown = c->ntids < CULPRIT_TIDS ? c->ntids : CULPRIT_TIDS;

	buf_puts(out, c->ntids > 1 ? "threads " : "thread ");
	name_culprit(out, w, t, c);
	buf_puts(out, " (");
	if (c->ntids > 1)
		buf_printf(out, "%u threads: ", c->ntids);
	for (uint32_t i = 0; i < shown; i++)
		buf_printf(out, "%s%u", i ? ", " : "tid ", c->tids[i]);
	buf_puts(out, c->ntids > shown ? ", ...)" : ")");
}

void name_culprit_full(struct buf *out, const struct world *w, const struct tally *t,
		       const struct line_culprit *c)
{
	uint32_t shown;

	if (!c)
		return;
	switch (c->kind) {
	case CULPRIT_DEVICE:
		buf_puts(out, c->object ? "disk " : "a disk");
		if (c->object)
			name_device(out, c->object);
		return;
	case CULPRIT_CGROUP:
		buf_puts(out, "the CPU quota of ");
		name_culprit(out, w, t, c);
		return;
	case CULPRIT_HOLDER:
		buf_puts(out, c->npids > 1 ? "threads " : "thread ");
		break;
	case CULPRIT_OWN:
		if (c->named) {
			print_own_threads(out, w, t, c);
			return;
		}
		break;
	default:
		break;
	}
	name_culprit(out, w, t, c);
	if (c->npids == 0)
		return;
	shown = c->npids < 3 ? c->npids : 3;
	buf_puts(out, " (");
	if (c->npids > 1)
		buf_printf(out, "%u %s: ", c->npids,
			   c->kind == CULPRIT_HOLDER   ? "threads"
			   : is_thread_of_others(w, c) ? "threads of processes"
						       : "processes");
	if (c->npids == 1 && is_thread_of_others(w, c))
		buf_puts(out, "a thread of ");
	buf_puts(out, c->kind == CULPRIT_HOLDER ? "tid " : "pid ");
	for (uint32_t i = 0; i < shown; i++)
		buf_printf(out, "%s%u", i ? ", " : "", c->pids[i]);
	if (c->npids > shown)
		buf_puts(out, ", ...");
	shown = c->ntids < CULPRIT_TIDS ? c->ntids : CULPRIT_TIDS;
	for (uint32_t i = 0; i < shown; i++)
		buf_printf(out, ", %s%u", i ? "" : "tid ", c->tids[i]);
	buf_puts(out, c->ntids > shown ? ", ...)" : ")");
}

bool name_cgroup_v1(struct bytes path)
{
	return path.n && path.p[0] != '/';
}

bool name_cgroup_is_root(struct bytes path)
{
	return path.n && path.p[path.n - 1] == '/';
}

void name_cgroup_file(struct buf *out, struct bytes path, const char *file)
{
	const char *colon = name_cgroup_v1(path) ? memchr(path.p, ':', path.n) : NULL;
	size_t controller = colon ? (size_t)(colon - path.p) : 0, from = colon ? controller + 1 : 0;
	struct buf all = { 0 };

	buf_puts(&all, "/sys/fs/cgroup");
	if (controller)
		buf_printf(&all, "/%.*s", (int)controller, path.p);
	if (path.n > from)
		buf_add(&all, path.p + from, path.n - from);
	if (all.n && all.p[all.n - 1] != '/')
		buf_putc(&all, '/');
	buf_puts(&all, file);
	shell_word(out, buf_bytes(&all));
	out->failed |= all.failed;
	buf_free(&all);
}

void name_process_keys(struct jsonw *j, const struct world *w, const struct tally *t,
		       uint32_t process)
{
	const struct world_process *v = world_get_process(w, process);
	const struct world_node *node = v ? world_get_node(w, v->node) : NULL;

	jsonw_key_u64(j, "pid", v ? v->tgid : 0);
	jsonw_key(j, "node");
	jsonw_bytes(j, node ? world_text(w, node->name) : bytes_of(""));
	jsonw_key(j, "comm");
	jsonw_bytes(j, name_process(w, t, process));
}

static bool is_of(const struct world *w, const struct world_frame *f, const char *const *libraries,
		  unsigned nlibraries)
{
	const struct world_module *m = world_get_module(w, f->module);
	struct bytes name = m ? bytes_file_name(world_text(w, m->path)) : (struct bytes){ 0 };

	for (unsigned i = 0; i < nlibraries; i++) {
		size_t n = strlen(libraries[i]);

		if (name.n >= n && memcmp(name.p, libraries[i], n) == 0)
			return true;
	}
	return false;
}

bool name_of_device(const struct world *w, uint32_t frame)
{
	static const char *const libraries[] = { "libcuda.so", "libcudart.so", "libnccl.so" };
	const struct world_frame *f = world_get_frame(w, frame);

	return f && is_of(w, f, libraries, sizeof(libraries) / sizeof(libraries[0]));
}

bool name_of_kernels(const struct world *w, uint32_t frame)
{
	static const char *const libraries[] = { "libcublas",  "libcudnn",    "libcufft",
						 "libcurand",  "libcusolver", "libcusparse",
						 "libnccl",    "libcutensor", "libnvshmem",
						 "libnvinfer", "libnpp" };
	const struct world_frame *f = world_get_frame(w, frame);

	return f && f->kind == FRAME_NATIVE &&
	       is_of(w, f, libraries, sizeof(libraries) / sizeof(libraries[0]));
}

uint32_t name_site_frame(const struct world *w, uint32_t stack)
{
	return call_site_frame(w, stack);
}

bool name_python(const struct world *w, uint32_t stack)
{
	return call_site_is_python(w, stack);
}

void name_frame(struct buf *out, const struct world *w, uint32_t frame)
{
	place_print_frame(out, w, frame);
}

void name_site_caller(struct buf *out, const struct world *w, uint32_t stack)
{
	unsigned n = 0, at;
	const uint32_t *frames = stack ? world_get_stack(w, stack, &n) : NULL;
	const struct world_symbol *s;
	const struct world_frame *f;
	struct bytes name;

	at = call_site_find(w, frames, n);
	at = at < n ? call_site_outward(w, frames, n, at) : n;
	if (at == n)
		return;
	f = world_get_frame(w, frames[at]);
	s = world_get_symbol(w, frames[at]);
	name = world_text(w, s ? s->name : f->name);
	if (name.n)
		buf_printf(out, " < %.*s", (int)name.n, name.p);
}

void name_op(struct buf *out, const struct world *w, uint16_t op)
{
	const struct op_def *def = op ? world_op(w, op) : NULL;

	if (op == 0)
		buf_puts(out, "between traced calls");
	else if (def)
		buf_puts(out, def->name);
	else
		buf_printf(out, "op 0x%x", op);
}

void name_end(struct buf *out, uint64_t status)
{
	static const char *const signals[] = {
		[2] = "SIGINT",	 [6] = "SIGABRT",  [7] = "SIGBUS",   [8] = "SIGFPE",
		[9] = "SIGKILL", [11] = "SIGSEGV", [13] = "SIGPIPE", [15] = "SIGTERM"
	};
	unsigned by = status & 0x7f;

	if (!by) {
		buf_printf(out, "with exit code %u", (unsigned)(status >> 8 & 0xff));
		return;
	}
	buf_printf(out, "killed by signal %u", by);
	if (by < sizeof(signals) / sizeof(signals[0]) && signals[by])
		buf_printf(out, " (%s)", signals[by]);
}

void name_key(struct jsonw *j, const char *key, struct buf *text)
{
	jsonw_key(j, key);
	jsonw_bytes(j, buf_bytes(text));
	buf_reset(text);
}
