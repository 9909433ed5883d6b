/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands are opened here and nowhere else: a reader for each, joined when there are several. A
 * single one is passed through as it is, heartbeats and all.
 */
#include "lib/input/input.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/input/bundle.h"
#include "lib/input/input_internal.h"
#include "lib/ige/merge_columns.h"
#include "lib/input/join.h"
#include "lib/input/database_input.h"
#include "lib/input/operand.h"

static int open_one(struct input *in, struct one *o, const char *name, struct err *e)
{
	struct world *w = in->world;
	struct stat st = { .st_mode = 0 };
	int fd = STDIN_FILENO, rc;
	bool ours = true; /* as it stands there, and not made anew */

	o->name = name;
	o->unseekable = true;
	if (strcmp(name, "-") == 0) {
		if (isatty(fd))
			return err_set(e, ERR_USAGE, "no input: name a recording, or pipe one in");
		o->name = "standard input";
		return ige_reader_open(&o->reader, w, fd, false, o->name, e);
	}
	fd = input_operand_open(name, e);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		st.st_mode = 0;
	if (pack_looks_so(fd)) {
		int packed = fd;

		rc = input_bundle_open(&fd, w, packed, name, e);
		ours = false;
		close(packed);
		if (rc)
			return rc;
	}
	if (database_input_looks_so(fd)) {
		close(fd);
		ours = false;
		rc = database_input_open(&fd, name, &in->notes, &o->holds, e);
		if (rc)
			return rc;
	}
	o->fd = fd;
	rc = ige_reader_open(&o->reader, w, fd, true, name, e);
	/* So that it need not stay open; where it can have no name it does. */
	if (!rc && in->many && !ours)
		o->made = input_named_give(&in->named, o->fd, in->n);
	o->unseekable = !S_ISREG(st.st_mode) || (in->many && (ours || o->made));
	if (rc || !o->unseekable || !S_ISREG(st.st_mode))
		return rc;
	o->fd = -1;
	return ige_reader_let_go(o->reader, input_path_of(o), e);
}

