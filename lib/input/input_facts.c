/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers what an input read so far: position, counts, and what could not be read.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fmt.h"
#include "lib/input/input_internal.h"

static bool one_recording(const struct one *a, const struct one *b)
{
	const struct ige_segment *x = &a->head.segment, *y = &b->head.segment;

	/* Without a machine's clock the file is a merge, and its sources are unknown. */
	return a->head.known && b->head.known && x->clock_id && x->boot == y->boot &&
	       x->real_minus_mono_ns == y->real_minus_mono_ns && x->clock_id == y->clock_id &&
	       !memcmp(x->node_uuid, y->node_uuid, sizeof(x->node_uuid));
}

/* Of one recording in several files only the last one ends it. They stand together, see
 * clock_head_order. */
static bool ends_elsewhere(const struct input *in, unsigned at)
{
	const struct one *o = &in->each[at];

	if (!in->joined || input_report_of(o)->truncated || input_report_of(o)->empty)
		return false;
	for (unsigned i = at; i-- && one_recording(&in->each[i], o);)
		if (!input_report_of(&in->each[i])->unterminated)
			return true;
	for (unsigned i = at + 1; i < in->n && one_recording(&in->each[i], o); i++)
		if (!input_report_of(&in->each[i])->unterminated)
			return true;
	return false;
}

/* As its stream's reader reports it, seen beside the others. */
static struct ige_report report_of(const struct input *in, unsigned i)
{
	struct ige_report r = *input_report_of(&in->each[i]);

	r.unterminated = r.unterminated && !ends_elsewhere(in, i);
	return r;
}

/* The bytes of an unfinished last block are no damage beside the cut itself. */
static bool only_cut(const struct ige_report *r)
{
	return r->truncated && !r->damaged_blocks &&
	       strncmp(r->first_reason, "the input ends", strlen("the input ends")) == 0;
}

