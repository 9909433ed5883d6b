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

#include "lib/input/join.h"

struct one {
	struct ige_reader *reader;
	const char *name;
};

struct input {
	unsigned n;
	struct one *each;
	struct event_stream *stream;
	bool joined; /* stream is ours to close */
};

static int open_one(struct one *o, struct world *w, const char *name, struct err *e)
{
	struct stat st;
	int fd = STDIN_FILENO;

	o->name = name;
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
	return ige_reader_open(&o->reader, w, fd, true, name, e);
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
	for (unsigned i = 0; i < in->n; i++)
		ige_reader_free(in->each[i].reader);
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
		const struct ige_report *r = ige_reader_report(in->each[i].reader);

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
		const struct ige_report *r = ige_reader_report(in->each[i].reader);

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

bool input_is_empty(const struct input *in)
{
	struct ige_report r = input_report(in);

	return r.empty || (r.events == 0 && r.records == 0);
}
