/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects events of a recording by process, op and time. Patterns are matched once per op and
 * processes once per context, when first met; the result is cached. A pattern that matches no op is
 * an error, which names the likely intended ops.
 */
#include "lib/filter/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/timetext.h"

#define DAY_NS (86400 * 1000000000ll)

enum { NOT_ASKED, NO, YES };

void filter_free(struct filter *s)
{
	vec_free(&s->pids);
	vec_free(&s->patterns);
	vec_free(&s->nodes);
	vec_free(&s->ctx_answers);
	free(s->op_answers);
	*s = (struct filter){ 0 };
}

int filter_pid(struct filter *s, const char *text, struct err *e)
{
	char *end;
	unsigned long pid;

	errno = 0;
	pid = strtoul(text, &end, 10);
	if (end == text || *end || errno || pid == 0 || pid > INT32_MAX || text[0] == '-' ||
	    text[0] == '+')
		return err_set(e, ERR_USAGE, "'%s' is not a process id", text);
	return vec_push(&s->pids, (uint32_t)pid) ? 0 : err_nomem(e);
}

bool filter_name_matches(const char *pattern, const struct op_def *op)
{
	const char *colon = strchr(pattern, ':');

	if (colon) {
		size_t n = (size_t)(colon - pattern);
		const char *layer = source_layer(op->source);
		bool source = strlen(op->source_name) == n && !strncmp(op->source_name, pattern, n);

		source |= layer && strlen(layer) == n && !strncmp(layer, pattern, n);
		return source && fnmatch(colon + 1, op->name, 0) == 0;
	}
	return !strcmp(pattern, op->source_name) || fnmatch(pattern, op->name, 0) == 0;
}

/* An op whose name starts as text does, or the other way round, or differs in case only. */
static const char *find_similar_name(const char *text)
{
	const char *best = NULL;
	size_t longest = 2;
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n);

	for (unsigned i = 0; i < n; i++) {
		size_t k = 0;

		if (strcasecmp(text, ops[i].source_name) == 0)
			return ops[i].source_name;

		while (text[k] && (text[k] | 0x20) == (ops[i].name[k] | 0x20))
			k++;
		if (k > longest) {
			longest = k;
			best = ops[i].name;
		}
	}
	return best;
}

