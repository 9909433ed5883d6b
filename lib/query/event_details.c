/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and names the objects of host operations (tasks, locks, files, sockets) for reports. */
#include "lib/query/sections_internal.h"

#include <inttypes.h>
#include <stdint.h>

#include "lib/base/hash.h"
#include "lib/account/names.h"
#include "lib/world/who.h"
#include "lib/base/buf.h"
#include "lib/world/late_names.h"

/* What is not known is left out; of whom nothing is known there is a question mark. */

static void append_text(struct buf *out, const char *before, struct bytes text)
{
	if (text.n) {
		buf_puts(out, before);
		buf_add(out, text.p, text.n);
	}
}

/* "/mnt/x (nfs4, server:/export)", "tcp 192.0.2.1:80", "tcp 127.0.0.1:6379 (redis-server, pid
 * 812)"; "?" when the recording has no name. */
static void query_append_file_label(const struct late_names *t, const struct world *w, uint64_t id,
				    struct buf *out)
{
	const struct late_names_file *f = late_names_file(t, id);

	if (!f || !f->path) {
		buf_putc(out, '?');
		return;
	}
	append_text(out, "", world_text(w, f->path));
	append_text(out, " (", world_text(w, f->fstype));
	if (f->fstype) {
		append_text(out, ", ", world_text(w, f->origin));
		buf_putc(out, ')');
	}
}

static void query_append_socket_label(const struct late_names *t, const struct world *w,
				      uint64_t id, struct buf *out)
{
	const struct late_names_socket *s = late_names_socket(t, id);
	const struct late_names_peer *p = late_names_peer(t, id);

	if (!s || !s->protocol) {
		buf_putc(out, '?');
		return;
	}
	append_text(out, "", world_text(w, s->protocol));
	append_text(out, " ", world_text(w, s->remote ? s->remote : s->local));
	if (!p || (!p->pid && !p->comm))
		return;
	append_text(out, " (", p->comm ? world_text(w, p->comm) : bytes_of("?"));
	if (p->pid)
		buf_printf(out, ", pid %" PRIu32, p->pid);
	buf_putc(out, ')');
}

#define DETAILS_MAX  65536
#define DETAILS_TOLD 64 /* of one operation */
#define NO_SYSCALL   UINT64_MAX

/* What an event was about: id and more say who or what, as about means them; thread: of a task. */
struct about {
	enum view_about about;
	enum part part;
	uint64_t id, more;
	uint32_t thread;
};

static bool add_detail(struct query_details *d, const struct op_def *op, const struct about *x,
		       uint64_t ns)
{
	uint64_t key =
		hash_u64(x->id ^ hash_u64(x->more ^ hash_u64((uint64_t)op->id << 32 |
							     (uint64_t)x->about << 16 | x->part)));
	struct query_detail new = { .row = { .op = op, .about = x->about, .part = x->part },
				    .id = x->id,
				    .more = x->more,
				    .thread = x->thread };
	uint64_t at;

	if (!map_get(&d->by, key, &at)) {
		if (d->v.n >= DETAILS_MAX)
			return true;
		at = d->v.n;
		if (!vec_push(&d->v, new) || !map_put(&d->by, key, at))
			return false;
	}
	d->v.v[at].row.count++;
	d->v.v[at].row.ns += ns;
	return true;
}

bool query_details_event(struct query_details *d, const struct world *w, const struct event *ev,
			 const struct op_def *op)
{
	struct about x = { .part = PART_COUNT };
	const struct world_thread *th;
	bool known;

	switch (ev->op) {
	case OP_SCHED_OFFCPU: /* too late to be put in order: the tasks that ran then are unknown */
		x = (struct about){ VIEW_ABOUT_SYSCALL, PART_COUNT, NO_SYSCALL, 0, 0 };
		event_get(ev, op, COL_SYSCALL, &x.id);
		event_get(ev, op, COL_OBJECT_KIND, &x.more);
		known = ev->dur_ns > 0;
		break;
	case OP_SCHED_OCCUPIED:
		x.about = VIEW_ABOUT_TASK;
		known = event_get(ev, op, COL_OCCUPANT, &x.more);
		x.thread = (uint32_t)x.more;
		th = known ? world_get_thread(w, x.thread) : NULL;
		if (th && th->process) { /* threads of one process are one */
			x.id = th->process;
			x.more = 0;
		}
		break;
	case OP_IO_BLOCK:
		x.about = VIEW_ABOUT_DEVICE;
		known = event_get(ev, op, COL_DEVICE, &x.id);
		break;
	case OP_NET_SOCKET:
	case OP_NET_RETRANSMIT:
		x.about = VIEW_ABOUT_SOCKET;
		known = event_get(ev, op, COL_SOCKET, &x.id);
		break;
	case OP_IO_FILE:
	case OP_MEM_FAULT:
		x.about = VIEW_ABOUT_FILE;
		known = event_get(ev, op, COL_FILE, &x.id);
		break;
	default:
		return true;
	}
	return !known || add_detail(d, op, &x, ev->dur_ns);
}

