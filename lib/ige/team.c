/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each column has a builder of its own, which only who took the column touches until all are done. The thread that asked
 * works along, and waits only for what others have begun.
 */
#include "lib/ige/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#define THREADS_MAX 3	 /* beside the one that asks: two columns are most of a block */
#define ROWS_MIN    8192 /* below that others take as long to come as the work does */

struct ige_team {
	pthread_mutex_t lock;
	pthread_cond_t come, done;
	pthread_t threads[THREADS_MAX];
	unsigned nthreads;
	bool started, ended;
	const struct ige_integers *columns;
	unsigned n, taken, left; /* left: not done yet */
	struct ige_builder builders[IGE_TEAM_COLUMNS];
};

struct ige_team *ige_team_new(void)
{
	struct ige_team *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->come, NULL);
	pthread_cond_init(&t->done, NULL);
	return t;
}

/* The next column, with the lock held before and after; false: all are taken. */
static bool encode_one(struct ige_team *t)
{
	const struct ige_integers *column;
	struct ige_builder *own;

	if (t->taken == t->n)
		return false;
	column = &t->columns[t->taken];
	own = &t->builders[t->taken++];
	pthread_mutex_unlock(&t->lock);
	ige_builder_integers(own, column->id, column->v, column->n);
	pthread_mutex_lock(&t->lock);
	if (!--t->left)
		pthread_cond_signal(&t->done);
	return true;
}

static void *help(void *arg)
{
	struct ige_team *t = arg;

	pthread_mutex_lock(&t->lock);
	while (!t->ended)
		if (!encode_one(t))
			pthread_cond_wait(&t->come, &t->lock);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Who cannot have threads does it alone. */
static void start(struct ige_team *t)
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
	       !pthread_create(&t->threads[t->nthreads], NULL, help, t))
		t->nthreads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ige_team_free(struct ige_team *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_broadcast(&t->come);
	pthread_mutex_unlock(&t->lock);
	for (unsigned i = 0; i < t->nthreads; i++)
		pthread_join(t->threads[i], NULL);
	for (unsigned i = 0; i < IGE_TEAM_COLUMNS; i++)
		ige_builder_free(&t->builders[i]);
	pthread_cond_destroy(&t->come);
	pthread_cond_destroy(&t->done);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void ige_team_integers(struct ige_team *t, struct ige_builder *b,
		       const struct ige_integers *columns, unsigned n)
{
	if (!t || !n || columns[0].n < ROWS_MIN || n > IGE_TEAM_COLUMNS) {
		for (unsigned i = 0; i < n; i++)
			ige_builder_integers(b, columns[i].id, columns[i].v, columns[i].n);
		return;
	}
	if (!t->started)
		start(t);
	pthread_mutex_lock(&t->lock);
	for (unsigned i = 0; i < n; i++) {
		ige_builder_reset(&t->builders[i]);
		t->builders[i].small = b->small;
	}
	t->columns = columns;
	t->left = t->n = n;
	t->taken = 0;
	pthread_cond_broadcast(&t->come);
	while (encode_one(t))
		;
	while (t->left)
		pthread_cond_wait(&t->done, &t->lock);
	pthread_mutex_unlock(&t->lock);
	for (unsigned i = 0; i < n; i++)
		ige_builder_add(b, &t->builders[i]);
}
