/* SPDX-License-Identifier: Apache-2.0 */
/* A context may lack any part: a CPU's event has no thread, a thread seen once no image. */
#include "lib/world/who.h"

struct who who_of(const struct world *w, uint32_t ctx)
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
	who.process_name = who.image && who.image->comm ? who.image->comm
			   : who.thread			? who.thread->comm
							: 0;
	return who;
}
