/* SPDX-License-Identifier: Apache-2.0 */
/* Asks every node of a fleet one question at a time and collects the answers. An answer is parsed
 * as it comes, so that only its value is kept. */
#include "lib/fleet/fleet.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/base/jsoncheck.h"
#include "lib/base/timetext.h"
#include "lib/fleet/fleet_internal.h"

/* A machine that is not there is known soon; one that is there may have a long recording to read
 * first. */
#define REACH_NS  UINT64_C(10000000000)
#define ANSWER_NS UINT64_C(60000000000)

#define DEPTH_MAX    100	/* of what a node answers: no answer of ours is a tenth of that */
#define VALUES_MAX   (4u << 20) /* as json_check_size counts: ten thousand rows of 400 columns */
#define WARNINGS_MAX 65536	/* bytes; the rest says nothing new */
#define TEXT_MAX     4096	/* of one name that another machine gives */
#define SAID_MAX     200	/* of what it says went wrong */
#define REASON_MAX   4096	/* the JSON around that */
#define SHARE	     ((size_t)2 << 20)
#define ANSWERS	     ((size_t)2 << 30)
#define COMING                                                                                \
	8 /* the text of an answer is shorter than its values by as much, and gone when it is \
	     parsed */

void fleet_warn(struct fleet *f, const char *fmt, ...)
{
	va_list ap;

	if (f->warnings.n > WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	buf_vprintf(&f->warnings, fmt, ap);
	va_end(ap);
	buf_putc(&f->warnings, '\n');
}

/* ---- who is asked ---- */

static int add_node(struct fleet *f, const char *name, struct err *e)
{
	const char *scheme = strstr(name, "://") ? "" : f->opt.ca_file ? "https://" : "http://";
	struct fleet_node_state *p = &f->states[f->n];
	size_t n = strlen(name);

	while (n && name[n - 1] == '/')
		n--;
	if (!n || n > 1000 || name[0] == '-' || strcspn(name, " \t\r\n?#@\\") < n ||
	    (strstr(name, "://") && strncmp(name, "http://", 7) && strncmp(name, "https://", 8)))
		return err_set(e, ERR_USAGE, "'%s' is no node: HOST:PORT or an URL is wanted",
			       name);
	p->name = strndup(name, n);
	if (!p->name || asprintf(&p->base, "%s%s", scheme, p->name) < 0) {
		free(p->name);
		return err_nomem(e);
	}
	for (size_t i = 0; i < f->n; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): those that are counted
		 * have their names */
		if (strcmp(f->states[i].base, p->base) != 0)
			continue;
		free(p->name);
		free(p->base);
		*p = (struct fleet_node_state){ 0 };
		return 0;
	}
	f->nodes[f->n].name = p->name;
	f->n++;
	return 0;
}

int fleet_new(struct fleet **out, const struct fleet_options *opt, struct err *e)
{
	struct net_client_options how = { .ca_file = opt->ca_file, .agent = opt->agent };
	struct fleet *f;
	int rc = 0;

	*out = NULL;
	if (!opt->nnodes)
		return err_set(e, ERR_USAGE, "no node is named");
	if (opt->nnodes > FLEET_NODES_MAX)
		return err_set(e, ERR_USAGE, "at most %d nodes at once", FLEET_NODES_MAX);
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_nomem(e);
	f->opt = *opt;
	f->opt.token = NULL; /* it is in the header */
	f->opt.skew_ns = opt->skew_ns ? opt->skew_ns : 10000000;
	f->opt.recording_max = opt->recording_max ? opt->recording_max : (size_t)4 << 30;
	f->bytes_max = opt->answers_max		       ? opt->answers_max
		       : opt->nnodes * SHARE > ANSWERS ? opt->nnodes * SHARE
						       : ANSWERS;
	f->opt.timeout_ns = opt->timeout_ns ? opt->timeout_ns : ANSWER_NS;
	f->nodes = calloc(opt->nnodes, sizeof(*f->nodes));
	f->states = calloc(opt->nnodes, sizeof(*f->states));
	f->asks = calloc(opt->nnodes, sizeof(*f->asks));
	f->urls = calloc(opt->nnodes, sizeof(*f->urls));
	if (!f->nodes || !f->states || !f->asks || !f->urls ||
	    (opt->token && asprintf(&f->header, "Authorization: Bearer %s", opt->token) < 0))
		rc = err_nomem(e);
	for (size_t i = 0; !rc && i < opt->nnodes; i++)
		rc = add_node(f, opt->nodes[i], e);
	f->headers[0] = f->header;
	how.headers = f->headers;
	how.nheaders = f->header ? 1 : 0;
	how.timeout_ns = f->opt.timeout_ns;
	how.reach_ns = opt->timeout_ns ? 0 : REACH_NS;
	how.answer_max = opt->answer_max ? opt->answer_max : 32u << 20;
	rc = rc ? rc : net_parallel_requests_new(&f->parallel, &how, f->bytes_max / COMING, e);
	if (rc)
		fleet_free(f);
	else
		*out = f;
	return rc;
}

