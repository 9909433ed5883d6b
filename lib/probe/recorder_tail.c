/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has not ended where a file ends: calls that are open, threads that sleep. Of a run that hangs it is what its file is
 * for. A flight recorder's files get it as a segment of their own that the memory does not keep, since the recording goes on:
 * there these calls and waits will be, whole, when they are over.
 */
#include "lib/probe/recorder_state.h"

struct sleepers {
	struct probe_recorder *r;
	int64_t until_ns;
};

static void on_still(void *ctx, const struct wire_still *w)
{
	const struct sleepers *s = ctx;
	struct wire_offcpu wait = w->wait;
	uint64_t since_ns = wait.end_ns - wait.dur_ns;

	if ((int64_t)since_ns >= s->until_ns)
		return;
	if ((int64_t)wait.end_ns > s->until_ns) {
		wait.end_ns = (uint64_t)s->until_ns;
		wait.dur_ns = wait.end_ns - since_ns;
	}
	if (w->who.kind == WIRE_THREAD)
		probe_wire_record(s->r->wire, &w->who, sizeof(w->who));
	probe_wire_record(s->r->wire, &wait, sizeof(wait));
}

int probe_recorder_say_asleep(struct probe_recorder *r, int64_t until_ns, struct err *e)
{
	struct sleepers s = { r, until_ns };

	return probe_session_asleep(r->session, on_still, &s, e);
}

static int say(struct probe_recorder *r, struct err *e)
{
	int64_t until = r->watermark;
	int rc = probe_recorder_say_start(r, e);

	if (rc == 0)
		rc = probe_opens_tell(r->session, r->wire, r->writer, until, e);
	if (rc == 0)
		rc = probe_recorder_say_asleep(r, until, e);
	/* Of an error here the recording does not end. */
	if (rc == 0 && r->event_error.code)
		*e = r->event_error, rc = e->code;
	r->event_error.code = 0;
	if (rc == 0)
		rc = ige_writer_flush(r->writer, until, until, true, e);
	return rc ? rc : ige_writer_finish(r->writer, e);
}

int probe_recorder_say_tail(struct probe_recorder *r, int fd, uint64_t *bytes, struct err *e)
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
		rc = say(r, e);
	r->at_tail = false;
	ige_writer_free(r->writer);
	r->writer = memory;
	*bytes = sink.bytes;
	return rc;
}