static void append_report(struct buf *notes, const char *name, const struct ige_report *r)
{
	if ((r->damaged_blocks || r->skipped_bytes) && !only_cut(r)) {
		buf_printf(notes, "%s: damaged at byte %" PRIu64 " (%s): ", name, r->first_damage,
			   r->first_reason);
		if (r->damaged_blocks)
			buf_printf(notes, "%" PRIu64 " blocks in part or whole unusable",
				   r->damaged_blocks);
		if (r->damaged_events)
			buf_printf(notes, ", which held %s events that are missing",
				   fmt_count(r->damaged_events).s);
		if (r->damaged_blocks && r->skipped_bytes)
			buf_puts(notes, ", ");
		if (r->skipped_bytes)
			buf_printf(notes, "%" PRIu64 " bytes passed over", r->skipped_bytes);
		buf_puts(notes, "; the rest was used\n");
	}
	if (r->empty)
		buf_printf(notes, "%s is empty: there is no recording in it\n", name);
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

int input_report_verdict(const struct ige_report *r, const char *name, struct buf *notes)
{
	append_report(notes, name, r);
	if (r->empty)
		return ERR_DAMAGED;
	/* The last block of a recording that is being written may be caught half done. */
	if (r->growing && (only_cut(r) || !r->skipped_bytes) && !r->damaged_blocks)
		return 0;
	return r->damaged_blocks || r->skipped_bytes || r->unterminated ? ERR_DAMAGED : 0;
}

int input_verdict(const struct input *in, struct buf *notes)
{
	bool damaged = input_report(in).empty;

	if (in->notes.n)
		buf_add(notes, in->notes.p, in->notes.n);
	for (unsigned i = 0; i < in->n; i++) {
		struct ige_report report = report_of(in, i);
		bool empty = report.empty;

		damaged |= input_report_verdict(&report, in->each[i].name, notes) && !empty;
	}
	return damaged ? ERR_DAMAGED : 0;
}

int input_something(const struct input *in, struct err *e)
{
	if (!input_report(in).empty)
		return 0;
	if (in->n == 1)
		return err_set(e, ERR_DAMAGED, "%s is empty: there is no recording in it",
			       in->each[0].name);
	return err_set(e, ERR_DAMAGED, "%s and %u more are empty: there is no recording in them",
		       in->each[0].name, in->n - 1);
}

struct ige_report input_report(const struct input *in)
{
	struct ige_report sum = { .empty = true };

	for (unsigned i = 0; i < in->n; i++) {
		struct ige_report report = report_of(in, i), *r = &report;

		sum.segments += r->segments;
		sum.blocks += r->blocks;
		sum.events += r->events;
		sum.records += r->records;
		sum.damaged_blocks += r->damaged_blocks;
		sum.damaged_events += r->damaged_events;
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

struct ops_input input_quality(const struct input *in)
{
	struct ige_report r = input_report(in);

	return (struct ops_input){ .damaged = r.damaged_blocks || r.skipped_bytes,
				   .truncated = r.truncated,
				   .unterminated = r.unterminated && !r.growing,
				   .growing = r.growing,
				   .damaged_blocks = r.damaged_blocks,
				   .skipped_bytes = r.skipped_bytes };
}

bool input_partial(const struct input *in)
{
	struct ige_report r = input_report(in);

	return r.damaged_blocks || r.skipped_bytes || r.unterminated;
}

/* Whether o is a file, and its size. */
static bool is_file(const struct one *o, uint64_t *size)
{
	struct stat st;

	if ((o->fd < 0 ? stat(input_path_of(o), &st) : fstat(o->fd, &st)) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	*size = (uint64_t)st.st_size;
	return true;
}

bool input_files(const struct input *in)
{
	uint64_t size;
	unsigned i;

	for (i = 0; i < in->n && is_file(&in->each[i], &size); i++)
		;
	return i == in->n;
}

/* Whether o is a file, read from its beginning, and how far. Somebody asks behind every item: the
 * system is asked only when more was read, since two calls of it for a hundred events are a tenth
 * of what an analysis takes. */
static bool find_position(struct one *o)
{
	uint64_t read = ige_reader_read(o->reader);
	off_t at;

	if (o->windowed)
		return false;
	if (o->position.known && o->position.read == read)
		return o->position.file;
	at = lseek(o->fd, 0, SEEK_CUR);
	o->position.file = at >= 0 && is_file(o, &o->position.total);
	o->position.done = (uint64_t)at;
	o->position.read = read;
	o->position.known = true;
	return o->position.file;
}

void input_position(void *of, uint64_t *done, uint64_t *total, uint64_t *events)
{
	struct input *in = of;
	bool files = true;

	*done = *total = *events = 0;
	for (unsigned i = 0; i < in->n; i++) {
		struct one *o = &in->each[i];

		*events += input_report_of(o)->events;
		files = files && find_position(o);
		*done += o->position.done;
		*total += o->position.total;
	}
	if (!files)
		*done = *total = 0;
}

void input_describe(const struct input *in, struct buf *out)
{
	for (unsigned i = 0; i < in->n; i++) {
		const struct one *o = &in->each[i];
		uint64_t size;

		if (is_file(o, &size))
			buf_printf(out, "%s: file of %s%s\n", o->name, fmt_bytes(size).s,
				   o->windowed ? ", read where the time asked for needs it" : "");
		else
			buf_printf(out, "%s: pipe\n", o->name);
	}
}

void input_account(const struct input *in, struct buf *out)
{
	static const char *const kinds[WORLD_KINDS] = {
		[WORLD_NODE] = "nodes",	    [WORLD_PROCESS] = "processes",
		[WORLD_IMAGE] = "programs", [WORLD_THREAD] = "threads",
		[WORLD_CGROUP] = "cgroups", [WORLD_GPU] = "GPUs",
		[WORLD_MODULE] = "modules", [WORLD_FRAME] = "frames",
		[WORLD_STACK] = "stacks",   [WORLD_STRING] = "strings",
	};
	const char *between = "dictionaries: ";

	for (unsigned i = 0; i < in->n; i++) {
		struct ige_report report = report_of(in, i), *r = &report;

		buf_printf(out, "%s: %" PRIu64 " segments, %" PRIu64 " blocks, ", in->each[i].name,
			   r->segments, r->blocks);
		buf_printf(out, "%s events, ", fmt_count(r->events).s);
		buf_printf(out, "%s records", fmt_count(r->records).s);
		buf_printf(out,
			   "; %" PRIu64 " blocks damaged, %" PRIu64 " bytes passed over, %" PRIu64
			   " blocks unknown, %" PRIu64 " events lost by the recorder%s\n",
			   r->damaged_blocks, r->skipped_bytes, r->unknown_blocks, r->lost_events,
			   r->growing	     ? ", growing"
			   : r->unterminated ? ", unterminated"
					     : "");
	}
	for (unsigned k = 0; k < WORLD_KINDS; k++) {
		uint32_t n = kinds[k] ? world_count(in->world, (enum world_kind)k) : 0;

		if (n == 0)
			continue;
		buf_printf(out, "%s%s %s", between, fmt_count(n).s, kinds[k]);
		between = ", ";
	}
	buf_putc(out, '\n');
}

bool input_told(const struct input *in, unsigned i, struct input_told *told)
{
	const struct one *o = &in->each[i];

	if (!in->counts || i >= in->n)
		return false;
	*told = (struct input_told){ o->name, &o->head, &o->tally, input_report_of(o) };
	return true;
}