int filter_name(struct filter *s, const char *text, struct err *e)
{
	const char *near;
	bool known = strpbrk(text, "*?[") != NULL;
	unsigned n;
	const struct op_def *ops = op_builtin_all(&n);

	for (unsigned i = 0; i < n && !known; i++)
		known = filter_name_matches(text, &ops[i]);
	if (!known) {
		near = find_similar_name(text);
		return err_set(e, ERR_USAGE, "no event is called '%s'%s%s%s", text,
			       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	return vec_push(&s->patterns, text) ? 0 : err_nomem(e);
}

int filter_time(struct filter_time *t, const char *text, struct err *e)
{
	struct err ignored;
	int64_t utc;

	if (duration_parse(bytes_of(text), &t->back_ns, &ignored) == 0) {
		t->kind = FILTER_BACK;
		return 0;
	}
	if (time_parse(bytes_of(text), 0, &utc, e))
		return err_set(e, ERR_USAGE,
			       "'%s' is neither a duration (5m, 1h30m) nor a time (15:40, "
			       "2026-01-31T15:40)",
			       text);
	t->kind = FILTER_CLOCK;
	t->text = text;
	return 0;
}

int filter_words(struct filter *s, const struct filter_words *words, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < words->npids && !rc; i++)
		rc = filter_pid(s, words->pids[i], e);
	for (size_t i = 0; i < words->nnames && !rc; i++)
		rc = filter_name(s, words->names[i], e);
	for (size_t i = 0; i < words->nnodes && !rc; i++)
		rc = vec_push(&s->nodes, words->nodes[i]) ? 0 : err_nomem(e);
	if (words->last_given && words->since)
		return err_set(e, ERR_USAGE, "--last and --since both say where to begin");
	if (words->newest && (words->last_given || words->since || words->until))
		return err_set(e, ERR_USAGE,
			       "--last-events takes no other time (--since, --until, --last)");
	s->newest = words->newest;
	if (words->last_given)
		s->since = (struct filter_time){ .kind = FILTER_BACK, .back_ns = words->last_ns };
	if (words->own_given) {
		s->since = (struct filter_time){ .kind = FILTER_OWN, .own_ns = words->from_ns };
		s->until = (struct filter_time){ .kind = FILTER_OWN, .own_ns = words->to_ns };
	}
	if (words->since && !rc)
		rc = filter_time(&s->since, words->since, e);
	if (words->until && !rc)
		rc = filter_time(&s->until, words->until, e);
	return rc;
}

static int resolve_time(const struct filter_time *t, int64_t end_ns, bool has_real,
			int64_t real_minus_mono_ns, int64_t absent, int64_t *out, struct err *e)
{
	int64_t utc;
	int rc;

	*out = absent;
	if (t->kind == FILTER_BACK)
		*out = t->back_ns > INT64_MAX / 2 ? INT64_MIN : end_ns - (int64_t)t->back_ns;
	if (t->kind == FILTER_OWN)
		*out = t->own_ns;
	if (t->kind != FILTER_CLOCK)
		return 0;
	if (!has_real)
		return err_set(e, ERR_CANNOT, "'%s': this recording does not say what time it was",
			       t->text);
	rc = time_parse(bytes_of(t->text), end_ns + real_minus_mono_ns, &utc, e);
	if (!rc)
		*out = utc - real_minus_mono_ns;
	return rc;
}

int filter_resolve(struct filter *s, int64_t end_ns, bool has_real, int64_t real_minus_mono_ns,
		   struct err *e)
{
	int rc = resolve_time(&s->since, end_ns, has_real, real_minus_mono_ns, INT64_MIN,
			      &s->since_ns, e);

	if (!rc)
		rc = resolve_time(&s->until, end_ns, has_real, real_minus_mono_ns, INT64_MAX,
				  &s->until_ns, e);
	/* "15:45" is the next one behind --since, even if the recording ended before it. */
	if (!rc && s->since_ns > s->until_ns && s->until.kind == FILTER_CLOCK)
		rc = resolve_time(&s->until, s->since_ns + DAY_NS, has_real, real_minus_mono_ns,
				  INT64_MAX, &s->until_ns, e);
	if (!rc && s->since_ns > s->until_ns)
		rc = err_set(e, ERR_USAGE,
			     "--since lies behind --until: nothing is between them (durations "
			     "count back from the end)");
	s->resolved = !rc;
	return rc;
}

static bool name_asked(struct filter *s, const struct world *w, uint16_t op)
{
	const struct op_def *def;

	if (s->patterns.n == 0)
		return true;
	if (!s->op_answers)
		s->op_answers = calloc(1 << 16, 1);
	if (s->op_answers && s->op_answers[op] != NOT_ASKED)
		return s->op_answers[op] == YES;
	def = world_op(w, op);
	for (size_t i = 0; def && i < s->patterns.n; i++) {
		if (!filter_name_matches(s->patterns.v[i], def))
			continue;
		if (s->op_answers)
			s->op_answers[op] = YES;
		return true;
	}
	if (s->op_answers)
		s->op_answers[op] = NO;
	return false;
}

bool filter_node(const struct filter *s, const struct world *w, uint32_t id)
{
	const struct world_node *node = world_get_node(w, id);

	for (size_t i = 0; node && i < s->nodes.n; i++)
		if (bytes_equal(world_text(w, node->name), bytes_of(s->nodes.v[i])))
			return true;
	return s->nodes.n == 0;
}

static bool pid_matches(const struct filter *s, const struct world_process *p)
{
	for (size_t i = 0; p && i < s->pids.n; i++)
		if (s->pids.v[i] == p->tgid)
			return true;
	return s->pids.n == 0;
}

bool filter_process(const struct filter *s, const struct world *w, uint32_t process)
{
	const struct world_process *p = world_get_process(w, process);

	return filter_node(s, w, p ? p->node : 0) && pid_matches(s, p);
}

static bool ctx_matches(const struct filter *s, const struct world *w, uint32_t ctx)
{
	const struct world_ctx *c = world_get_ctx(w, ctx);
	uint32_t process = world_ctx_process_id(w, ctx);

	return filter_node(s, w, c ? c->node : 0) && pid_matches(s, world_get_process(w, process));
}

static bool process_asked(struct filter *s, const struct world *w, uint32_t ctx)
{
	bool yes;

	if (s->pids.n == 0 && s->nodes.n == 0)
		return true;
	if (ctx < s->ctx_answers.n && s->ctx_answers.v[ctx] != NOT_ASKED)
		return s->ctx_answers.v[ctx] == YES;
	yes = ctx_matches(s, w, ctx);
	while (s->ctx_answers.n <= ctx)
		if (!vec_push(&s->ctx_answers, NOT_ASKED))
			return yes;
	s->ctx_answers.v[ctx] = yes ? YES : NO;
	return yes;
}

bool filter_event(struct filter *s, const struct world *w, const struct event *ev)
{
	if (s->resolved && (ev->end_ns < s->since_ns || ev->end_ns >= s->until_ns))
		return false;
	return name_asked(s, w, ev->op) && process_asked(s, w, ev->ctx);
}

bool filter_overlaps(const struct filter *s, int64_t from, int64_t to)
{
	return !s->resolved || (to >= s->since_ns && from < s->until_ns);
}

bool filter_record_time(const struct filter *s, const struct record *r)
{
	int64_t from, to;

	record_times(r, &from, &to);
	return filter_overlaps(s, from, to);
}
