/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls are comparable, and where they are called from. A class is what a call's duration is
 * expected from: process, op, size, direction, stream kind, first use of its site or not. A site is
 * a process, op and stack. Only outermost calls are classed: the driver call inside a runtime call
 * is the same call. Bounded by CLASSES_MAX and SITES_MAX; what does not fit is together in one of
 * its own, which is nobody's. Those of a process that is given up (account/ended.h) make room, but
 * for the first CLASSES_FIRST.
 */
#ifndef INGERO_ACCOUNT_CLASS_H
#define INGERO_ACCOUNT_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/stat/hist.h"
#include "lib/account/launched.h"
#include "lib/event/event.h"

#define CLASSES_MAX	    4096
#define CLASSES_FIRST	    64 /* of calls, in the order in which they were met */
#define SITES_MAX	    65536
#define CLASS_BORROWS_BELOW 30
#define CLASS_NEWEST	    (1 << 17) /* places seldom share one */

enum stream_class {
	STREAM_CLASS_NONE,
	STREAM_CLASS_DEFAULT,
	STREAM_CLASS_PER_THREAD,
	STREAM_CLASS_OWN
};

struct class_key {
	uint32_t process;
	uint16_t op;	   /* 0: outside calls */
	uint8_t size;	   /* 1 + log2 of bytes; 0: no bytes */
	uint8_t direction; /* 1 + direction; 0: none */
	uint8_t stream;	   /* enum stream_class */
	uint8_t first;	   /* the first call of its site */
	uint8_t pad[2];
};

struct cause_class {
	struct class_key key;
	uint32_t next;	  /* of its process: position + 1 */
	uint64_t host_ns; /* taken by the host, in full */
	uint64_t unknown_ns;
	struct launched launched; /* what its host_ns was lost with */
	struct hist_kept *plain;  /* durations of calls of which the host took nothing */
	/* Of the others, NULL until there is one: whole durations, and what the host did not take
	 * (self and device). */
	struct hist_kept *whole, *own;
};

/* One cache line: recordings have thousands of sites, and access to them is unpredictable. */
struct cause_site {
	uint32_t process, stack;
	uint32_t next; /* of its process: position + 1 */
	uint16_t op;
	bool no_own; /* there is no room for its own times */
	/* Class of its last call, and what of its key does not follow from the site: most sites
	 * have one. */
	uint32_t last_kind, last_class;
	uint64_t n, sum_ns, max_ns;
	/* What calls took of themselves, and from where on one is slow: periodic-spike's; NULL: not
	 * kept. */
	struct hist_kept *own;
	uint64_t slow_ns;
};
#define CLASS_LINE 64 /* bytes */
_Static_assert(sizeof(struct cause_site) == CLASS_LINE, "a site is one line of memory");

#define CLASS_NO_COLUMN 31 /* stands for none: no event has so many */
_Static_assert(OP_COLUMNS_MAX <= CLASS_NO_COLUMN, "that column is never present");

struct class_columns {
	bool known;
	bool sized;				/* one of bytes and direction is there */
	uint8_t bytes, direction, stream, func; /* positions among an op's columns */
};

#define CLASS_MEMO 4096

/* Zero-initialised is empty. Ids are positions. */
struct classes {
	VEC(struct cause_class) v;
	VEC(struct cause_site) sites; /* each begins a line of memory */
	struct map by_key, by_site;
	struct map of_process, sites_of; /* world process -> its newest class, site: position + 1 */
	VEC(uint32_t) unused, unused_sites;
	uint64_t made;		 /* classes, ever */
	uint32_t told, told_end; /* of these as many of calls were met, up to this position */
	/* What did not fit: position + 1, 0 as long as everything does. */
	uint32_t others, other_sites;
	struct hists hists;
	uint32_t newest[CLASS_NEWEST]; /* site of the last call of such a place + 1 */
	VEC(uint32_t) apart;	       /* by context: how far from others' its places stand */
	struct class_plain {
		struct hist_cell *first;
		uint64_t max;
	} plain[CLASSES_MAX];	   /* of those of v, near each other: what adding takes */
	uint16_t memo[CLASS_MEMO]; /* class of the last call of such a kind + 1 */
	/* where ops keep what classes look at; filled on first use */
	VEC(struct class_columns) columns;
};

