/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PIPE records: who has the other end of pipes that threads waited on for long, or still wait on
 * where a file ends.
 */
#include <sys/syscall.h>

#include "lib/host/clock.h"
#include "lib/record/recorder_internal.h"

#define PIPE_NS 100000000 /* a wait of so long: who has the other end is wanted */

/* Direction of a system call that moves data: 1 writes, 0 reads, -1 none. */
static int syscall_direction(int64_t syscall)
{
	switch (syscall) {
	case SYS_read:
	case SYS_readv:
		return 0;
	case SYS_write:
	case SYS_writev:
		return 1;
	default:
		return -1;
	}
}

void recorder_keep_pipe(struct recorder *r, const struct wire_offcpu *wait, bool again)
{
	const struct decode_thread *t = wire_decoder_thread(r->wire, wait->tid);
	int way = syscall_direction(wait->syscall);

	if (wait->object_kind == OBJECT_FD && wait->flags & OFFCPU_OBJECT && way >= 0 && t &&
	    t->ctx)
		pipe_holders_want(&r->waits.pipes, t->tgid, t->process, (uint32_t)wait->object,
				  way == 1, again);
}

void recorder_keep_pipe_of(struct recorder *r, const struct event *ev)
{
	const struct op_def *def = op_builtin(ev->op);
	const struct world_ctx *ctx = world_get_ctx(r->world, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(r->world, ctx->thread) : NULL;
	const struct world_process *p = t ? world_get_process(r->world, t->process) : NULL;
	uint64_t kind, fd, syscall;
	int way;

	if (ev->dur_ns < PIPE_NS || !p || !event_get(ev, def, COL_OBJECT_KIND, &kind) ||
	    kind != OBJECT_FD || !event_get(ev, def, COL_OBJECT, &fd) ||
	    !event_get(ev, def, COL_SYSCALL, &syscall))
		return;
	way = syscall_direction((int64_t)syscall);
	if (way >= 0)
		pipe_holders_want(&r->waits.pipes, p->tgid, t->process, (uint32_t)fd, way == 1,
				  false);
}

struct saying {
	struct recorder *r;
	struct err *e;
	int rc;
};

static void write_holder(struct saying *s, const struct record_pipe_wait *w,
			 const struct record_pipe_holder *h)
{
	struct record rec = { .kind = RECORD_PIPE };

	REC_SET(&rec, PIPE, time_ns, host_clock_mono());
	REC_SET(&rec, PIPE, process, w->process);
	REC_SET(&rec, PIPE, fd, w->fd);
	REC_SET(&rec, PIPE, inode, w->inode);
	REC_SET(&rec, PIPE, write, w->writes);
	REC_SET(&rec, PIPE, holders, w->holders);
	if (h) {
		REC_SET(&rec, PIPE, pid, h->tgid);
		REC_SET(&rec, PIPE, comm, bytes_of(h->comm));
	}
	if (s->rc == 0)
		s->rc = ige_writer_record(s->r->writer, &rec, s->e);
}

static void on_pipe(void *ctx, const struct record_pipe_wait *w)
{
	for (uint32_t i = 0; i < w->holders && i < RECORD_PIPE_HOLDERS; i++)
		write_holder(ctx, w, &w->holder[i]);
	if (!w->holders && !w->unseen)
		write_holder(ctx, w, NULL);
}

int recorder_say_pipes(struct recorder *r, int64_t now, struct err *e)
{
	struct saying s = { r, e, 0 };

	if (pipe_holders_due(&r->waits.pipes, now))
		pipe_holders_find(&r->waits.pipes, host_clock_mono(), on_pipe, &s);
	return s.rc;
}