/* Ready to run, and not running. */
#define WAITING                                                                                   \
	(1u << PART_PREEMPTED | 1u << PART_RUNQ | 1u << PART_CPU_IDLE | 1u << PART_WAIT_UNKNOWN | \
	 1u << PART_THROTTLED | 1u << PART_STOLEN)

bool query_details_offcpu(struct query_details *d, const struct line_piece *p)
{
	uint64_t all = (uint64_t)(p->end_ns - p->start_ns), named[PART_COUNT] = { 0 };
	struct about slept = { VIEW_ABOUT_SYSCALL, PART_COUNT, NO_SYSCALL, 0, 0 };

	for (unsigned i = 0; i < p->parts->nculprits; i++) {
		const struct part_culprit *c = &p->parts->c[i];
		struct about by = { VIEW_ABOUT_TASK, (enum part)c->part, c->culprit, 0, 0 };
		uint64_t ns = c->ns < all ? c->ns : all;

		if (ns && !add_detail(d, p->op, &by, ns))
			return false;
		all -= ns;
		named[c->part < PART_COUNT ? c->part : 0] += ns;
	}
	for (unsigned i = 0; i < PART_COUNT; i++) {
		struct about state = { VIEW_ABOUT_STATE, (enum part)i, i, 0, 0 };
		uint64_t ns = WAITING >> i & 1 ? parts_get(p->parts, (enum part)i) : 0;

		ns = ns > named[i] ? ns - named[i] : 0;
		ns = ns < all ? ns : all;
		if (ns && !add_detail(d, p->op, &state, ns))
			return false;
		all -= ns;
	}
	if (all == 0)
		return true;
	event_get(p->ev, p->op, COL_SYSCALL, &slept.id);
	event_get(p->ev, p->op, COL_OBJECT_KIND, &slept.more);
	return add_detail(d, p->op, &slept, all);
}

void query_details_record(struct query_details *d, const struct record *rec)
{
	if (rec->kind == RECORD_NODE && REC_HAS(rec, NODE, arch))
		d->arch = syscall_arch_of(rec->u.NODE.arch);
}

static void task_text(const struct query_detail *x, const struct world *w,
		      const struct culprits *culprits, struct buf *out)
{
	static const struct tally none; /* names of processes are then those of their threads */
	const struct world_process *p;
	struct bytes comm;

	if (x->row.part != PART_COUNT) {
		name_culprit_full(out, w, &none, culprit_get(culprits, (uint32_t)x->id));
		return;
	}
	/* All threads of a process are one row. */
	comm = world_text(w, world_process_name(w, (uint32_t)x->id, 0, INT64_MAX));
	p = world_get_process(w, (uint32_t)x->id);
	if (p)
		buf_printf(out, "%.*s (pid %u)", (int)comm.n, comm.n ? comm.p : "", p->tgid);
	else
		who_print_thread(out, w, x->thread, INT64_MAX);
}

static void syscall_text(const struct query_details *d, const struct query_detail *x,
			 struct buf *out)
{
	static const char *const objects[] = {
		"",	  "", "",	    " (sleep)", " (disk)",   " (page fault)",
		" (GPU)", "", " (stopped)", "",		" (socket)", [OBJECT_MAP] = " (memory map)"
	};
	const char *name = syscall_name(d->arch, x->id);

	if (x->id == NO_SYSCALL)
		buf_puts(out, x->more == OBJECT_FAULT	? "page fault"
			      : x->more == OBJECT_STOP	? "stopped"
			      : x->more == OBJECT_PROBE ? "ingero-record's probe"
			      : x->more == OBJECT_MAP	? "page fault (memory map)"
							: "cause not recorded");
	else if (name)
		buf_puts(out, name);
	else
		buf_printf(out, "system call %llu", (unsigned long long)x->id);
	if (x->id != NO_SYSCALL && x->more < sizeof(objects) / sizeof(objects[0]) &&
	    objects[x->more])
		buf_puts(out, objects[x->more]);
}

