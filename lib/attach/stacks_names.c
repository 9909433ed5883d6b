/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that names frames: it takes questions from the list that stacks.c fills, reads symbol
 * tables and tables of source lines of the files that stacks.c opened, and puts answers into
 * another list.
 */
#include <stdlib.h>

#include "lib/attach/stacks_internal.h"
#include "lib/host/rights.h"

#define NAMED_AT_ONCE 64

/* Yours to free; NULL: unknown. */
static char *name_of(struct module *m, uint64_t offset, uint64_t *delta)
{
	struct err ignored = { 0 };
	struct sym_elf *file;
	struct buf name = { 0 };

	if (!m->named) {
		m->named = true;
		if (sym_elf_open_fd(&file, m->fd, m->path, &ignored) ||
		    sym_symbols_new(&m->names, file, &ignored))
			m->names = NULL;
	}
	if (!m->names || sym_symbols_find(m->names, offset, &name, delta) != SYM_INSIDE) {
		buf_free(&name);
		return NULL;
	}
	buf_putc(&name, 0);
	return name.p;
}

/* The same for a kernel whose host function begins there. */
static char *name_of_kernel(struct module *m, uint64_t offset)
{
	struct err ignored = { 0 };
	struct buf name = { 0 };
	uint64_t delta = 0;
	char *symbol = name_of(m, offset, &delta);

	if (symbol && delta == 0)
		return symbol;
	free(symbol);
	if (!m->names)
		return NULL;
	if (!m->registered) {
		m->registered = true;
		if (sym_registered_new(&m->kernels, sym_symbols_file(m->names), &ignored))
			m->kernels = NULL;
	}
	if (!m->kernels || !sym_registered_find(m->kernels, offset, &name)) {
		buf_free(&name);
		return NULL;
	}
	buf_putc(&name, 0);
	return name.p;
}

/* Its source file, yours to free; NULL: unknown. Of a module that name_of has a name of. */
static char *line_of(struct module *m, uint64_t offset, uint32_t *line)
{
	struct buf file = { 0 };

	if (!sym_symbols_line(m->names, offset, &file, line)) {
		buf_free(&file);
		return NULL;
	}
	return file.p;
}

static void fill_answer(const struct question *q, struct answer *a)
{
	*a = (struct answer){ .frame = q->frame, .stub = q->stub };
	a->name = q->frame ? name_of(q->module, q->offset, &a->delta)
			   : name_of_kernel(q->module, q->offset);
	if (q->frame && a->name)
		a->file = line_of(q->module, q->offset, &a->line);
}

void probe_stacks_free_answer(struct answer *a)
{
	free(a->name);
	free(a->file);
}

void *probe_stacks_name_loop(void *arg)
{
	struct probe_stacks *s = arg;

	(void)host_rights_keep(HOST_RIGHTS_NONE); /* it reads what is open */
	pthread_mutex_lock(&s->lock);
	while (!s->finish) {
		struct question q[NAMED_AT_ONCE];
		struct answer a[NAMED_AT_ONCE];
		size_t n = 0;

		while (n < NAMED_AT_ONCE && s->questions.n > 0)
			q[n++] = s->questions.v[--s->questions.n];
		if (n == 0) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		for (size_t i = 0; i < n; i++)
			fill_answer(&q[i], &a[i]);
		pthread_mutex_lock(&s->lock);
		s->outstanding -= n;
		for (size_t i = 0; i < n; i++)
			if (a[i].name && !vec_push(&s->answers, a[i]))
				probe_stacks_free_answer(&a[i]);
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
