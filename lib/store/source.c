/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every question opens the files anew, with a world of its own: what stands in them may have
 * changed, and whoever works an answer out needs no lock meanwhile. Only a recording that is still
 * written is read on (source_growing.h, source_counting.h).
 */
#include "lib/store/source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/input/database_input.h"
#include "lib/input/operand.h"
#include "lib/store/source_counting.h"
#include "lib/store/source_growing.h"
#include "lib/store/source_state.h"

#define KEPT	 12 /* answers; the largest take some ten MiB each */
#define ARCHIVES 1
#define SQL_WAIT_NS \
	UINT64_C(15000000000) /* for others: one connection answers all, each for up to 30 s */

static bool is_database(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && database_input_looks_so(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

int store_source_open(struct store_source **out, const struct store_source_options *opt,
		      struct err *e)
{
	struct store_source *s;
	struct stat st;
	int rc = 0;

	*out = NULL;
	input_operand_files_only();
	if (!opt->n)
		return err_set(e, ERR_USAGE, "no recording to answer from was given");
	for (unsigned i = 0; i < opt->n && !rc; i++) {
		rc = input_operand_check(opt->names[i], e);
		if (!rc && (!strcmp(opt->names[i], "-") ||
			    (!stat(opt->names[i], &st) && !S_ISREG(st.st_mode))))
			rc = err_set(e, ERR_USAGE,
				     "%s is no file: a server reads its recordings more than once",
				     opt->names[i]);
	}
	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(e);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->counting_lock, NULL);
	pthread_mutex_init(&s->list_lock, NULL);
	if (!(s->cache = answer_cache_new(KEPT)) || !(s->archives = answer_cache_new(ARCHIVES))) {
		store_source_free(s);
		return err_nomem(e);
	}
	s->opt = *opt;
	if (!s->opt.sql_time_ns)
		s->opt.sql_time_ns = UINT64_C(30000000000);
	if (!s->opt.disk_cache_min_ns)
		s->opt.disk_cache_min_ns = UINT64_C(200000000);
	if (!s->opt.sql_memory_bytes)
		s->opt.sql_memory_bytes = UINT64_C(256) << 20;
	s->archive = opt->n == 1 && is_database(opt->names[0]);
	s->opt.run_files = opt->run_files && !s->archive;
	*out = s;
	return 0;
}

void store_source_free(struct store_source *s)
{
	if (!s)
		return;
	s->over = true;
	if (s->warming)
		pthread_join(s->warmer, NULL);
	answer_cache_free(s->cache);
	answer_cache_free(s->archives);
	source_growing_free(s->growing);
	source_counting_release(s->counting);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->counting_lock);
	pthread_mutex_destroy(&s->list_lock);
	source_free_lists(s);
	free(s);
}

int source_get_answer(struct store_source *s, struct answer_cache *cache, const char *question,
		      answer_compute_fn *compute, void *ctx, void (*release)(void *value),
		      const struct request_ctx *rctx, struct cached_answer **out, struct err *e)
{
	struct source_state st;
	int rc = source_state_init(s, &st, e);

	*out = NULL;
	if (!rc) {
		const struct answer_lookup lookup = { .question = question,
						      .state = buf_text(&st.state),
						      .identity = buf_text(&st.identity),
						      .size = st.size,
						      .grows = st.grows,
						      .compute = compute,
						      .ctx = ctx,
						      .free = release,
						      .wait_ns = cache == s->archives ? SQL_WAIT_NS
										      : 0 };

		rc = answer_cache_get(cache, &lookup, rctx, out, e);
	}
	source_state_free(&st);
	return rc;
}

bool source_selects_all(const struct filter_words *w)
{
	return !w->npids && !w->nnames && !w->nnodes && !w->since && !w->until && !w->last_given &&
	       !w->own_given;
}

static void list_words(struct buf *out, char what, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(out, " %c%zu:%s", what, strlen(v[i]), v[i]);
}

void source_append_words(struct buf *out, const struct filter_words *w)
{
	list_words(out, 'p', w->pids, w->npids);
	list_words(out, 'e', w->names, w->nnames);
	list_words(out, 'n', w->nodes, w->nnodes);
	if (w->since)
		list_words(out, 's', &w->since, 1);
	if (w->until)
		list_words(out, 'u', &w->until, 1);
	if (w->last_given)
		buf_printf(out, " l%" PRIu64, w->last_ns);
	if (w->own_given)
		buf_printf(out, " o%" PRIi64 ":%" PRIi64, w->from_ns, w->to_ns);
}