static void text_of(const struct query_details *d, const struct query_detail *x,
		    const struct world *w, const struct late_names *late_names,
		    const struct culprits *culprits, struct buf *out)
{
	switch (x->row.about) {
	case VIEW_ABOUT_TASK:
		task_text(x, w, culprits, out);
		break;
	case VIEW_ABOUT_SYSCALL:
		syscall_text(d, x, out);
		break;
	case VIEW_ABOUT_FILE:
		query_append_file_label(late_names, w, x->id, out);
		break;
	case VIEW_ABOUT_DEVICE:
		name_device(out, x->id);
		break;
	case VIEW_ABOUT_SOCKET:
		query_append_socket_label(late_names, w, x->id, out);
		break;
	case VIEW_ABOUT_STATE:
		buf_puts(out, part_text(x->row.part));
		break;
	case VIEW_ABOUT_OTHER:
		break;
	}
}

static int compare_by_op(const void *a, const void *b)
{
	const struct view_detail *x = a, *y = b;

	if (x->op->id != y->op->id)
		return x->op->id < y->op->id ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->about != y->about)
		return x->about < y->about ? -1 : 1;
	return (x->text > y->text) - (x->text < y->text);
}

static int by_text(const void *a, const void *b)
{
	const struct view_detail *x = a, *y = b;

	if (x->op->id != y->op->id)
		return x->op->id < y->op->id ? -1 : 1;
	if (x->about != y->about)
		return x->about < y->about ? -1 : 1;
	return (x->text > y->text) - (x->text < y->text);
}

static void in_order(struct view *v, int (*of)(const void *, const void *))
{
	if (v->details.n)
		qsort(v->details.v, v->details.n, sizeof(*v->details.v), of);
}

/* Merges details whose text is the same: sockets to one server, a file met by two ids. They are
 * then sorted by their sum. */
static void merge_same_text(struct view *v)
{
	size_t n = 0;

	in_order(v, by_text);
	for (size_t i = 0; i < v->details.n; i++) {
		struct view_detail x = v->details.v[i], *last = n ? &v->details.v[n - 1] : NULL;

		if (last && (x.about == VIEW_ABOUT_SOCKET || x.about == VIEW_ABOUT_FILE) &&
		    by_text(last, &x) == 0) {
			last->count += x.count;
			last->ns += x.ns;
		} else {
			v->details.v[n++] = x;
		}
	}
	v->details.n = n;
	in_order(v, compare_by_op);
}

/* Adds up what is beyond the first DETAILS_TOLD details of an operation into one more. */
static void fold_rest(struct view *v, uint32_t other)
{
	size_t n = 0, of_op = 0;

	for (size_t i = 0; i < v->details.n; i++) {
		struct view_detail x = v->details.v[i], *last = n ? &v->details.v[n - 1] : NULL;

		of_op = last && last->op == x.op ? of_op : 0;
		if (of_op < DETAILS_TOLD) {
			v->details.v[n++] = x;
			of_op++;
			continue;
		}
		last->count += x.count;
		last->ns += x.ns;
		last->about = VIEW_ABOUT_OTHER;
		last->part = PART_COUNT;
		last->text = other;
	}
	v->details.n = n;
	in_order(v, compare_by_op);
}

bool query_details_rows(const struct query_details *d, struct world *w,
			const struct late_names *late_names, const struct culprits *culprits,
			struct view *v)
{
	struct buf text = { 0 };
	bool good = true;

	v->details.n = 0;
	for (size_t i = 0; good && i < d->v.n; i++) {
		struct view_detail row = d->v.v[i].row;

		buf_reset(&text);
		text_of(d, &d->v.v[i], w, late_names, culprits, &text);
		row.text = text.failed ? 0 : world_string(w, buf_bytes(&text));
		good = !text.failed && row.text && vec_push(&v->details, row);
	}
	buf_free(&text);
	merge_same_text(v);
	fold_rest(v, world_string(w, bytes_of("all else")));
	return good;
}

void query_details_free(struct query_details *d)
{
	vec_free(&d->v);
	map_free(&d->by);
}
