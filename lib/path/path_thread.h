/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of one thread: its log up to where everything is known of it, and behind that what
 * happened inside calls that have not returned. A log ends at the end of the last event that lay in
 * no call: events come in the order of their ends, so that nothing which comes later reaches back
 * before it, but for a memory section (PATH_LAG_NS).
 */
#ifndef INGERO_PATH_THREAD_H
#define INGERO_PATH_THREAD_H

#include "lib/base/vec.h"
#include "lib/attrib/losses.h"
#include "lib/attrib/moves.h"
#include "lib/path/segment_log.h"
#include "lib/loops/stack_calls.h"
#include "lib/path/timed_waits.h"

/* Part of a thread's time inside a call that has not returned. */
struct tail_part {
	int64_t start_ns;
	struct segment s;
};

/* A piece of a path that waits until more is known of a thread (path_walk.h). */
struct pending_piece {
	struct segment s; /* of whom it waits for: WAITING or RUNNABLE */
	int64_t start_ns; /* of s */
	int64_t from_ns, to_ns;
	int64_t need_ns;   /* so far the thread has to be known */
	int64_t expire_ns; /* after this it is resolved with what is known by then */
	uint32_t key;	   /* of s */
	uint32_t track, thread, occupant, via, waiter, holder;
	enum segment_lock lock;
	unsigned depth;
};

struct path_thread {
	/* What every call needs comes first. */
	struct segment_log log;
	uint32_t id;	 /* world thread id */
	uint32_t own;	 /* key of own code behind the last outermost call; 0: there was none */
	uint32_t sample; /* stack of the last CPU sample since another event outside calls */
	struct stack_call sampled; /* the call that it was taken in */
	uint32_t yields; /* stack of the last CPU sample in sched_yield since its first; 0 none */
	uint32_t track;	 /* number of its track, plus one; 0: it is no anchor */
	size_t walk_at;	 /* segments of the log that make it worth while to walk the track */
	struct timed_waits timed; /* not known yet who ended them */
	uint32_t sender; /* who may have sent what ended its newest wait (path_sockets.c); 0 nobody
			  */
	uint32_t awaits; /* stack of a wait of its event loop that is the newest, and it is not
			    known which task goes on; 0: there is none */
	int64_t awaits_ns;	    /* when that began */
	int64_t polled_ns;	    /* end of its newest wait for several descriptors */
	VEC(struct tail_part) tail; /* in order, without overlap, none before the log's end */
	VEC(struct pending_piece) pending; /* that wait for this thread */
	int64_t pending_ns;		   /* the least need_ns of them */
	int64_t socket_since_ns; /* a wait that begins then, and is to come, is for `socket` */
	uint64_t socket;	 /* its id; 0: there is none */
	/* When the wait that `sender` may have ended began and ended: lower halves of its times, as
	 * there are many threads. */
	uint32_t sender_start, sender_end;
	uint32_t process, node; /* world ids */
	uint32_t creator;	/* the thread that made it where its log begins; 0 not known */
	bool yielded;
	bool exited, outside; /* outside: of no recorded process */
	bool over;	      /* it is about to be forgotten */
	struct moves *moves;  /* NULL: it has not been moved between run queues */
};

void path_thread_free(struct path_thread *th);

/* Where all that is known of the thread ends; INT64_MIN: nothing is known. */
int64_t path_thread_end(const struct path_thread *th);

/* Stack of the newest CPU sample or, before one, of the newest outermost call; 0: neither. */
uint32_t path_thread_line(const struct path_thread *th);

/* Whether that is a sample's. */
bool path_thread_is_sampled(const struct path_thread *th);

/* An interval outside of calls, or in depth of them, made of n segments in order, the first from
 * start_ns on. False: out of memory; so do the others return. */
bool path_thread_add(struct path_thread *th, const struct losses *losses, unsigned depth,
		     int64_t start_ns, const struct segment *s, size_t n);

/* A call that returned, or that is open at the end of what there is. */
struct path_call {
	unsigned depth;
	int64_t start_ns, end_ns;
	uint16_t op;
	uint32_t line, site; /* of the event */
	bool sync;	     /* it waits for the device */
};
bool path_thread_call(struct path_thread *th, const struct losses *losses,
		      const struct path_call *c);

