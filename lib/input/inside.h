/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an input is made of, for the files of this room that open it (input.c) and tell of it (tell.c).
 */
#ifndef INGERO_INPUT_INSIDE_H
#define INGERO_INPUT_INSIDE_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/ige/seek.h"
#include "lib/input/input.h"

struct one {
	struct ige_reader *reader;
	struct ige_seek *seek;	    /* once asked for, where it can be */
	struct event_stream *shift; /* around one of theirs; NULL: times stay as they are */
	struct input_head head;
	bool windowed, unseekable; /* the stream is the seek's; asked in vain */
	const char *name;
	int fd; /* the reader's */
};

struct input {
	unsigned n;
	struct one *each;
	struct world *world;
	struct event_stream *stream;
	struct input_clock clock;
	struct buf notes; /* for the verdict */
	bool joined;	  /* stream is ours to close */
};

#endif
