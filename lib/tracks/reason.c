/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A phrase is what the anchor does, for whom, and what that one did meanwhile where it is another.
 */
#include "lib/tracks/reason.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/cpp_name.h"
#include "lib/base/shorten.h"
#include "lib/base/timetext.h"
#include "lib/event/op.h"
#include "lib/world/call_site.h"
#include "lib/world/fault_stack.h"
#include "lib/world/frame_parts.h"
#include "lib/world/who.h"

/* One of several that do the same is a straggler: of their time, and times an equal share of it. */
#define LEAD_SHARE 0.5
#define LEAD_TIMES 1.5
#define NEARLY_ALL 0.95 /* the others are not worth a word */

/* Of the anchor, and of another thread that it waits for. */
static const struct {
	const char *own, *other;
} phrases[PATH_CLASSES] = {
	[PATH_UNKNOWN] = { "is unknown: events are missing", "is not known" },
	[PATH_OWN] = { "on the CPU", "was on the CPU" },
	[PATH_CALL] = { "on the CPU", "was on the CPU" },
	[PATH_DEVICE] = { "waits for the device", "waited for the device" },
	[PATH_RECLAIM] = { "frees memory for itself (reclaim)",
			   "freed memory for itself (reclaim)" },
	[PATH_COMPACT] = { "compacts memory for itself", "compacted memory for itself" },
	[PATH_FAULT] = { "waits for pages of a file or of swap",
			 "waited for pages of a file or of swap" },
	[PATH_STOLEN] = { "waits for a CPU that the hypervisor took",
			  "waited for a CPU that the hypervisor took" },
	[PATH_THROTTLED] = { "waits for its cgroup's CPU quota",
			     "waited for its cgroup's CPU quota" },
	[PATH_WAKE_UP] = { "wakes up late", "woke up late" },
	[PATH_TAKEN] = { "waits for a CPU", "waited for a CPU" },
	[PATH_CPU_OTHER] = { "waits for a CPU; who had it is not known", "waited for a CPU" },
	[PATH_YIELD] = { "yields its CPU", "yielded its CPU" },
	[PATH_LOCK] = { "waits for a lock; who held it is not known", "waited for a lock" },
	[PATH_SLEEP] = { "sleeps", "slept" },
	[PATH_DISK] = { "waits for ", "waited for " },
	[PATH_CHILD] = { "waits for a child process", "waited for a child process" },
	[PATH_STOPPED] = { "is stopped by a signal", "was stopped by a signal" },
	[PATH_FROZEN] = { "is frozen with its cgroup", "was frozen with its cgroup" },
	[PATH_DEMAND] = { "waits for somebody to ask", "waited for somebody to ask" },
	[PATH_REPLY] = { "waits for an answer over a socket",
			 "waited for an answer over a socket" },
	[PATH_SEND] = { "waits until the other end of a socket takes what it sends",
			"waited until the other end of a socket took what it sent" },
	[PATH_LOSSY] = { "waits for a connection that loses segments",
			 "waited for a connection that loses segments" },
	[PATH_RECORDER] = { "is stopped by the recorder", "was stopped by the recorder" },
	[PATH_OUTSIDE] = { "waits for a socket or descriptors",
			   "waited for a socket or descriptors" },
	[PATH_BLOCKED] = { "waits", "waited" },
	[PATH_UNENDED] = { "waits to the end", "waited to the end" },
	[PATH_TOO_DEEP] = { "waits through too many threads", "waited for too many others" },
};

static void print_disk(struct buf *out, uint32_t device)
{
	if (device)
		buf_printf(out, "disk %u:%u", device >> 20, device & 0xfffff);
	else
		buf_puts(out, "a disk");
}

/* Those that did the same, with its share where one of them is a straggler. */
static void print_like(struct buf *out, const struct path_cause *c)
{
	double share = c->ns ? (double)c->lead_ns / (double)c->ns : 0;

	if (share >= NEARLY_ALL)
		return;
	if (share >= LEAD_SHARE && share * c->threads >= LEAD_TIMES)
		buf_printf(out, " (%.0f%%)", share * 100);
	buf_printf(out, " and %" PRIu32 " more like it", c->threads - 1);
}

