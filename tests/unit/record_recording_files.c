/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes to an output that is not read: events are given up and counted when the queue is full,
 * and no more from the last word on what is lost on, for nobody could say of those. Everything else
 * is there in the end.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/record/recording_files.h"
#include "tests/tap.h"

#define CHUNK (1u << 20)
#define FULL  64 /* chunks that the queue holds */
#define EACH  10 /* events that are said to be in one */

static void *read_all(void *arg)
{
	static char room[1 << 16];
	uint64_t *sum = arg;
	int fd = (int)*sum;
	ssize_t n;

	*sum = 0;
	while ((n = read(fd, room, sizeof(room))) > 0)
		*sum += (uint64_t)n;
	return NULL;
}

static int put(struct record_tee *tee, enum ige_put_kind kind)
{
	static const char block[CHUNK];
	struct err e = { 0 };

	return tee->sink.put(&tee->sink, kind, block, sizeof(block),
			     kind == IGE_PUT_EVENTS ? EACH : 0, &e);
}

/* Whoever started us may have made standard output one that does not wait: it is waited for all the
 * same. */
static void not_waiting(void)
{
	struct timespec nap = { .tv_nsec = 10000000 };
	uint64_t sum;
	int ends[2], status = -1, size, full = 0;
	pid_t pid;

	if (pipe2(ends, O_NONBLOCK))
		return;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		const struct record_owner nobody = { 0 };
		struct record_output_state last;
		struct record_output *o = NULL;
		struct record_tee tee;
		struct err e = { 0 };

		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		if (record_output_open(&o, "-", &nobody, &e) || record_output_begin(o, &e))
			_exit(2);
		record_tee_init(&tee, &o, 1);
		for (unsigned i = 0; i < 4; i++)
			put(&tee, IGE_PUT_RECORDS);
		_exit(record_output_close(o, &last, &e) != 0);
	}
	size = fcntl(ends[1], F_GETPIPE_SZ);
	close(ends[1]);
	while (pid > 0 && ioctl(ends[0], FIONREAD, &full) == 0 && full < size &&
	       waitpid(pid, &status, WNOHANG) == 0)
		nanosleep(&nap, NULL);
	nanosleep(&nap, NULL);
	fcntl(ends[0], F_SETFL, 0);
	sum = (uint64_t)ends[0];
	read_all(&sum);
	waitpid(pid, &status, 0);
	ok(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0,
	   "a pipe that is full and does not wait is no failure");
	is_u64(sum, 4 * CHUNK, "and gets all of it");
	close(ends[0]);
}

int main(void)
{
	char folder[] = "/tmp/ingero-output-XXXXXX", path[64];
	struct record_output_state state, last;
	const struct record_owner nobody = { 0 };
	struct record_output *o = NULL;
	struct record_tee tee;
	struct err e = { 0 };
	pthread_t reader;
	uint64_t sum, kept = 0;
	int fd, rc;

	not_waiting();
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/pipe", folder);
	rc = mkfifo(path, 0600);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	ok(rc == 0 && fd >= 0 && record_output_open(&o, path, &nobody, &e) == 0, "a pipe: %s",
	   e.text);
	if (!o)
		return tap_done();
	fcntl(fd, F_SETFL, 0);
	record_tee_init(&tee, &o, 1);
	ok(record_output_begin(o, &e) == 0, "begins");
	for (unsigned i = 0; i < FULL + 8; i++)
		rc |= put(&tee, IGE_PUT_EVENTS);
	is_int(rc, 0, "nobody waits for who does not read");
	record_output_state(o, &state);
	ok(state.dropped_queue >= 7 * EACH && state.dropped_queue % EACH == 0,
	   "what does not fit is given up, by whole blocks: %" PRIu64, state.dropped_queue);
	kept = FULL + 8 - state.dropped_queue / EACH;
	put(&tee, IGE_PUT_RECORDS);
	kept++;
	put(&tee, IGE_PUT_EVENTS);
	record_output_last(o, &last);
	is_u64(last.dropped_queue, state.dropped_queue + EACH, "the last word counts all of it");
	put(&tee, IGE_PUT_EVENTS);
	put(&tee, IGE_PUT_RECORDS);
	kept += 2;
	sum = (uint64_t)fd;
	pthread_create(&reader, NULL, read_all, &sum);
	ok(record_output_close(o, &state, &e) == 0, "closes: %s", e.text);
	pthread_join(reader, NULL);
	is_u64(state.dropped_queue, last.dropped_queue, "nothing is given up behind it");
	is_u64(sum, kept * CHUNK, "and what was not given up has arrived");
	close(fd);
	unlink(path);
	rmdir(folder);
	return tap_done();
}
