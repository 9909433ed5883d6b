/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies one stream to several pipes in a process of its own. It executes nothing, so that
 * close-on-exec does not help: it closes every descriptor that is not its own, or a pipe would stay
 * open whose reader waits for its end.
 */
#include "lib/cli/tee.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/io.h"

#define DESCRIPTORS_MAX 256 /* the front door opens a dozen */

static bool is_one_of(int fd, const int *outs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (outs[i] == fd)
			return true;
	return false;
}

static int copy_to_all(int in, int *outs, size_t n)
{
	char data[1 << 16];
	struct err e = { 0 };
	ssize_t got;

	while (n) {
		do
			got = read(in, data, sizeof(data));
		while (got < 0 && errno == EINTR);
		if (got <= 0)
			return got < 0;
		for (size_t i = 0; i < n;) {
			if (write_all(outs[i], data, (size_t)got, &e) == 0) {
				i++;
				continue;
			}
			close(outs[i]);
			outs[i] = outs[--n];
		}
	}
	return 0;
}

pid_t cli_tee_start(int in, const int *outs, size_t n, struct err *e)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int own[CLI_TEE_MAX];
	pid_t pid = fork();

	if (pid < 0)
		return err_sys(e, "cannot start a copy of the stream");
	if (pid > 0)
		return pid;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &ignore, NULL);
	for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS_MAX; fd++)
		if (fd != in && !is_one_of(fd, outs, n))
			close(fd);
	memcpy(own, outs, n * sizeof(*outs));
	_exit(copy_to_all(in, own, n));
}
