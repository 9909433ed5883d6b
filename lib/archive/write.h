/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as an SQLite archive (formats/archive.sql): items of a stream in, a database out.
 *Events go past the library straight into pages, their indices are built last, and what refers to
 *what was left out is left out too. Two of the tables are sums: event_aggregates, exact over the
 *minutes that stay, and causal_chains, the newest revision of each chain of the stream. To append a
 *recording to an archive, read both (an archive is an operand like any other) and write a new one;
 *it may have the name of the old one (archive/replace.h).
 *
 *	atomic_file_open(&aside, "x.db", e);
 *	archive_writer_new(&a, w, aside.fd, &(struct archive_options){ .tool = "ingero-export 0.1.0"
 *}, e); while ((rc = s->next(s, &item, e)) > 0) archive_writer_item(a, &item, e);
 *	archive_writer_finish(a, &written, e);
 *	archive_writer_free(a);
 *	atomic_file_keep(&aside, e);
 */
#ifndef INGERO_ARCHIVE_WRITE_H
#define INGERO_ARCHIVE_WRITE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct archive_writer;

struct archive_options {
	const char *tool;	/* who writes it, NULL nobody says */
	const char *path;	/* what errors of writing call it; NULL: nothing. Borrowed */
	const char *recordings; /* which it holds whole, as input_recordings has it; NULL: nobody
				   says. Borrowed */
	bool (*stop)(void); /* asked now and then while indices are built; true: ERR_INTERRUPTED.
			       NULL: never */
	uint64_t max_bytes; /* the oldest minutes are left out until it is no larger; 0 no limit */
};

struct archive_written {
	uint64_t events, left_out; /* rows; those of minutes that were left out */
	uint64_t bytes;		   /* of the file */
	uint64_t event_bytes;	   /* of them, rows of events with their indices */
};

#ifdef INGERO_HAVE_SQLITE

/* fd: an open file, empty, that can be sought; borrowed, as is the world that all items are of.
 * ERR_CANNOT: no room for scratch, or a pipe. */
int archive_writer_new(struct archive_writer **out, struct world *w, int fd,
		       const struct archive_options *opt, struct err *e);

/* After an error only archive_writer_free may follow. */
int archive_writer_item(struct archive_writer *a, const struct stream_item *item, struct err *e);

/* Before the end: whether all that it is made of could be read, and had ended. Otherwise the
 * archive says what the stream did, which hears nothing of damage. */
void archive_writer_whole(struct archive_writer *a, bool whole);

/* Once, at the end. Not synchronised to the disk: that is the caller's. */
int archive_writer_finish(struct archive_writer *a, struct archive_written *written, struct err *e);
void archive_writer_free(struct archive_writer *a);

#else

static inline int archive_writer_new(struct archive_writer **out, struct world *w, int fd,
				     const struct archive_options *opt, struct err *e)
{
	*out = NULL;
	return err_set(e, ERR_CANNOT,
		       "this build writes no SQLite archives, it had no sqlite3 "
		       "(make deps, then make)");
}

static inline int archive_writer_item(struct archive_writer *a, const struct stream_item *item,
				      struct err *e)
{
	return ERR_CANNOT;
}

static inline int archive_writer_finish(struct archive_writer *a, struct archive_written *written,
					struct err *e)
{
	return ERR_CANNOT;
}

static inline void archive_writer_whole(struct archive_writer *a, bool whole)
{
}

static inline void archive_writer_free(struct archive_writer *a)
{
}

#endif
#endif
