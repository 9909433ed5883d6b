/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as lines of JSON by way of lib/ige, to be compared with those of tests/ige_reader.py,
 * which knows nothing but formats/ige.md; and recordings to compare them on.
 *
 *   ige_reader print FILE            events and records, names resolved
 *   ige_reader fixture N BLOCK       the fixture of the unit tests, to standard output
 *   ige_reader mixed SEED N          any op, column, record and definition, also in LATE blocks
 *   ige_reader example               the example of formats/ige.md
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ige/reader.h"
#include "tests/reader/make.h"

/* ---- printing ---- */

static const struct world *w;
static bool comma;

static void key(const char *name)
{
	printf("%s\"%s\":", comma ? "," : "", name);
	comma = true;
}

/* Bytes as the characters of the same numbers: any text, and no question of encodings. */
static void text(struct bytes t)
{
	if (!t.p) {
		printf("null");
		return;
	}
	putchar('"');
	for (size_t i = 0; i < t.n; i++) {
		unsigned char c = (unsigned char)t.p[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void string(const char *name, uint32_t id)
{
	key(name);
	text(world_text(w, id));
}

static void number(const char *name, uint64_t v)
{
	key(name);
	printf("%" PRIu64, v);
}

static void node(const char *name, uint32_t id)
{
	const struct world_node *v = world_get_node(w, id);

	key(name);
	if (v)
		text(world_text(w, v->name));
	else
		printf("null");
}

static void process(const char *name, uint32_t id)
{
	const struct world_process *v = world_get_process(w, id);

	key(name);
	if (!v) {
		printf("null");
		return;
	}
	comma = false;
	printf("{");
	number("pid", v->tgid);
	number("start_ns", v->start_ns);
	number("parent", v->parent);
	number("ns_pid", v->ns_tgid);
	number("uid", v->uid);
	node("node", v->node);
	printf("}");
}

static void thread(const char *name, uint32_t id)
{
	const struct world_thread *v = world_get_thread(w, id);

	key(name);
	if (!v) {
		printf("null");
		return;
	}
	comma = false;
	printf("{");
	number("tid", v->tid);
	number("start_ns", v->start_ns);
	string("comm", v->comm);
	process("process", v->process);
	printf("}");
}

static void cgroup(const char *name, uint32_t id)
{
	const struct world_cgroup *v = world_get_cgroup(w, id);

	key(name);
	if (!v) {
		printf("null");
		return;
	}
	comma = false;
	printf("{");
	number("id", v->id);
	string("path", v->path);
	printf("}");
}

static void gpu(const char *name, uint32_t id)
{
	const struct world_gpu *v = world_get_gpu(w, id);

	key(name);
	if (!v) {
		printf("null");
		return;
	}
	comma = false;
	printf("{");
	number("index", v->index);
	string("uuid", v->uuid);
	string("name", v->name);
	printf("}");
}

static void stack(const char *name, uint32_t id)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, id, &n);

	key(name);
	if (!frames) {
		printf("null");
		return;
	}
	printf("[");
	for (unsigned i = 0; i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);
		const struct world_symbol *s = world_get_symbol(w, frames[i]);

		if (!f) {
			printf("%snull", i ? "," : "");
			continue;
		}
		printf("%s{", i ? "," : "");
		comma = false;
		number("kind", f->kind);
		number("offset", f->offset);
		if (f->module) {
			string("module", world_get_module(w, f->module)->path);
			string("build_id", world_get_module(w, f->module)->build_id);
		}
		if (s) {
			string("symbol", s->name);
			number("delta", s->delta);
			number("line", s->line);
			string("file", s->file);
		} else if (f->name || f->file) {
			string("name", f->name);
			string("file", f->file);
		}
		printf("}");
	}
	printf("]");
	comma = true;
}

static void column(const struct column_def *c, uint64_t v)
{
	uint32_t id = (uint32_t)v;

	switch (c->role) {
	case ROLE_THREAD:
		thread(c->name, id);
		break;
	case ROLE_PROCESS:
		process(c->name, id);
		break;
	case ROLE_CGROUP:
		cgroup(c->name, id);
		break;
	case ROLE_GPU:
		gpu(c->name, id);
		break;
	case ROLE_STACK:
		stack(c->name, id);
		break;
	default:
		number(c->name, v);
	}
	comma = true;
}

static void event(const struct event *ev, bool late)
{
	const struct op_def *op = world_op(w, ev->op);
	const struct world_ctx *c = world_get_ctx(w, ev->ctx);
	const struct world_image *image = c ? world_get_image(w, c->image) : NULL;

	printf("{");
	comma = false;
	number("event", ev->op);
	key("op");
	printf("\"%s.%s\"", op->source_name, op->name);
	key("end_ns");
	printf("%" PRId64, ev->end_ns);
	number("dur_ns", ev->dur_ns);
	number("depth", ev->depth);
	key("ret");
	printf("%d", ev->ret);
	key("late");
	printf(late ? "true" : "false");
	if (c) {
		node("node", c->node);
		thread("thread", c->thread);
		comma = true;
		if (image) {
			process("process", image->process);
			comma = true;
			number("exec", image->exec);
			string("exe", image->exe);
			string("cmdline", image->cmdline);
			string("comm", image->comm);
		}
		cgroup("cgroup", c->cgroup);
		comma = true;
		gpu("gpu", c->gpu);
		comma = true;
	}
	stack("stack", ev->stack);
	key("args");
	printf("{");
	comma = false;
	for (unsigned i = 0; i < op->ncols; i++)
		if (ev->present >> i & 1)
			column(world_column(w, op->cols[i]), ev->x[i]);
	printf("}}\n");
}

