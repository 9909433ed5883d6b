/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the files that a server answers from; a list is replaced, never changed. A recorder's run
 * goes on in files that were not there when the server started, and its oldest are removed: a new
 * list is made when they are others, and lists of before stay where they are, for somebody may
 * still read by them.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/cli/defaults.h"
#include "lib/input/resolve.h"
#include "lib/store/source_state.h"

struct source_list {
	struct source_list *older;
	unsigned n;
	const char *v[];
};

const char *const *store_source_names(const struct store_source *s, unsigned *n)
{
	const struct source_list *now = atomic_load(&s->list);

	*n = now ? now->n : s->opt.n;
	return now ? now->v : s->opt.names;
}

static bool is_same_list(const char *const *names, unsigned n, const struct cli_names *found)
{
	bool is = n == found->n;

	for (unsigned i = 0; is && i < n; i++)
		is = !strcmp(names[i], found->v[i]);
	return is;
}

/* Of names that are known already the texts are, too: both stand by name. */
static int make_list(struct store_source *s, const char *const *names, unsigned n,
		     struct cli_names *found, struct err *e)
{
	struct source_list *l = malloc(sizeof(*l) + found->n * sizeof(l->v[0]));
	unsigned at = 0;

	if (!l)
		return err_nomem(e);
	l->older = atomic_load(&s->list);
	l->n = 0;
	for (size_t i = 0; i < found->n; i++) {
		const char *name = found->v[i];

		while (at < n && strcmp(names[at], name) < 0)
			at++;
		if (at < n && !strcmp(names[at], name)) {
			name = names[at];
		} else if (vec_push(&s->texts, found->v[i])) {
			found->v[i] = NULL;
		} else {
			free(l);
			return err_nomem(e);
		}
		l->v[l->n++] = name;
	}
	atomic_store(&s->list, l);
	return 0;
}

int source_update_files(struct store_source *s, struct err *e)
{
	struct cli_names found = { 0 };
	const char *const *names;
	unsigned n;
	int rc;

	if (!s->opt.run_files)
		return 0;
	pthread_mutex_lock(&s->list_lock);
	names = store_source_names(s, &n);
	rc = cli_run_files(&found, s->opt.names[0], e);
	/* Where none is left, who opens those that were says so. */
	if (!rc && found.n && !is_same_list(names, n, &found))
		rc = make_list(s, names, n, &found, e);
	pthread_mutex_unlock(&s->list_lock);
	cli_names_free(&found);
	return rc;
}

int source_open_input(struct store_source *s, struct input **in, struct world *w,
		      struct filter *sel, struct err *e)
{
	const char *const *names;
	unsigned n;
	int rc = source_update_files(s, e);

	if (rc)
		return rc;
	names = store_source_names(s, &n);
	return sel ? input_open_within(in, w, names, n, sel, e) : input_open(in, w, names, n, e);
}

void source_free_lists(struct store_source *s)
{
	struct source_list *l = atomic_load(&s->list), *older;

	for (; l; l = older) {
		older = l->older;
		free(l);
	}
	for (size_t i = 0; i < s->texts.n; i++)
		free(s->texts.v[i]);
	vec_free(&s->texts);
}
