/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong, and where: every library function that can fail returns 0 (or a
 * non-negative result) on success and one of these negative codes on failure, and fills
 * the caller's struct err with one line for a person. The library never prints or exits;
 * programs map codes to exit statuses in one place (cli/exit.h).
 */
#ifndef INGERO_BASE_ERR_H
#define INGERO_BASE_ERR_H

#include <stdarg.h>

enum err_code {
	ERR_NOMEM = -1,	      /* memory exhausted */
	ERR_SYS = -2,	      /* a system call failed; the text ends with strerror */
	ERR_USAGE = -3,	      /* the caller's request makes no sense (exit status 2) */
	ERR_CANNOT = -4,      /* permission, missing feature, missing file (exit status 3) */
	ERR_DAMAGED = -5,     /* outside bytes do not have the promised form (exit status 4) */
	ERR_TOO_NEW = -6,     /* outside bytes are of a newer version than this program reads */
	ERR_LIMIT = -7,	      /* a documented limit was exceeded */
	ERR_CLOSED = -8,      /* the reader of our output went away (EPIPE): end quietly */
	ERR_INTERRUPTED = -9, /* a signal asked us to stop */
};

/* One line of text without a trailing newline; empty when nothing failed. A value: no cleanup. */
struct err {
	int code;
	char text[480];
};

/* Set code and text (fmt as printf); returns code, so that `return err_set(...)` reads well. e may
 * be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As err_set with ERR_SYS (ERR_CANNOT for EACCES, EPERM and ENOENT; ERR_CLOSED for EPIPE; ERR_NOMEM
 * for ENOMEM) and ": strerror(errno)" appended. errno is the same afterwards. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "context: " in front of what is already there (deepest cause last); returns e->code. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "out of memory" with ERR_NOMEM. */
int err_nomem(struct err *e);

#endif
