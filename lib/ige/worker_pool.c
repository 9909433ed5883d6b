/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs tasks such as compressing columns on worker threads. Tasks are queued in the order in which
 * they were submitted. A thread that awaits a task runs it, if it is still queued, or runs others
 * until it is done.
 */
#include "lib/ige/worker_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#define THREADS_MAX                                                                            \
	3 /* beside the one that asks: two columns are most of a block, and order is half of a \
	     merge */

struct column {
	struct ige_task task;
	struct ige_integers in;
	struct ige_builder own;
};

struct ige_worker_pool {
	pthread_mutex_t lock;
	pthread_cond_t come, done;
	pthread_t threads[THREADS_MAX];
	unsigned nthreads, idle; /* idle: wait for a task */
	bool started, ended, awaited;
	struct ige_task *first, *last;
	struct column columns[IGE_WORKER_POOL_COLUMNS];
};

struct ige_worker_pool *ige_worker_pool_new(void)
{
	struct ige_worker_pool *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->come, NULL);
	pthread_cond_init(&t->done, NULL);
	return t;
}

/* With the lock held before and after. */
static void remove_task(struct ige_worker_pool *t, struct ige_task *task)
{
	struct ige_task **at = &t->first, *before = NULL;

	while (*at != task) {
		before = *at;
		at = &before->next;
	}
	*at = task->next;
	if (t->last == task)
		t->last = before;
}

/* With the lock held before and after; released while the task runs. */
static void run_task(struct ige_worker_pool *t, struct ige_task *task)
{
	remove_task(t, task);
	task->state = IGE_TASK_BEGUN;
	pthread_mutex_unlock(&t->lock);
	task->run(task);
	pthread_mutex_lock(&t->lock);
	task->state = IGE_TASK_OURS;
	if (t->awaited)
		pthread_cond_signal(&t->done);
}

static void *run_worker(void *arg)
{
	struct ige_worker_pool *t = arg;

	pthread_mutex_lock(&t->lock);
	while (!t->ended) {
		if (t->first) {
			run_task(t, t->first);
			continue;
		}
		t->idle++;
		pthread_cond_wait(&t->come, &t->lock);
		t->idle--;
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Starts a thread per further CPU; if none can be created, the caller runs all tasks. */
static void start_threads(struct ige_worker_pool *t)
{
	cpu_set_t cpus;
	sigset_t all, before;
	int have;

	t->started = true;
	have = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);
	/* Signals are for the thread that waits for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (t->nthreads < THREADS_MAX && (int)t->nthreads + 1 < have &&
	       !pthread_create(&t->threads[t->nthreads], NULL, run_worker, t))
		t->nthreads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ige_worker_pool_free(struct ige_worker_pool *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_broadcast(&t->come);
	pthread_mutex_unlock(&t->lock);
	for (unsigned i = 0; i < t->nthreads; i++)
		pthread_join(t->threads[i], NULL);
	for (unsigned i = 0; i < IGE_WORKER_POOL_COLUMNS; i++)
		ige_builder_free(&t->columns[i].own);
	pthread_cond_destroy(&t->come);
	pthread_cond_destroy(&t->done);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

bool ige_worker_pool_helps(struct ige_worker_pool *t, size_t rows)
{
	if (!t || rows < IGE_WORKER_POOL_ROWS)
		return false;
	if (!t->started)
		start_threads(t);
	return t->nthreads > 0;
}

void ige_worker_pool_ask(struct ige_worker_pool *t, struct ige_task *task)
{
	pthread_mutex_lock(&t->lock);
	task->state = IGE_TASK_ASKED;
	task->next = NULL;
	*(t->first ? &t->last->next : &t->first) = task;
	t->last = task;
	if (t->idle)
		pthread_cond_signal(&t->come);
	pthread_mutex_unlock(&t->lock);
}

void ige_worker_pool_await(struct ige_worker_pool *t, struct ige_task *task)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	while (task->state != IGE_TASK_OURS) {
		if (task->state == IGE_TASK_ASKED) {
			run_task(t, task);
		} else if (t->first) {
			run_task(t, t->first);
		} else {
			t->awaited = true;
			pthread_cond_wait(&t->done, &t->lock);
			t->awaited = false;
		}
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- columns ---- */

static void encode_column(struct ige_task *task)
{
	struct column *c = (struct column *)task;

	ige_builder_integers(&c->own, c->in.id, c->in.v, c->in.n);
}

void ige_worker_pool_integers(struct ige_worker_pool *t, struct ige_builder *b,
			      const struct ige_integers *columns, unsigned n)
{
	if (!n || n > IGE_WORKER_POOL_COLUMNS || !ige_worker_pool_helps(t, columns[0].n)) {
		for (unsigned i = 0; i < n; i++)
			ige_builder_integers(b, columns[i].id, columns[i].v, columns[i].n);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		struct column *c = &t->columns[i];

		ige_builder_reset(&c->own);
		c->own.small = b->small;
		c->in = columns[i];
		c->task.run = encode_column;
		ige_worker_pool_ask(t, &c->task);
	}
	for (unsigned i = 0; i < n; i++) {
		ige_worker_pool_await(t, &t->columns[i].task);
		ige_builder_add(b, &t->columns[i].own);
	}
}
