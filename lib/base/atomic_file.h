/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is there whole or not at all. Where the file system can (O_TMPFILE) it has no name
 * while it is written, so that a program that is killed leaves nothing behind; elsewhere it is
 * written beside its place. In the end it is moved there, in one step.
 */
#ifndef INGERO_BASE_ATOMIC_FILE_H
#define INGERO_BASE_ATOMIC_FILE_H

#include <stdbool.h>

#include "lib/base/err.h"

/* One that is not open: { .fd = -1 }. */
struct atomic_file {
	int fd;	     /* open for reading and writing, mode 0600, close-on-exec */
	char *path;  /* its place in the end, for messages too; a link there that leads to a file
			stays one */
	char *name;  /* its name meanwhile; NULL: none, or written where it is */
	bool placed; /* written where it is: nothing is moved */
};

/* What is no regular file (a pipe, /dev/full) and "-", standard output, are written where they are.
 */
int atomic_file_open(struct atomic_file *a, const char *path, struct err *e);

/* A file in path's folder that is never kept. */
int atomic_file_scratch(struct atomic_file *a, const char *path, struct err *e);

/* Gives it a name now, for who opens by name; borrowed. NULL: an error. */
const char *atomic_file_name(struct atomic_file *a, struct err *e);

/* Flushes the file to disk, closes it and moves it to its path. On failure, nothing at that path
 * has changed. Fails, too, if memory ever ran out: the file may be incomplete then. */
int atomic_file_keep(struct atomic_file *a, struct err *e);

/* Closes and removes the file; does nothing after atomic_file_keep or if it was never opened (fd <
 * 0). */
void atomic_file_drop(struct atomic_file *a);

#endif
