/* SPDX-License-Identifier: Apache-2.0 */
/* Sends requests to many nodes at once and collects their answers. The send time is taken before
 * the request is passed to libcurl, the receive time when the answer's headers come: the round-trip
 * time is never too short. */
#include "lib/net/parallel_requests.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/net/curl_handle.h"

#define LOOK_MS 100 /* how late a stop is noticed */

/* One that runs. */
struct running {
	struct net_taking taking; /* first: reserve_room casts it back */
	struct running *next;
	struct net_parallel_requests *fan;
	struct net_ask *ask;
	CURL *h;
	char error[CURL_ERROR_SIZE];
	struct curl_slist *headers;
};

struct net_parallel_requests {
	struct net_client_options opt;
	CURLM *multi;
	struct running *first;
	size_t coming, coming_max; /* bytes of all that run and go to no file */
	size_t files, files_max;   /* bytes in files: of those that run, and of those that came */
};

static int64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int net_parallel_requests_new(struct net_parallel_requests **out,
			      const struct net_client_options *opt, size_t coming_max,
			      struct err *e)
{
	struct net_parallel_requests *f;

	*out = NULL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, ERR_CANNOT, "libcurl cannot be initialised");
	f = calloc(1, sizeof(*f));
	if (f)
		f->multi = curl_multi_init();
	if (!f || !f->multi) {
		free(f);
		return err_nomem(e);
	}
	f->opt = *opt;
	f->opt.timeout_ns = opt->timeout_ns ? opt->timeout_ns : UINT64_C(10000000000);
	f->opt.answer_max = opt->answer_max ? opt->answer_max : 1 << 20;
	f->coming_max = coming_max ? coming_max : SIZE_MAX;
	f->files_max = SIZE_MAX;
	*out = f;
	return 0;
}

void net_parallel_requests_files(struct net_parallel_requests *f, size_t files_max)
{
	f->files_max = files_max ? files_max : SIZE_MAX;
}

void net_parallel_requests_free(struct net_parallel_requests *f)
{
	if (!f)
		return;
	curl_multi_cleanup(f->multi);
	free(f);
}

/* The sum of bytes that its answer counts in. */
static size_t *sum_of(struct net_parallel_requests *f, const struct running *r)
{
	return r->taking.into ? &f->coming : &f->files;
}

/* Drops the part of the answer that has come. */
static void drop_body(struct net_parallel_requests *f, struct running *r)
{
	*sum_of(f, r) -= r->taking.n;
	r->taking.n = 0;
	if (r->taking.into)
		net_answer_free(&r->ask->answer);
	else if (ftruncate(r->taking.fd, 0)) /* then it is gone when it is closed */
		return;
}

/* At once, it itself when it has more to say. */
static void push_out(struct net_parallel_requests *f, struct running *r)
{
	drop_body(f, r);
	r->taking.pushed = true;
}

/* The longest answer of those that count in the same sum. */
static struct running *find_longest(struct net_parallel_requests *f, struct running *among)
{
	struct running *most = among;

	for (struct running *r = f->first; r; r = r->next)
		if (sum_of(f, r) == sum_of(f, among) && r->taking.n > most->taking.n)
			most = r;
	return most;
}

static bool reserve_room(struct net_taking *t, size_t n)
{
	struct running *r = (struct running *)t, *most;
	struct net_parallel_requests *f = r->fan;
	size_t *sum = sum_of(f, r), max = t->into ? f->coming_max : f->files_max;

	while (!t->pushed && *sum + n > max) {
		most = find_longest(f, r);
		push_out(f, most->taking.n > t->n + n ? most : r);
	}
	if (!t->pushed)
		*sum += n;
	return !t->pushed;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
	struct net_ask *a = arg;

	(void)p;
	if (!a->came_ns)
		a->came_ns = realtime_ns();
	return size * n;
}

#define SLOWEST 1024 /* bytes a second at least, on average: less is no more than silence */

/* The whole may take as long as it likes, silence may not. */
static void without_end(CURL *h, const struct net_client_options *opt)
{
	long seconds = (long)((opt->timeout_ns + 999999999) / 1000000000);

	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, 0L);
	if (!opt->reach_ns)
		curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, net_curl_ms(opt->timeout_ns));
	curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, (long)SLOWEST);
	curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, seconds);
}

