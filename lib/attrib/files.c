/* SPDX-License-Identifier: Apache-2.0 */
/* Names come in records before the first event that needs them, once each; another of the same id
 * says the same. */
#include "lib/attrib/files.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/hash.h"

bool cause_files_event(struct cause_files *f, const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);
	struct cause_file fresh = { .process = world_ctx_process_id(w, ev->ctx) };
	uint64_t key, at, way = CAUSE_FILE_WAYS - 1;

	if (!op || !event_get(ev, op, COL_FILE, &fresh.id))
		return true;
	key = hash_u64(fresh.id ^ hash_u64(fresh.process));
	if (!map_get(&f->by, key, &at)) {
		if (f->v.n >= CAUSE_FILES)
			return true;
		at = f->v.n;
		if (!vec_push(&f->v, fresh) || !map_put(&f->by, key, at))
			return false;
	}
	if (ev->op == OP_MEM_FAULT) {
		f->v.v[at].fault_ns += ev->dur_ns;
		return true;
	}
	event_get(ev, op, COL_WRITE, &way);
	f->v.v[at].ns[way < CAUSE_FILE_WAYS ? way : 0] += ev->dur_ns;
	f->v.v[at].waits++;
	return true;
}

bool cause_files_record(struct cause_files *f, const struct record *r)
{
	const struct rec_FILE *said = &r->u.FILE;
	struct cause_file_name name = { .has_device = REC_HAS(r, FILE, device),
					.device = said->device };
	struct buf text = { 0 };
	bool kept = false;

	if (map_get(&f->names, said->id, NULL) || f->name.n >= CAUSE_FILES)
		return true;
	buf_add(&text, said->path.p, said->path.n);
	buf_puts(&text, " (");
	buf_add(&text, said->fstype.p, said->fstype.n);
	if (said->origin.n) {
		buf_puts(&text, ", ");
		buf_add(&text, said->origin.p, said->origin.n);
	}
	buf_puts(&text, ")");
	buf_putc(&text, 0);
	name.text = text.failed ? NULL : strdup(buf_text(&text));
	buf_free(&text);
	if (name.text && vec_push(&f->name, name))
		kept = map_put(&f->names, said->id, f->name.n);
	else
		free(name.text);
	return kept;
}

const char *cause_files_top(const struct cause_files *f, uint32_t process, uint64_t device,
			    const uint64_t **ns)
{
	const char *top = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < f->v.n; i++) {
		const struct cause_file *v = &f->v.v[i];
		uint64_t sum = v->ns[0] + v->ns[1] + v->ns[2] + v->ns[3], at;
		const struct cause_file_name *name;

		if (v->process != process || sum <= most || !map_get(&f->names, v->id, &at))
			continue;
		name = &f->name.v[at - 1];
		if (device && (!name->has_device || name->device != device))
			continue;
		most = sum;
		*ns = v->ns;
		top = name->text;
	}
	return top;
}

const char *cause_files_mapped(const struct cause_files *f, uint32_t process)
{
	const char *top = NULL;
	uint64_t most = 0, at;

	for (size_t i = 0; i < f->v.n; i++) {
		const struct cause_file *v = &f->v.v[i];

		if (v->process != process || v->fault_ns <= most || !map_get(&f->names, v->id, &at))
			continue;
		most = v->fault_ns;
		top = f->name.v[at - 1].text;
	}
	return top;
}

void cause_files_free(struct cause_files *f)
{
	for (size_t i = 0; i < f->name.n; i++)
		free(f->name.v[i].text);
	map_free(&f->by);
	map_free(&f->names);
	vec_free(&f->v);
	vec_free(&f->name);
}