void reason_print_culprit(struct buf *out, const struct track_names *names,
			  const struct path_cause *c)
{
	const struct path_culprit *who = path_culprit_get(&names->culprits, c->culprit);

	if (who) {
		bool as_process = c->class == PATH_TAKEN &&
				  !path_culprit_is_thread(&names->culprits, c->culprit, c->lead);

		if (as_process && !c->other_process)
			buf_puts(out, "other threads of ");
		if (as_process)
			who_print_process(out, names->w, c->lead, INT64_MAX);
		else
			who_print_thread(out, names->w, c->lead, INT64_MAX);
		if (c->alike)
			buf_printf(out, " and %" PRIu32 " %s", c->threads - 1,
				   c->threads == 2 ? "other" : "others");
		else if (c->threads > 1)
			print_like(out, c);
	} else if (c->class == PATH_DISK && c->device) {
		print_disk(out, c->device);
	}
}

/* So much of a cause has to have CPU samples for these to say where it was. */
#define SAMPLED_SHARE 0.1
/* A line with less of it is not the only one worth a look. */
#define MAIN_SHARE 0.6
/* Another function with so much of it is. */
#define SECOND_SHARE 0.25
/* A line with less of it does not say where it was: it has many, or most of it has none. */
#define PLACE_SHARE 0.05
/* A piece that is so much of a cause, and so long, is reported by itself: of several pieces it is
 * the slow one. */
#define ONCE_SHARE  0.5
#define ONCE_NS	    10000000
#define ONCE_PIECES 10

/* A name of a C++ template may be as long as a page. */
#define NAME_MAX_BYTES 96

static void print_frame(struct buf *out, const struct world *w, uint32_t frame)
{
	struct buf text = { 0 };

	track_names_print(&text, w, frame);
	shorten_one(out, buf_bytes(&text), NAME_MAX_BYTES);
	out->failed |= text.failed;
	buf_free(&text);
}

/* Functions in which threads wait for each other or sleep: their names add nothing to the
 * phrase. */
static bool is_waiting_function(struct bytes name)
{
	static const char *const all[] = { "pthread_",	      "futex",	   "lll_",	 "sem_",
					   "clock_nanosleep", "nanosleep", "poll",	 "epoll_",
					   "select",	      "syscall",   "sched_yield" };

	while (name.n && name.p[0] == '_')
		name = (struct bytes){ name.p + 1, name.n - 1 };
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (name.n >= strlen(all[i]) && memcmp(name.p, all[i], strlen(all[i])) == 0)
			return true;
	return false;
}

/* ", in fsync": what the culprit's line called. The libraries of C need no name. */
static void print_inner(struct buf *out, const struct world *w, uint32_t frame)
{
	struct place p = place_of(w, frame);
	const char *version = p.function.n ? memchr(p.function.p, '@', p.function.n) : NULL;
	struct buf name = { 0 };

	if (world_is_fault(w, frame)) {
		buf_puts(out, ", in page faults");
		return;
	}
	if (p.kind != FRAME_NATIVE) {
		buf_puts(out, ", in ");
		print_frame(out, w, frame);
		return;
	}
	if (version)
		p.function.n = (size_t)(version - p.function.p);
	if (!p.function.n || is_waiting_function(p.function))
		return;
	buf_puts(out, ", in ");
	cpp_name_print(&name, p.function);
	shorten_one(out, buf_bytes(&name), NAME_MAX_BYTES);
	out->failed |= name.failed;
	buf_free(&name);
	if (!call_site_passes_on(w, frame))
		buf_printf(out, " (%.*s)", (int)bytes_file_name(p.module).n, bytes_file_name(p.module).p);
}

/* What it was in: the call, the line. */
static void print_line(struct buf *out, const struct world *w, const struct path_cause *c,
		       const struct path_cause_line *line)
{
	const struct op_def *op = line->op ? world_op(w, line->op) : NULL;

	if (c->class == PATH_OWN && op && !line->sampled) {
		buf_printf(out, line->line ? ", after %s in " : ", after %s", op->name);
	} else if (op) {
		buf_printf(out, line->line ? " in %s called from " : " in %s", op->name);
	} else if (line->line) {
		buf_puts(out, c->event_loop == EVENT_LOOP_BEFORE_TASK ? " before " : " in ");
	}
	if (line->line)
		print_frame(out, w, line->line);
	if (line->line && line->inner && !op)
		print_inner(out, w, line->inner);
}