static void close_around(struct one *o)
{
	if (o->counted)
		o->counted->close(o->counted);
	if (o->shift)
		o->shift->close(o->shift);
	o->counted = o->shift = NULL;
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
		int64_t shift = in->each[i].head.shift_ns, mono;
		uint64_t right = (uint64_t)clock_head_put_right(&in->each[i].head);
		struct stream_item item;
		int rc;

		if (!s)
			return ERR_CANNOT;
		if (ige_seek_end(s) != INT64_MIN && ige_seek_end(s) + shift > *end_ns)
			*end_ns = ige_seek_end(s) + shift;
		records = ige_seek_stream(s, INT64_MAX, INT64_MAX, IGE_SEEK_RECORDS, 0);
		while ((rc = records->next(records, &item, e)) > 0) {
			if (item.kind != STREAM_RECORD || item.record->kind != RECORD_CLOCK)
				continue;
			/* A record holds any number. */
			mono = (int64_t)((uint64_t)item.record->u.CLOCK.mono_ns + (uint64_t)shift);
			if (mono > *end_ns)
				*end_ns = mono;
			if (!record_tells_time(item.record))
				continue;
			*real_minus_mono_ns = (int64_t)((uint64_t)item.record->u.CLOCK.real_ns +
							right - (uint64_t)mono);
			*has_real = true;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The stream of one input on the joined clock. NULL: out of memory. */
static struct event_stream *on_clock(struct input *in, struct one *o, struct event_stream *own)
{
	close_around(o);
	if (in->clock.machines > 1) {
		o->shift = clock_shift_times(in->world, own, &o->head);
		own = o->shift;
	}
	if (in->counts && own) {
		o->counted = input_tally(own, &o->tally, input_report_of(o));
		own = o->counted;
	}
	return own;
}

/* A time of the joined clock on the input's own. What lies at an end of all time stays there. */
static int64_t own_time(const struct one *o, int64_t t)
{
	if (t <= INT64_MIN / 2 || t >= INT64_MAX / 2)
		return t;
	return t - o->head.shift_ns;
}

/* Of one: a later call of the thread shows that those before it had returned, but for calls around
 * it. */
static int opened_in(struct ige_seek *s, int64_t shift_ns, int64_t *from_ns, struct err *e)
{
	struct event_stream *records =
		ige_seek_stream(s, INT64_MAX, INT64_MAX, IGE_SEEK_RECORDS, 0);
	VEC(struct rec_OPEN) calls = { 0 };
	struct stream_item item;
	int rc = 0;

	while (ige_seek_report(s)->unterminated && (rc = records->next(records, &item, e)) > 0) {
		const struct rec_OPEN *call;
		size_t left = 0;

		if (item.kind != STREAM_RECORD || item.record->kind != RECORD_OPEN)
			continue;
		call = &item.record->u.OPEN;
		if (call->at_end)
			continue;
		for (size_t i = 0; i < calls.n; i++)
			if (calls.v[i].thread != call->thread || calls.v[i].depth < call->depth)
				calls.v[left++] = calls.v[i];
		calls.n = left;
		if (!vec_push(&calls, *call))
			rc = err_nomem(e);
		if (rc < 0)
			break;
	}
	for (size_t i = 0; i < calls.n && rc >= 0; i++) {
		/* A record holds any number. */
		int64_t time_ns = (int64_t)((uint64_t)calls.v[i].time_ns + (uint64_t)shift_ns);

		*from_ns = time_ns < *from_ns ? time_ns : *from_ns;
	}
	vec_free(&calls);
	return rc < 0 ? rc : 0;
}

/* From when on events have to be read to know which calls are open at since_ns, of recordings that
 * have no end which says so: the first statement that one is. since_ns: there is none. */
static int opened_from(struct input *in, int64_t since_ns, int64_t *from_ns, struct err *e)
{
	int rc = 0;

	*from_ns = since_ns;
	for (unsigned i = 0; since_ns != INT64_MIN && i < in->n && !rc; i++) {
		struct ige_seek *s = seek_of(in, &in->each[i], NULL);

		if (s)
			rc = opened_in(s, in->each[i].head.shift_ns, from_ns, e);
		else
			*from_ns = INT64_MIN; /* all of it is read */
	}
	return rc;
}

int input_window(struct input *in, int64_t since_ns, int64_t until_ns, bool calls, struct err *e)
{
	struct event_stream **streams = calloc(in->n, sizeof(*streams)), *join;
	int64_t from, opened = since_ns;

	if (!streams)
		return err_nomem(e);
	if (calls && opened_from(in, since_ns, &opened, e)) {
		free(streams);
		return e->code;
	}
	from = opened;
	/* What lies inside an event of one input may stand in another. */
	for (unsigned i = 0; i < in->n; i++) {
		struct ige_seek *s = seek_of(in, &in->each[i], NULL);
		struct one *o = &in->each[i];
		int64_t own = own_time(o, since_ns),
			reach = s ? ige_seek_reach(s, own, own_time(o, until_ns)) : own;

		if (reach < own && since_ns - (own - reach) < from)
			from = since_ns - (own - reach);
	}
	for (unsigned i = 0; i < in->n; i++) {
		struct one *o = &in->each[i];

		o->windowed = o->seek != NULL;
		streams[i] =
			o->seek ? ige_seek_stream(o->seek, own_time(o, from), own_time(o, until_ns),
						  IGE_SEEK_EVENTS | IGE_SEEK_RECORDS, 0)
				: ige_reader_stream(o->reader);
		streams[i] = on_clock(in, o, streams[i]);
		if (!streams[i]) {
			free(streams);
			return err_nomem(e);
		}
	}
	join = in->joined ? input_join(in->world, streams, in->n) : streams[0];
	free(streams);
	if (!join)
		return err_nomem(e);
	if (in->joined)
		in->stream->close(in->stream);
	in->stream = join;
	if (!calls || (opened == since_ns && until_ns == INT64_MAX))
		return 0;
	in->opened = input_opened(in->world, join, opened, since_ns, until_ns);
	return in->opened ? 0 : err_nomem(e);
}

static void free_one(struct one *o)
{
	close_around(o);
	input_tally_free(&o->tally);
	buf_free(&o->holds);
	ige_seek_free(o->seek);
	ige_reader_free(o->reader);
	if (o->made)
		unlink(o->made);
	free(o->made);
}

/* A file named twice, or a copy of it, is one recording; so is a copy that was not finished. */
static void drop_copies(struct input *in)
{
	unsigned n = 0;

	for (unsigned i = 0; i < in->n; i++) {
		struct one *o = &in->each[i], *before = n ? &in->each[n - 1] : NULL;
		enum input_copy copy = before ? input_copy_of(before, o) : INPUT_OTHER;

		/* Of archives that say what they hold it is known. */
		if (copy == INPUT_ALIKE && !input_holds(before, o) && !input_holds(o, before))
			buf_printf(&in->notes,
				   "%s and %s begin with the same segment: if they are one "
				   "recording, its "
				   "events were taken twice\n",
				   before->name, o->name);
		if (copy == INPUT_BEGINNING) {
			buf_printf(&in->notes, "%s holds the beginning of %s: it was read once\n",
				   before->name, o->name);
			free_one(before);
			*before = *o;
			continue;
		}
		if (copy == INPUT_SAME) {
			buf_printf(&in->notes,
				   "%s holds the same recording as %s: it was read once\n", o->name,
				   before->name);
			free_one(o);
			continue;
		}
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each has in->n of them */
		in->each[n++] = *o;
	}
	in->n = n;
}

/* Who holds all of o, of those behind it and of the n in front that stay; *clash: who holds a part
 * of it, or an earlier one, and is not itself held by it. NULL: nobody. */
static const struct one *find_holder(const struct input *in, unsigned n, unsigned i,
				     const struct one **clash)
{
	const struct one *o = &in->each[i], *held = NULL;

	*clash = NULL;
	for (unsigned k = 0; k < in->n && !held; k++) {
		const struct one *other = &in->each[k];
		enum input_held how = k < n || k > i ? input_holds(other, o) : INPUT_HELD_NOT;

		if (how == INPUT_HELD_ALL)
			held = other;
		else if (how != INPUT_HELD_NOT && input_holds(o, other) != INPUT_HELD_ALL)
			*clash = other;
	}
	return held;
}

static int held_apart(const struct one *o, const struct one *clash, struct err *e)
{
	if (o->holds.n)
		return err_set(e, ERR_CANNOT,
			       "%s and %s both hold some recordings, which would be there "
			       "twice: make the archive of the recordings themselves",
			       clash->name, o->name);
	return err_set(e, ERR_CANNOT,
		       "%s holds %s as it was when it had fewer bytes: make the "
		       "archive again from what it was made of",
		       clash->name, o->name);
}

/* What an archive holds already is not taken again. */
static int drop_held(struct input *in, struct err *e)
{
	unsigned n = 0, i;
	int rc = 0;

	for (i = 0; i < in->n && !rc; i++) {
		struct one *o = &in->each[i];
		const struct one *clash, *held = find_holder(in, n, i, &clash);

		if (held) {
			buf_printf(&in->notes,
				   "%s holds the recording%s %s already: nothing of it was added\n",
				   held->name, o->holds.n ? "s of" : "", o->name);
			free_one(o);
			continue;
		}
		if (clash)
			rc = held_apart(o, clash, e);
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each has in->n of them */
		in->each[n++] = *o;
	}
	/* After an error too each stands there once. */
	while (i < in->n)
		in->each[n++] = in->each[i++];
	in->n = n;
	return rc;
}

/* Fits the machines' clocks by collectives, where all inputs can be read twice. */
static int fit_clocks(struct input *in, struct clock_head *heads, struct err *e)
{
	uint32_t machines = in->clock.machines;
	struct clock_fit *fits = calloc(machines + 1, sizeof(*fits));
	struct collective_time_list meetings = { 0 };
	int rc = fits ? 0 : err_nomem(e);

	for (unsigned i = 0; i < in->n && !rc && machines <= CLOCK_FIT_MACHINES; i++) {
		const struct one *o = &in->each[i];
		int fd = o->fd;

		if (!heads[i].known || !input_is_file(o))
			continue;
		if (fd < 0)
			fd = io_open_regular(input_path_of(o), NULL);
		if (fd >= 0)
			rc = collective_times_read(&meetings, fd, o->name, heads[i].machine,
						   heads[i].shift_ns, e);
		if (fd >= 0 && o->fd < 0)
			close(fd);
	}
	if (!rc)
		rc = clock_fit(&meetings, fits, machines, e);
	if (!rc)
		clock_align_fit(heads, in->n, fits);
	vec_free(&meetings.all);
	free(fits);
	return rc;
}

/* Reads the head of each input, then sets their order and clock, then their streams. */
static int align_inputs(struct input *in, struct event_stream **streams, struct err *e)
{
	struct clock_head *heads = calloc(in->n, sizeof(*heads));
	int rc = heads ? 0 : err_nomem(e);

	for (unsigned i = 0; i < in->n && !rc; i++) {
		struct ige_block b;

		rc = ige_reader_block(in->each[i].reader, &b, e);
		if (rc > 0)
			clock_head_take(&in->each[i].head, b.bytes, b.n);
		rc = rc < 0 ? rc : 0;
	}
	if (rc)
		goto out;
	qsort(in->each, in->n, sizeof(in->each[0]), input_copies_order);
	if (in->counts) {
		drop_copies(in);
		rc = drop_held(in, e);
	}
	if (rc)
		goto out;
	for (unsigned i = 0; i < in->n; i++)
		heads[i] = in->each[i].head;
	in->clock = clock_align(heads, in->n);
	if (in->clock.machines > 1)
		rc = fit_clocks(in, heads, e);
	for (unsigned i = 0; i < in->n && !rc; i++) {
		in->each[i].head = heads[i];
		streams[i] = on_clock(in, &in->each[i], ige_reader_stream(in->each[i].reader));
		rc = streams[i] ? 0 : err_nomem(e);
	}
out:
	free(heads);
	return rc;
}

static int open_all(struct input **out, struct world *w, const char *const *names, unsigned n,
		    const int64_t *ahead_ns, bool counted, struct err *e)
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
	in->many = n > 1 && !input_operand_room(n);
	for (; in->n < n && !rc; in->n++) {
		rc = open_one(in, &in->each[in->n], names[in->n], e);
		if (!rc)
			streams[in->n] = ige_reader_stream(in->each[in->n].reader);
		if (ahead_ns && n > 1)
			in->each[in->n].head.ahead_ns = ahead_ns[in->n];
	}
	if (rc)
		goto out;
	in->counts = counted;
	in->joined = n > 1 || counted;
	if (in->joined)
		rc = align_inputs(in, streams, e);
	if (rc)
		goto out;
	in->stream = in->joined ? input_join(w, streams, in->n) : streams[0];
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

int input_open(struct input **out, struct world *w, const char *const *names, unsigned n,
	       struct err *e)
{
	return open_all(out, w, names, n, NULL, false, e);
}

int input_open_ahead(struct input **out, struct world *w, const char *const *names, unsigned n,
		     const int64_t *ahead_ns, struct err *e)
{
	return open_all(out, w, names, n, ahead_ns, false, e);
}

int input_open_counted(struct input **out, struct world *w, const char *const *names, unsigned n,
		       struct err *e)
{
	return open_all(out, w, names, n, NULL, true, e);
}

void input_free(struct input *in)
{
	if (!in)
		return;
	if (in->opened)
		in->opened->close(in->opened);
	if (in->joined && in->stream)
		in->stream->close(in->stream);
	for (unsigned i = 0; i < in->n; i++)
		free_one(&in->each[i]);
	input_named_free(&in->named);
	buf_free(&in->notes);
	free(in->each);
	free(in);
}

bool input_follow(struct input *in)
{
	if (in->n != 1 || in->joined)
		return false;
	ige_reader_follow(in->each[0].reader);
	return true;
}

/* Enters new names of threads into the world, with times on the joined clock. */
static int next_named(struct event_stream *s, struct stream_item *item, struct err *e)
{
	struct input *in = ((struct input_named_stream *)s)->in;
	struct event_stream *inner = in->opened ? in->opened : in->stream;
	int rc = inner->next(inner, item, e);

	if (rc > 0 && item->kind == STREAM_RECORD && item->record->kind == RECORD_NAME) {
		const struct rec_NAME *r = &item->record->u.NAME;

		world_rename(in->world, r->thread, r->time_ns, world_string(in->world, r->comm));
	}
	return rc;
}

static void close_named(struct event_stream *s)
{
	(void)s; /* ends with the input */
}

struct event_stream *input_stream(struct input *in)
{
	in->renames = (struct input_named_stream){ { next_named, close_named }, in };
	return &in->renames.stream;
}

const struct clock_common *input_clock(const struct input *in)
{
	return &in->clock;
}

void input_weave(struct input *in)
{
	for (unsigned i = 0; in->joined && in->n > 1 && in->n <= IGE_BLOCK_VIEWS_MAX && i < in->n;
	     i++)
		ige_reader_merge_columns(in->each[i].reader);
}

struct ige_reader *input_reader(struct input *in)
{
	return in->n == 1 ? in->each[0].reader : NULL;
}

struct ige_reader *input_one(struct input *in, unsigned i)
{
	return i < in->n ? in->each[i].reader : NULL;
}
