/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Member by member, as the schema lists them.
 */
#include "lib/report/check_json.h"

#include <stdlib.h>

#include "lib/base/jsonw.h"
#include "lib/base/vec.h"

static void text(struct jsonw *w, const char *key, const char *value)
{
	jsonw_key_str(w, key, value && *value ? value : NULL);
}

/* null: unknown. */
static void number(struct jsonw *w, const char *key, bool known, uint64_t value)
{
	jsonw_key(w, key);
	if (known)
		jsonw_u64(w, value);
	else
		jsonw_null(w);
}

static void host(struct jsonw *w, const struct check_report *r)
{
	jsonw_key_object(w, "host");
	text(w, "hostname", r->hostname);
	text(w, "kernel", r->kernel);
	text(w, "arch", r->arch);
	jsonw_key_u64(w, "cpus", r->cpus);
	jsonw_key_u64(w, "memory_bytes", r->memory_bytes);
	text(w, "hypervisor", r->hypervisor);
	jsonw_object_end(w);
}

static void line(struct jsonw *w, const struct verdict_line *l)
{
	static const char *const verdict[] = { "ok", "warn", "fail" };

	jsonw_object_begin(w);
	text(w, "id", l->id);
	text(w, "status", verdict[l->verdict]);
	text(w, "text", l->text);
	text(w, "advice", l->advice);
	jsonw_object_end(w);
}

static void library(struct jsonw *w, const struct check_library *l)
{
	jsonw_object_begin(w);
	text(w, "kind", l->kind);
	text(w, "path", l->path);
	text(w, "build_id", l->build_id);
	number(w, "pid", l->pid != 0, l->pid);
	if (l->planned) {
		jsonw_key_u64(w, "requested", l->requested);
		jsonw_key_u64(w, "found", l->found);
		jsonw_key_u64(w, "places", l->places);
		text(w, "sites", l->sites);
		jsonw_key_array(w, "missing");
		for (size_t i = 0; i < l->missing.n; i++)
			jsonw_str(w, l->missing.v[i]);
		jsonw_array_end(w);
	}
	jsonw_object_end(w);
}

static void python(struct jsonw *w, const struct check_python *p)
{
	jsonw_object_begin(w);
	text(w, "path", p->path);
	text(w, "version", p->version);
	jsonw_key_bool(w, "known", !p->why[0]);
	text(w, "reason", p->why);
	number(w, "pid", p->pid != 0, p->pid);
	jsonw_object_end(w);
}

static void process(struct jsonw *w, const struct check_process *p)
{
	jsonw_object_begin(w);
	jsonw_key_u64(w, "pid", p->pid);
	text(w, "name", p->name);
	text(w, "user", p->user);
	jsonw_key_u64(w, "uid", p->uid);
	jsonw_key_array(w, "libraries");
	for (size_t i = 0; i < p->libraries.n; i++) {
		jsonw_object_begin(w);
		text(w, "kind", p->libraries.v[i].kind);
		text(w, "path", p->libraries.v[i].path);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

static void source(struct jsonw *w, const struct check_source *s)
{
	jsonw_object_begin(w);
	text(w, "source", s->name);
	jsonw_key_u64(w, "requested", s->requested);
	jsonw_key_u64(w, "attached", s->attached);
	text(w, "hooks", s->hooks);
	text(w, "reason", s->reason);
	jsonw_object_end(w);
}

static void gpu(struct jsonw *w, const struct check_report *r)
{
	jsonw_key_object(w, "gpu");
	text(w, "driver", r->gpu_driver);
	text(w, "module", r->gpu_module);
	jsonw_key_u64(w, "count", r->gpus);
	jsonw_key_array(w, "devices");
	for (unsigned i = 0; i < r->ngpu_named; i++) {
		const struct check_gpu *g = &r->gpu[i];

		jsonw_object_begin(w);
		text(w, "name", g->name);
		text(w, "uuid", g->uuid);
		number(w, "memory_total_bytes", g->memory_known, g->memory_total);
		number(w, "memory_used_bytes", g->memory_known, g->memory_used);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

void check_json(const struct check_report *r, struct buf *out)
{
	struct jsonw w;

	jsonw_init(&w, out, true);
	jsonw_object_begin(&w);
	text(&w, "schema", "ingero.check/1");
	jsonw_key_bool(&w, "ok", verdicts_passed(&r->lines));
	host(&w, r);
	text(&w, "lockdown", r->lockdown);
	gpu(&w, r);
	jsonw_key(&w, "links");
	if (r->links_tried) {
		jsonw_array_begin(&w);
		for (unsigned i = 0; r->links[i]; i++)
			jsonw_str(&w, r->links[i]);
		jsonw_array_end(&w);
	} else {
		jsonw_null(&w);
	}
	jsonw_key(&w, "sources");
	if (r->links_tried) {
		jsonw_array_begin(&w);
		for (size_t i = 0; i < r->sources.n; i++)
			source(&w, &r->sources.v[i]);
		jsonw_array_end(&w);
	} else {
		jsonw_null(&w);
	}
	jsonw_key_array(&w, "checks");
	for (size_t i = 0; i < r->lines.n; i++)
		line(&w, &r->lines.v[i]);
	jsonw_array_end(&w);
	jsonw_key_array(&w, "processes");
	for (size_t i = 0; i < r->processes.n; i++)
		process(&w, &r->processes.v[i]);
	jsonw_array_end(&w);
	jsonw_key_array(&w, "libraries");
	for (size_t i = 0; i < r->libraries.n; i++)
		library(&w, &r->libraries.v[i]);
	jsonw_array_end(&w);
	jsonw_key_array(&w, "pythons");
	for (size_t i = 0; i < r->pythons.n; i++)
		python(&w, &r->pythons.v[i]);
	jsonw_array_end(&w);
	jsonw_object_end(&w);
	buf_putc(out, '\n');
}

void check_process_free(struct check_process *p)
{
	for (size_t i = 0; i < p->libraries.n; i++)
		free(p->libraries.v[i].path);
	vec_free(&p->libraries);
	free(p->name);
	free(p->user);
}

void check_report_free(struct check_report *r)
{
	verdicts_free(&r->lines);
	for (size_t i = 0; i < r->libraries.n; i++) {
		free(r->libraries.v[i].path);
		vec_free(&r->libraries.v[i].missing);
	}
	for (size_t i = 0; i < r->pythons.n; i++)
		free(r->pythons.v[i].path);
	for (size_t i = 0; i < r->processes.n; i++)
		check_process_free(&r->processes.v[i]);
	vec_free(&r->processes);
	vec_free(&r->sources);
	vec_free(&r->pythons);
	vec_free(&r->libraries);
}
