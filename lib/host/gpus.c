/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads NVML in a helper process, which sends its readings over a pipe. Messages are structs of one
 * size, smaller than PIPE_BUF: a write is whole or not at all.
 */
#include "lib/host/gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/host/clock.h"
#include "lib/host/helper.h"
#include "lib/host/rights.h"

struct message {
	enum { READY = 1, GPU, VALUE } kind;
	uint32_t gpu; /* READY: how many */
	int64_t time_ns;
	union {
		char text[200];
		struct host_gpu gpu;
		struct host_gpu_value value;
	} u;
};

struct host_gpus {
	pid_t pid;
	int fd; /* -1: the child has ended */
	unsigned count;
	size_t have; /* bytes of the next message */
	struct message next;
	struct host_gpu gpus[HOST_GPUS_MAX];
};

/* ---- the child
 * ------------------------------------------------------------------------------------ */

static void send_message(const struct message *m)
{
	/* Without a reader there is nothing left to do. */
	if (write(HOST_HELPER_FD, m, sizeof(*m)) != (ssize_t)sizeof(*m))
		_exit(0);
}

static void send_value(void *ctx, const struct host_gpu_value *v)
{
	struct message m = { .kind = VALUE, .gpu = v->gpu };

	(void)ctx;
	m.time_ns = host_clock_mono();
	m.u.value = *v;
	send_message(&m);
}

static void send_gpus(const struct host_nvml *n)
{
	struct message m = { .kind = GPU };
	unsigned count;
	const struct host_gpu *gpus = host_nvml_gpus(n, &count);

	for (m.gpu = 0; m.gpu < count; m.gpu++) {
		m.u.gpu = gpus[m.gpu];
		send_message(&m);
	}
	m = (struct message){ .kind = READY, .gpu = count };
	snprintf(m.u.text, sizeof(m.u.text), "%s", host_nvml_driver(n));
	send_message(&m);
}

/* Reads and sends until the parent closes its end. */
static void serve_readings(void)
{
	struct pollfd gone = { .fd = HOST_HELPER_FD };
	struct host_nvml *n;
	struct err e = { 0 };
	int64_t next;

	if (host_nvml_open(&n, &e) != 0) {
		struct message m = { .kind = READY };

		snprintf(m.u.text, sizeof(m.u.text), "%.199s", e.text);
		send_message(&m);
		host_nvml_close(n);
		return;
	}
	/* The library has its devices open. Where the rights do not go it reads with them, as
	 * before. */
	(void)host_rights_keep(HOST_RIGHTS_NONE);
	send_gpus(n);
	next = host_clock_mono();
	for (;;) {
		int64_t now, period = HOST_GPUS_PERIOD_MS * 1000000ll;

		host_nvml_read(n, send_value, NULL);
		now = host_clock_mono();
		next += period;
		if (next < now) /* a slow driver: no rounds are made up for */
			next = now + period / 10;
		if (poll(&gone, 1, (int)((next - now) / 1000000)) > 0)
			break;
	}
	host_nvml_close(n);
}

/* ---- the parent
 * ----------------------------------------------------------------------------------- */

int host_gpus_start(struct host_gpus **out, struct err *e)
{
	struct host_gpus *g = calloc(1, sizeof(*g));
	int ends[2], rc;

	*out = g;
	if (!g)
		return err_nomem(e);
	g->fd = -1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_sys(e, "cannot make a pipe");
	g->pid = host_helper_start("ingero-gpus", ends[1], serve_readings);
	if (g->pid < 0) {
		rc = err_sys(e, "cannot start the reader of GPU health");
		close(ends[0]);
		close(ends[1]);
		return rc;
	}
	close(ends[1]);
	g->fd = ends[0];
	fcntl(g->fd, F_SETFL, O_NONBLOCK);
	return 0;
}

static void close_pipe(struct host_gpus *g)
{
	close(g->fd);
	g->fd = -1;
}

static void hand_over(struct host_gpus *g, const struct host_gpus_fn *fn)
{
	struct message *m = &g->next;

	/* The child is ours, the library in it is not. */
	if (m->gpu > HOST_GPUS_MAX || (m->kind != READY && m->gpu == HOST_GPUS_MAX))
		return;
	if (m->kind == GPU) {
		g->gpus[m->gpu] = m->u.gpu;
	} else if (m->kind == READY) {
		m->u.text[sizeof(m->u.text) - 1] = '\0';
		g->count = m->gpu;
		fn->ready(fn->ctx, g->count, m->u.text);
	} else if (m->kind == VALUE && m->gpu < g->count) {
		fn->value(fn->ctx, m->time_ns, &g->gpus[m->gpu], &m->u.value);
	}
}

void host_gpus_take(struct host_gpus *g, const struct host_gpus_fn *fn)
{
	while (g && g->fd >= 0) {
		ssize_t n = read(g->fd, (char *)&g->next + g->have, sizeof(g->next) - g->have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close_pipe(g);
			return;
		}
		g->have += (size_t)n;
		if (g->have == sizeof(g->next)) {
			g->have = 0;
			hand_over(g, fn);
		}
	}
}

bool host_gpus_alive(const struct host_gpus *g)
{
	return g && g->fd >= 0;
}

void host_gpus_stop(struct host_gpus *g)
{
	if (!g)
		return;
	if (g->fd >= 0)
		close_pipe(g);
	if (g->pid > 0)
		host_helper_stop(g->pid);
	free(g);
}
