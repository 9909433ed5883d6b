/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are few: one for each kind of thing and node. */
#include "lib/event/missing.h"

#include <string.h>

#include "lib/base/fmt.h"

#define LOST	 "lost "
#define LATE	 "late "
#define ROWS_MAX 1024 /* more nodes than are merged */

static struct bytes skip_prefix(struct bytes layer, struct bytes word)
{
	return layer.n > word.n && memcmp(layer.p, word.p, word.n) == 0
		       ? (struct bytes){ layer.p + word.n, layer.n - word.n }
		       : (struct bytes){ 0 };
}

struct bytes missing_what(struct bytes layer)
{
	return skip_prefix(layer, bytes_of(LOST));
}

struct bytes missing_late(struct bytes layer)
{
	return skip_prefix(layer, bytes_of(LATE));
}

static void copy_string(char *to, size_t size, struct bytes from)
{
	size_t n = from.n < size ? from.n : size - 1;

	if (n)
		memcpy(to, from.p, n);
	to[n] = '\0';
}

bool missing_record(struct missing *m, const struct record *r, struct bytes on)
{
	const struct rec_COVERAGE *c = &r->u.COVERAGE;
	struct missing_row new = { .node = c->node, .lost = c->failed, .of = c->requested };
	struct bytes what;

	if (r->kind != RECORD_COVERAGE || REC_HAS(r, COVERAGE, process))
		return true;
	what = missing_what(c->layer);
	if (what.n == 0)
		return true;
	copy_string(new.what, sizeof(new.what), what);
	copy_string(new.reason, sizeof(new.reason), c->reason);
	copy_string(new.on, sizeof(new.on), on);
	for (size_t i = 0; i < m->v.n; i++) {
		if (m->v.v[i].node == new.node && strcmp(m->v.v[i].what, new.what) == 0) {
			m->v.v[i] = new;
			return true;
		}
	}
	return m->v.n >= ROWS_MAX || vec_push(&m->v, new);
}

void missing_free(struct missing *m)
{
	vec_free(&m->v);
}

void missing_text(struct buf *out, uint32_t lost, uint32_t of, struct bytes what,
		  struct bytes where, struct bytes reason)
{
	buf_printf(out, "%s of %s ", fmt_count(lost).s, fmt_count(of).s);
	fmt_safe(out, what);
	buf_puts(out, " lost");
	fmt_safe(out, where);
	if (reason.n) {
		buf_puts(out, ": ");
		fmt_safe(out, reason);
	}
}
