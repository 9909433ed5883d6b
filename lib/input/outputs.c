/* SPDX-License-Identifier: Apache-2.0 */
/* One file, or one per machine as machines are met. */
#include "lib/input/outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/io.h"

static int write_bytes(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n,
		       uint32_t events, struct err *e)
{
	struct merge_output *out = (struct merge_output *)s;
	int rc = write_all(out->aside.fd, p, n, e);

	(void)kind;
	(void)events;
	out->bytes += n;
	return rc ? err_prefix(e, "%s", out->aside.path) : rc;
}

/* path becomes the output's. */
static int add_output(struct merge_outputs *o, char *path, struct ige_sink **sink, struct err *e)
{
	struct merge_output *out = calloc(1, sizeof(*out));
	int rc;

	if (!out || !vec_push(&o->all, out)) {
		free(out);
		free(path);
		return err_nomem(e);
	}
	out->path = path;
	rc = atomic_file_open(&out->aside, path ? path : o->path ? o->path : "-", e);
	out->sink.put = write_bytes;
	*sink = &out->sink;
	return rc;
}

/* FILE.ige of machine gpu-7 is FILE.gpu-7.ige; of another one of that name FILE.gpu-7-2.ige. */
static char *split_path(const struct merge_outputs *o, uint32_t node)
{
	const struct world_node *machine = world_get_node(o->w, node);
	struct bytes name = world_text(o->w, machine ? machine->name : 0);
	size_t n = strlen(o->path), stem = n > 4 && !strcmp(o->path + n - 4, ".ige") ? n - 4 : n;
	unsigned again = 1;
	struct buf safe = { 0 };
	char *path = NULL;

	for (size_t i = 0; i < name.n && i < 64; i++)
		buf_putc(&safe, strchr("/\\", name.p[i]) || (unsigned char)name.p[i] <= ' '
					? '_'
					: name.p[i]);
	if (!safe.n)
		buf_puts(&safe, "unknown");
	for (bool taken = true; taken && !safe.failed; again++) {
		char number[16] = "";

		free(path);
		if (again > 1)
			snprintf(number, sizeof(number), "-%u", again);
		if (asprintf(&path, "%.*s.%s%s.ige", (int)stem, o->path, buf_text(&safe), number) <
		    0) {
			path = NULL;
			break;
		}
		taken = false;
		for (size_t i = 0; i < o->all.n; i++)
			taken |= !strcmp(o->all.v[i]->path, path);
	}
	buf_free(&safe);
	return path;
}

static int sink_of(struct merge_target *t, uint32_t node, struct ige_sink **sink, struct err *e)
{
	struct merge_outputs *o = (struct merge_outputs *)t;
	char *path = NULL;

	if (t->by_machine) {
		path = split_path(o, node);
		if (!path)
			return err_nomem(e);
	}
	return add_output(o, path, sink, e);
}

static int file_of(struct merge_target *t, int *fd, struct err *e)
{
	struct merge_outputs *o = (struct merge_outputs *)t;
	struct ige_sink *sink;
	int rc = add_output(o, NULL, &sink, e);

	if (!rc)
		*fd = o->all.v[o->all.n - 1]->aside.fd;
	return rc;
}

void merge_outputs_init(struct merge_outputs *o, const struct world *w, const char *path,
			bool by_machine)
{
	*o = (struct merge_outputs){
		.target = { .sink = sink_of, .file = file_of, .by_machine = by_machine },
		.w = w,
		.path = path
	};
}

int merge_output_keep(struct merge_outputs *o, size_t i, struct err *e)
{
	return atomic_file_keep(&o->all.v[i]->aside, e);
}

void merge_outputs_free(struct merge_outputs *o)
{
	for (size_t i = 0; i < o->all.n; i++) {
		atomic_file_drop(&o->all.v[i]->aside);
		free(o->all.v[i]->path);
		free(o->all.v[i]);
	}
	vec_free(&o->all);
}
