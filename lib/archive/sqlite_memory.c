/* SPDX-License-Identifier: Apache-2.0 */
/* A statement runs in the thread that asks, and gives back there what it took: what it holds is
 * counted by thread. */
#include "lib/archive/sqlite_memory.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

static sqlite3_mem_methods theirs;
static _Thread_local int64_t allowed, held, most; /* allowed 0: anything */

static bool may(int64_t more)
{
	return !allowed || held + more <= allowed;
}

static void took(void *p, int sign)
{
	if (allowed && p)
		held += sign * (int64_t)theirs.xSize(p);
	if (held > most)
		most = held;
}

static void *take(int n)
{
	void *p = may(n) ? theirs.xMalloc(n) : NULL;

	took(p, 1);
	return p;
}

static void give(void *p)
{
	took(p, -1);
	theirs.xFree(p);
}

static void *change(void *p, int n)
{
	int64_t before = p && allowed ? theirs.xSize(p) : 0;
	void *now = may(n - before) ? theirs.xRealloc(p, n) : NULL;

	if (now) {
		held -= before;
		took(now, 1);
	}
	return now;
}

static void watch(void)
{
	sqlite3_mem_methods ours;

	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &theirs) != SQLITE_OK)
		return;
	ours = theirs;
	ours.xMalloc = take;
	ours.xFree = give;
	ours.xRealloc = change;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &ours);
}

void archive_memory_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
}

void archive_memory_allow(uint64_t bytes)
{
	allowed = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
	held = most = 0;
}

uint64_t archive_memory_most(void)
{
	return (uint64_t)most;
}
