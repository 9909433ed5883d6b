/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the memory that SQLite takes per statement. A statement allocates and frees in the thread
 * that runs it, so a per-thread counter holds what it has. */
#include "lib/archive/sqlite_memory.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

static sqlite3_mem_methods theirs;
static _Thread_local int64_t allowed, held, most; /* allowed 0: anything */

static bool is_allowed(int64_t more)
{
	return !allowed || held + more <= allowed;
}

static void account_bytes(void *p, int sign)
{
	if (allowed && p)
		held += sign * (int64_t)theirs.xSize(p);
	if (held > most)
		most = held;
}

static void *counted_malloc(int n)
{
	void *p = is_allowed(n) ? theirs.xMalloc(n) : NULL;

	account_bytes(p, 1);
	return p;
}

static void counted_free(void *p)
{
	account_bytes(p, -1);
	theirs.xFree(p);
}

static void *counted_realloc(void *p, int n)
{
	int64_t before = p && allowed ? theirs.xSize(p) : 0;
	void *now = is_allowed(n - before) ? theirs.xRealloc(p, n) : NULL;

	if (now) {
		held -= before;
		account_bytes(now, 1);
	}
	return now;
}

static void install_counting(void)
{
	sqlite3_mem_methods ours;

	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &theirs) != SQLITE_OK)
		return;
	ours = theirs;
	ours.xMalloc = counted_malloc;
	ours.xFree = counted_free;
	ours.xRealloc = counted_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &ours);
}

void archive_memory_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install_counting);
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
