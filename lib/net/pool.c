/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads that answer requests, with all signals blocked: signals are for the thread that
 * waits for them. */
#include "lib/net/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct net_pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	void (*run)(void *ctx, struct net_job *job);
	void *ctx;
	struct net_job *first, **last;
	unsigned max, n, idle;
	bool closed;
	pthread_t threads[]; /* n */
};

int net_pool_new(struct net_pool **out, unsigned threads_max,
		 void (*run)(void *ctx, struct net_job *job), void *ctx, struct err *e)
{
	struct net_pool *p = calloc(1, sizeof(*p) + threads_max * sizeof(p->threads[0]));

	*out = p;
	if (!p)
		return err_nomem(e);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	p->run = run;
	p->ctx = ctx;
	p->max = threads_max;
	p->last = &p->first;
	return 0;
}

static void *run_worker(void *arg)
{
	struct net_pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct net_job *job = p->first;

		if (job) {
			p->first = job->next;
			if (!p->first)
				p->last = &p->first;
			pthread_mutex_unlock(&p->lock);
			p->run(p->ctx, job);
			pthread_mutex_lock(&p->lock);
			continue;
		}
		if (p->closed)
			break;
		p->idle++;
		pthread_cond_wait(&p->work, &p->lock);
		p->idle--;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Under the lock. */
static bool one_more(struct net_pool *p)
{
	sigset_t all, before;
	bool good;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	good = pthread_create(&p->threads[p->n], NULL, run_worker, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	p->n += good;
	return good;
}

bool net_pool_add(struct net_pool *p, struct net_job *job)
{
	unsigned waiting = 1;
	bool good;

	pthread_mutex_lock(&p->lock);
	for (struct net_job *j = p->first; j; j = j->next)
		waiting++;
	if (!p->closed && waiting > p->idle && p->n < p->max)
		one_more(p);
	good = !p->closed && p->n;
	if (good) {
		job->next = NULL;
		*p->last = job;
		p->last = &job->next;
		pthread_cond_signal(&p->work);
	}
	pthread_mutex_unlock(&p->lock);
	return good;
}

void net_pool_close(struct net_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->closed = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n; i++)
		pthread_join(p->threads[i], NULL);
	p->n = 0;
}

void net_pool_free(struct net_pool *p)
{
	if (!p)
		return;
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