static bool is_same_function(const struct world *w, const struct path_cause_line *a,
			     const struct path_cause_line *b)
{
	return a == b ||
	       (a->line && b->line &&
		place_same_function(w, a->line & ~FRAME_FUNCTION, b->line & ~FRAME_FUNCTION));
}

/* Of lines of CPU samples, or (sampled false) of all that are known, those of the function with
 * most; NULL: there is none. but: not those of its function. *ns: all of them. */
static const struct path_cause_line *main_function(const struct path_cause *c,
						   const struct world *w, bool sampled,
						   const struct path_cause_line *but, uint64_t *ns)
{
	const struct path_cause_line *best = NULL;

	*ns = 0;
	for (unsigned i = 0; i < c->nlines; i++) {
		const struct path_cause_line *line = &c->lines[i];
		uint64_t sum = 0;

		if (sampled ? !line->sampled || !line->line : !line->line && !line->op)
			continue;
		if (but && is_same_function(w, line, but))
			continue;
		for (unsigned k = 0; k < c->nlines; k++)
			if ((!sampled || c->lines[k].sampled) &&
			    is_same_function(w, line, &c->lines[k]))
				sum += c->lines[k].ns;
		if (sum <= *ns)
			continue;
		*ns = sum;
		best = line;
	}
	return best;
}

/* What to name: of CPU samples where there are some. */
struct named_lines {
	const struct path_cause_line *first, *second; /* NULL: none */
	double first_share, second_share; /* of what could have been named; of all of a function */
};

static struct named_lines name_lines(const struct path_cause *c, const struct world *w)
{
	struct named_lines n = { 0 };
	uint64_t sampled = 0, of, ns;

	for (unsigned i = 0; i < c->nlines; i++)
		sampled += c->lines[i].sampled && c->lines[i].line ? c->lines[i].ns : 0;
	if ((double)sampled < SAMPLED_SHARE * (double)c->ns)
		sampled = 0;
	of = sampled ? sampled : c->ns;
	n.first = main_function(c, w, sampled, NULL, &ns);
	n.first_share = n.first && of ? (double)ns / (double)of : 0;
	/* Of own code another function with much of it, as one that is called at several lines, or
	 * by signals. */
	if (!n.first || c->class != PATH_OWN || c->culprit)
		return n;
	n.second = main_function(c, w, sampled, n.first, &ns);
	n.second_share = n.second && of ? (double)ns / (double)of : 0;
	if (n.second_share < SECOND_SHARE)
		n.second = NULL;
	return n;
}

/* Whether most of it was one piece, which is then at the line that is named. */
static bool is_one_piece(const struct path_cause *c, const struct path_cause_line *line)
{
	return c->pieces >= ONCE_PIECES && c->longest_ns >= ONCE_NS &&
	       (double)c->longest_ns >= ONCE_SHARE * (double)c->ns && line->ns >= c->longest_ns;
}

static const char *const objects[] = {
	[OBJECT_FUTEX] = " for a lock or a condition",
	[OBJECT_GIL] = " for Python's interpreter lock",
	[OBJECT_FD] = " for a pipe or file",
	[OBJECT_TIMER] = " of its sleep",
	[OBJECT_DISK] = " for a disk",
	[OBJECT_FAULT] = " for pages of a file or of swap",
	[OBJECT_GPU] = " for the device",
	[OBJECT_CHILD] = " for a child process",
	[OBJECT_STOP] = ", stopped by a signal",
	[OBJECT_POLL] = " for a socket or descriptors",
	[OBJECT_SOCKET] = " for a socket or descriptors",
	[OBJECT_FREEZER] = ", frozen with its cgroup",
	[OBJECT_PROBE] = " at a probe for the memory map",
	[OBJECT_MAP] = " for the lock of its memory map",
};

/* What a wait that has not ended is for. */
static void print_object(struct buf *out, uint8_t object)
{
	if (object < sizeof(objects) / sizeof(objects[0]) && objects[object])
		buf_puts(out, objects[object]);
}

