/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up the process, thread, GPU and machine of an event. A context may lack any part: a CPU's
 * event has no thread, a thread seen once has no image.
 */
#include "lib/world/who.h"

#include <string.h>

#include <inttypes.h>

struct who who_of(const struct world *w, uint32_t ctx, int64_t at_ns)
{
	struct who who = { .ctx = world_get_ctx(w, ctx) };

	if (!who.ctx)
		return who;
	who.node = world_get_node(w, who.ctx->node);
	who.image = world_get_image(w, who.ctx->image);
	who.thread = world_get_thread(w, who.ctx->thread);
	who.cgroup = world_get_cgroup(w, who.ctx->cgroup);
	who.gpu = world_get_gpu(w, who.ctx->gpu);
	who.process_id = who.thread ? who.thread->process : who.image ? who.image->process : 0;
	who.process = world_get_process(w, who.process_id);
	who.thread_name = who.thread ? world_thread_name(w, who.ctx->thread, at_ns) : 0;
	if (who.image)
		who.process_name = world_process_name(w, who.process_id, who.ctx->image, at_ns);
	if (!who.process_name)
		who.process_name = who.thread_name;
	return who;
}

void who_print_thread(struct buf *out, const struct world *w, uint32_t thread, int64_t at_ns)
{
	const struct world_thread *t = world_get_thread(w, thread);
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;
	bool first = p && p->tgid == t->tid;
	struct bytes name = world_text(w, first ? world_process_name(w, t->process, 0, at_ns) : 0);

	if (!name.n)
		name = world_text(w, world_thread_name(w, thread, at_ns));
	if (name.n)
		buf_add(out, name.p, name.n);
	else
		buf_putc(out, '?');
	if (first)
		buf_printf(out, " (pid %" PRIu32 ")", p->tgid);
	else if (p)
		buf_printf(out, " (tid %" PRIu32 " of pid %" PRIu32 ")", t->tid, p->tgid);
}

void who_print_process(struct buf *out, const struct world *w, uint32_t thread, int64_t at_ns)
{
	const struct world_thread *t = world_get_thread(w, thread);
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;
	struct bytes name = world_text(w, p ? world_process_name(w, t->process, 0, at_ns) : 0);

	if (name.n && p) {
		buf_add(out, name.p, name.n);
		buf_printf(out, " (pid %" PRIu32 ")", p->tgid);
	} else {
		who_print_thread(out, w, thread, at_ns);
	}
}

bool who_has_own_name(const struct world *w, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(w, thread);
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;
	struct bytes own = world_text(w, world_thread_name(w, thread, INT64_MAX)), whole;

	if (!p || p->tgid == t->tid || !own.n)
		return false;
	whole = world_text(w, world_process_name(w, t->process, 0, INT64_MAX));
	return own.n > whole.n || memcmp(own.p, whole.p, own.n) != 0;
}
