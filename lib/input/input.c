/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands are opened here and nowhere else: a reader for each, joined when there are several. A
 * single one is passed through as it is, heartbeats and all.
 */
#include "lib/input/input.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/ige/seek.h"
#include "lib/input/join.h"

struct one {
	struct ige_reader *reader;
	struct ige_seek *seek;	   /* once asked for, where it can be */
	bool windowed, unseekable; /* the stream is the seek's; asked in vain */
	const char *name;
	int fd; /* the reader's */
};

struct input {
	unsigned n;
	struct one *each;
	struct world *world;
	struct event_stream *stream;
	bool joined; /* stream is ours to close */
};

static int open_one(struct one *o, struct world *w, const char *name, struct err *e)
{
	struct stat st;
	int fd = STDIN_FILENO;

	o->name = name;
	o->unseekable = true;
	if (strcmp(name, "-") == 0) {
		if (isatty(fd))
			return err_set(e, ERR_USAGE, "no input: name a recording, or pipe one in");
		o->name = "standard input";
		return ige_reader_open(&o->reader, w, fd, false, o->name, e);
	}
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "cannot open %s", name);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(e, ERR_CANNOT, "cannot read %s: it is a directory", name);
	}
	o->unseekable = false;
	o->fd = fd;
	return ige_reader_open(&o->reader, w, fd, true, name, e);
}

static const struct ige_report *report_of(const struct one *o)
{
	return o->windowed ? ige_seek_report(o->seek) : ige_reader_report(o->reader);
}

/* NULL: it has to be read from its beginning; *e then only when memory is short. */
static struct ige_seek *seek_of(struct input *in, struct one *o, struct err *e)
{
	if (o->seek || o->unseekable)
		return o->seek;
	/* Whatever is wrong with it, reading will meet it, and say so. */
	if (ige_seek_open(&o->seek, in->world, o->fd, o->name, e))
		o->unseekable = true;
	return o->seek;
}

