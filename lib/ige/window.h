/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window that slides over an input, in which blocks are found. Whatever is not a sound header is
 * passed over byte by byte to the next one that is.
 */
#ifndef INGERO_IGE_WINDOW_H
#define INGERO_IGE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "lib/base/err.h"

#define IGE_READ_BYTES (256u << 10) /* one read(2) */

struct ige_window {
	int fd;		  /* -1 between two reads where there is a path */
	const char *path; /* NULL, or where the file is opened for each read; borrowed */
	dev_t device;	  /* and which file that has to be */
	ino_t inode;
	bool eof;
	char name[160]; /* of the input, for messages */
	unsigned char *bytes;
	size_t cap, from, to; /* bytes[from..to) is input not yet passed */
	uint64_t offset;      /* of bytes[from] in the input */
	uint64_t *skipped;    /* the owner's count of bytes that were no block's */
};

static inline size_t ige_window_held(const struct ige_window *w)
{
	return w->to - w->from;
}

static inline const unsigned char *ige_window_at(const struct ige_window *w)
{
	return w->bytes + w->from;
}

/* From here on the file is closed between two reads and opened again at path. It stays the same
 * file, or nothing is read any more (ERR_CANNOT). For regular files, of which fd stands at their
 * beginning; fd is closed. */
int ige_window_let_go(struct ige_window *w, const char *path, struct err *e);

/* Around each use of fd: opens the file again after ige_window_let_go; 0 unless that fails. */
int ige_window_open(struct ige_window *w, struct err *e);
void ige_window_close(struct ige_window *w);

/* At least n bytes in the window, or all there are. */
int ige_window_fill(struct ige_window *w, size_t n, struct err *e);
void ige_window_pass(struct ige_window *w, size_t n);

/* Is there a sound header at p, with n bytes to look at? */
bool ige_window_sound(const unsigned char *p, size_t n);

/* Pass over bytes up to the next sound header. 1 found, 0 end of input. limit: give up (0) after
 * that many. */
int ige_window_resync(struct ige_window *w, size_t limit, struct err *e);

#endif