void fleet_free(struct fleet *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++) {
		json_free(f->states[i].answer);
		free(f->nodes[i].recorded);
		free(f->states[i].name);
		free(f->states[i].base);
	}
	net_parallel_requests_free(f->parallel);
	buf_free(&f->warnings);
	free(f->header);
	free(f->nodes);
	free(f->states);
	free(f->asks);
	free(f->urls);
	free(f);
}

const struct fleet_node *fleet_nodes(const struct fleet *f, size_t *n)
{
	*n = f->n;
	return f->nodes;
}

const char *fleet_label(const struct fleet *f, size_t i)
{
	const char *name = f->nodes[i].recorded;

	for (size_t k = 0; name && k < f->n; k++)
		if (k != i && f->nodes[k].recorded && !strcmp(name, f->nodes[k].recorded))
			name = NULL;
	return name ? name : f->nodes[i].name;
}

int fleet_learn_name(struct fleet_node *n, struct json answer, struct err *e)
{
	struct json names = json_get(answer, "nodes"), only = json_at(names, 0);
	struct bytes text = json_bytes(only);
	int rc = 0;

	if (json_length(names) == 1 && text.n && text.n < TEXT_MAX) {
		free(n->recorded);
		n->recorded = strndup(text.p, text.n);
		rc = n->recorded ? 0 : err_nomem(e);
	}
	json_free(only);
	json_free(names);
	return rc;
}

const struct buf *fleet_warnings(const struct fleet *f)
{
	return &f->warnings;
}

/* ---- what they answer ---- */

/* The error of a node's answer, in one line. */
static void set_http_error(const struct net_answer *a, struct err *e)
{
	struct json v = JSON_NONE, text = JSON_NONE;
	struct bytes what = { 0 };

	if (a->body.n <= REASON_MAX && json_check(buf_bytes(&a->body), DEPTH_MAX, NULL) == 0 &&
	    json_parse(buf_bytes(&a->body), &v, NULL) == 0) {
		text = json_get(v, "error");
		what = json_bytes(text);
	}
	err_set(e, ERR_CANNOT, "HTTP status %u%s%.*s%s", a->status, what.n ? ": " : "",
		(int)(what.n < SAID_MAX ? what.n : SAID_MAX), what.n ? what.p : "",
		a->status == 401 ? " (a token is wanted: --token-file)" : "");
	json_free(text);
	json_free(v);
}

/* Of an answer that went to a file, when it is no recording. */
static void read_reason(struct net_ask *a)
{
	char text[REASON_MAX];
	ssize_t n = read_at(a->fd, text, sizeof(text), 0);

	if (n > 0)
		buf_add(&a->answer.body, text, (size_t)n);
}

/* *bytes: of memory that it takes, about. */
static int value_of(struct net_ask *a, struct json *out, size_t *bytes)
{
	size_t size = 0;
	int rc;

	*bytes = 0;
	if (a->answer.status != 200) {
		if (a->to_file)
			read_reason(a);
		set_http_error(&a->answer, &a->e);
		return ERR_CANNOT;
	}
	if (a->to_file)
		return 0;
	rc = json_check_size(buf_bytes(&a->answer.body), DEPTH_MAX, VALUES_MAX, &size, &a->e);
	*bytes = size * JSON_SIZE_BYTES + a->answer.body.n;
	rc = rc ? rc : json_parse(buf_bytes(&a->answer.body), out, &a->e);
	if (!rc && json_type(*out) != JSON_TYPE_OBJECT) {
		json_free(*out);
		*out = JSON_NONE;
		rc = err_set(&a->e, ERR_DAMAGED, "its answer is no JSON object");
	}
	return rc;
}

static void drop_answer(struct fleet *f, size_t i)
{
	struct fleet_node_state *p = &f->states[i];

	json_free(p->answer);
	p->answer = JSON_NONE;
	f->bytes -= p->bytes;
	p->bytes = 0;
}

/* Drops the largest of all stored answers, which need not be the latest. */
static void drop_largest(struct fleet *f)
{
	size_t largest = 0;

	for (size_t i = 1; i < f->n; i++)
		if (f->states[i].bytes > f->states[largest].bytes)
			largest = i;
	drop_answer(f, largest);
	f->nodes[largest].answered = false;
	f->asks[largest].rc = err_set(&f->asks[largest].e, ERR_LIMIT,
				      "its answer is the largest of more than are taken at "
				      "once (--max-answers)");
}

struct round {
	struct fleet *f;
	const struct fleet_request *q;
};

static bool is_partial(struct json answer)
{
	struct json v = json_get(answer, "partial");
	bool is = json_is_true(v);

	json_free(v);
	return is;
}

static void on_answer(void *ctx, struct net_ask *a)
{
	const struct round *round = ctx;
	struct fleet *f = round->f;
	size_t i = (size_t)(a - f->asks);
	struct fleet_node_state *p = &f->states[i];

	if (a->rc)
		return;
	p->sent_ns = a->sent_ns;
	p->came_ns = a->came_ns;
	a->rc = value_of(a, &p->answer, &p->bytes);
	net_answer_free(&a->answer);
	f->bytes += p->bytes;
	p->partial = is_partial(p->answer);
	if (!a->rc && round->q->on_node_answer)
		a->rc = round->q->on_node_answer(round->q->ctx, i, p->answer, &a->e);
	f->nodes[i].answered = !a->rc;
	if (a->rc || round->q->on_node_answer)
		drop_answer(f, i);
	while (f->bytes > f->bytes_max)
		drop_largest(f);
}