/* Stack of what was before the thread's own code; 0: nothing was. */
static inline uint32_t path_thread_before(const struct path_thread *th)
{
	const struct segment *own = th->own ? &segment_key_get(th->log.keys, th->own)->s : NULL;

	return !own ? 0 : own->flags & SEGMENT_SAMPLED ? own->who : own->line;
}

/* The thread's own code from where its log ends. */
static inline struct segment path_thread_own(const struct path_thread *th)
{
	struct segment s = { .state = SEGMENT_OWN };

	if (th->sample && th->sampled.op) {
		s.line = th->sample;
		s.op = th->sampled.op;
		s.state = th->sampled.sync ? SEGMENT_SYNC : SEGMENT_CALL;
		s.flags = th->sampled.sync ? SEGMENT_IN_SYNC : 0;
	} else if (th->sample) {
		s.line = th->sample;
		s.who = path_thread_before(th);
		s.flags = SEGMENT_SAMPLED;
	} else if (th->own) {
		s = segment_key_get(th->log.keys, th->own)->s;
	}
	return s;
}

/* Most calls: an outermost one, behind all that is known of the thread, nothing of note inside it,
 * and no event lost. */
static inline bool path_thread_is_plain(struct path_thread *th, const struct losses *losses,
					int64_t start_ns, int64_t end_ns)
{
	return !th->tail.n && th->log.begun && !(th->sample && th->log.keys->edges->half_ns) &&
	       !th->timed.open && !th->awaits && !losses->n &&
	       end_ns > start_ns && start_ns >= segment_log_end(&th->log) &&
	       vec_reserve(&th->log.v, 2);
}

/* Such a call. False: out of memory. */
static inline bool path_thread_plain_call(struct path_thread *th, const struct path_call *c)
{
	const struct segment in = { .line = c->line,
				    .op = c->op,
				    .state = c->sync ? SEGMENT_SYNC : SEGMENT_CALL,
				    .flags = c->sync ? SEGMENT_IN_SYNC : 0 };
	struct segment_entry *next = &th->log.v.v[th->log.v.n];
	const struct segment_call *keys = segment_call(th->log.keys, th->id, &in, c->site);
	uint32_t own = th->own;

	if (!keys)
		return false;
	/* Two lines on, which was not written to for long. */
	__builtin_prefetch((const char *)next + 128, 1);
	if (c->start_ns > segment_log_end(&th->log)) {
		if (th->sample || !own) {
			const struct segment s = path_thread_own(th);

			own = segment_key(th->log.keys, th->id, &s);
			if (!own)
				return false;
		}
		*next++ = (struct segment_entry){ c->start_ns, own };
		th->log.v.n++;
	}
	th->sample = 0;
	*next = (struct segment_entry){ c->end_ns, keys->call };
	th->log.v.n++;
	th->own = keys->after;
	return true;
}

/* A memory section: what of it was on a CPU. Outside of calls no further back than reach_ns. */
bool path_thread_section(struct path_thread *th, const struct losses *losses, unsigned depth,
			 int64_t start_ns, int64_t reach_ns, const struct segment *s,
			 uint16_t blocked);

/* A CPU sample outside of calls that were recorded; in: the one that it was taken in. */
bool path_thread_sample(struct path_thread *th, const struct losses *losses, int64_t at_ns,
			uint32_t line, const struct stack_call *in);

/* Waits since then that ran into their time-out are of this state, which is that of the wait that
 * followed, or UNKNOWN; flags: more of them. */
bool path_thread_restate_timed(struct path_thread *th, int64_t since_ns, enum segment_state state,
			       uint32_t who, uint16_t flags);

/* Such waits that are one with the thread's newest are marked as that one is
 * (path_thread_mark_wait). */
bool path_thread_mark_retried(struct path_thread *th, uint16_t flags, uint32_t who);

/* The wait that began then gets these flags; since_ns INT64_MIN: the last one for several
 * descriptors. who: it was until that thread acted; 0: it stays as it is. *done: there is one. */
bool path_thread_mark_wait(struct path_thread *th, int64_t since_ns, uint16_t flags, uint32_t who,
			   bool *done);

/* A task of its event loop, which waited until then, goes on with that stack. */
bool path_thread_goes_on(struct path_thread *th, uint32_t stack);

/* A signal ended the thread: its last wait would never have ended. False: out of memory. */
bool path_thread_killed(struct path_thread *th);

/* On its CPU until then, for all that is known: calls that were open have no end. */
bool path_thread_until(struct path_thread *th, const struct losses *losses, int64_t to_ns);

#endif