/* What has another subject than the anchor. False: nothing was written. */
static bool print_taken(struct buf *out, const struct track_names *names,
			const struct path_cause *c)
{
	if (c->class == PATH_RECORDER) {
		buf_puts(out,
			 c->object == OBJECT_PROBE
				 ? "a probe of ingero-record waits for the memory map (mmap_lock)"
				 : "ingero-record had the CPU, or stopped it to attach");
		return true;
	}
	if (c->class != PATH_TAKEN)
		return false;
	reason_print_culprit(out, names, c);
	buf_puts(out, " had the CPU");
	return true;
}

/* past: also where it is the anchor itself. */
static void print_doing(struct buf *out, const struct path_cause *c, bool past)
{
	if (c->class == PATH_SLEEP && c->pace == PACE_KEPT)
		buf_puts(out, past ? "idled, paced by a sleep" : "idles, paced by a sleep");
	else if (c->poll.interval_us)
		buf_puts(out, past ? "polled" : "polls");
	else if (c->event_loop && c->class == PATH_OUTSIDE)
		buf_printf(out, "%s in its event loop for a %s", past ? "waited" : "waits",
			   c->timed_out ? "timer" : "socket or descriptors");
	else
		buf_puts(out, past ? phrases[c->class].other : phrases[c->class].own);
}

void reason_print_poll(struct buf *out, const struct poll *poll)
{
	char text[48];

	buf_printf(out, " every %s, about %.0f times in a row",
		   duration_text(text, sizeof(text), poll->interval_us * UINT64_C(1000)),
		   (double)poll->times);
}

/* What the culprit has that is waited for; "": what it does. */
static const char *what_is_had(const struct path_cause *c)
{
	if (c->occupied)
		return "a CPU of ";
	if (!c->exclusion && !c->waiter)
		return "";
	if (c->object == OBJECT_MAP)
		return "the memory map's lock (mmap_lock) of ";
	return c->gil ? "the interpreter lock (GIL) of " : "a lock of ";
}

/* What happened, from the verb on. */
static void print_phrase(struct buf *out, const struct track_names *names,
			 const struct path_cause *c, bool past)
{
	bool other = c->culprit && !c->resumed;
	const struct path_cause_line *line;
	struct named_lines named;
	char text[48];

	if (other) {
		buf_puts(out, past ? "waited" : "waits");
		if (c->waiter) {
			buf_puts(out, " for ");
			who_print_thread(out, names->w, c->waiter, INT64_MAX);
			buf_puts(out, ", which waited");
		}
		buf_printf(out, " for %s", what_is_had(c));
		if (c->holder && !c->occupied) {
			who_print_thread(out, names->w, c->holder, INT64_MAX);
			buf_puts(out, ", which waited for ");
		}
		reason_print_culprit(out, names, c);
		buf_puts(out, ", which ");
	}
	print_doing(out, c, other || past);
	if (c->timed_out && !c->event_loop)
		buf_puts(out, " until its time-out, woken by nobody,");
	if (c->class == PATH_UNENDED)
		print_object(out, c->object);
	if (c->class == PATH_DISK)
		print_disk(out, c->device);
	named = name_lines(c, names->w);
	line = named.first_share < PLACE_SHARE ? NULL : named.first;
	if (line)
		print_line(out, names->w, c, line);
	if (line && named.first_share < MAIN_SHARE) {
		buf_printf(out, " (%.0f%%)", named.first_share * 100);
		if (named.second) {
			buf_puts(out, ", ");
			print_frame(out, names->w, named.second->line);
			buf_printf(out, " (%.0f%%)", named.second_share * 100);
		}
		if (!named.second || named.first_share + named.second_share < NEARLY_ALL)
			buf_puts(out, " and elsewhere");
	}
	if (c->poll.interval_us)
		reason_print_poll(out, &c->poll);
	if (line && is_one_piece(c, line))
		buf_printf(out, ", %s of it at once",
			   duration_text(text, sizeof(text), c->longest_ns));
	if (c->resumed) {
		buf_puts(out, " until ");
		reason_print_culprit(out, names, c);
		buf_puts(out, " let it go on");
	}
}

void reason_print(struct buf *out, const struct track_names *names, const struct path_cause *c)
{
	if (!print_taken(out, names, c))
		print_phrase(out, names, c, false);
}

void reason_print_past(struct buf *out, const struct track_names *names, const struct path_cause *c)
{
	if (print_taken(out, names, c))
		return;
	buf_puts(out, "it ");
	print_phrase(out, names, c, true);
}
