/* SPDX-License-Identifier: Apache-2.0 */
/* Only frames that pass calls on are looked at: a program's own function may have any name. */
#include "lib/world/waiter_call.h"

#include <string.h>

#include "lib/world/call_site.h"

static const struct {
	const char *name;
	enum waiter_call call;
} calls[] = {
	{ "mmap", WAITER_MAPS },     { "mmap64", WAITER_MAPS },	 { "munmap", WAITER_MAPS },
	{ "mremap", WAITER_MAPS },   { "madvise", WAITER_MAPS }, { "mprotect", WAITER_MAPS },
	{ "brk", WAITER_MAPS },	     { "sbrk", WAITER_MAPS },	 { "wait4", WAITER_REAPS },
	{ "waitpid", WAITER_REAPS }, { "waitid", WAITER_REAPS }, { "wait", WAITER_REAPS },
	{ "wait3", WAITER_REAPS },
};

/* "munmap@@GLIBC_2.2.5", "__wait4" */
static struct bytes plain_name(struct bytes name)
{
	const char *version = name.n ? memchr(name.p, '@', name.n) : NULL;

	if (version)
		name.n = (size_t)(version - name.p);
	while (name.n && *name.p == '_') {
		name.p++;
		name.n--;
	}
	return name;
}

/* Innermost first: SQLite sleeps below the function that it calls while a database is locked. */
static bool is_retry(const struct world *w, const uint32_t *frames, unsigned n)
{
	static const char handler[] = "InvokeBusyHandler";

	for (unsigned i = 0; i < n; i++) {
		const struct world_symbol *s = world_get_symbol(w, frames[i]);
		struct bytes name = s ? world_text(w, s->name) : (struct bytes){ 0 };

		if (name.n && memmem(name.p, name.n, handler, sizeof(handler) - 1))
			return true;
	}
	return false;
}

enum waiter_call waiter_call_of(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);

	for (unsigned i = 0; frames && i < n && call_site_passes_on(w, frames[i]); i++) {
		const struct world_symbol *s = world_get_symbol(w, frames[i]);
		struct bytes name = plain_name(s ? world_text(w, s->name) : (struct bytes){ 0 });

		for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
			if (bytes_equal(name, bytes_of(calls[k].name)))
				return calls[k].call;
	}
	return frames && is_retry(w, frames, n) ? WAITER_RETRIES : WAITER_OTHER;
}

const char *waiter_call_advice(enum waiter_call call)
{
	switch (call) {
	case WAITER_MAPS:
		return "Use the same memory again instead of mapping it anew: one thread of a "
		       "process at a time changes what is mapped, the others wait";
	case WAITER_REAPS:
		return "Start that program once and keep it, or do not wait in the step until it "
		       "has ended";
	case WAITER_RETRIES:
		return "Commit sooner where the database is locked; what only reads does not wait "
		       "for the writer with PRAGMA journal_mode=WAL";
	default:
		return "Give more workers to what it waits for, or let them work further ahead";
	}
}
