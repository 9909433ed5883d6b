/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program was given to read, as one event stream: no operand or "-" is standard input, a
 * name is a recording; several are joined in canonical order of their events. What could not be
 * read is kept and said in the end, so that every sink reports damage with the same words.
 */
#ifndef INGERO_INPUT_INPUT_H
#define INGERO_INPUT_INPUT_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/event/ops.h"
#include "lib/event/stream.h"
#include "lib/ige/reader.h"
#include "lib/clock/clock_align.h"
#include "lib/input/input_counts.h"
#include "lib/world/world.h"

struct input;

/* names[0..n) as given on the command line; n == 0 is standard input. All share world w. Several
 * are brought onto one clock and into an order that does not depend on that of their names
 * (clock/clock_align.h). On error nothing is left open. */
int input_open(struct input **out, struct world *w, const char *const *names, unsigned n,
	       struct err *e);
/* The same of machines whose wall clocks somebody compared: that of names[i] is ahead of the
 * others' by ahead_ns[i], which is taken off its times where they are brought onto one clock. NULL:
 * nobody did. */
int input_open_ahead(struct input **out, struct world *w, const char *const *names, unsigned n,
		     const int64_t *ahead_ns, struct err *e);
/* The same for a caller that writes one joined file: a file and copies of it count once (the
 * verdict says so), and each input's events and times are counted. input_clock is known for a
 * single input too. */
int input_open_counted(struct input **out, struct world *w, const char *const *names, unsigned n,
		       struct err *e);
void input_free(struct input *in);

/* At the end of a recording that is still being written, its stream returns new items on later
 * calls (ige_reader_follow). False: there are several inputs, whose order is known only at their
 * ends. Before the first item only. */
bool input_follow(struct input *in);

/* The joined stream; owned by the input. */
struct event_stream *input_stream(struct input *in);

/* The clock of that stream, known when there are several inputs (machines > 0). */
const struct clock_common *input_clock(const struct input *in);

/* The i-th of them, in the order of heads; final at the end. False past the last, or when they are
 * not counted. */
struct input_told {
	const char *name;
	const struct clock_head *head;
	const struct input_tally *tally;
	const struct ige_report *report;
};
bool input_told(const struct input *in, unsigned i, struct input_told *told);

/* When the recordings end on their clock (INT64_MIN: no event, no clock) and what their last CLOCK
 * record says of UTC. Learned without reading events. ERR_CANNOT: an input is no file, or one that
 * has to be read from its beginning. Before the first item only. */
int input_end(struct input *in, int64_t *end_ns, bool *has_real, int64_t *real_minus_mono_ns,
	      struct err *e);

/* Only [since, until) is wanted: events that do not overlap it, nor lie inside one that does, may
 * be left out from here on (item.skipped counts them); records are all there. calls: also emit OPEN
 * records. Calls that are open at until_ns, for long or since before since_ns, and return later get
 * one with time until_ns. In recordings without a final record of open calls, calls open at
 * since_ns get one with time since_ns, earlier OPEN records are dropped, and reading starts at the
 * place of those records. Inputs that cannot be sought stay whole. Before the first item only. */
int input_window(struct input *in, int64_t since_ns, int64_t until_ns, bool calls, struct err *e);

/* The reader when there is exactly one input, for programs that pass its blocks on; else NULL. */
struct ige_reader *input_reader(struct input *in);

/* One of them, by number; NULL past the last: for programs to which their order does not matter. */
struct ige_reader *input_one(struct input *in, unsigned i);

/* Which recordings all of it is, for an archive of it (archive_options.recordings). Of
 * input_open_counted. */
void input_recordings(const struct input *in, struct buf *out);

/* For who only writes them again: events of several inputs come as rows (stream_item.weave) where
 * they can. Before the first item only. */
void input_weave(struct input *in);

/* Whether all of it lies in files: reading waits for nobody. */
bool input_files(const struct input *in);

/* After the end: 0 when all was read whole; ERR_DAMAGED when something was damaged, cut, not ended
 * cleanly (a growing recording is none of these) or there was not a byte. One line per fact is
 * appended to notes, each ending in a newline. */
int input_verdict(const struct input *in, struct buf *notes);

/* The same of one reader's report; name is for the lines. */
int input_report_verdict(const struct ige_report *r, const char *name, struct buf *notes);

/* After the end, for who has nothing to give without it: ERR_DAMAGED, naming them, where none had a
 * byte; else 0. */
int input_something(const struct input *in, struct err *e);

/* Sums over all inputs. */
struct ige_report input_report(const struct input *in);

/* The same as who sums up shows it: what grows has an end to come. */
struct ops_input input_quality(const struct input *in);

/* Whether something was damaged, cut off or is still to come. After the end. */
bool input_partial(const struct input *in);

/* How many bytes of the struct input at `in` have been read of how many, and the events in them.
 * *total 0: some of it is no file, or only a part is wanted and sought. */
void input_position(void *in, uint64_t *done, uint64_t *total, uint64_t *events);

/* What is read, a line each: "run.ige: file of 1.5 MiB". */
void input_describe(const struct input *in, struct buf *out);

/* After the end, what was in it, a line each: blocks, events, what was passed over, and what the
 * dictionaries hold. */
void input_account(const struct input *in, struct buf *out);

#endif
