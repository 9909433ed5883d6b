/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Member by member, as the schema lists them.
 */
#include "lib/emit/check_json.h"

#include <stdlib.h>

#include "lib/base/jsonw.h"
#include "lib/base/vec.h"

static void text(struct jsonw *w, const char *key, const char *value)
{
	jsonw_key(w, key);
	jsonw_str(w, value && *value ? value : NULL);
}

static void number(struct jsonw *w, const char *key, uint64_t value)
{
	jsonw_key(w, key);
	jsonw_u64(w, value);
}

static void host(struct jsonw *w, const struct check_report *r)
{
	jsonw_key(w, "host");
	jsonw_object_begin(w);
	text(w, "hostname", r->hostname);
	text(w, "kernel", r->kernel);
	text(w, "arch", r->arch);
	number(w, "cpus", r->cpus);
	number(w, "memory_bytes", r->memory_bytes);
	text(w, "hypervisor", r->hypervisor);
	jsonw_object_end(w);
}

static void line(struct jsonw *w, const struct check_line *l)
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
	jsonw_key(w, "pid");
	if (l->pid)
		jsonw_u64(w, l->pid);
	else
		jsonw_null(w);
	if (l->planned) {
		number(w, "requested", l->requested);
		number(w, "found", l->found);
		number(w, "places", l->places);
		text(w, "sites", l->sites);
		jsonw_key(w, "missing");
		jsonw_array_begin(w);
		for (size_t i = 0; i < l->missing.n; i++)
			jsonw_str(w, l->missing.v[i]);
		jsonw_array_end(w);
	}
	jsonw_object_end(w);
}

bool check_passed(const struct check_report *r)
{
	for (size_t i = 0; i < r->lines.n; i++)
		if (r->lines.v[i].verdict == CHECK_FAIL)
			return false;
	return true;
}

void check_json(const struct check_report *r, struct buf *out)
{
	struct jsonw w;

	jsonw_init(&w, out, true);
	jsonw_object_begin(&w);
	text(&w, "schema", "ingero.check/1");
	jsonw_key(&w, "ok");
	jsonw_bool(&w, check_passed(r));
	host(&w, r);
	jsonw_key(&w, "links");
	if (r->links_tried) {
		jsonw_array_begin(&w);
		for (unsigned i = 0; r->links[i]; i++)
			jsonw_str(&w, r->links[i]);
		jsonw_array_end(&w);
	} else {
		jsonw_null(&w);
	}
	jsonw_key(&w, "checks");
	jsonw_array_begin(&w);
	for (size_t i = 0; i < r->lines.n; i++)
		line(&w, &r->lines.v[i]);
	jsonw_array_end(&w);
	jsonw_key(&w, "libraries");
	jsonw_array_begin(&w);
	for (size_t i = 0; i < r->libraries.n; i++)
		library(&w, &r->libraries.v[i]);
	jsonw_array_end(&w);
	jsonw_object_end(&w);
	buf_putc(out, '\n');
}

void check_report_free(struct check_report *r)
{
	for (size_t i = 0; i < r->lines.n; i++) {
		free(r->lines.v[i].text);
		free(r->lines.v[i].advice);
	}
	for (size_t i = 0; i < r->libraries.n; i++) {
		free(r->libraries.v[i].path);
		vec_free(&r->libraries.v[i].missing);
	}
	vec_free(&r->lines);
	vec_free(&r->libraries);
}
