/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of struct input, for the files that open it and report on it.
 */
#ifndef INGERO_INPUT_INPUT_INTERNAL_H
#define INGERO_INPUT_INPUT_INTERNAL_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/event/stream.h"
#include "lib/ige/seek.h"
#include "lib/input/input.h"
#include "lib/world/world.h"

/*
 * Names for files that are made of recordings and need not stay open: in a folder of this process,
 * which goes with it. Folders of processes that were killed are removed by the next that makes one.
 */

/* Zero-initialised has no folder yet. */
struct input_named {
	char *folder;
	int fd; /* of it, locked as long as somebody uses it; where there is a folder */
};

/* The name that the file without a name now has, n being a number of its own, yours to free and to
 * unlink; NULL: it cannot have one. */
char *input_named_give(struct input_named *d, int fd, unsigned n);
void input_named_free(struct input_named *d);

/*
 * The members of struct input, shared by the files that open it (input.c) and report on it
 * (input_facts.c).
 */

struct one {
	struct ige_reader *reader;
	struct ige_seek *seek;	      /* once asked for, where it can be */
	struct event_stream *shift;   /* around one of theirs; NULL: times stay as they are */
	struct event_stream *counted; /* around that, where somebody wants to know */
	struct input_tally tally;
	struct clock_head head;
	struct buf holds;	   /* recordings, of an archive that says which */
	bool windowed, unseekable; /* the stream is the seek's; asked in vain */
	const char *name;
	int fd; /* the reader's; -1: it opens the file when it reads */
	struct {
		bool known, file;
		uint64_t read;	      /* of the reader's bytes, when it was looked at */
		uint64_t done, total; /* of a file */
	} position;
	char *made; /* that file, where it is not the one of its name but made of it; removed with
		       the input; NULL */
};

/* Where it is opened when fd is -1. */
static inline const char *input_path_of(const struct one *o)
{
	return o->made ? o->made : o->name;
}

/* Around whatever it reads. */
struct input_named_stream {
	struct event_stream stream;
	struct input *in;
};

struct input {
	unsigned n;
	struct one *each;
	struct world *world;
	struct event_stream *stream;
	struct event_stream *opened;	   /* around it, of a part; NULL */
	struct input_named_stream renames; /* around both: handed out */
	struct clock_common clock;
	struct buf notes;	  /* for the verdict */
	bool joined;		  /* stream is ours to close */
	bool counts;		  /* what each brings */
	bool many;		  /* more than may be open: files are opened when they are read */
	struct input_named named; /* those that are made then */
};

/* Of what its stream reads. */
static inline const struct ige_report *input_report_of(const struct one *o)
{
	return o->windowed ? ige_seek_report(o->seek) : ige_reader_report(o->reader);
}

/*
 * Recordings that were given more than once: the same file, a copy of it, or a copy that was not
 * finished.
 */

/* Whether it can be read twice. */
static inline bool input_is_file(const struct one *o)
{
	return !o->unseekable || o->fd < 0;
}

/* For qsort of struct one: by head, then files that begin alike by the first byte in which they
 * differ. The beginning of one stands in front of it. */
int input_copies_order(const void *a, const void *b);

enum input_copy {
	INPUT_OTHER,
	INPUT_ALIKE,	 /* they begin with the same segment, and cannot be compared or go on
			    differently */
	INPUT_BEGINNING, /* what is in a is in b, which goes on */
	INPUT_SAME,
};

/* Of two that stand one behind the other in that order. */
enum input_copy input_copy_of(const struct one *a, const struct one *b);

/*
 * Which recordings an archive holds whole. A recording is known by the id of its first segment,
 * whatever its file is called, and by how many bytes it had: it may go on.
 */

enum input_held {
	INPUT_HELD_NOT,
	INPUT_HELD_SOME, /* of several, some and not all */
	INPUT_HELD_LESS, /* there was less of it then, or of one of them */
	INPUT_HELD_ALL,
};

/* How much of o, a recording or an archive that says which it has, `archive` holds. */
enum input_held input_holds(const struct one *archive, const struct one *o);

/*
 * Calls that are open where a part of a recording begins or ends. A recorder writes one OPEN record
 * for a call that does not return, and a killed recorder writes none at its end: later events of
 * the thread show whether the call has returned. Calls that return after the part are found by
 * their events.
 */

/* inner, which has every event from from_ns on: OPEN records between from_ns and since_ns come
 * where the first event ends that does at since_ns or later, as of since_ns, and only those of
 * calls that are open then. Behind events of calls that are open at until_ns, for 5 s or since
 * before since_ns, come OPEN records that say so, as at a recording's end. Close leaves inner
 * alone. NULL: out of memory. */
struct event_stream *input_opened(const struct world *w, struct event_stream *inner,
				  int64_t from_ns, int64_t since_ns, int64_t until_ns);

#endif
