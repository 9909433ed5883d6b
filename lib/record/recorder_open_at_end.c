/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what has not ended at the end of a file: open calls and sleeping threads. For a run that
 * hangs, this is the main result. In a flight recorder's files it is a separate segment that the
 * memory does not keep: the recording goes on, and gets these calls and waits whole when they end.
 * During a recording, records name the threads that sleep for long.
 */
#include "lib/record/recorder_internal.h"

#define LOCKED_NS 1000000000 /* who has slept so long for a lock: its owner is read */

struct until {
	struct recorder *r;
	int64_t until_ns;
};

static void on_still(void *ctx, const struct wire_still *w)
{
	const struct until *s = ctx;
	struct wire_offcpu wait = w->wait;
	uint64_t since_ns = wait.end_ns - wait.dur_ns;

	if ((int64_t)since_ns >= s->until_ns)
		return;
	if ((int64_t)wait.end_ns > s->until_ns) {
		wait.end_ns = (uint64_t)s->until_ns;
		wait.dur_ns = wait.end_ns - since_ns;
	}
	if (w->who.kind)
		wire_decoder_record(s->r->wire, &w->who, sizeof(w->who));
	wire_decoder_record(s->r->wire, &wait, sizeof(wait));
	if (wait.flags & OFFCPU_OUTSIDE)
		return;
	recorder_keep_lock(s->r, &wait);
	recorder_keep_pipe(s->r, &wait, true);
}

int recorder_say_asleep(struct recorder *r, int64_t until_ns, struct err *e)
{
	struct until s = { r, until_ns };
	int rc = probe_session_asleep(r->session, on_still, &s, e);

	if (rc == 0)
		rc = recorder_say_owners(r, e);
	return rc ? rc : recorder_say_pipes(r, INT64_MAX, e);
}

/* Whether a wait is inside a call or of a process's first thread. A hanging run hangs there, and
 * its other idle threads may be thousands. */
static bool is_relevant(const struct recorder *r, const struct wire_offcpu *wait)
{
	const struct decode_thread *t = wire_decoder_thread(r->wire, wait->tid);

	return wait->depth || (t && t->tgid == t->tid);
}

static void on_sleeper(void *ctx, const struct wire_still *w)
{
	struct recorder *r = ctx;
	struct record rec = { 0 };

	if (w->wait.flags & OFFCPU_OUTSIDE)
		return;
	if (sleepers_sleeps(&r->waits.locked, w->wait.tid,
			    (int64_t)(w->wait.end_ns - w->wait.dur_ns), (int64_t)w->wait.end_ns,
			    false)) {
		recorder_keep_lock(r, &w->wait);
		recorder_keep_pipe(r, &w->wait, false);
	}
	if (r->event_error.code ||
	    !sleepers_sleeps(&r->waits.sleepers, w->wait.tid,
			     (int64_t)(w->wait.end_ns - w->wait.dur_ns), (int64_t)w->wait.end_ns,
			     is_relevant(r, &w->wait)))
		return;
	if (w->who.kind == WIRE_THREAD)
		wire_decoder_record(r->wire, &w->who, sizeof(w->who));
	r->waits.record = &rec;
	wire_decoder_record(r->wire, &w->wait, sizeof(w->wait));
	r->waits.record = NULL;
	if (rec.kind)
		ige_writer_record(r->writer, &rec, &r->event_error);
}

int recorder_look_at_sleepers(struct recorder *r, int64_t now, struct err *e)
{
	int rc;

	/* Nobody reads a memory while it is one, and its files end with who sleeps. */
	if (!r->session || r->opt.flight_ns || !recorder_alive(r) ||
	    (now < r->waits.sleepers.next_ns && now < r->waits.locked.next_ns))
		return 0;
	r->waits.locked.first_ns = LOCKED_NS;
	r->waits.locked.next_ns = r->waits.sleepers.next_ns = 0;
	sleepers_look(&r->waits.sleepers, now);
	sleepers_look(&r->waits.locked, now);
	rc = probe_session_asleep(r->session, on_sleeper, r, e);
	sleepers_looked(&r->waits.sleepers, now);
	sleepers_looked(&r->waits.locked, now);
	if (rc == 0)
		rc = recorder_say_owners(r, e);
	if (rc == 0 && r->event_error.code)
		*e = r->event_error, rc = e->code;
	return rc;
}

static int write_tail(struct recorder *r, struct err *e)
{
	int64_t until = r->watermark;
	int rc = recorder_say_start(r, e);

	if (rc == 0)
		rc = open_call_list_tell(r->session, r->wire, r->writer, until, e);
	if (rc == 0)
		rc = recorder_say_asleep(r, until, e);
	/* Of an error here the recording does not end. */
	if (rc == 0 && r->event_error.code)
		*e = r->event_error, rc = e->code;
	r->event_error.code = 0;
	if (rc == 0)
		rc = ige_writer_flush(r->writer, until, until, true, e);
	return rc ? rc : ige_writer_finish(r->writer, e);
}

int recorder_say_tail(struct recorder *r, int fd, uint64_t *bytes, struct err *e)
{
	struct ige_writer_options form = r->form;
	struct ige_writer *memory = r->writer;
	struct ige_fd_sink sink;
	int rc;

	*bytes = 0;
	if (!r->session || r->event_error.code)
		return 0;
	ige_fd_sink_init(&sink, fd);
	form.salt = (uint64_t)r->watermark; /* no two tails are at the same time */
	r->writer = NULL;
	rc = ige_writer_new(&r->writer, r->world, &sink.sink, &form, e);
	r->at_tail = true;
	if (rc == 0)
		rc = write_tail(r, e);
	r->at_tail = false;
	ige_writer_free(r->writer);
	r->writer = memory;
	*bytes = sink.bytes;
	return rc;
}
