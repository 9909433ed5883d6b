/* SPDX-License-Identifier: Apache-2.0 */
/* What is not known is left out; of whom nothing is known there is a question mark. */
#include "lib/query/resource_labels.h"

#include <inttypes.h>

static void append_text(struct buf *out, const char *before, struct bytes text)
{
	if (text.n) {
		buf_puts(out, before);
		buf_add(out, text.p, text.n);
	}
}

void query_append_file_label(const struct late_names *t, const struct world *w, uint64_t id,
			     struct buf *out)
{
	const struct late_names_file *f = late_names_file(t, id);

	if (!f || !f->path) {
		buf_putc(out, '?');
		return;
	}
	append_text(out, "", world_text(w, f->path));
	append_text(out, " (", world_text(w, f->fstype));
	if (f->fstype) {
		append_text(out, ", ", world_text(w, f->origin));
		buf_putc(out, ')');
	}
}

void query_append_socket_label(const struct late_names *t, const struct world *w, uint64_t id,
			       struct buf *out)
{
	const struct late_names_socket *s = late_names_socket(t, id);
	const struct late_names_peer *p = late_names_peer(t, id);

	if (!s || !s->protocol) {
		buf_putc(out, '?');
		return;
	}
	append_text(out, "", world_text(w, s->protocol));
	append_text(out, " ", world_text(w, s->remote ? s->remote : s->local));
	if (!p || (!p->pid && !p->comm))
		return;
	append_text(out, " (", p->comm ? world_text(w, p->comm) : bytes_of("?"));
	if (p->pid)
		buf_printf(out, ", pid %" PRIu32, p->pid);
	buf_putc(out, ')');
}
