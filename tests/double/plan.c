/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures and delays that the environment plans for an exported function: DOUBLE_FAIL,
 * DOUBLE_NS_name and DOUBLE_CALL_NS, see README.md. Linked into both layers, so that neither
 * exports it.
 */
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Until this thread has used that much more CPU time: preemption makes the call longer, never
 * shorter.
 */
static void spin_cpu(uint64_t ns)
{
	uint64_t end = cpu_now() + ns;

	do {
		for (volatile int i = 0; i < 200; i++)
			;
	} while (cpu_now() < end);
}

/* Reads ":every=N:at=N:after=N" up to a comma or the end. */
static const char *read_when(const char *s, struct when *w)
{
	while (*s == ':') {
		char *end;

		s++;
		if (!strncmp(s, "every=", 6))
			w->every = strtoull(s + 6, &end, 10);
		else if (!strncmp(s, "at=", 3))
			w->at = strtoull(s + 3, &end, 10);
		else if (!strncmp(s, "after=", 6))
			w->after = strtoull(s + 6, &end, 10);
		else
			break;
		s = end;
	}
	return s;
}

static bool is_when(const struct when *w, uint64_t n)
{
	return (!w->every || n % w->every == 0) && (!w->at || n == w->at) && n > w->after;
}

/* DOUBLE_FAIL=name:code[:when],name:code[:when]... */
static void plan_failure(struct counter *c)
{
	const char *s = getenv("DOUBLE_FAIL");
	size_t n = strlen(c->name);

	for (; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
		char *end;

		if (strncmp(s, c->name, n) || s[n] != ':')
			continue;
		c->fail_code = (int)strtol(s + n + 1, &end, 10);
		read_when(end, &c->fail_when);
		c->planned = c->fail_code != 0;
	}
}

/* The driver's functions that make or end memory. */
static bool is_allocation(const char *name)
{
	static const char *const begin[] = { "cuMemAlloc", "cuMemFree",	 "cuMemCreate",
					     "cuMemMap",   "cuMemUnmap", "cuMemRelease" };

	for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
		if (!strncmp(name, begin[i], strlen(begin[i])))
			return true;
	return false;
}

/* DOUBLE_NS_name=ns[:when], else DOUBLE_ALLOC_NS or DOUBLE_CALL_NS for the driver's own functions. */
static void plan_delay(struct counter *c)
{
	char key[128];
	const char *s;
	char *end;

	snprintf(key, sizeof key, "DOUBLE_NS_%s", c->name);
	s = getenv(key);
	if (!s && is_allocation(c->name))
		s = getenv("DOUBLE_ALLOC_NS");
	if (!s && !strncmp(c->name, "cu", 2) && strncmp(c->name, "cuda", 4) &&
	    strncmp(c->name, "cuGetProc", 9))
		s = getenv("DOUBLE_CALL_NS");
	if (!s)
		return;
	c->spin_ns = strtoull(s, &end, 10);
	read_when(end, &c->spin_when);
	c->planned = c->planned || c->spin_ns;
}

int plan_run(struct counter *c, uint64_t n)
{
	if (c->spin_ns && is_when(&c->spin_when, n))
		spin_cpu(c->spin_ns);
	return c->fail_code && is_when(&c->fail_when, n) ? c->fail_code : 0;
}

void plan_read(struct counter *c)
{
	plan_failure(c);
	plan_delay(c);
}
