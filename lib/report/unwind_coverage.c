/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the coverage of unwind tables as text and as JSON. */
#include "lib/report/report_internal.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/report/view_json_parts.h"

#define FILES_SHOWN 4

struct unwind_totals {
	uint64_t files, with_table, bytes, build_ns, stacks, searched;
	size_t refused; /* rows */
};

bool unwind_coverage_is(const struct world *w, const struct ops_layer *l)
{
	return bytes_equal(world_text(w, l->layer), bytes_of("unwind"));
}

static struct unwind_totals add_up(const struct world *w, const struct ops_summary *s)
{
	struct unwind_totals t = { 0 };

	for (size_t i = 0; i < s->layers.n; i++) {
		const struct ops_layer *l = &s->layers.v[i];

		if (!unwind_coverage_is(w, l))
			continue;
		if (l->path) {
			t.refused++;
			continue;
		}
		t.files += l->requested;
		t.with_table += l->attached;
		t.bytes += l->bytes;
		t.build_ns += l->build_ns;
		t.stacks += l->delivered;
		t.searched += l->searched;
	}
	return t;
}

static void print_refused(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	unsigned told = 0;

	for (size_t i = 0; i < s->layers.n; i++) {
		const struct ops_layer *l = &s->layers.v[i];
		struct bytes path = world_text(w, l->path);

		if (!unwind_coverage_is(w, l) || !l->path)
			continue;
		if (told++ == FILES_SHOWN) {
			buf_puts(out, ", ...");
			return;
		}
		buf_puts(out, told > 1 ? ", " : ": ");
		fmt_safe(out, bytes_file_name(path));
		buf_puts(out, " (");
		fmt_safe(out, world_text(w, l->reason));
		buf_putc(out, ')');
	}
}

void unwind_coverage_text(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	struct unwind_totals t = add_up(w, s);

	if (t.files == 0)
		return;
	buf_printf(out, "coverage: unwind tables: of %s of %s files, %s in the kernel, built in %s",
		   fmt_count(t.with_table).s, fmt_count(t.files).s, fmt_bytes(t.bytes).s,
		   fmt_ns(t.build_ns).s);
	if (t.stacks)
		buf_printf(out, "; rules searched for: %.3f a stack",
			   (double)t.searched / (double)t.stacks);
	if (t.refused) {
		buf_puts(out, "; code that cannot be unwound");
		print_refused(out, w, s);
	}
	buf_putc(out, '\n');
}

void unwind_coverage_json(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	struct unwind_totals t = add_up(w, s);

	if (t.files == 0) {
		jsonw_null(j);
		return;
	}
	jsonw_object_begin(j);
	jsonw_key_u64(j, "files", t.files);
	jsonw_key_u64(j, "with_table", t.with_table);
	jsonw_key_u64(j, "bytes", t.bytes);
	jsonw_key_u64(j, "build_ns", t.build_ns);
	jsonw_key_u64(j, "stacks", t.stacks);
	jsonw_key_u64(j, "searched", t.searched);
	jsonw_key_array(j, "without");
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct ops_layer *l = &s->layers.v[i];

		if (!unwind_coverage_is(w, l) || !l->path)
			continue;
		jsonw_object_begin(j);
		view_json_text(j, w, "path", l->path);
		view_json_text(j, w, "reason", l->reason);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
}
