/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole writes and whole small files. Interrupted calls are taken up again.
 */
#ifndef INGERO_BASE_IO_H
#define INGERO_BASE_IO_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* All of p[0..n), waiting when a non-blocking descriptor is full. The error text says "cannot
 * write". */
int write_all(int fd, const void *p, size_t n, struct err *e);

/* p[0..n) from there on. How many bytes, fewer than n only at the end of the file; negative: errno
 * says why. */
ssize_t read_at(int fd, void *p, size_t n, off_t at);

/* A descriptor of a file for scratch that has no name and ends with it, on disk where there is
 * room, else in memory. Negative: an error. */
int io_nameless(struct err *e);

/* A descriptor of a regular file to read from, found without waiting for whoever is at the other
 * end of a pipe. ERR_CANNOT: it is something else. Negative: an error. */
int io_open_regular(const char *path, struct err *e);

/* Append what path holds to out; ERR_LIMIT when that is more than max bytes. /proc files, whose
 * size is unknown, work. */
int read_file(const char *path, struct buf *out, size_t max, struct err *e);

/* The same for an open descriptor, from where it stands; name is for the error text. */
int read_fd(int fd, const char *name, struct buf *out, size_t max, struct err *e);

#endif
