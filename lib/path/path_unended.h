/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a wait never ended: whom the thread waited for, whom that one waited for, and so on, until
 * one that runs, that waits for nobody, that is not recorded, or that is in the chain already: a
 * deadlock. Each step says how it is known.
 */
#ifndef INGERO_PATH_PATH_UNENDED_H
#define INGERO_PATH_PATH_UNENDED_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

/* How it is known that the thread before waits for this one. */
enum path_known {
	PATH_PROVEN,	/* the kernel or the lock's memory says so */
	PATH_LIKELY,	/* it did what the thread waits for the last time */
	PATH_CANDIDATE, /* it did so at another time, or it is one of several */
};

enum path_by {
	PATH_BY_NOTHING,  /* the first thread */
	PATH_BY_OWNER,	  /* stands in the lock as its owner */
	PATH_BY_JOIN,	  /* the wait is for its end */
	PATH_BY_CHILD,	  /* a child that the thread waits for */
	PATH_BY_PIPE,	  /* has the other end of the pipe */
	PATH_BY_PEER,	  /* has the other end of the socket */
	PATH_BY_TAKER,	  /* got the lock last of those that waited for it */
	PATH_BY_RELEASER, /* ended the last wait for that object, or of the thread there */
	PATH_BY_MAKER,	  /* starts the threads that end such waits, each one a few */
	PATH_BY_BESIDE,	  /* a thread of the process that waits to the end where it never waited
			     before */
	PATH_BY_LAST,	  /* ended the last wait of the thread, for whatever */
};

enum path_ends {
	PATH_ENDS_UNKNOWN,  /* nothing tells whom the last one waits for */
	PATH_ENDS_CYCLE,    /* the last one waits for step `cycle` */
	PATH_ENDS_RUNS,	    /* the last one is on a CPU or waits for one */
	PATH_ENDS_SLEEPS,   /* the last one waits for a time to come */
	PATH_ENDS_DEVICE,   /* ... for the device */
	PATH_ENDS_DISK,	    /* ... for a disk or a page */
	PATH_ENDS_STOPPED,  /* ... it is stopped or frozen */
	PATH_ENDS_EXITED,   /* the last one has ended */
	PATH_ENDS_GONE,	    /* the lock's owner has ended: no thread of that number lives */
	PATH_ENDS_NOBODY,   /* no other thread has the other end of the pipe */
	PATH_ENDS_FORKED,   /* the lock was held by the last one when the process was forked */
	PATH_ENDS_OUTSIDE,  /* the last one is not recorded */
	PATH_ENDS_DEMAND,   /* ... waits for a request: a socket that it accepted or listens on */
	PATH_ENDS_REPLY,    /* ... waits for an answer: a socket that it connected */
	PATH_ENDS_TOO_LONG, /* PATH_UNENDED_STEPS */
};

const char *path_ends_text(enum path_ends ends);
const char *path_by_text(enum path_by by);

#define PATH_UNENDED_STEPS 16

struct path_unended_step {
	uint32_t thread; /* world id; 0: not known */
	uint32_t pid;	 /* of its process, 0 not known */
	enum path_known known;
	enum path_by by;
	/* What it does itself. */
	bool waits;
	enum event_object kind; /* of what it waits for */
	uint64_t object;	/* address or descriptor */
	int64_t since_ns;	/* valid when it waits */
	uint32_t stack;		/* where it waits, or was last seen; 0 not known */
};

struct path_unended {
	unsigned n;
	struct path_unended_step v[PATH_UNENDED_STEPS]; /* the thread that was asked for first */
	enum path_ends ends;
	unsigned cycle;		 /* PATH_ENDS_CYCLE: step that the last one waits for */
	enum path_known closing; /* PATH_ENDS_CYCLE: how that is known */
	uint32_t gone_tid;	 /* PATH_ENDS_GONE: as it stands in the lock */
};

/* A wait that is over, and what was known before its end: a signal that ends the thread ends its
 * wait, too. Without a waker: its time ran out. */
