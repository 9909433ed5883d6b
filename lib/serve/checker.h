/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one program that a server starts for those who ask is ingero-check. A server that is confined cannot: a process that was made before
 * does it, which can do nothing else.
 */
#ifndef INGERO_SERVE_CHECKER_H
#define INGERO_SERVE_CHECKER_H

#include "lib/base/err.h"

struct serve_checker;

/* Makes the process: before there are threads. */
int serve_checker_new(struct serve_checker **out, struct err *e);
/* ingero-check, which only looks, writes its report into fd, which stays the caller's: it has come to its end when nobody else has fd open.
 * It is ended after seconds. For any thread. */
int serve_checker_run(const struct serve_checker *c, int fd, unsigned seconds, struct err *e);
void serve_checker_free(struct serve_checker *c);

#endif