static void free_running(struct net_parallel_requests *f, struct running *r)
{
	if (r->h) {
		curl_multi_remove_handle(f->multi, r->h);
		curl_easy_cleanup(r->h);
	}
	curl_slist_free_all(r->headers);
	for (struct running **at = &f->first; *at; at = &(*at)->next) {
		if (*at == r) {
			*at = r->next;
			break;
		}
	}
	if (r->ask->rc)
		drop_body(f, r);
	else if (r->taking.into)
		f->coming -= r->taking.n;
	r->ask->running = NULL;
	free(r);
}

static int begin_request(struct net_parallel_requests *f, struct net_ask *a, struct err *e)
{
	struct running *r = calloc(1, sizeof(*r));
	bool good;

	a->answer = (struct net_answer){ 0 };
	a->came_ns = 0;
	a->rc = 0;
	if (!r)
		return a->rc = err_nomem(e);
	a->running = r;
	r->ask = a;
	r->fan = f;
	r->next = f->first;
	f->first = r;
	r->taking = (struct net_taking){ .into = a->to_file ? NULL : &a->answer.body,
					 .room = reserve_room,
					 .fd = a->fd,
					 .max = !a->to_file   ? f->opt.answer_max
						: a->file_max ? a->file_max
							      : SIZE_MAX };
	r->h = curl_easy_init();
	r->headers = net_curl_headers(&f->opt, a->type);
	good = r->h && r->headers &&
	       net_curl_set(r->h, &f->opt, a->url, a->type, a->body, r->headers, &r->taking,
			    r->error);
	if (good) {
		curl_easy_setopt(r->h, CURLOPT_PRIVATE, r);
		curl_easy_setopt(r->h, CURLOPT_HEADERFUNCTION, on_header);
		curl_easy_setopt(r->h, CURLOPT_HEADERDATA, a);
		if (a->to_file)
			without_end(r->h, &f->opt);
		a->sent_ns = realtime_ns();
		good = curl_multi_add_handle(f->multi, r->h) == CURLM_OK;
	}
	if (good)
		return 0;
	a->rc = err_nomem(e);
	free_running(f, r);
	return a->rc;
}

static struct running *next_ended(struct net_parallel_requests *f, CURLcode *code)
{
	struct running *r = NULL;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(f->multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		*code = m->data.result;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&r);
		return r;
	}
	return NULL;
}

static void finish_request(struct net_parallel_requests *f, struct running *r, CURLcode code,
			   void (*done)(void *ctx, struct net_ask *ask), void *ctx)
{
	struct net_ask *a = r->ask;

	a->rc = net_curl_end(r->h, code, a->url, &r->taking, r->error, &a->answer, &a->e);
	free_running(f, r);
	if (done)
		done(ctx, a);
}

/* What still runs is given up. */
static void give_up(struct net_parallel_requests *f, struct net_ask *asks, size_t n, int rc,
		    const struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		if (!asks[i].running)
			continue;
		asks[i].rc = rc;
		if (e)
			asks[i].e = *e;
		free_running(f, asks[i].running);
	}
}

int net_parallel_requests_out(struct net_parallel_requests *f, struct net_ask *asks, size_t n,
			      size_t at_once, void (*done)(void *ctx, struct net_ask *ask),
			      bool (*stop)(void *ctx), void *ctx, struct err *e)
{
	size_t next = 0, open = 0;
	CURLcode code = CURLE_OK;
	struct running *r;
	int rc = 0, alive;

	f->files = 0;
	at_once = at_once ? at_once : n;
	while (!rc && (next < n || open)) {
		for (; !rc && next < n && open < at_once; next++) {
			if (asks[next].skip)
				continue;
			rc = begin_request(f, &asks[next], e);
			open += !rc;
			/* Sent now, since its time runs. */
			if (!rc && curl_multi_perform(f->multi, &alive) != CURLM_OK)
				rc = err_set(e, ERR_CANNOT, "libcurl cannot go on");
		}
		while (!rc && (r = next_ended(f, &code))) {
			finish_request(f, r, code, done, ctx);
			open--;
		}
		if (rc || (!open && next >= n))
			break;
		if (open == at_once || next >= n) {
			curl_multi_poll(f->multi, NULL, 0, LOOK_MS, NULL);
			if (curl_multi_perform(f->multi, &alive) != CURLM_OK)
				rc = err_set(e, ERR_CANNOT, "libcurl cannot go on");
		}
		if (!rc && stop && stop(ctx))
			rc = err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	give_up(f, asks, n, rc, e);
	for (; rc && next < n; next++)
		asks[next].rc = asks[next].skip ? 0 : rc;
	return rc;
}
