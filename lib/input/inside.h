/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of struct input, shared by the files that open it (input.c) and report on it
 * (input_facts.c).
 */
#ifndef INGERO_INPUT_INSIDE_H
#define INGERO_INPUT_INSIDE_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/ige/seek.h"
#include "lib/input/input.h"
#include "lib/input/named.h"

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

#endif