void classes_free(struct classes *c);

struct class_of {
	uint32_t class_id, site_id;
	bool first;  /* call of its site */
	bool shared; /* the site holds calls of others too: there were too many */
};

/* Where the newest site of such a place is remembered: by what the stream calls it, which are small
 * numbers, so that those in use stand beside each other. Programs that share such a number each
 * have places of their own. */
static inline uint32_t *classes_newest(struct classes *c, const struct event *ev)
{
	uint32_t place = ev->site;

	if (__builtin_expect(!place, 0)) /* of a stream that names none */
		place = ev->stack + ev->op * 977u;
	return &c->newest[(place + (ev->ctx < c->apart.n ? c->apart.v[ev->ctx] : 0)) % CLASS_NEWEST];
}

/* What the stream calls places is other places from here on. */
void classes_renamed(struct classes *c);

/* What is known of an event at depth 0 before its turn: where the newest site of its place stands
 * among sites, + 1, 0 where none is remembered; and where its duration has its place in histograms.
 */
struct class_ahead {
	uint32_t site, cell;
};

#define CLASSES_AHEAD 32 /* events, at most */
struct classes_batch {
	struct class_ahead of[CLASSES_AHEAD]; /* of those at depth 0, in order */
	unsigned n;
};

/* These events come after those that come next: what is kept of their sites lies all over memory,
 * and is on its way from there when this returns. */
void classes_ahead(struct classes *c, const struct event *ev, size_t n, struct classes_batch *b);
/* They come next: so is what they are added to. */
void classes_next(struct classes *c, const struct classes_batch *b);

/* …where that is not remembered. */
bool classes_site_look_up(struct classes *c, uint32_t process, const struct event *ev, uint16_t op,
			  struct class_of *of);

static inline bool classes_site_of(struct classes *c, uint32_t process, const struct event *ev,
				   uint16_t op, uint32_t perhaps, struct class_of *of)
{
	const struct cause_site *s = perhaps ? &c->sites.v[perhaps - 1] : NULL;

	if (!s || s->stack != ev->stack || s->process != process || s->op != op)
		return classes_site_look_up(c, process, ev, op, of);
	of->site_id = perhaps - 1;
	of->first = of->shared = false;
	return true;
}

/* The site of an outermost call; perhaps: the hint of classes_ahead. False: out of memory. */
static inline bool classes_site(struct classes *c, uint32_t process, const struct event *ev,
				uint32_t perhaps, struct class_of *of)
{
	return classes_site_of(c, process, ev, ev->op, perhaps, of);
}

/* The site of such calls of the process; NULL: it has none of its own. */
const struct cause_site *classes_find_site(const struct classes *c, uint32_t process, uint16_t op,
					   uint32_t stack);

/* Time outside calls of a process: a class without durations. */
bool classes_outside(struct classes *c, uint32_t process, const struct event *ev,
		     struct class_of *of);

/* Give up those of a process. False: out of memory. */
bool classes_forget(struct classes *c, uint32_t process);

/* Whether it holds the calls of many, because there was no room for more classes or sites. */
static inline bool classes_is_others(const struct classes *c, uint32_t class_id)
{
	return c->others && class_id == c->others - 1;
}

/* Durations of all its calls, whole or without what the host took. */
void class_whole(const struct cause_class *cl, struct hist *all);
void class_own(const struct cause_class *cl, struct hist *all);

/* What the class is expected to take, and whether that is its own median or one borrowed from all
 * calls of its op. */
uint64_t class_expected(const struct classes *c, uint32_t class_id, bool *borrowed);

#endif
