/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of GPUs, as far as their definitions say.
 */
#include "lib/account/gpu_names.h"

struct bytes gpu_uuid(const struct world *w, uint32_t gpu)
{
	const struct world_gpu *g = world_get_gpu(w, gpu);
	struct bytes uuid = g ? world_text(w, g->uuid) : (struct bytes){ 0 };

	return uuid.n ? uuid : bytes_of("");
}

void gpu_text(const struct world *w, uint32_t gpu, struct buf *out)
{
	const struct world_gpu *g = world_get_gpu(w, gpu);
	struct bytes name = g ? world_text(w, g->name) : (struct bytes){ 0 },
		     uuid = gpu_uuid(w, gpu);

	if (!g) {
		buf_puts(out, "a GPU");
		return;
	}
	buf_printf(out, "GPU %u", g->index);
	if (name.n)
		buf_printf(out, " %.*s", (int)name.n, name.p);
	if (uuid.n)
		buf_printf(out, " (%.*s)", (int)uuid.n, uuid.p);
}
