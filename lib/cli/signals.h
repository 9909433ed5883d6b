/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts. A recorder ends cleanly on the first SIGINT, SIGTERM or SIGHUP and at once on the
 * second; a program that reads a pipe ignores the first SIGINT, so that Ctrl-C ends the writer of
 * the pipe and the pipeline still yields the verdict.
 */
#ifndef INGERO_CLI_SIGNALS_H
#define INGERO_CLI_SIGNALS_H

#include <stdbool.h>

#include "lib/base/err.h"

/* The first signal is remembered, the second ends the process at once (status 128 + signal). The
 * same one again within 250 ms is the first one, and so is one that our parent passes on. */
int cli_signals_catch(struct err *e);

/* SIGUSR1 asks for something: whether it came since the last call. Without the first call it ends
 * the process, as ever. */
int cli_signals_catch_request(struct err *e);
bool cli_signal_request(void);

/* The signal that came, or 0. Cheap: a flag. */
int cli_signal_received(void);

/* A descriptor for poll, readable once a signal came; never read from it. -1 before
 * cli_signals_catch. */
int cli_signals_fd(void);

/* Ignore the first SIGINT when fd is a pipe; the second ends the process. */
void cli_signals_let_first_pass(int fd);

/* In a forked child, before exec: everything as the user's shell would have set it, SIGPIPE too. */
void cli_signals_restore(void);

#endif
