/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the file format of speedscope.app, version 0.0.1: one list of frames, and a sampled
 * profile for each process, most weight first.
 */
#include "lib/base/jsonw.h"
#include "lib/export/profile_format.h"

static void append_frames(struct jsonw *j, const struct world *w, const struct profile *p)
{
	jsonw_key_object(j, "shared");
	jsonw_key_array(j, "frames");
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.v[i];

		jsonw_object_begin(j);
		jsonw_key_bytes(j, "name", world_text(w, f->name));
		if (f->file || f->module)
			jsonw_key_bytes(j, "file", world_text(w, f->file ? f->file : f->module));
		if (f->line)
			jsonw_key_u64(j, "line", f->line);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
}

/* Stacks [from, to) are of one process. */
static void append_process(struct jsonw *j, const struct export_ctx *em, const struct profile *p,
			   size_t from, size_t to)
{
	uint32_t name = p->frames.v[p->stacks.v[from].process].name;
	uint64_t sum = 0;

	jsonw_object_begin(j);
	jsonw_key_str(j, "type", "sampled");
	jsonw_key_bytes(j, "name", world_text(em->w, name));
	jsonw_key_str(j, "unit",
		      em->opt.weight == EXPORT_COUNT ? "none"
						     : profile_weight_unit(em->opt.weight));
	jsonw_key_array(j, "samples");
	for (size_t i = from; i < to; i++) {
		jsonw_array_begin(j);
		for (uint32_t k = 0; k < p->stacks.v[i].n; k++)
			jsonw_u64(j, p->path.v[p->stacks.v[i].at + k]);
		jsonw_array_end(j);
	}
	jsonw_array_end(j);
	jsonw_key_array(j, "weights");
	for (size_t i = from; i < to; i++) {
		jsonw_u64(j, p->stacks.v[i].weight);
		sum += p->stacks.v[i].weight;
	}
	jsonw_array_end(j);
	jsonw_key_u64(j, "startValue", 0);
	jsonw_key_u64(j, "endValue", sum);
	jsonw_object_end(j);
}

static int on_finish(void *state, struct err *e)
{
	struct profile_state *s = state;
	const struct profile *p;
	struct jsonw j;
	int rc = profile_end(s->run, &p, e);

	if (rc)
		return rc;
	jsonw_init(&j, s->em.out, false);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	jsonw_key_str(&j, "exporter", "ingero-export");
	jsonw_key_str(&j, "name", profile_weight_name(s->em.opt.weight));
	append_frames(&j, s->em.w, p);
	jsonw_key_array(&j, "profiles");
	for (size_t i = 0, to; i < p->stacks.n; i = to) {
		for (to = i + 1;
		     to < p->stacks.n && p->stacks.v[to].process == p->stacks.v[i].process;)
			to++;
		append_process(&j, &s->em, p, i, to);
	}
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_putc(s->em.out, '\n');
	return s->em.out->failed ? err_nomem(e) : 0;
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.endings = ".speedscope.json .speedscope",
	.help = "the same for speedscope.app",
	.profile = true,
	.open = profile_state_open,
	.item = profile_state_item,
	.finish = on_finish,
	.free = profile_state_free,
};