int input_end(struct input *in, int64_t *end_ns, bool *has_real, int64_t *real_minus_mono_ns,
	      struct err *e)
{
	*end_ns = INT64_MIN;
	*has_real = false;
	*real_minus_mono_ns = 0;
	for (unsigned i = 0; i < in->n; i++) {
		struct ige_seek *s = seek_of(in, &in->each[i], e);
		struct event_stream *records;
		struct stream_item item;
		int rc;

		if (!s)
			return ERR_CANNOT;
		if (ige_seek_end(s) > *end_ns)
			*end_ns = ige_seek_end(s);
		records = ige_seek_stream(s, INT64_MAX, INT64_MAX, IGE_SEEK_RECORDS, 0);
		while ((rc = records->next(records, &item, e)) > 0) {
			if (item.kind != STREAM_RECORD || item.record->kind != RECORD_CLOCK)
				continue;
			if (item.record->u.CLOCK.mono_ns > *end_ns)
				*end_ns = item.record->u.CLOCK.mono_ns;
			*real_minus_mono_ns =
				item.record->u.CLOCK.real_ns - item.record->u.CLOCK.mono_ns;
			*has_real = true;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

int input_window(struct input *in, int64_t since_ns, int64_t until_ns, struct err *e)
{
	struct event_stream **streams = calloc(in->n, sizeof(*streams)), *join;
	int64_t from = since_ns;

	if (!streams)
		return err_nomem(e);
	/* What lies inside an event of one input may stand in another. */
	for (unsigned i = 0; i < in->n; i++) {
		struct ige_seek *s = seek_of(in, &in->each[i], NULL);
		int64_t reach = s ? ige_seek_reach(s, since_ns, until_ns) : since_ns;

		from = reach < from ? reach : from;
	}
	for (unsigned i = 0; i < in->n; i++) {
		struct one *o = &in->each[i];

		o->windowed = o->seek != NULL;
		streams[i] = o->seek ? ige_seek_stream(o->seek, from, until_ns,
						       IGE_SEEK_EVENTS | IGE_SEEK_RECORDS, 0)
				     : ige_reader_stream(o->reader);
	}
	join = in->joined ? input_join(in->world, streams, in->n) : streams[0];
	free(streams);
	if (!join)
		return err_nomem(e);
	if (in->joined)
		in->stream->close(in->stream);
	in->stream = join;
	return 0;
}

int input_open(struct input **out, struct world *w, const char *const *names, unsigned n,
	       struct err *e)
{
	static const char *const standard[] = { "-" };
	struct input *in = calloc(1, sizeof(*in));
	struct event_stream **streams = NULL;
	int rc = 0;

	*out = NULL;
	if (n == 0) {
		names = standard;
		n = 1;
	}
	if (in)
		in->world = w;
	if (in)
		in->each = calloc(n, sizeof(*in->each));
	streams = calloc(n, sizeof(*streams));
	if (!in || !in->each || !streams) {
		rc = err_nomem(e);
		goto out;
	}
	for (; in->n < n && !rc; in->n++) {
		rc = open_one(&in->each[in->n], w, names[in->n], e);
		if (!rc)
			streams[in->n] = ige_reader_stream(in->each[in->n].reader);
	}
	if (rc)
		goto out;
	in->joined = n > 1;
	in->stream = in->joined ? input_join(w, streams, n) : streams[0];
	if (!in->stream)
		rc = err_nomem(e);
out:
	free(streams);
	if (rc)
		input_free(in);
	else
		*out = in;
	return rc;
}

void input_free(struct input *in)
{
	if (!in)
		return;
	if (in->joined && in->stream)
		in->stream->close(in->stream);
	for (unsigned i = 0; i < in->n; i++) {
		ige_seek_free(in->each[i].seek);
		ige_reader_free(in->each[i].reader);
	}
	free(in->each);
	free(in);
}

struct event_stream *input_stream(struct input *in)
{
	return in->stream;
}

struct ige_reader *input_reader(struct input *in)
{
	return in->n == 1 ? in->each[0].reader : NULL;
}

/* The bytes of an unfinished last block are no damage beside the cut itself. */
static bool only_cut(const struct ige_report *r)
{
	return r->truncated && !r->damaged_blocks &&
	       strncmp(r->first_reason, "the input ends", strlen("the input ends")) == 0;
}

static void say(struct buf *notes, const char *name, const struct ige_report *r)
{
	if ((r->damaged_blocks || r->skipped_bytes) && !only_cut(r)) {
		buf_printf(notes, "%s: damaged at byte %" PRIu64 " (%s): ", name, r->first_damage,
			   r->first_reason);
		if (r->damaged_blocks)
			buf_printf(notes, "%" PRIu64 " blocks in part or whole unusable",
				   r->damaged_blocks);
		if (r->damaged_blocks && r->skipped_bytes)
			buf_puts(notes, ", ");
		if (r->skipped_bytes)
			buf_printf(notes, "%" PRIu64 " bytes passed over", r->skipped_bytes);
		buf_puts(notes, "; the rest was used\n");
	}
	if (r->truncated)
		buf_printf(notes,
			   "%s: truncated: it ends inside a block%s; all whole blocks were used\n",
			   name, r->growing ? " that its recorder is writing" : "");
	else if (r->unterminated && r->growing)
		buf_printf(notes,
			   "%s: its recorder is still writing; this is what it holds so far\n",
			   name);
	else if (r->unterminated)
		buf_printf(notes,
			   "%s: unterminated: its recorder did not end cleanly (killed, or the "
			   "machine "
			   "went down); everything it had written was used\n",
			   name);
	if (r->unknown_blocks)
		buf_printf(notes,
			   "%s: %" PRIu64 " blocks of a newer format version were passed by\n",
			   name, r->unknown_blocks);
}

int input_verdict(const struct input *in, struct buf *notes)
{
	bool damaged = input_report(in).empty;

	if (damaged)
		buf_puts(notes, "the input is empty: there is no recording in it\n");
	for (unsigned i = 0; i < in->n; i++) {
		const struct ige_report *r = report_of(&in->each[i]);

		say(notes, in->each[i].name, r);
		/* The last block of a recording that is being written may be caught half done. */
		if (r->growing && (only_cut(r) || !r->skipped_bytes) && !r->damaged_blocks)
			continue;
		damaged |= r->damaged_blocks || r->skipped_bytes || r->unterminated;
	}
	return damaged ? ERR_DAMAGED : 0;
}

struct ige_report input_report(const struct input *in)
{
	struct ige_report sum = { .empty = true };

	for (unsigned i = 0; i < in->n; i++) {
		const struct ige_report *r = report_of(&in->each[i]);

		sum.segments += r->segments;
		sum.blocks += r->blocks;
		sum.events += r->events;
		sum.records += r->records;
		sum.damaged_blocks += r->damaged_blocks;
		sum.skipped_bytes += r->skipped_bytes;
		sum.unknown_blocks += r->unknown_blocks;
		sum.lost_events += r->lost_events;
		sum.too_new |= r->too_new;
		sum.truncated |= r->truncated;
		sum.unterminated |= r->unterminated;
		sum.growing |= r->growing;
		sum.empty &= r->empty;
	}
	return sum;
}

struct ige_reader *input_one(struct input *in, unsigned i)
{
	return i < in->n ? in->each[i].reader : NULL;
}