static bool is_stopped(void *ctx)
{
	const struct fleet *f = ((struct round *)ctx)->f;

	return f->opt.stop && f->opt.stop(f->opt.stop_ctx);
}

/* The text of an error without the address it begins with, for the node's name stands before it. */
static const char *failure_reason(const struct fleet_node_state *p, const struct net_ask *a)
{
	size_t n = strlen(p->base);
	const char *text = a->e.text, *rest;

	if (strncmp(text, p->base, n) != 0 || !(rest = strstr(text + n, ": ")))
		return text;
	return rest + 2;
}

static void warn_of_failures(struct fleet *f, const struct fleet_request *q)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct net_ask *a = &f->asks[i];

		if (f->nodes[i].answered && f->states[i].partial)
			fleet_warn(f,
				   "node %s: its recording was damaged or did not end cleanly: its "
				   "answer is of what could be read",
				   f->states[i].name);

		if (a->skip || !a->rc)
			continue;
		if (!f->first.text[0])
			err_set(&f->first, ERR_CANNOT, "%s: %s", f->states[i].name,
				failure_reason(&f->states[i], a));
		if (!q->quiet)
			fleet_warn(f, "node %s is left out: %s", f->states[i].name,
				   failure_reason(&f->states[i], a));
	}
}

void fleet_free_answers(struct fleet *f)
{
	for (size_t i = 0; i < f->n; i++)
		drop_answer(f, i);
}

int fleet_query_nodes(struct fleet *f, const struct fleet_request *q, size_t *answered,
		      struct err *e)
{
	struct round round = { f, q };
	int rc = 0;

	*answered = 0;
	f->first = (struct err){ 0 };
	fleet_free_answers(f);
	for (size_t i = 0; i < f->n; i++) {
		f->asks[i] =
			(struct net_ask){ .skip = (q->only_answered && !f->nodes[i].answered) ||
						  (q->fds && q->fds[i] < 0),
					  .type = q->body.p ? "application/json" : NULL,
					  .body = q->body,
					  .to_file = q->fds,
					  .fd = q->fds ? q->fds[i] : -1,
					  .file_max = f->opt.recording_max };
		f->nodes[i].answered = false;
		if (asprintf(&f->urls[i], "%s%s", f->states[i].base, q->path) < 0) {
			f->urls[i] = NULL;
			rc = err_nomem(e);
		}
		f->asks[i].url = f->urls[i];
	}
	rc = rc ? rc
		: net_parallel_requests_out(f->parallel, f->asks, f->n, q->at_once, on_answer,
					    is_stopped, &round, e);
	for (size_t i = 0; i < f->n; i++) {
		*answered += f->nodes[i].answered;
		if (!rc && q->on_node_answer && f->asks[i].rc == ERR_NOMEM)
			rc = err_nomem(e);
	}
	if (!rc)
		warn_of_failures(f, q);
	for (size_t i = 0; i < f->n; i++) {
		free(f->urls[i]);
		f->urls[i] = NULL;
	}
	if (!rc && !*answered)
		rc = err_set(e, ERR_CANNOT, "no node answered: %s", f->first.text);
	if (rc)
		fleet_free_answers(f);
	return rc;
}

void fleet_exclude_node(struct fleet *f, size_t i, size_t *nodes, const struct err *e)
{
	fleet_warn(f, "node %s is left out: %s", f->nodes[i].name, e->text);
	f->nodes[i].answered = false;
	--*nodes;
}

void fleet_append_since(struct buf *path, const char *since)
{
	char iso[48];
	int64_t utc = 0;

	if (!since)
		return;
	/* A date without a zone is of ours, and would be another time in theirs. */
	if (strchr(since, '-') && !time_parse(bytes_of(since), 0, &utc, NULL))
		since = time_iso(iso, sizeof(iso), utc);
	buf_puts(path, strchr(buf_text(path), '?') ? "&since=" : "?since=");
	for (; *since; since++) {
		if (strchr("-_.~", *since) || (*since >= '0' && *since <= '9') ||
		    ((*since | 32) >= 'a' && (*since | 32) <= 'z'))
			buf_putc(path, *since);
		else
			buf_printf(path, "%%%02X", (unsigned char)*since);
	}
}

double fleet_get_number(struct json object, const char *key)
{
	struct json v = json_get(object, key);
	double x = json_double(v, 0);

	json_free(v);
	return isfinite(x) && x > 0 ? (x < 1e18 ? x : 1e18) : 0;
}

char *fleet_get_text(struct json object, const char *key)
{
	struct json v = json_get(object, key);
	struct bytes b = json_bytes(v);
	char *text = strndup(b.n ? b.p : "", b.n < TEXT_MAX ? b.n : TEXT_MAX);

	json_free(v);
	return text;
}