struct unended_wait {
	bool exclusion;
	uint8_t kind;
	uint32_t stack, futex_val, released_by, waker;
	int64_t since_ns, end_ns;
	uint64_t object;
	uint64_t object_released, line_released; /* as in objects and lines; 0: nobody */
};

#define UNENDED_PLACES 6 /* a thread's way out takes two or three, on a busy machine more */

/* What a thread was seen to do last. */
struct unended_thread {
	bool seen, exited, waits, runnable, exclusion;
	uint8_t kind;
	uint8_t newest_write; /* UINT8_MAX: not known */
	uint8_t ready_role;   /* of the socket that ended its last wait for several */
	int64_t since_ns; /* of its wait; else it ran then */
	uint64_t object;
	uint32_t stack, futex_val;
	/* Stacks of samples and of waits that ended, the newest first. */
	uint32_t places[UNENDED_PLACES];
	uint32_t process;
	uint32_t released_by;			/* ended its last hand-off; 0: no thread did */
	int64_t file_since_ns, socket_since_ns; /* of the newest file and socket event */
	uint64_t newest_socket;
	struct unended_wait last;
	uint32_t made_by; /* world thread id of its creator; 0: not known */
};

/* What a socket brings. */
enum unended_role { UNENDED_ROLE_UNKNOWN, UNENDED_ROLE_DEMAND, UNENDED_ROLE_REPLY };

/* Who has the other end of a pipe. */
struct unended_pipe {
	int64_t time_ns;
	uint32_t pids[4];
	unsigned npids;
};

struct unended_process {
	uint32_t id, main; /* world ids; main 0: not seen */
	unsigned threads;
};

/* Zero-initialised but for w is empty. Bounded by threads and UNENDED_OBJECTS_MAX. */
#define UNENDED_OBJECTS_MAX 65536
struct unended_facts {
	const struct world *w;
	VEC(struct unended_thread) threads; /* by world id */
	VEC(struct unended_process) processes;
	struct map process_by; /* world id -> position */
	struct map objects;    /* process and object -> who took it, who released it last */
	struct map lines;      /* thread and stack -> who released it there last */
	struct map changes;    /* process and object -> how often the releasing thread changed */
	struct map roles;      /* socket -> enum unended_role */
	struct map owners;     /* thread -> position in owner */
	VEC(struct rec_OWNER) owner;
	VEC(uint32_t) owner_present;
	struct map pipes; /* process, descriptor and direction -> position in pipe */
	VEC(struct unended_pipe) pipe;
	struct map peers; /* socket -> pid */
	int64_t now_ns;	  /* of the newest event */
};

/* Whether such an event says something here. */
static inline bool unended_wants(uint16_t op)
{
	return op == OP_SCHED_OFFCPU || op == OP_CPU_SAMPLE || op == OP_PROC_EXIT ||
	       op == OP_PROC_FORK || op == OP_IO_FILE || op == OP_NET_SOCKET;
}

/* What a socket of that role (records.def) brings. */
enum unended_role unended_role_of(struct bytes role);

/* False: out of memory. */
bool unended_event(struct unended_facts *f, const struct event *ev);
bool unended_record(struct unended_facts *f, const struct record *r);
void unended_facts_free(struct unended_facts *f);

/* After the last event: of a thread that waits. */
void path_unended_of(const struct unended_facts *f, uint32_t thread, struct path_unended *out);

/* Whether a wait of ns that had not ended is a hang. It is none where the chain leads outside, to
 * somebody to ask, or to a thread that is at work; one that sleeps may only be slow
 * (PATH_SLEEPER_NS). */
#define PATH_SLEEPER_NS 5000000000ull /* as record --hung */
bool path_unended_is_hang(const struct path_unended *u, uint64_t ns);
/* Whether it leads outside, as far as is known: to somebody to ask, to a program that is not
 * recorded, to a terminal. */
bool path_unended_is_outside(const struct path_unended *u);

#endif