static void field(const struct record *r, const struct record_field *f)
{
	const char *at = (const char *)&r->u + f->offset;
	struct bytes t;
	int64_t i;
	uint64_t u;
	uint32_t u32;
	double d;

	memcpy(&u32, at, sizeof(u32));
	switch (f->type) {
	case REC_I64:
		memcpy(&i, at, sizeof(i));
		key(f->name);
		printf("%" PRId64, i);
		return;
	case REC_U64:
		memcpy(&u, at, sizeof(u));
		number(f->name, u);
		return;
	case REC_F64:
		memcpy(&d, at, sizeof(d));
		key(f->name);
		if (isfinite(d))
			printf("%.17g", d);
		else
			printf("null");
		return;
	case REC_TEXT:
		memcpy(&t, at, sizeof(t));
		key(f->name);
		text(t);
		return;
	default:
		break;
	}
	switch (f->role) {
	case RROLE_NODE:
		node(f->name, u32);
		break;
	case RROLE_PROCESS:
		process(f->name, u32);
		break;
	case RROLE_THREAD:
		thread(f->name, u32);
		break;
	case RROLE_CGROUP:
		cgroup(f->name, u32);
		break;
	case RROLE_GPU:
		gpu(f->name, u32);
		break;
	case RROLE_STACK:
		stack(f->name, u32);
		break;
	default:
		number(f->name, u32);
	}
	comma = true;
}

static void record(const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);

	printf("{");
	comma = false;
	key("record");
	printf("\"%s\"", def->name);
	for (unsigned i = 0; i < def->nfields; i++)
		if (record_has(r, def->fields[i].number))
			field(r, &def->fields[i]);
	printf("}\n");
}

static bool reporting;

/* What could not be read. */
static void report(const struct ige_report *p)
{
	key("report");
	comma = false;
	printf("{");
	number("events", p->events);
	number("records", p->records);
	number("damaged", p->damaged_blocks);
	number("skipped", p->skipped_bytes);
	number("newer", p->unknown_blocks);
	number("lost", p->lost_events);
	key("truncated");
	printf(p->truncated ? "true" : "false");
	key("unterminated");
	printf(p->unterminated ? "true" : "false");
	printf("}");
}

/* Names are shown as far as they were told by then. */
static int print_into(struct world *own, const char *path, bool silent)
{
	struct ige_reader *r;
	struct event_stream *s;
	struct stream_item item;
	struct err e = { 0 };
	int fd = open(path, O_RDONLY), rc;

	if (fd < 0 || !own || ige_reader_open(&r, own, fd, true, path, &e)) {
		fprintf(stderr, "cannot open %s\n", path);
		return 1;
	}
	w = own;
	s = ige_reader_stream(r);
	while ((rc = s->next(s, &item, &e)) == 1) {
		if (silent)
			continue;
		if (item.kind == STREAM_RECORD)
			record(item.record);
		if (item.kind == STREAM_LAST)
			printf("{\"last\":true}\n");
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++)
			event(&item.events[i], item.late);
	}
	if (!silent) {
		printf("{\"end\":\"%s\"", rc == 0	      ? "ok"
					  : rc == ERR_TOO_NEW ? "newer"
					  : rc == ERR_DAMAGED ? "not an .ige file"
							      : e.text);
		comma = true;
		if (reporting)
			report(ige_reader_report(r));
		printf("}\n");
	}
	ige_reader_free(r);
	return 0;
}

static int print(const char *path, bool twice)
{
	struct world *own = world_new();
	int rc = twice ? print_into(own, path, true) : 0;

	if (!rc)
		rc = print_into(own, path, false);
	world_free(own);
	return rc;
}

static uint32_t argument(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc > 2 && !strcmp(what, "reports")) {
		reporting = true;
		for (int i = 2; i < argc; i++)
			if (print(argv[i], false))
				return 1;
		return 0;
	}
	if (argc == 3 && (!strcmp(what, "print") || !strcmp(what, "report"))) {
		reporting = what[0] == 'r';
		return print(argv[2], false);
	}
	/* With every name the recording tells, even behind the event. */
	if (argc == 3 && !strcmp(what, "told"))
		return print(argv[2], true);
	if (argc == 4 && !strcmp(what, "fixture"))
		return make_fixture(argument(argv[2]), argument(argv[3]));
	if (argc == 4 && !strcmp(what, "mixed"))
		return make_mixed(argument(argv[2]), argument(argv[3]));
	if (argc == 4 && (!strcmp(what, "pack") || !strcmp(what, "unpack")))
		return make_pack(argv[2], what[0] == 'p', argument(argv[3]));
	if (argc == 3 && !strcmp(what, "index"))
		return make_indexed(argv[2]);
	if (argc == 3 && !strcmp(what, "sort"))
		return make_sorted(argv[2]);
	if (argc == 3 && !strcmp(what, "records"))
		return make_records(argument(argv[2]));
	if (argc == 2 && !strcmp(what, "example"))
		return make_example();
	fprintf(stderr,
		"usage: ige_reader print FILE | told FILE | report FILE | reports FILE... | "
		"fixture N BLOCK | mixed "
		"SEED N |"
		" records SEED | example | pack FILE BLOCK | unpack FILE BLOCK | sort FILE | index "
		"FILE\n");
	return 2;
}
