/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the report of ingero-check as JSON, member by member in the order of the schema. */
#include "lib/report/check_json.h"

#include <stdlib.h>

#include "lib/base/jsonw.h"
#include "lib/base/vec.h"

static void append_text(struct jsonw *w, const char *key, const char *value)
{
	jsonw_key_str(w, key, value && *value ? value : NULL);
}

/* null: unknown. */
static void append_number(struct jsonw *w, const char *key, bool known, uint64_t value)
{
	jsonw_key(w, key);
	if (known)
		jsonw_u64(w, value);
	else
		jsonw_null(w);
}

static void append_host(struct jsonw *w, const struct check_report *r)
{
	jsonw_key_object(w, "host");
	append_text(w, "hostname", r->hostname);
	append_text(w, "kernel", r->kernel);
	append_text(w, "arch", r->arch);
	jsonw_key_u64(w, "cpus", r->cpus);
	jsonw_key_u64(w, "memory_bytes", r->memory_bytes);
	append_text(w, "hypervisor", r->hypervisor);
	jsonw_object_end(w);
}

static void append_verdict(struct jsonw *w, const struct verdict_line *l)
{
	static const char *const verdict[] = { "ok", "warn", "fail" };

	jsonw_object_begin(w);
	append_text(w, "id", l->id);
	append_text(w, "status", verdict[l->verdict]);
	append_text(w, "text", l->text);
	append_text(w, "advice", l->advice);
	jsonw_object_end(w);
}

static void append_library(struct jsonw *w, const struct check_library *l)
{
	jsonw_object_begin(w);
	append_text(w, "kind", l->kind);
	append_text(w, "path", l->path);
	append_text(w, "build_id", l->build_id);
	append_number(w, "pid", l->pid != 0, l->pid);
	if (l->planned) {
		jsonw_key_u64(w, "requested", l->requested);
		jsonw_key_u64(w, "found", l->found);
		jsonw_key_u64(w, "places", l->places);
		append_text(w, "sites", l->sites);
		jsonw_key_array(w, "missing");
		for (size_t i = 0; i < l->missing.n; i++)
			jsonw_str(w, l->missing.v[i]);
		jsonw_array_end(w);
	}
	jsonw_object_end(w);
}

static void append_python(struct jsonw *w, const struct check_python *p)
{
	jsonw_object_begin(w);
	append_text(w, "path", p->path);
	append_text(w, "version", p->version);
	jsonw_key_bool(w, "known", !p->why[0]);
	append_text(w, "reason", p->why);
	append_number(w, "pid", p->pid != 0, p->pid);
	jsonw_object_end(w);
}

static void append_process(struct jsonw *w, const struct check_process *p)
{
	jsonw_object_begin(w);
	jsonw_key_u64(w, "pid", p->pid);
	append_text(w, "name", p->name);
	append_text(w, "user", p->user);
	jsonw_key_u64(w, "uid", p->uid);
	jsonw_key_array(w, "libraries");
	for (size_t i = 0; i < p->libraries.n; i++) {
		jsonw_object_begin(w);
		append_text(w, "kind", p->libraries.v[i].kind);
		append_text(w, "path", p->libraries.v[i].path);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

static void append_source(struct jsonw *w, const struct check_source *s)
{
	jsonw_object_begin(w);
	append_text(w, "source", s->name);
	jsonw_key_u64(w, "requested", s->requested);
	jsonw_key_u64(w, "attached", s->attached);
	append_text(w, "hooks", s->hooks);
	append_text(w, "reason", s->reason);
	jsonw_object_end(w);
}

static void append_gpus(struct jsonw *w, const struct check_report *r)
{
	jsonw_key_object(w, "gpu");
	append_text(w, "driver", r->gpu_driver);
	append_text(w, "module", r->gpu_module);
	jsonw_key_u64(w, "count", r->gpus);
	jsonw_key_array(w, "devices");
	for (unsigned i = 0; i < r->ngpu_named; i++) {
		const struct check_gpu *g = &r->gpu[i];

		jsonw_object_begin(w);
		append_text(w, "name", g->name);
		append_text(w, "uuid", g->uuid);
		append_number(w, "memory_total_bytes", g->memory_known, g->memory_total);
		append_number(w, "memory_used_bytes", g->memory_known, g->memory_used);
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
	append_text(&w, "schema", "ingero.check/1");
	jsonw_key_bool(&w, "ok", verdicts_passed(&r->lines));
	append_host(&w, r);
	append_text(&w, "lockdown", r->lockdown);
	append_gpus(&w, r);
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
			append_source(&w, &r->sources.v[i]);
		jsonw_array_end(&w);
	} else {
		jsonw_null(&w);
	}
	jsonw_key_array(&w, "checks");
	for (size_t i = 0; i < r->lines.n; i++)
		append_verdict(&w, &r->lines.v[i]);
	jsonw_array_end(&w);
	jsonw_key_array(&w, "processes");
	for (size_t i = 0; i < r->processes.n; i++)
		append_process(&w, &r->processes.v[i]);
	jsonw_array_end(&w);
	jsonw_key_array(&w, "libraries");
	for (size_t i = 0; i < r->libraries.n; i++)
		append_library(&w, &r->libraries.v[i]);
	jsonw_array_end(&w);
	jsonw_key_array(&w, "pythons");
	for (size_t i = 0; i < r->pythons.n; i++)
		append_python(&w, &r->pythons.v[i]);
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
